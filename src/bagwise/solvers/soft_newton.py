"""Newton's method for Markov networks: a softened risk, ever harder, one pass over the rows a step.

The network's risk is a difference of maxima. `bagwise.models.markov.soft` softens them; a Newton
step takes the Hessian of the softened objective, with as much of its concave part as leaves it
positive definite. A step that promises little makes the next pass harder: smaller ``width`` of the
labels, smaller ``margin`` of the bags, and the bags' dual variables become the new centers. Every
pass has the value under both, so that a step is judged by the objective it was made for.

Where that gains little, the labelings of the bags' own sides are frozen. What remains is convex, a
majorizer of the objective that touches it (up to the softness of these labelings, which the gap
includes), and every pass proves a lower bound on it. If its minimum, or the network's objective
there, is lower by more than the tolerance, the descent goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bagwise._typing import Array
from bagwise.problems import Solution
from bagwise.tolerances import INNER, NOTHING, SMALL_GAIN, SUFFICIENT

if TYPE_CHECKING:
    from bagwise.models.markov.looks import NetworkProblem

_FIRST_WIDTH = 10.0  # scores of a tenth of the bag's instances at it make up a margin
_HARDER = 0.3  # factor to the next width and margin, and of the tolerance that each may take up
_LITTLE = 0.2  # of the tolerance, or of the passes that are left: what proving an end may take
_PATIENCE = 5  # steps: a descent that gains little of the tolerance in as many has ended
_BACK = (0.05, 0.6)  # shortest and longest next step after one that went too far
_KEPT = 0.25  # of a promise: a step that kept more may be followed by one longer by its inverse

_Result = TypeVar("_Result")
Passes = Generator[list[Any], Any, _Result]  # a result for which rows are passed over


@dataclass(frozen=True)
class Softness:
    """How soft a risk is."""

    width: float
    margin: float


@dataclass(frozen=True)
class Frozen:
    """Where the labelings of the bags' own sides are those of: the risk is then convex.

    Without a place they are those in which all instances of a bag have its label.
    """

    width: float = 1.0
    at: Any = None  # a `bagwise.rows.Place`
    potential: Any = None


@dataclass(frozen=True)
class View:
    """What a network is at a point."""

    w: Array
    objective: float  # alpha/2 |w|^2 + R(w)
    judged: float  # the softened objective, as the step here is judged
    value: float  # the softened objective from here on
    touching: float  # the convex majorizer: no lower than the objective, and equal where it is hard
    gap: float  # of the majorizer
    slack: float  # the part of the gap that the margin has
    blur: float  # the part of the gap that the width has
    residual: Array  # minus the gradient of ``value``
    centers: Array
    soft: Softness
    sums: Any  # of the pass, from which the network makes its step


@dataclass
class _Walk:
    """Where a descent is, and what it may use up."""

    network: NetworkProblem
    view: View
    tol: float
    passes: int
    max_passes: int
    frozen: Frozen | None = None
    longest: float = np.inf  # step that the last ones let expect to descend
    ended: bool = False
    slack: float = np.inf  # when the risk was made harder last
    stuck: bool = False  # whether new centers no longer help
    small: float = (
        SMALL_GAIN  # promise, relative to the objective, from which on there are new ones
    )

    def look(self, w: Array, then: Softness, *, renew: bool = False) -> Passes[View]:
        """Make one pass."""
        self.passes += 1
        centers, frozen = self.view.centers, self.frozen
        return self.network.look(w, self.soft, then, centers, renew=renew, frozen=frozen)

    def freeze(self) -> None:
        """Make the problem convex here."""
        self.frozen = self.network.freeze(self.view.w, self.soft.width)
        self.ended, self.stuck, self.small = False, False, SMALL_GAIN

    def thaw(self, view: View) -> Passes[None]:
        """Go on with the network itself, from a point that the convex problem led to."""
        self.view, self.frozen, self.ended = view, None, False
        if self.passes < self.max_passes:
            self.view = yield from self.look(view.w, view.soft)

    @property
    def soft(self) -> Softness:
        """How soft the risk is here."""
        return self.view.soft

    @property
    def is_solved(self) -> bool:
        """Whether what is left of the gap is that of the softness, and this is small."""
        view, unit = self.view, self.tol * self.view.objective
        rest = view.gap - view.blur - view.slack
        return rest <= _LITTLE * unit and max(view.blur, view.slack) <= _HARDER * unit

    @property
    def goes_on(self) -> bool:
        """Whether passes are left, and steps descend."""
        return self.passes < self.max_passes and not self.ended

    def step(self, *, rough: bool = False) -> Passes[float]:
        """Take one step; return the decrease that it promised."""
        network, view = self.network, self.view
        # 1) The step, and whether it promises so little that the next one is to be harder.
        step = network.step(view)
        promise = float(step @ view.residual)
        part = _HARDER * self.tol * view.objective
        small = not rough and promise / 2 < self.small * view.objective
        renew = small and max(view.blur, view.slack) > part
        then = self._harden(part, promise) if renew else self.soft
        # 2) The point there, or nearer, where the Hessian says too little about the way.
        part, allowed = NOTHING * part, network.rounding * abs(view.value)
        while True:
            if np.linalg.norm(step) > self.longest:
                step = network.step(view, self.longest)
            seen = yield from self.look(view.w + step, then, renew=renew)
            slope = float(step @ view.residual)
            gained, length = view.value - seen.judged, float(np.linalg.norm(step))
            if gained >= SUFFICIENT * slope - allowed:
                break
            self.longest = length * float(np.clip(slope / (2 * (slope - gained)), *_BACK))
            self.ended = slope < part
            if not self.goes_on:
                return promise / 2
        kept = gained > _KEPT * slope or slope < part
        self.longest = max(self.longest, length / _KEPT) if kept else length
        self.view = seen
        return promise / 2

    def _harden(self, part: float, promise: float) -> Softness:
        """Return the softness of the next steps: what takes up more than its part is reduced."""
        soft, blur, slack = self.soft, self.view.blur, self.view.slack
        margin = max(_HARDER * soft.margin, min(soft.margin, INNER))
        margin = margin if slack > part else soft.margin
        # Where new centers no longer help, labels, those that were frozen too, are too soft.
        little = promise < _LITTLE * part and margin == soft.margin
        self.stuck = little and slack > max(part, (1 - INNER) * self.slack)
        if slack > (1 - INNER) * self.slack:  # one step per new center may go in circles
            self.small *= _HARDER
        width = soft.width * (_HARDER if blur > part or self.stuck else 1.0)
        self.slack = slack
        return replace(soft, width=width, margin=margin)


def soft_newton(
    network: NetworkProblem,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    max_passes: int,
    trained: bool = False,
    report: Callable[[float, float, int], Any] = lambda *_: None,
) -> Passes[Solution]:
    """Decrease alpha/2 |w|^2 + R(w) until the gap is at most tol times the objective.

    ``max_iter`` limits the descents, each with a convex problem, and ``max_passes`` the passes.
    ``trained`` says that the start is a network that was trained under another potential: it begins
    with the convex problem of its labelings, and has a tolerance relative to what it gains over w =
    0. ``report`` is called with objective, gap and number of passes after every descent and convex
    problem. The lowest point is returned; its ``gap`` is the majorizer where it was frozen last
    minus a proven lower bound on its minimum.
    """
    begun = _begin_refined if trained else _begin
    walk = yield from begun(network, start, tol, max_passes)
    best, gap, rounds, seen = walk.view, np.inf, 0, 0
    converged = rests = idle = False
    while walk.goes_on and not (rests or idle) and rounds < max_iter:
        if rounds and max_passes - walk.passes < _LITTLE * max_passes:
            break  # too few are left to prove what another descent would end at
        rounds += 1
        walk.tol = _scale_by_gain(network, best, tol) if trained else tol
        # 1) Descend.
        best = _lowest(best, (yield from _descend(walk)))
        # 2) Freeze there, and bound what a convex step can gain.
        walk.freeze()
        top, lower, end = walk.view, -np.inf, walk.view
        while walk.goes_on:
            yield from walk.step()
            lower = max(lower, walk.view.touching - walk.view.gap)
            end = _lowest(end, walk.view)
            proven = top.touching - lower <= walk.tol * top.objective
            if proven or walk.is_solved or walk.stuck:
                break
        gap, best = top.touching - lower, _lowest(best, end)
        # 3) Go on from its result if that is lower, unless rounding has the last word.
        loss = max(gap, top.objective - end.objective)  # what stopping at the top would give away
        converged, rests = (loss <= each * top.objective for each in (tol, walk.tol))
        idle = walk.ended and end is top
        if not rests and not idle:
            yield from walk.thaw(end)
        report(best.objective, gap, walk.passes - seen)
        seen = walk.passes
    return _solution(best, gap, walk.passes, converged)


def _begin_refined(
    network: NetworkProblem, start: Array, tol: float, max_passes: int
) -> Passes[_Walk]:
    """Begin at the minimum of the convex problem that has the labelings of a trained network.

    Under another potential its weights are far from any minimum: hard steps from there are tiny,
    and soft ones lose its labelings. Where these are frozen, soft steps keep them.
    """
    hard = INNER * _HARDER * _FIRST_WIDTH / network.mean_size
    frozen = network.freeze(start, hard)
    walk = yield from _begin(network, start, tol, max_passes // 2, frozen)
    first = walk.view
    while walk.goes_on and not (walk.is_solved or walk.stuck):
        yield from walk.step()
    walk.max_passes = max_passes
    yield from walk.thaw(_lowest(first, walk.view))
    return walk


def _scale_by_gain(network: NetworkProblem, best: View, tol: float) -> float:
    """Return a tolerance relative to what was gained over w = 0, where that is little."""
    gained = network.risk_of_zero - best.objective
    return tol * float(np.clip(gained / best.objective, NOTHING, 1.0))


def whole_start(network: NetworkProblem, *, tol: float, max_passes: int) -> Passes[Solution]:
    """Solve, roughly, the convex problem in which all instances of a bag have its label."""
    walk = yield from _begin(network, np.zeros(len(network.units)), tol, max_passes, Frozen())
    while walk.goes_on:
        promised = yield from walk.step(rough=True)
        if promised <= INNER * _HARDER * walk.view.objective:
            break
    return _solution(walk.view, walk.view.gap, walk.passes, False)


def _begin(
    network: NetworkProblem, start: Array, tol: float, max_passes: int, frozen: Frozen | None = None
) -> Passes[_Walk]:
    soft = Softness(_FIRST_WIDTH / network.mean_size, 1.0)  # the hinge's margin
    w = np.asarray(start, float)
    view = yield from network.look(w, soft, soft, network.centers, frozen=frozen)
    return _Walk(network, view, tol, 1, max_passes, frozen)


def _descend(walk: _Walk) -> Passes[View]:
    """Descend until steps gain little; return the lowest point."""
    best, objectives = walk.view, [walk.view.objective]
    most = walk.passes + (1 - _LITTLE) * (walk.max_passes - walk.passes)
    while walk.goes_on and walk.passes < most:
        promised = yield from walk.step()
        best = _lowest(best, walk.view)
        objectives.append(best.objective)
        part = _LITTLE * walk.tol * best.objective
        is_hard = max(walk.view.blur, walk.view.slack) <= walk.tol * best.objective
        patience = _PATIENCE if is_hard else 2 * _PATIENCE
        idle = len(objectives) > patience and objectives[-1 - patience] - best.objective < part
        if (is_hard and promised < part) or idle:
            break
    return best


def _lowest(one: View, other: View) -> View:
    return other if other.objective < one.objective else one


def _solution(view: View, gap: float, passes: int, converged: bool) -> Solution:
    return Solution(
        coef=view.w,
        intercept=0.0,
        scores=np.empty(0),
        dual=np.empty(0),
        objective=view.objective,
        gap=gap,
        residual=float(np.max(np.abs(view.residual))),
        n_iter=passes,
        converged=converged,
        history=[],
    )
