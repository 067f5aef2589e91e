"""What a Markov network has learned about the number of positives in a bag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bagwise._typing import Array
from bagwise.assumptions import BinnedPotential
from bagwise.bags import check_bags
from bagwise.bags.segments import segment_mean
from bagwise.plot._display import NEGATIVE, POSITIVE, draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        shares, positive = _inferred_shares(model, check_bags(bags))
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


def _inferred_shares(model: Any, bags: Any) -> tuple[Array, Array]:
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
