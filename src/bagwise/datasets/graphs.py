"""Bags in a planted graph: only the edges carry label information to the unlabeled bags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import expand, offsets_of
from bagwise.datasets import _planting as planting
from bagwise.datasets._planting import BagSize, draws


class GraphBags(NamedTuple):
    """Bags with a planted graph.

    Parameters
    ----------
    bags : Bags
        Sparse bags with explicit ids and instance labels.
    y : ndarray of shape (n_bags,)
        0 or 1, for all bags.
    edges : ndarray of shape (n_edges, 2)
        Bag ids (from, to).
    labeled : ndarray of bool of shape (n_bags,)
        Whether the label may be used for training.

    Examples
    --------
    >>> from bagwise.datasets import make_graph_bags
    >>> bags, y, edges, labeled = make_graph_bags(n_bags=40)
    >>> bool((y[edges[:, 0]] == y[edges[:, 1]]).all())  # homophily 1
    True
    """

    bags: Bags
    y: Array
    edges: Array
    labeled: Array


@draws(
    n_bags="Number of bags; half of the labeled and half of the unlabeled ones are positive.",
    homophily="Probability that an edge joins two bags of the same label; at 0.5 the graph is "
    "useless.",
    degree="Number of outgoing edges per bag.",
    words_per_instance="Number of words per instance, drawn uniformly; rows are scaled to unit "
    "length.",
    n_marking_words="Number of words that mark one label in one half; there are four such sets.",
    n_common_words="Number of words without meaning.",
    labeled_fraction="Fraction of labeled bags.",
)
def make_graph_bags(
    n_bags: int = 200,
    homophily: float = 1.0,
    *,
    degree: int = 5,
    bag_size: BagSize = (2, 6),
    words_per_instance: int = 5,
    n_marking_words: int = 10,
    n_common_words: int = 50,
    labeled_fraction: float = 0.5,
    random_state: int | None = 0,
) -> GraphBags:
    """Draw bags of short texts in two vocabularies, joined by a graph of chosen homophily.

    Every instance contains ``words_per_instance`` common words. One instance of a positive bag, the
    witness, contains as many marking words instead; one instance of a negative bag contains words
    that mark negatives. The marking words of labeled and unlabeled bags differ: a model of the text
    alone learns nothing about the unlabeled bags. Every bag has ``degree`` outgoing edges, each to
    a bag of the same label with probability ``homophily``.

    Returns
    -------
    GraphBags
        ``bags``, ``y``, ``edges``, ``labeled``.

    Examples
    --------
    >>> from bagwise.datasets import make_graph_bags
    >>> data = make_graph_bags(n_bags=100, homophily=0.9)
    >>> len(data.bags), data.edges.shape, int(data.labeled.sum())
    (100, (500, 2), 50)
    """
    planting.check_fraction("homophily", homophily)
    planting.check_fraction("labeled_fraction", labeled_fraction)
    rng = np.random.default_rng(random_state)
    labeled = rng.permutation(np.arange(n_bags) < round(labeled_fraction * n_bags))
    y = np.empty(n_bags, dtype=np.int64)
    for half in (labeled, ~labeled):
        y[half] = planting.draw_labels(int(half.sum()), 0.5, rng)
    sizes = planting.draw_sizes(bag_size, n_bags, rng)
    offsets = offsets_of(sizes)
    marked = planting.plant(offsets, np.ones(n_bags, dtype=np.int64), rng)
    # Four sets of marking words, by half and label, precede the common words.
    word_set = 2 * labeled + y
    first = np.where(marked, expand(word_set, offsets) * n_marking_words, 4 * n_marking_words)
    width = np.where(marked, n_marking_words, n_common_words)
    drawn = rng.random((len(marked), words_per_instance))
    words = first[:, None] + np.floor(drawn * width[:, None]).astype(np.int64)
    labels = (marked & (expand(y, offsets) == 1)).astype(np.int64)
    X = _rows(words, 4 * n_marking_words + n_common_words)
    bags = Bags(X, offsets, ids=np.arange(n_bags), instance_labels=labels)
    return GraphBags(bags, y, _edges(y, homophily, degree, rng), labeled)


def _rows(words: Array, n_words: int) -> Any:
    """Return word counts scaled to rows of unit length."""
    n, k = words.shape
    pointers = np.arange(0, n * k + 1, k)
    counts = small_csr(np.ones(n * k), words.ravel(), pointers, (n, n_words))
    counts.sum_duplicates()
    lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _edges(y: Array, homophily: float, degree: int, rng: np.random.Generator) -> Array:
    """Return ``degree`` edges per bag to distinct bags of the same or the other label."""
    members = [np.flatnonzero(y == 0), np.flatnonzero(y == 1)]
    least = min(len(m) for m in members)
    if degree > least - 1:
        raise ValueError(f"degree {degree} is too large: a label has {least} bags.")
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
