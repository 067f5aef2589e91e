"""An annealing run, temperature by temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["annealing_path"]

_PANELS = {
    "objective": "objective at T",
    "entropy": "entropy",
    "p_hat": "mean p in positive bags",
    "factorisations": "factorisations",
}
# Told apart by the colour-blind, and by their markers in print.
_COLOURS = ("#3b7dad", "#d1480f", "#4d9221", "#7b3294", "#8c6d31")
_MARKERS = ("o", "s", "^", "D", "v")


def annealing_path(model: Any, *, title: str | None = None) -> Figure:
    """Draw what happened at each temperature of an annealed model's fit.

    Parameters
    ----------
    model : AnnealedLabelSVC, AnnealedWitnessSVC, AnnealedProportionSVC or its CV
        Fitted. Its ``history_`` is drawn.
    title : str, default=None
        Written on top; the estimator's name when not given.

    Returns
    -------
    matplotlib.figure.Figure
        Objective, entropy, mean probability in positive bags and factorisations over the
        temperature, hot on the left; one line a class where there are more than two.

    Examples
    --------
    >>> from bagwise import AnnealedLabelSVC
    >>> from bagwise.datasets import make_toy2d
    >>> from bagwise.plot import annealing_path
    >>> model = AnnealedLabelSVC(C=50, gamma=0.5).fit(*make_toy2d())
    >>> len(annealing_path(model).axes)
    4
    """
    histories = _histories(model)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (field, label) in zip(axes.flat, _PANELS.items(), strict=True):
        for number, history in enumerate(histories):
            _draw(axis, history, field, number, f"class {model.classes_[number]}")
        axis.set_ylabel(label)
        axis.grid(color="#dddddd", linewidth=0.6)
    axes[0, 0].set_xscale("log")
    axes[0, 0].invert_xaxis()
    axes[1, 0].set_ylim(0, 1)
    axes[1, 1].set_ylim(bottom=0)
    for axis in axes[1]:
        axis.set_xlabel("temperature")
    if len(histories) > 1:
        axes[0, 0].legend(frameon=False, fontsize="small")
    figure.suptitle(title or type(model).__name__)
    return figure


def _histories(model: Any) -> list[list[dict[str, Any]]]:
    """Return one history a machine."""
    check_is_fitted(model)
    histories = model.history_ if isinstance(model.history_[0], list) else [model.history_]
    if "temperature" not in histories[0][0]:
        raise ValueError(
            f"{type(model).__name__} was not annealed: its history_ has no temperatures. "
            "AnnealedLabelSVC, AnnealedWitnessSVC and AnnealedProportionSVC have."
        )
    return histories


def _draw(axis: Axes, history: list[dict[str, Any]], field: str, number: int, label: str) -> None:
    axis.plot(
        [record["temperature"] for record in history],
        [record[field] for record in history],
        color=_COLOURS[number % len(_COLOURS)],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=3.5,
        linewidth=1.4,
        label=label,
    )
