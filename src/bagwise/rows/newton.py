"""Newton's method on rows that are only ever passed over: one pass per step.

A pass at a place returns the sums of the next step and the duality gap of this one. A step that its
quadratic promises little of is taken without a look: the next pass, which changes the assignment
anyway, starts from there. As long as alternation converges, the promises shrink, and what such a
step missed is made up for. Where they grow, an assignment tips over to one side or another, and
which one depends on the step: then all but the smallest are looked at.

Where C is large and the bags are separable, few rows are active at the solution, and a step that
sees only those runs far into the others. Then the weight of |w|^2 falls from almost infinity in
stages, each of which starts at the solution of the last one. Single-precision products are too
coarse for some of these: they are then made in double.

Every function is a generator: ``sums = yield [look]``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import Rule
from bagwise.designs.base import solve_primal
from bagwise.problems import Solution, overflow
from bagwise.rows.host import Rows
from bagwise.rows.looks import Assignment, Labels, Place, Steps, Sums
from bagwise.rows.margins import Margins, Scout, named
from bagwise.solvers.pieces import resolve
from bagwise.tolerances import (
    COARSE,
    INNER,
    LARGEST_DENSE,
    MEMORY,
    PATIENCE,
    PROVEN,
    ROUNDING,
    SMALL_GAIN,
    SUFFICIENT,
    TINY,
    provable_gap,
)

_WASTE = 6  # short steps from w = 0 after which a path of easier problems is shorter
_STEPS_PER_STAGE = 8  # of a path of lighter and lighter problems
_LIGHTER = 10**0.5  # factor from one weight of |w|^2 to the next; ten takes more passes


@dataclass(frozen=True)
class View:
    """What was seen at a place: the sums, H, and the weight of |w|^2 (1 but on a path to it)."""

    at: Place
    p: Assignment
    sums: Sums
    hessian: tuple[Any, Array, float]  # sum s x x', sum s x, sum s
    metric: Any
    heavier: float = 1.0
    bound: float = np.inf  # on the distance from the optimum, where another one than the gap's

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Totals and maxima by name."""
        return named(self.sums.numbers, self.sums.maxima)

    @cached_property
    def value(self) -> float:
        """The objective."""
        coef, (up, down) = self.at.coef, self.sums.numbers[2:4]
        return 0.5 * self.heavier * float((self.metric * coef) @ coef) + float(up + down)

    @cached_property
    def gap(self) -> float:
        """P - D at this place's duals, shrunk until they balance (`bagwise.problems`).

        With shares u of beta+ and v of beta-: D = -1/2|u rise - v fall|^2 + u sum beta+ - u^2 risk+
        + v sum beta- - v^2 risk-, because beta^2 / 4a = a l for the squared hinge.
        """
        rises, falls, up, down = self.sums.numbers[:4].tolist()
        least = min(rises, falls)
        u, v = (least / side if side > 0 else 1.0 for side in (rises, falls))
        dual = u * self.sums.vectors[0] - v * self.sums.vectors[1]
        gains = u * rises - u * u * up + v * falls - v * v * down
        norm = float(dual @ (dual / self.metric)) / self.heavier
        return min(self.value - (gains - 0.5 * norm), self.bound)

    @property
    def residual(self) -> float:
        """KKT residual max(|w - X'beta|, |sum beta|)."""
        missing = (self.sums.vectors[0] - self.sums.vectors[1]) / self.metric - self.at.coef
        rises, falls = self.sums.numbers[:2].tolist()
        return max(float(np.sqrt((self.metric * missing) @ missing)), abs(rises - falls))

    def step(self) -> tuple[Array, float, float]:
        """Return the Newton step in w and b, and the decrease that it promises."""
        matrix, total, mass = self.hessian
        metric, (rise, fall, _) = self.heavier * self.metric, self.sums.vectors
        residual = rise - fall - metric * self.at.coef
        shift = float(self.sums.numbers[0] - self.sums.numbers[1])
        if mass <= 0:
            return -self.at.coef, 0.0, 0.5 * float(metric * self.at.coef @ self.at.coef)
        step, up = solve_step(matrix, metric, total / mass, mass, residual, shift)
        return step, up, 0.5 * float(step @ residual + up * shift)

    def solution(self, rounding: float, n_iter: int, at_zero: float) -> Solution:
        """Return the place with its certificate; ``at_zero`` is the objective of w = 0."""
        value, gap = self.value, self.gap
        if not (np.isfinite(value) and np.isfinite(gap)):
            raise overflow(value, gap)
        return Solution(
            coef=self.at.coef,
            intercept=self.at.intercept,
            scores=np.empty(0),
            dual=np.empty(0),
            objective=value,
            gap=max(gap, 0.0),
            residual=self.residual,
            n_iter=n_iter,
            converged=bool(gap <= provable_gap(rounding) * (value + rounding)),
            at_zero=at_zero,
        )


def _go(start: Place, step: Any, share: float) -> Place:
    return Place(start.coef + share * step[0], start.intercept + share * step[1])


def _resolve_quadratic(view: View, rounding: float) -> tuple[Array, float] | None:
    """Return the step to the minimizer of the quadratic at a view; it lies half of its size below.

    The rounding errors of the gradient count in full: that of sum_k x_k r_k is at most rounding
    times sum_k |x_k| s_k (1 + |z_k|), which Cauchy and Schwarz bound.
    """
    matrix, total, mass = view.hessian
    if len(total) > LARGEST_DENSE or not isinstance(matrix, np.ndarray):
        return None
    d, (rise, fall, _) = len(total), view.sums.vectors
    system = np.block([[matrix, total[:, None]], [total[None], np.array([[mass]])]])
    error = rounding * np.sqrt(np.maximum(system.diagonal(), 0.0) * view.numbers["blur"])
    system[:d, :d].flat[:: d + 1] += view.metric
    pull = rise - fall - view.metric * view.at.coef
    shift = float(view.sums.numbers[0] - view.sums.numbers[1])
    return resolve(system, np.append(pull, shift), error)


def solve_step(
    matrix: Any, metric: Any, mean: Array, mass: float, residual: Array, shift: float
) -> tuple[Array, float]:
    """Return the Newton step in w and b, solved where the matrix is."""
    if isinstance(matrix, np.ndarray):
        return solve_primal(matrix, metric, mean, mass, residual, shift)
    from bagwise.rows.device import solve_on_device

    return solve_on_device(matrix, metric, mean, mass, residual, shift)


class Newton:
    """Newton steps of one fit. Between passes it knows H, and the place H belongs to."""

    def __init__(self, rows: Rows, labels: Labels) -> None:
        self.labels, self.metric, self.rounding = labels, rows.metric, rows.rounding
        self.origin, self.coarse = Place(np.zeros(rows.n_coef)), rows.coarse
        counted = labels.positive & (labels.weight > 0)
        shares = labels.weight[counted] / labels.C
        self.n_bags = float(shares.sum())
        self.n_rows = float(shares @ rows.sizes[counted])
        self.exact, self.heavier, self.coldest = False, 1.0, 0.0
        self.n_looks, self.at_zero = 0, 0.0
        self._since: tuple[Place, Assignment] | None = None
        self._hessian: tuple[Any, Array, float] = (0.0, np.zeros(0), 0.0)
        self._updates, self._peak = 0, np.zeros(rows.n_coef)
        self._was_short = False  # whether the last step had to be shortened

    def look(self, at: Place, p: Assignment, before: Assignment | None = None) -> Steps:
        """Return the view of a place under an assignment, which is compared with another one."""
        merges = p.rule.merges or (self._since is not None and self._since[1].rule.merges)
        if merges or self._updates >= PATIENCE:
            self._since = None
        since = self._since
        look = Margins(at, p, self.labels, since, before, self.coldest, self.exact)
        sums = (yield [look])[0]
        self.n_looks += 1
        parts = sums.matrix, sums.vectors[2], float(sums.numbers[4])
        if since is not None:
            matrix, total, mass = self._hessian
            parts = matrix + parts[0], total + parts[1], mass + parts[2]
        else:
            self.at_zero = named(sums.numbers, sums.maxima)["weight"]
        self._hessian, self._since = parts, (at, p)
        self._updates = 0 if since is None else self._updates + 1
        if not self._keeps_digits(since is None):
            return (yield from self.look(at, p, before))
        return View(at, p, sums, parts, self.metric, self.heavier)

    def _keeps_digits(self, is_fresh: bool) -> bool:
        """Return whether H, of which rows were subtracted, is more than rounding errors."""
        diagonal = self._hessian[0].diagonal()
        diagonal = diagonal if isinstance(diagonal, np.ndarray) else diagonal.cpu().numpy()
        self._peak = diagonal if is_fresh else np.maximum(self._peak, diagonal)
        if is_fresh or np.all(self.rounding * self._peak <= INNER * (diagonal + self.metric)):
            return True
        self._since = None
        return False

    def answer(self, view: View) -> Steps:
        """Return the assignment of a view, one value per row."""
        look = Margins(view.at, view.p, self.labels, (view.at, view.p), answers=True)
        return np.concatenate((yield [look])[0].answers)

    def start(self, rule: Rule) -> Steps:
        """Return the view from w = 0 under a rule that does not look at scores."""
        return (yield from self.look(self.origin, Assignment(rule)))

    def _search(self, view: View, step: Any, bound: float) -> Steps:
        """Halve a step until the objective falls by a share of its promise; 0 if it never does.

        It falls below the objective here, or below a higher ``bound``. The full step comes first:
        it finds the rows that count sooner than short ones do. Where it, or the last one, was too
        long, a look without sums of rows finds out how much shorter it has to be.
        """
        value, bound, share = view.value, max(bound, view.value), 1.0

        def is_enough(new: float, share: float) -> bool:
            return new <= bound - SUFFICIENT * share * step[2] + self.rounding * abs(value)

        end = _go(view.at, step, 1.0)
        if not self._was_short:
            trial = yield from self.look(end, view.p)
            if is_enough(trial.value, 1.0):
                return trial, 1.0
        (risks,) = yield [Scout(view.at, end, view.p, self.labels, self.exact)]
        for risk in risks.numbers.tolist():
            at = _go(view.at, step, share)
            if is_enough(risk + self._norm(at), share):
                self._was_short = share < 1
                return (yield from self.look(at, view.p)), share
            share = 0.5 * share
        return view, 0.0

    def _norm(self, at: Place) -> float:
        return 0.5 * self.heavier * float((self.metric * at.coef) @ at.coef)

    def descend(self, view: View, limit: int, last: float = np.inf) -> Steps:
        """Take steps until one promises little: a tenth of the objective, or COARSE of it.

        The tenth, unless the first step promises more than ``last``, the promise one alternation
        ago: then an assignment tips over (until the promise itself is above a tenth: it has).
        Returns the last view, the place, which may lie one step from it that was not looked at,
        the number of steps and the first promise.
        """
        values, share, unseen, promise = list[float](), 1.0, INNER, np.inf
        for taken in range(1, limit + 1):
            step, old = view.step(), view.value
            values.append(old)
            if taken == 1:
                promise = step[2] / max(abs(old), TINY)
                unseen = COARSE if last < promise <= INNER else INNER
            if step[2] <= unseen * abs(old) or taken == limit:
                break
            view, share = yield from self._search(view, step, max(values[-MEMORY:]))
            fall, small = old - view.value, COARSE * abs(old)
            if share == 0 or (share == 1 and min(abs(fall), abs(fall - step[2])) <= small):
                return view, view.at, taken, promise
        return view, _go(view.at, step, 1.0), taken, promise

    def solve(self, view: View, limit: int = 2 * PATIENCE) -> Steps:
        """Solve the problem of an assignment to a duality gap at rounding level."""
        view = yield from self._solve_from(view, limit)
        if not self._is_proven(view) and self.rounding > ROUNDING:
            self._sharpen()
            view = yield from self._solve_from((yield from self.look(view.at, view.p)), limit)
        if not self._is_proven(view):
            path = yield from self._follow_path(view.p)
            other = yield from self._prove((yield from self._steps(path, limit)))
            view = min(view, other, key=lambda each: each.gap)
        return view

    def _solve_from(self, view: View, limit: int) -> Steps:
        """Take steps until they end, or waste too much where a path from w = 0 is no detour."""
        waste = PATIENCE if np.any(view.at.coef) else _WASTE
        return (yield from self._prove((yield from self._steps(view, limit, waste=waste))))

    def _prove(self, view: View) -> Steps:
        """Bound the distance from the optimum by the quadratic at a view, where its gap does not.

        With weights so large that 1/2|w|^2 hardly counts (features of 1e100, C of 1e8), w = X'beta
        holds only up to the rounding of large terms (`bagwise.solvers.pieces`). But if the
        minimizer of the quadratic has the same curvatures, it is that of the objective.
        """
        if self._is_proven(view) or self.rounding > ROUNDING:
            return view
        if view.step()[2] > SMALL_GAIN * abs(view.value):  # it is far from there
            return view
        fresh = yield from self._renew(view)
        found = _resolve_quadratic(fresh, self.rounding)
        if found is None:
            return view
        step, size = found
        there = yield from self.look(_go(view.at, (step[:-1], step[-1]), 1.0), view.p)
        return replace(view, bound=0.5 * size) if there.numbers["turned"] == 0 else view

    def _renew(self, view: View) -> Steps:
        """Return the view with an H that no update has blurred."""
        self._since = None
        return (yield from self.look(view.at, view.p))

    def refine(self, view: View, limit: int = 2 * PATIENCE) -> Steps:
        """Go on in float64 where products were coarser than the rows: it takes few passes."""
        if not self.coarse or self.exact:
            return view
        known = self._since  # H keeps its coarse products: only gradients and gaps need the digits
        self._sharpen()
        self._since = known
        return (yield from self._steps((yield from self.look(view.at, view.p)), limit))

    def _sharpen(self) -> None:
        self.exact, self.rounding, self._since = True, ROUNDING, None

    def _is_proven(self, view: View) -> bool:
        """Return whether a gap is small enough, or not a number (which no step would change)."""
        return not view.gap > provable_gap(self.rounding) * abs(view.value)

    def _steps(self, view: View, limit: int, waste: float = np.inf, near: float = 0.0) -> Steps:
        """Take steps until the gap is small, or one promises little: a share ``near`` of it all.

        A step is shortened only if the objective would exceed all of its last three values. After
        too many short steps, ``waste``, nothing more is tried.
        """
        best, values, share, still = view, list[float](), 1.0, False
        for _ in range(limit):
            values.append(view.value)
            goal = max(PROVEN, INNER * self.rounding) * abs(view.value)
            if not view.gap > goal or waste < 0 or share == 0:
                break
            step = view.step()
            if step[2] <= near * view.value:
                break
            view, share = yield from self._search(view, step, max(values[-MEMORY:]))
            waste -= share < 1
            best = view if near or view.gap < best.gap else best
            stalled = abs(values[-1] - view.value) <= self.rounding * abs(view.value)
            if stalled and (still or self._is_proven(best)):
                break
            still = stalled
        return best

    def _follow_path(self, p: Assignment) -> Steps:
        """Follow the solutions of problems whose |w|^2 weighs less and less, from w = 0.

        Where few rows are active (large C, separable bags), a Newton step knows nothing of those
        that it will meet. From the solution of a slightly heavier problem it meets few. The sums
        of a pass are those of any weight.
        """
        view = yield from self.look(self.origin, p)
        total = float(np.broadcast_to(self.metric, self.origin.coef.shape).sum())
        self.heavier = float(view.hessian[0].diagonal().sum()) / total
        while self.heavier > 1:
            start = replace(view, heavier=self.heavier)
            view = yield from self._steps(start, _STEPS_PER_STAGE, near=SMALL_GAIN)
            self.heavier /= _LIGHTER
        self.heavier = 1.0
        return replace(view, heavier=1.0)
