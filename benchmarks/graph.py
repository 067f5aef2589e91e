"""The cutting plane method of GraphSVC: cost per iteration, and comparison with other solvers.

    python benchmarks/graph.py > docs/results/graph.md

1. With 1e5 x 2e4 sparse instances in 1e4 bags and 1e5 edges: CPU time per iteration, relative to
   one product with the rows, one transposed product and one pass over the edges in the same run.
2. With 3e3 x 1e3 instances and 500 edges, and at the size above: time to a relative gap of 1e-3 for
   cutting planes, for L-BFGS on the objective itself (stopped when it is as low), and, at the
   smaller size, for clarabel on the quadratic program (2).
3. Without edges: block coordinate descent compared with cutting planes, to the same gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from bagwise.designs import matrix_design
from bagwise.graphs import Edges
from bagwise.models.graph.terms import BagEdges, BagHinge
from bagwise.solvers.block_cd import block_descent
from bagwise.solvers.cutting_plane import BagScores, cutting_plane
from timing import cpu_seconds, one_thread

C, MU = 100.0, 10.0


class Problem:
    """Bags of ten sparse rows; one row of a positive bag has one of ten indicative words."""

    def __init__(self, n_bags: int, d: int, n_edges: int, eps: float, words: int = 50) -> None:
        rng = np.random.default_rng(0)
        n = 10 * n_bags
        indices = rng.integers(10, d, (n, words))
        self.offsets = np.arange(0, n + 1, 10)
        y = np.arange(n_bags) % 2
        indices[self.offsets[:-1], 0] = np.where(y == 1, rng.integers(0, 10, n_bags), d - 1)
        data = np.full(n * words, words**-0.5)
        X = sp.csr_array((data, indices.ravel(), np.arange(0, n * words + 1, words)), (n, d))
        X.sum_duplicates()
        self.design = matrix_design(X)
        labeled = rng.random(n_bags) < 0.5
        share = labeled / labeled.sum()
        source = rng.integers(0, n_bags, n_edges)
        target = (source + 2 * rng.integers(1, n_bags // 2, n_edges)) % n_bags  # the same label
        edges = Edges(source, target, np.ones(n_edges), n_bags, True)
        scale = 1 / np.sqrt(edges.degrees("out"))
        loss = BagHinge(C, eps, share, (y == 1) & labeled, self.offsets)
        self.loss, self.edges = loss, BagEdges(MU, eps, edges, scale)
        self.witnesses = self.offsets[:-1] + rng.integers(0, 10, n_bags)

    def cutting_planes(self, **options: Any) -> Any:
        """Solve by cutting planes."""
        terms = [self.loss, self.edges]
        return cutting_plane(self.design, self.offsets, terms, self.witnesses, **options)

    def value(self, w: Any) -> tuple[float, Any]:
        """Return the objective at (coef, intercept) and a subgradient."""
        rows = self.design @ w[:-1] + w[-1]
        scores = BagScores.of(rows, self.offsets, self.witnesses)
        value, weights = 0.5 * float(w @ w), np.zeros(len(rows))
        for term in (self.loss, self.edges):
            plane = term.evaluate(scores)
            value += term.weight * plane.value
            weights += term.weight * plane.on_rows(self.witnesses)
        return value, w + np.append(self.design.T @ weights, weights.sum())


def iteration() -> None:
    problem = Problem(10_000, 20_000, 100_000, eps=1e-9)
    design, n_iter = problem.design, 40
    w, v = np.ones(design.n_coef), np.ones(design.n_rows)
    scores = BagScores.of(design @ w, problem.offsets, problem.witnesses)
    parts = {
        "X @ w": cpu_seconds(lambda: design @ w),
        "X.T @ v": cpu_seconds(lambda: design.T @ v),
        "edges": cpu_seconds(lambda: problem.edges.evaluate(scores)),
    }
    whole = cpu_seconds(lambda: problem.cutting_planes(max_iter=n_iter), repeats=2) / n_iter
    ratio = whole / sum(parts.values())
    print("## Cost of an iteration\n")
    print("1e5 x 2e4 sparse rows in 1e4 bags, 1e5 edges; up to two new cuts per iteration.\n")
    print("| what | CPU ms |\n|---|---|")
    for name, seconds in parts.items():
        print(f"| {name} | {1e3 * seconds:.1f} |")
    print(f"| one iteration (mean of {n_iter}) | {1e3 * whole:.1f} |")
    print(f"\nRatio to the sum of the three: **{ratio:.2f}** (allowed: 3).\n", flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


class Reached(Exception):
    """L-BFGS is as low as it needs to be."""


def by_lbfgs(problem: Problem, goal: float, most: float) -> float:
    """Return the lowest objective reached within ``most`` seconds, stopping at the goal."""
    lowest, began = [np.inf], time.process_time()

    def watched(w: Any) -> tuple[float, Any]:
        value, slope = problem.value(w)
        lowest[0] = min(lowest[0], value)
        if lowest[0] <= goal or time.process_time() - began > most:
            raise Reached
        return value, slope

    try:
        start = np.zeros(problem.design.n_coef + 1)
        minimize(watched, start, jac=True, method="L-BFGS-B", options={"maxiter": 100_000})
    except Reached:
        pass
    return lowest[0]


def by_clarabel(problem: Problem, tol: float) -> float:
    """Return the optimum of problem (2): one slack per labeled bag and per edge."""
    X = sp.hstack([problem.design.X, np.ones((problem.design.n_rows, 1))], format="csr")
    loss, edges, scale = problem.loss, problem.edges.edges, problem.edges.scale
    bags = np.flatnonzero(loss.share)
    parts, slacks, limits = [], [], []
    for number, i in enumerate(bags):
        inside = np.arange(problem.offsets[i], problem.offsets[i + 1])
        rows = -X[[problem.witnesses[i]]] if loss.positive[i] else X[inside]
        parts.append(rows)
        slacks += [number] * rows.shape[0]
        limits += [-1.0] * rows.shape[0]
    for p, q in ((edges.source, edges.target), (edges.target, edges.source)):
        tops = (problem.offsets[p][:, None] + np.arange(10)).ravel()
        one = sp.diags_array(np.repeat(scale[p], 10)) @ X[tops]
        other = sp.diags_array(np.repeat(scale[q], 10)) @ X[np.repeat(problem.witnesses[q], 10)]
        parts.append(one - other)
        slacks += np.repeat(len(bags) + np.arange(len(edges)), 10).tolist()
        limits += [0.0] * len(tops)
    costs = np.concatenate([C * loss.share[bags], np.full(len(edges), MU / len(edges))])
    d, m = X.shape[1], len(costs)
    choice = sp.csc_array((-np.ones(len(slacks)), (np.arange(len(slacks)), slacks)))
    above_zero = sp.hstack([sp.csc_array((m, d)), -sp.eye_array(m)])
    G = sp.csc_array(sp.vstack([sp.hstack([sp.vstack(parts), choice]), above_zero]))
    P = sp.csc_array(sp.block_diag([sp.eye_array(d), sp.csc_array((m, m))]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = tol
    h = np.concatenate([limits, np.zeros(m)])
    q = np.concatenate([np.zeros(d), costs])
    cones = [clarabel.NonnegativeConeT(len(h))]
    return clarabel.DefaultSolver(P, q, G, h, cones, settings).solve().obj_val


def solvers() -> None:
    print("## Other solvers on the same convex problem\n")
    print("Time to a relative gap of 1e-3. L-BFGS minimizes the objective itself and stops when it")
    print(
        "is as low; '>' means that it ended above, by its own stopping rule or after 100 times as"
    )
    print("long. clarabel solves the quadratic program (2), of the smaller problem only.\n")
    print("| problem | solver | objective | CPU time / cutting planes |\n|---|---|---|---|")
    compare("3e3 x 1e3, 500 edges", 300, 1000, 500)
    compare("1e5 x 2e4, 1e5 edges", 10_000, 20_000, 100_000)
    print()


def compare(name: str, n_bags: int, d: int, n_edges: int) -> None:
    rough = Problem(n_bags, d, n_edges, eps=1e-2).cutting_planes()
    problem = Problem(n_bags, d, n_edges, eps=1e-3 * rough.objective / (C + MU))
    seconds, cuts = timed(problem.cutting_planes)
    goal = cuts.objective * (1 + 1e-9)
    print(f"| {name} | cutting planes | {cuts.objective:.5f} (gap {cuts.gap:.1e}) | 1 |")
    other, reached = timed(lambda: by_lbfgs(problem, goal, 100 * seconds))
    sign = ">" if reached > goal else ""
    print(f"| | L-BFGS | {reached:.5f} | {sign}{other / seconds:.1f} |", flush=True)
    if n_bags < 1000:
        other, reached = timed(lambda: by_clarabel(problem, 1e-3))
        print(f"| | clarabel, tol 1e-3 | {reached:.5f} | {other / seconds:.1f} |", flush=True)


def without_edges() -> None:
    problem = Problem(1000, 20_000, 10, eps=1e-4)
    args = problem.design, problem.offsets, [problem.loss], problem.witnesses
    block_descent(problem.design, problem.loss, problem.witnesses, max_passes=1)  # compiles
    print("## Without edges: block coordinate descent\n")
    print("1e4 x 2e4 sparse rows in 1e3 bags; the gap is relative to C.\n")
    print("| gap / C | iterations of cuts | passes over blocks | times faster |\n|---|---|---|---|")
    for tol in (1e-3, 1e-5):
        loss = BagHinge(C, tol, problem.loss.share, problem.loss.positive, problem.offsets)
        slow, cuts = timed(lambda: cutting_plane(*args[:2], [loss], args[3]))  # noqa: B023
        fast, blocks = timed(
            lambda: block_descent(problem.design, loss, problem.witnesses, tol=tol)  # noqa: B023
        )
        print(f"| {tol:g} | {cuts.n_iter} | {blocks.n_iter} | {slow / fast:.0f} |", flush=True)


if __name__ == "__main__":
    print(
        "# Cutting planes of GraphSVC\n\n    python benchmarks/graph.py > docs/results/graph.md\n"
    )
    with one_thread():
        iteration()
        solvers()
        without_edges()
