"""The distribution of margins that a machine reaches, beside those of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bagwise.bags import Bags, check_bags
from bagwise.segments import expand, segment_max

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["margin_distribution"]

Array = NDArray[Any]

_COLOURS = ("#d1480f", "#3b7dad", "#6b6b6b", "#2e8b57", "#8a4fa3", "#b8860b")
_BINS, _RANGE = 40, (-0.5, 2.5)  # margins outside are counted at the ends


def margin_distribution(
    models: Mapping[str, Any], bags: Any, y: ArrayLike, *, title: str | None = None
) -> Figure:
    """Draw the margins of several models on the same bags.

    A positive bag's margin is its highest instance score, a negative instance's is minus its
    score. Each model's margins are divided by their mean, since a machine may be scaled without
    changing what it predicts: what is left to compare is how far they spread.

    Parameters
    ----------
    models : mapping of str to BagClassifier
        Names and fitted models of two classes that score instances.
    bags : Bags, or anything check_bags takes
        The bags, usually those of the training.
    y : array-like of shape (n_bags,)
        Their labels.
    title : str, default=None
        Written on top.

    Returns
    -------
    matplotlib.figure.Figure
        Margins of positive bags on the left, of negative instances on the right; the legend gives
        mean and standard deviation of all of them, before the division.

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

    bags, y = _checked(models, bags, y)
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    axes = figure.subplots(1, 2)
    for style, (name, model) in zip(_styles(), models.items(), strict=False):
        parts = _margins(name, model, bags, y)
        every = np.concatenate(parts)
        label = f"{name} (mean {every.mean():.2f}, sd {every.std():.2f})"
        for axis, part in zip(axes, parts, strict=True):
            _draw(axis, part / abs(every.mean()), *style, label)
    for axis, what in zip(axes, ("positive bags", "negative instances"), strict=True):
        axis.set_title(what, fontsize="medium")
        axis.set_xlabel("margin / mean margin")
        axis.axvline(0, color="black", linewidth=0.8)
    axes[0].set_ylabel("share")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize="small"
    )
    figure.suptitle(title or "")
    return figure


def _checked(models: Any, bags: Any, y: ArrayLike) -> tuple[Bags, Array]:
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models maps names to fitted models, as in {{'MI-ODM': model}}: {models!r}."
        )
    bags, y = check_bags(bags), np.asarray(y)
    check_consistent_length(bags, y)
    return bags, y


def _styles() -> Iterator[tuple[str, str]]:
    """Yield a colour and a line for each model: the colours again, but dashed, after the last."""
    lines = chain(("-", "--", ":"), repeat("-."))
    return ((colour, line) for line in lines for colour in _COLOURS)


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
            f"{name!r} knows the labels {model.classes_.tolist()}, and y also has "
            f"{unknown.tolist()}: pass the labels it was fitted on."
        )
    is_positive = y == positive
    if is_positive.all() or not is_positive.any():
        raise ValueError("Margins of both classes are drawn, and all bags of y are of one.")
    negatives = scores[~expand(is_positive, bags.offsets)]
    return segment_max(scores, bags.offsets)[is_positive], -negatives


def _draw(axis: Axes, margins: Array, colour: str, line: str, label: str) -> None:
    shares = np.full(len(margins), 1 / len(margins))
    shape: dict[str, Any] = {"bins": _BINS, "range": _RANGE, "weights": shares}
    axis.hist(np.clip(margins, *_RANGE), color=colour, alpha=0.15, **shape)
    axis.hist(
        np.clip(margins, *_RANGE),
        color=colour,
        histtype="step",
        linewidth=1.8,
        linestyle=line,
        label=label,
        **shape,
    )
