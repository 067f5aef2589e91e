"""The distributions of margins that models reach on the same bags."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.segments import expand, segment_max
from bagwise.plot._display import STYLES, draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS, _RANGE = 40, (-0.5, 2.5)  # of mean margins; values outside are counted at the ends


@draws(
    models=(
        "mapping of str to BagClassifier",
        "Fitted models by name; of two classes, with instance scores.",
    ),
    bags="The bags, usually the training bags.",
)
def margin_distribution(
    models: Mapping[str, Any], bags: Any, y: ArrayLike, *, title: str | None = None
) -> Figure:
    """Draw the margins of several models on the same bags.

    The margin of a positive bag is its highest instance score, that of a negative instance is minus
    its score. The margins of each model are divided by their mean, because scaling a model does not
    change its predictions: the figure compares how much they spread.

    Returns
    -------
    matplotlib.figure.Figure
        Margins of positive bags on the left and of negative instances on the right. The legend
        gives the mean and standard deviation of both together, before the division.

    Examples
    --------
    >>> from bagwise import OptimalMarginSVC, WitnessSVC
    >>> from bagwise.datasets import load_digits_bags
    >>> from bagwise.plot import margin_distribution
    >>> bags, y = load_digits_bags(n_bags=20)
    >>> models = {"MI-ODM": OptimalMarginSVC(relax=False, threshold=0.0), "MI-SVM": WitnessSVC()}
    >>> models = {name: model.fit(bags, y) for name, model in models.items()}
    >>> len(margin_distribution(models, bags, y).axes)
    2
    """
    from matplotlib.figure import Figure

    bags, y = _check(models, bags, y)
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2)
    for style, (name, model) in zip(cycle(STYLES), models.items(), strict=False):
        parts = _margins(name, model, bags, y)
        every = np.concatenate(parts)
        label = f"{plain(name)} (mean {every.mean():.2f}, sd {every.std():.2f})"
        for axis, part in zip(axes, parts, strict=True):
            _draw(axis, part / abs(every.mean()), style, label)
    for axis, what in zip(axes, ("positive bags", "negative instances"), strict=True):
        axis.set_title(what, fontsize="medium")
        axis.set_xlabel("margin / mean margin")
        axis.axvline(0, color="black", linewidth=0.8)
    axes[0].set_ylabel("fraction")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small"
    )
    figure.suptitle(title or "")
    return figure


def _check(models: Any, bags: Any, y: ArrayLike) -> tuple[Bags, Array]:
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models must map names to fitted models, as {{'MI-ODM': model}}; it is {models!r}."
        )
    bags, y = check_bags(bags), np.asarray(y)
    check_consistent_length(bags, y)
    return bags, y


def _margins(name: str, model: Any, bags: Bags, y: Array) -> tuple[Array, Array]:
    """Return the margins of positive bags and of negative instances."""
    check_is_fitted(model)
    if len(model.classes_) != 2:
        raise ValueError(f"Margins are drawn for two classes; {name!r} has {len(model.classes_)}.")
    positive = model.classes_[1] if model.pos_label is None else model.pos_label
    sign = 1.0 if positive == model.classes_[1] else -1.0
    scores = sign * model.instance_decision_function(bags)
    unknown = np.setdiff1d(y, model.classes_)
    if len(unknown):
        raise ValueError(
            f"{name!r} was fitted on the labels {model.classes_.tolist()}, and y also has "
            f"{unknown.tolist()}."
        )
    is_positive = y == positive
    if is_positive.all() or not is_positive.any():
        raise ValueError("Margins of both classes are drawn, but y has only one class.")
    negatives = scores[~expand(is_positive, bags.offsets)]
    return segment_max(scores, bags.offsets)[is_positive], -negatives


def _draw(axis: Axes, margins: Array, style: dict[str, Any], label: str) -> None:
    shown, shares = np.clip(margins, *_RANGE), np.full(len(margins), 1 / len(margins))
    shape: dict[str, Any] = {"bins": _BINS, "range": _RANGE, "weights": shares}
    axis.hist(shown, color=style["color"], alpha=0.15, **shape)
    lines = {name: style[name] for name in ("color", "linestyle")}
    axis.hist(shown, histtype="step", label=label, **lines, **shape)
