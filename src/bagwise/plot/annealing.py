"""What happens in an annealing run, temperature by temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bagwise.plot._display import draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = {
    "objective": "objective at T",
    "entropy": "entropy",
    "p_hat": "mean p in positive bags",
    "factorizations": "factorizations",
}
# Distinct for color-blind readers; the markers tell lines apart in print.
_COLORS = ("#3b7dad", "#d1480f", "#4d9221", "#7b3294", "#8c6d31")
_MARKERS = ("o", "s", "^", "D", "v")


@draws(
    model=(
        "AnnealedLabelSVC, AnnealedWitnessSVC, AnnealedProportionSVC or its CV",
        "Fitted. Its ``history_`` is drawn.",
    ),
    title="Title of the figure; the name of the estimator when not given.",
)
def annealing_path(model: Any, *, title: str | None = None) -> Figure:
    """Draw what happened at each temperature of an annealed model's fit.

    Returns
    -------
    matplotlib.figure.Figure
        Objective, entropy, mean probability in positive bags and number of factorizations by
        temperature, hot on the left. One line per class if there are more than two.

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
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (field, label) in zip(axes.flat, _PANELS.items(), strict=True):
        for number, history in enumerate(histories):
            _draw(axis, history, field, number, f"class {plain(model.classes_[number])}")
        axis.set_ylabel(label)
        axis.grid(color="#dddddd", linewidth=0.6)
    axes[0, 0].set_xscale("log")
    axes[0, 0].invert_xaxis()
    axes[0, 0].xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}")
    axes[0, 0].xaxis.set_minor_locator(NullLocator())
    axes[1, 0].set_ylim(0, 1)
    axes[1, 1].set_ylim(bottom=0)
    for axis in axes[1]:
        axis.set_xlabel("temperature")
    if len(histories) > 1:
        axes[0, 0].legend(frameon=False, fontsize="small")
    figure.suptitle(title or type(model).__name__)
    return figure


def _histories(model: Any) -> list[list[dict[str, Any]]]:
    """Return one history per model."""
    check_is_fitted(model)
    histories = model.history_ if isinstance(model.history_[0], list) else [model.history_]
    if "temperature" not in histories[0][0]:
        raise ValueError(
            f"{type(model).__name__} was not annealed: its history_ has no temperatures. "
            "Pass an AnnealedLabelSVC, AnnealedWitnessSVC or AnnealedProportionSVC."
        )
    return histories


def _draw(axis: Axes, history: list[dict[str, Any]], field: str, number: int, label: str) -> None:
    axis.plot(
        [record["temperature"] for record in history],
        [record[field] for record in history],
        color=_COLORS[number % len(_COLORS)],
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=3.5,
        linewidth=1.4,
        label=label,
    )
