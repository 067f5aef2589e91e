"""Exact inference where the instances of a bag are a tree: neighbors agree instead of runs.

Every instance has a parent in its bag, or is a root (regions of an image, words of a sentence,
passages in sections, nodes of a page), and a labeling pays ``cost`` for every instance whose label
is not its parent's, besides its count potential:

    sum_i y_i s_i - cost sum_i 1[y_i != y_parent(i)] + C_w(sum_i y_i, side).

Dynamic programming over (instance, label, count in the subtree) finds the maximum and the sum over
all 2^m labelings in O(m K) for a potential that is constant from count K on: O(m) for "at least
one", O(m^2) for fractions and bins, because two instances meet in one join of subtrees only.
Memory is 16 bytes times the sum of the subtrees' sizes, each at most K: O(m log m) for bushy
trees, and 8 m^2 bytes for a path, of which `bagwise.assumptions.chain` needs less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.chain import ChainInference, ChainPosterior
from bagwise.assumptions.inference import CountInference
from bagwise.assumptions.posterior import CountPosterior


class TreeInference(ChainInference):
    """The inference problems of bags whose instances are trees.

    Parameters
    ----------
    potential, offsets, cost : object
        As in `ChainInference`.
    parents : ndarray of int of shape (n_instances,)
        The position within the bag of every instance's parent, -1 for a root. Without cycles, which
        `bagwise.Bags` refuses.

    Examples
    --------
    A star: the center alone would be negative.

    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, TreeInference
    >>> star = TreeInference(AtLeastPotential(), np.array([0, 4]), 0.6, np.array([-1, 0, 0, 0]))
    >>> best = star.best(np.array([[-0.5, 1.0, 1.0, -1.0]]), np.zeros((1, 2)))
    >>> best.labels[0, 1].tolist(), round(float(best.value[0, 1, 0]), 6)
    ([1, 1, 1, 0], 0.9)
    """

    def __init__(self, potential: Any, offsets: Array, cost: float, parents: Array) -> None:
        super().__init__(potential, offsets, cost)
        self.parents = parents
        self._plan = _plan(parents, self.offsets)

    def _fill(self, scores: Array, layout: tuple[Any, ...], filled: tuple[Array, ...]) -> None:
        from bagwise.assumptions import _tree

        _tree.best_trees(scores, *layout, *self._plan, *filled)


class TreePosterior(ChainPosterior):
    """The sums over labelings of bags whose instances are trees; parameters as `TreeInference`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, TreePosterior
    >>> parents = np.array([-1, 0, 0])
    >>> posterior = TreePosterior(AtLeastPotential(), np.array([0, 3]), 1.0, parents)
    >>> found = posterior.of(np.zeros((1, 3)), np.zeros((1, 2)))
    >>> found.marginals[0, 1].round(3).tolist()  # the center, and two leaves
    [0.682, 0.682, 0.682]
    """

    def __init__(self, potential: Any, offsets: Array, cost: float, parents: Array) -> None:
        super().__init__(potential, offsets, cost)
        self._plan = _plan(parents, self.offsets)

    def _sum(self, scores: Array, layout: tuple[Any, ...], filled: tuple[Array, ...]) -> None:
        from bagwise.assumptions import _tree

        _tree.sum_trees(scores, *layout, *self._plan, *filled)


def _plan(parents: Array, offsets: Array) -> tuple[Array, Array, Array]:
    from bagwise.assumptions import _tree

    up = np.array(parents, dtype=np.int64)  # writeable: one compiled version
    return (up, *_tree.plans(up, offsets))


def count_inference(
    potential: Any, offsets: Array, cost: float = 0.0, parents: Array | None = None
) -> CountInference:
    """Return the inference of unordered bags or, where changes of label cost, chains or trees."""
    kinds = (CountInference, ChainInference, TreeInference)
    return _of_kind(kinds, potential, offsets, cost, parents)


def count_posterior(
    potential: Any, offsets: Array, cost: float = 0.0, parents: Array | None = None
) -> CountPosterior:
    """Return the sums of unordered bags or, where changes of label cost, of chains or trees."""
    return _of_kind(
        (CountPosterior, ChainPosterior, TreePosterior), potential, offsets, cost, parents
    )


def _of_kind(kinds: Any, potential: Any, offsets: Array, cost: float, parents: Any) -> Any:
    of_sets, of_chains, of_trees = kinds
    if not cost:
        return of_sets(potential, offsets)
    if parents is None:
        return of_chains(potential, offsets, cost)
    return of_trees(potential, offsets, cost, parents)
