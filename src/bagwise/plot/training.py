"""What a model has learned: annealing by temperature, and learned cardinalities."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bagwise._typing import Array
from bagwise.assumptions import BinnedPotential
from bagwise.bags import check_bags
from bagwise.bags.segments import segment_mean
from bagwise.plot._display import FAINT, NEGATIVE, POSITIVE, STYLES, draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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


@draws(
    model=("MarkovNetworkClassifier", 'Fitted with ``cardinality="learned"``.'),
    bags=(
        "Bags whose inferred fractions of positive instances are drawn below the "
        "weights: filled bars for bags predicted positive, outlines for the others."
    ),
)
def cardinality_weights(model: Any, bags: Any = None, *, title: str | None = None) -> Figure:
    """Draw the learned weights of a network over the fraction of positive instances.

    Returns
    -------
    matplotlib.figure.Figure
        One column per network: its weights for positive and for negative bags.

    Examples
    --------
    >>> from bagwise import MarkovNetworkClassifier
    >>> from bagwise.datasets import load_digits_bags
    >>> from bagwise.plot import cardinality_weights
    >>> bags, y = load_digits_bags(rule="majority", n_bags=30)
    >>> model = MarkovNetworkClassifier(cardinality="learned", n_bins=4).fit(bags, y)
    >>> len(cardinality_weights(model, bags).axes)
    2
    """
    check_is_fitted(model)
    if not isinstance(model.potential_, BinnedPotential):
        raise ValueError(
            "Only cardinality='learned' has weights over fractions; this model has "
            f"{model.potential_!r}."
        )
    from matplotlib.figure import Figure

    weights = model.cardinality_weights_.reshape(len(model.coef_), 2, -1)
    rows = 1 if bags is None else 2
    figure = Figure(figsize=(4.2 * len(weights), 2.4 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, len(weights), squeeze=False, sharex=True)
    names = model.classes_[-1:] if len(weights) == 1 else model.classes_
    for column, (of_model, name) in enumerate(zip(weights, names, strict=True)):
        _draw_weights(axes[0, column], of_model)
        axes[0, column].set_title("" if len(weights) == 1 else f"class {plain(name)}")
    if bags is not None:
        shares, positive = _infer_shares(model, check_bags(bags))
        for axis, share, sign in zip(axes[1], shares.T, positive.T, strict=True):
            _draw_shares(axis, share, sign, weights.shape[2])
    for axis in axes[-1]:
        axis.set_xlabel("fraction of positive instances")
    axes[0, 0].set_ylabel("weight")
    axes[0, 0].legend(frameon=False, fontsize="small")
    figure.suptitle(title or "")
    return figure


def _draw_weights(axis: Axes, weights: Array) -> None:
    edges = np.linspace(0, 1, weights.shape[1] + 1)
    width = edges[1]
    middle = (edges[1:] + edges[:-1]) / 2
    axis.bar(middle - width / 4, weights[0], 0.42 * width, color=NEGATIVE, label="negative bags")
    axis.bar(middle + width / 4, weights[1], 0.42 * width, color=POSITIVE, label="positive bags")
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xlim(0, 1)


def _infer_shares(model: Any, bags: Any) -> tuple[Array, Array]:
    """Return the inferred fraction of positives and whether the bag is positive, by model."""
    found = model.predict_instances(bags)
    if found.ndim == 1:
        positive = model.classes_[-1] if model.pos_label is None else model.pos_label
        signs = (model.predict(bags) == positive)[:, None]
        found = (found == positive)[:, None]
    else:
        signs = model.predict(bags)[:, None] == model.classes_
    return segment_mean(found.astype(np.float64), bags.offsets), signs


def _draw_shares(axis: Axes, shares: Array, positive: Array, n_bins: int) -> None:
    bins = np.linspace(0, 1, 2 * n_bins + 1).tolist()
    axis.hist(shares[positive], bins=bins, color=POSITIVE, alpha=0.8)
    axis.hist(shares[~positive], bins=bins, histtype="step", color=NEGATIVE, linewidth=1.8)
    axis.set_ylabel("bags")
