"""Branch and bound over assignments: how far a local minimum is from the *global* one.

The objective F of MI-SVM and mi-SVM is the minimum over finitely many assignments of convex
problems. A node of the tree leaves some of them: candidates for the witness of each positive bag
(MI-SVM), or labels that are fixed or free (mi-SVM). Its bound is a convex problem G <= F:

- A bag whose witness is open costs l(max_k f_k), which is not convex. But any (w, b) better than
  the best known value U lies in a ball: for every feasible dual point beta of a lower bound G,
  G(w, b) >= D(beta) + 1/2 |w - Phi'beta|^2, so that |w - Phi'beta|^2 <= 2 (U - D(beta)) = rho^2.
  In this ball no candidate k exceeds a reference mu, a convex combination of candidates, by more
  than Delta = max_k [f_k - f_mu + rho |phi_k - mu|] at its center: l(f_mu + Delta) is a convex
  bound. A candidate that cannot reach the highest one in the ball is not a candidate.
- A free label costs at least nothing, and a positive bag without a positive label costs as much as
  with an open witness.

Each bound makes the ball smaller and the next bound better. Bounds are dual values, so they are
proven up to rounding; every node also tries its own assignment and alternates from there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import expand
from bagwise.designs import Gram
from bagwise.problems import Problem
from bagwise.solvers import solve

_TIGHTEN = 8  # bounds per node, each on the ball of the last; later ones gain little
_GAIN = 1e-3  # of what is left to the best value: a smaller gain is not worth another bound
_FAR = 4.0  # slack beyond which a bag's loss is zero wherever scores are of use
_ROUNDING = 1e-9  # relative, of radii


@dataclass(frozen=True)
class GlobalBound:
    """What branch and bound has proven about the global minimum of an objective.

    Attributes
    ----------
    lower, upper : float
        The global minimum lies between them. The upper one is the value of ``assignment``.
    objective : float
        The objective of the model that was asked.
    assignment : ndarray of shape (n_instances,)
        The best assignment known: 1 for witnesses, or for positive labels.
    n_nodes : int
        Number of nodes visited.
    closed : bool
        Whether ``upper`` is proven to be the global minimum, to the tolerance.
    seconds : float
        Time taken.
    """

    lower: float
    upper: float
    objective: float
    assignment: Array = field(repr=False)
    n_nodes: int
    closed: bool
    seconds: float

    @property
    def gap(self) -> float:
        """The most by which the model's objective exceeds the global minimum."""
        return max(self.objective - self.lower, 0.0)

    @property
    def excess(self) -> float:
        """By how much the model's objective is known to exceed the global minimum."""
        return max(self.objective - self.upper, 0.0)


@dataclass(frozen=True)
class Bound:
    """A convex lower bound: exact rows first, then references of open bags."""

    problem: Problem
    exact: Array  # row numbers
    share: Array  # of the instances of positive bags in their bag's reference
    bags: Array  # which positive bags have a reference

    def coef(self, task: Any, found: Array) -> Array:
        """Return the dual coefficients of a solution for all rows."""
        coef = np.zeros(len(task.weight))
        coef[self.exact] = found[: len(self.exact)]
        of_bag = np.zeros(len(task.positive_offsets) - 1)
        of_bag[self.bags] = found[len(self.exact) :]
        coef[task.positive_rows] += expand(of_bag, task.positive_offsets) * self.share
        return coef


@dataclass(order=True)
class _Node:
    lower: float
    number: int
    state: Array = field(compare=False)
    scores: Array = field(compare=False)  # of the center of the ball, without intercept
    error: float = field(compare=False)  # distance from the center to the certified point
    intercept: float = field(compare=False)


def branch_and_bound(
    tree: Tree,
    improve: Callable[[Array], tuple[float, Array]],
    known: tuple[float, Array],
    *,
    tol: float,
    time_limit: float,
    max_nodes: int | None = None,
) -> GlobalBound:
    """Bound the global minimum.

    Parameters
    ----------
    tree : WitnessTree or LabelTree
        What is branched on, with its bounds.
    improve : callable
        ``improve(scores)`` returns a value of F and its assignment, from the scores of a node.
    known : tuple of float and ndarray
        The model's objective and assignment.
    tol : float
        Relative gap that counts as closed.
    time_limit : float
        Seconds after which no further node is visited.
    max_nodes : int, default=None
        Maximum number of nodes, for results that do not depend on the machine.
    """
    began, best, number, seen = perf_counter(), known, 0, {known[1].tobytes()}
    heap = [_Node(0.0, 0, tree.root(), np.zeros(len(tree.task.weight)), 0.0, 0.0)]
    while heap and heap[0].lower < best[0] * (1 - tol):
        if number and (perf_counter() - began > time_limit or number == max_nodes):
            break
        node, number = _tightened(tree, heapq.heappop(heap), best[0], tol), number + 1
        if node.lower >= best[0] * (1 - tol):
            continue
        at = node.scores + node.intercept
        rounded = tree.assignment(at)
        if rounded.tobytes() not in seen:
            seen.add(rounded.tobytes())
            best = min(best, improve(rounded), key=lambda found: found[0])
        radius = _radius(node, best[0])
        for i, state in enumerate(tree.children(node.state, node.scores, node.intercept, radius)):
            heapq.heappush(heap, replace(node, number=2 * number + i, state=state))
    lower = min(heap[0].lower, best[0]) if heap else best[0]
    closed = lower >= best[0] * (1 - tol)
    lower = best[0] * (1 - tol) if closed else lower  # nodes that came as near were dropped
    return GlobalBound(lower, best[0], known[0], best[1], number, closed, perf_counter() - began)


def _radius(node: _Node, best: float) -> float:
    return (float(np.sqrt(2 * max(best - node.lower, 0.0))) + node.error) * (1 + _ROUNDING)


def _tightened(tree: Tree, node: _Node, best: float, tol: float) -> _Node:
    """Bound a node, each time on the ball that the last bound leaves."""
    for _ in range(_TIGHTEN):
        state, bound = tree.relaxed(node.state, node.scores, _radius(node, best))
        found = solve(bound.problem)
        lower = found.objective - found.gap
        gained = lower - node.lower
        if gained < 0:  # the last ball is the better one
            return replace(node, state=state)
        enough = _GAIN * (best - node.lower)
        scores = tree.task.design @ bound.coef(tree.task, found.coef)
        error = float(np.sqrt(2 * found.gap))
        node = _Node(lower, node.number, state, scores, error, found.intercept)
        if gained <= enough or lower >= best * (1 - tol):
            break
    return node


class Tree:
    """Nodes over one task; a subclass says what is open."""

    def __init__(self, task: Any, assumption: Any) -> None:
        self.task, self.assumption = task, assumption
        self.K, self.rows, self.offsets = task.design.K, task.positive_rows, task.positive_offsets

    def root(self) -> Array:
        """Return the state that leaves everything open."""
        raise NotImplementedError

    def relaxed(self, state: Array, scores: Array, radius: float) -> tuple[Array, Bound]:
        """Return a lower bound that holds in a ball around ``scores``, and a smaller state."""
        raise NotImplementedError

    def children(self, state: Array, scores: Array, intercept: float, radius: float) -> list[Array]:
        """Divide a state; nothing where nothing is open."""
        raise NotImplementedError

    def assignment(self, scores: Array) -> Array:
        """Return the cheapest assignment at these scores, for all rows."""
        return self.task.spread(self.assumption.map(scores[self.rows], self.offsets))

    def _references(self, open_: Array, scores: Array, radius: float) -> tuple[Array, Array]:
        """Return shares and slack of every bag's reference; close what cannot be a witness."""
        from bagwise.procedures._centers import centers

        share, slack = np.empty(len(self.rows)), np.empty(len(self.offsets) - 1)
        centers(self.K, self.rows, self.offsets, open_, scores, radius, share, slack)
        return share, slack

    def _bound(self, labels: Array, share: Array, slack: Array) -> Bound:
        """Return the bound of exact labels (0: none) and of references with some slack."""
        exact, bags = np.flatnonzero(labels), np.flatnonzero(slack < _FAR)
        n_exact, weight = len(exact), self.task.weight
        mixed = np.zeros((len(bags), self.task.design.n_rows))  # of references with all rows
        for row, bag in zip(mixed, bags, strict=True):
            part = slice(self.offsets[bag], self.offsets[bag + 1])
            used = np.flatnonzero(share[part])
            row[:] = share[part][used] @ self.K[self.rows[part][used]]
        of_bags = mixed[:, self.rows] * share
        K = np.empty((n_exact + len(bags),) * 2)
        K[:n_exact, :n_exact] = self.K[np.ix_(exact, exact)]
        K[n_exact:, :n_exact] = mixed[:, exact]
        K[:n_exact, n_exact:] = mixed[:, exact].T
        if len(bags):
            K[n_exact:, n_exact:] = np.add.reduceat(of_bags, self.offsets[:-1], axis=1)[:, bags]
        of_bag = weight[self.rows[self.offsets[:-1][bags]]]
        up = np.concatenate([np.where(labels[exact] > 0, weight[exact], 0.0), of_bag])
        down = np.concatenate([np.where(labels[exact] < 0, weight[exact], 0.0), 0.0 * of_bag])
        margin = np.concatenate([np.ones(n_exact), 1.0 - slack[bags]])
        problem = Problem(Gram(K), up, down, self.task.loss, margin)
        return Bound(problem, exact, share, bags)


class WitnessTree(Tree):
    """MI-SVM: a state says which instances of positive bags may be witnesses."""

    def root(self) -> Array:
        """Return a state in which every instance may be."""
        return np.ones(len(self.rows), dtype=bool)

    def relaxed(self, state: Array, scores: Array, radius: float) -> tuple[Array, Bound]:
        """Bound every bag by its reference; drop candidates that cannot be witnesses."""
        state = state.copy()
        share, slack = self._references(state, scores, radius)
        labels = np.where(self.task.in_positive, 0, -1)
        return state, self._bound(labels, share, slack)

    def children(self, state: Array, scores: Array, intercept: float, radius: float) -> list[Array]:
        """Divide the open bag whose bound loses most: its best candidate, or another."""
        state = state.copy()
        share, slack = self._references(state, scores, radius)
        starts = self.offsets[:-1]
        if np.add.reduceat(1 * state, starts).max() == 1:
            return []
        f = scores[self.rows] + intercept
        highest = np.maximum.reduceat(np.where(state, f, -np.inf), starts)
        above = np.add.reduceat(share * f, starts) + slack
        loss, weight = self.task.loss, self.task.weight[self.rows[starts]]
        lost = weight * (loss.value(highest) - loss.value(above)) + 1e-12 * (above - highest)
        bag = int(np.argmax(np.where(np.add.reduceat(1 * state, starts) > 1, lost, -1.0)))
        part = slice(self.offsets[bag], self.offsets[bag + 1])
        first = self.offsets[bag] + int(np.argmax(np.where(state[part], f[part], -np.inf)))
        one, others = state.copy(), state.copy()
        one[part] = False
        one[first], others[first] = True, False
        return [one, others]


class LabelTree(Tree):
    """mi-SVM: a state has labels of the instances of positive bags: 1, -1, or 0 while free."""

    def root(self) -> Array:
        """Return a state in which all are free, but for bags of one instance."""
        return self._settled(np.zeros(len(self.rows), dtype=np.int8))

    def relaxed(self, state: Array, scores: Array, radius: float) -> tuple[Array, Bound]:
        """Bound bags without a positive label by their reference; free labels cost nothing."""
        open_ = self._open(state)
        share, slack = self._references(open_, scores, radius)
        labels = np.where(self.task.in_positive, 0, -1)
        labels[self.rows] = state
        return state, self._bound(labels, share, slack)

    def children(self, state: Array, scores: Array, intercept: float, radius: float) -> list[Array]:
        """Decide the free instance that costs most, whatever its label."""
        if np.all(state != 0):
            return []
        f, loss = scores[self.rows] + intercept, self.task.loss
        cheapest = np.minimum(loss.value(f), loss.value(-f)) * self.task.weight[self.rows]
        k = int(np.argmax(np.where(state == 0, cheapest, -1.0)))
        both = [state.copy(), state.copy()]
        both[0][k], both[1][k] = 1, -1
        return [self._settled(child) for child in both]

    def _open(self, state: Array) -> Array:
        """Return who may be the positive of a bag that has none yet."""
        has_one = np.maximum.reduceat(state, self.offsets[:-1]) > 0
        return (state == 0) & ~expand(has_one, self.offsets)

    def _settled(self, state: Array) -> Array:
        """Label the only instance positive that can still be the positive of its bag."""
        open_ = self._open(state)
        alone = np.add.reduceat(1 * open_, self.offsets[:-1]) == 1
        state[open_ & expand(alone, self.offsets)] = 1
        return state
