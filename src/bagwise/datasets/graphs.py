"""Bags in a planted graph: the words cannot carry the labels across, the edges can."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.datasets._planting import (
    BagSize,
    as_offsets,
    check_fraction,
    draw_labels,
    draw_sizes,
    plant,
)
from bagwise.io._csr import small_csr
from bagwise.segments import expand

__all__ = ["GraphBags", "make_graph_bags"]

Array = NDArray[Any]


class GraphBags(NamedTuple):
    """Bags with a planted graph.

    Parameters
    ----------
    bags : Bags
        Sparse bags with explicit ids and instance labels.
    y : ndarray of shape (n_bags,)
        0 or 1, of all bags.
    edges : ndarray of shape (n_edges, 2)
        Bag ids (from, to).
    labelled : ndarray of bool of shape (n_bags,)
        True on the half that a learner may see the labels of.

    Examples
    --------
    >>> from bagwise.datasets import make_graph_bags
    >>> bags, y, edges, labelled = make_graph_bags(n_bags=40)
    >>> bool((y[edges[:, 0]] == y[edges[:, 1]]).all())  # homophily 1
    True
    """

    bags: Bags
    y: Array
    edges: Array
    labelled: Array


def make_graph_bags(
    n_bags: int = 200,
    homophily: float = 1.0,
    *,
    degree: int = 5,
    bag_size: BagSize = (2, 6),
    words_per_instance: int = 5,
    n_marking_words: int = 10,
    n_common_words: int = 50,
    labelled_fraction: float = 0.5,
    random_state: int | None = 0,
) -> GraphBags:
    """Draw bags of short texts in two vocabularies, joined by a graph of chosen homophily.

    Every instance holds ``words_per_instance`` common words. One instance of a positive bag, the
    witness, holds as many marking words instead; one instance of a negative bag holds words that
    mark negatives. The words that mark the labelled bags and those that mark the unlabelled ones
    differ: a model of the text alone learns nothing about the unlabelled bags. Every bag sends
    ``degree`` edges, each to a bag of its own label with probability ``homophily``.

    Parameters
    ----------
    n_bags : int, default=200
        Number of bags, half of them positive among the labelled and among the unlabelled.
    homophily : float, default=1.0
        Probability that an edge joins two bags of one label; 0.5 makes the graph worthless.
    degree : int, default=5
        Edges that leave a bag.
    bag_size : int, (int, int), array-like or callable, default=(2, 6)
        As in `load_digits_bags`.
    words_per_instance : int, default=5
        Words of an instance, each drawn uniformly; rows are scaled to length one.
    n_marking_words : int, default=10
        Words that mark one label in one half; there are four such sets.
    n_common_words : int, default=50
        Words that mean nothing.
    labelled_fraction : float, default=0.5
        Fraction of labelled bags.
    random_state : int or None, default=0
        Seed of the draw.

    Returns
    -------
    GraphBags
        ``bags``, ``y``, ``edges``, ``labelled``.

    Examples
    --------
    >>> from bagwise.datasets import make_graph_bags
    >>> data = make_graph_bags(n_bags=100, homophily=0.9)
    >>> len(data.bags), data.edges.shape, int(data.labelled.sum())
    (100, (500, 2), 50)
    """
    check_fraction("homophily", homophily)
    check_fraction("labelled_fraction", labelled_fraction)
    rng = np.random.default_rng(random_state)
    labelled = rng.permutation(np.arange(n_bags) < round(labelled_fraction * n_bags))
    y = np.empty(n_bags, dtype=np.int64)
    for half in (labelled, ~labelled):
        y[half] = draw_labels(int(half.sum()), 0.5, rng)
    sizes = draw_sizes(bag_size, n_bags, rng)
    offsets = as_offsets(sizes)
    marked = plant(offsets, np.ones(n_bags, dtype=np.int64), rng)
    # Four sets of marking words, by half and label, before the common ones.
    word_set = 2 * labelled + y
    first = np.where(marked, expand(word_set, offsets) * n_marking_words, 4 * n_marking_words)
    width = np.where(marked, n_marking_words, n_common_words)
    drawn = rng.random((len(marked), words_per_instance))
    words = first[:, None] + np.floor(drawn * width[:, None]).astype(np.int64)
    labels = (marked & (expand(y, offsets) == 1)).astype(np.int64)
    X = _rows(words, 4 * n_marking_words + n_common_words)
    bags = Bags(X, offsets, ids=np.arange(n_bags), instance_labels=labels)
    return GraphBags(bags, y, _edges(y, homophily, degree, rng), labelled)


def _rows(words: Array, n_words: int) -> Any:
    """Return word counts with rows of length one."""
    n, k = words.shape
    pointers = np.arange(0, n * k + 1, k)
    counts = small_csr(np.ones(n * k), words.ravel(), pointers, (n, n_words))
    counts.sum_duplicates()
    lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _edges(y: Array, homophily: float, degree: int, rng: np.random.Generator) -> Array:
    """Return ``degree`` edges a bag to different bags, each to its own label or the other."""
    members = [np.flatnonzero(y == 0), np.flatnonzero(y == 1)]
    if degree > min(len(m) for m in members) - 1:
        raise ValueError(
            f"degree {degree} is too large: a label has {len(min(members, key=len))} bags."
        )
    edges = []
    for bag, label in enumerate(y):
        n_same = rng.binomial(degree, homophily)
        same = members[label][members[label] != bag]
        targets = [
            rng.choice(same, size=n_same, replace=False),
            rng.choice(members[1 - label], size=degree - n_same, replace=False),
        ]
        edges.append(np.stack([np.full(degree, bag), np.concatenate(targets)], axis=1))
    return np.concatenate(edges)
