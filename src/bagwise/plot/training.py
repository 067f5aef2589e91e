"""How a model was annealed, by temperature."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from bagwise.plot._display import FAINT, STYLES, draws, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_PANELS = {
    "objective": "objective at T",
    "entropy": "entropy",
    "p_hat": "mean p in positive bags",
    "factorizations": "factorizations",
}


@draws(
    model=(
        "AnnealedLabelSVC, AnnealedWitnessSVC or AnnealedProportionSVC",
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

    figure = Figure(layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for axis, (field, label) in zip(axes.flat, _PANELS.items(), strict=True):
        for history, style, name in zip(histories, cycle(STYLES), model.classes_, strict=False):
            points = [(record["temperature"], record[field]) for record in history]
            name = f"class {plain(name)}"
            axis.plot(*zip(*points, strict=True), markersize=3, label=name, **style)
        axis.set_ylabel(label)
        axis.grid(color=FAINT)
    axes[0, 0].set_xscale("log")
    axes[0, 0].xaxis.set_major_formatter("{x:g}")
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
    """Return one history per model."""
    check_is_fitted(model)
    histories = model.history_ if isinstance(model.history_[0], list) else [model.history_]
    if "temperature" not in histories[0][0]:
        raise ValueError(
            f"{type(model).__name__} was not annealed: its history_ has no temperatures. "
            "Pass an AnnealedLabelSVC, AnnealedWitnessSVC or AnnealedProportionSVC."
        )
    return histories
