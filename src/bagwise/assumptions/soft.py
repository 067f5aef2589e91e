"""Assumptions at a temperature: the assignment that minimizes expected cost minus T x entropy.

For the labels of a bag (Gehler & Chapelle 2007, Eqs. 4-8, 12-13), cost_j = C (l(f_j) - l(-f_j)),

    min_p  sum_j p_j cost_j + C2 (sum_j p_j - m p*)^2 - T S(p),    sum_j p_j >= 1,

has p = sigma((mu - cost) / T) with one multiplier mu per bag. The printed rule for an active
constraint, sigma / sum sigma, is not the minimizer; the root of sum_j p_j = 1 is. With
``variance=True`` the penalty is the exact expectation of (sum_j y_j - m p*)^2, which Eq. 13 prints
without its variance sum_j p_j (1 - p_j). That term is concave: it is replaced by its tangent, again
and again, until p stays. For witnesses (Eqs. 9-11), with cost_j = C l(f_j), p is a distribution
over the bag (for ``n_witnesses`` of them: sum_j p_j = n_witnesses, p_j <= 1).

An assignment is a function of the scores and the temperature, and of nothing else: whoever needs
it computes it again. The functions take arrays of NumPy or PyTorch (`Segments`). Bag weights play
no role: they multiply a bag's cost, penalty and entropy alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bagwise.assumptions.rules import NO_FACTS, AtLeastOne, Facts, Instead, Rule
from bagwise.bags.segments import Segments, positive_part
from bagwise.tolerances import INNER, MAX_STEPS, NOTHING, PATIENCE, ROUNDING, TINY

UNCHANGED = 1e-4  # change of a probability: too small to decide a label
# Newton's error is squared in every step: after a step of this size it is below rounding.
SQUARED = 1e-9
_LEAST = 1e-36  # in place of a sum 0, small enough to count as such and to be divided by


@dataclass(frozen=True)
class Softening(Rule):
    """A rule that can be cooled."""

    is_soft: ClassVar[bool] = True

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return the best assignment under the squared hinge, T in units of C."""
        gain, loss = positive_part(1 + z) ** 2, positive_part(1 - z) ** 2
        return self.soften(bags, gain, loss, temperature, facts)

    def soften(
        self, bags: Segments, gain: Any, loss: Any, temperature: float, facts: Facts = NO_FACTS
    ) -> Any:
        """Return the best assignment; an instance costs ``gain`` as a negative."""
        raise NotImplementedError

    def even(self, bags: Segments, facts: Facts) -> Any:
        """Return the assignment of highest entropy, one value per instance."""
        if facts.known is None:
            return bags.expand(self.spread(bags))
        return self._free.soften(bags, 0.0 * facts.known, 0.0 * facts.known, 1.0, facts)

    @property
    def _free(self) -> Softening:
        """The rule without its penalty, which counts for nothing where it is hot."""
        return self

    def penalize(self, bags: Segments, p: Any, fraction: Any = None) -> Any:
        """Return the assumption's own term in the objective, one value per bag."""
        return 0.0 * bags.counts

    def compare(self, bags: Segments, p: Any, other: Any) -> tuple[Any, Any]:
        """Return the entropy of every bag, and its assignment's divergence from another one."""
        own = bags.sum(self._logs(bags.xp, p, p))
        return -own, own - bags.sum(self._logs(bags.xp, p, other))

    def _logs(self, xp: Any, p: Any, other: Any) -> Any:
        logs = p * xp.log(other + TINY)
        return logs + (1 - p) * xp.log(1 - other + TINY) if self.is_label else logs

    def start(self) -> Rule:
        """Return the assignment of highest entropy."""
        return Evenly(self)

    def spread(self, bags: Segments) -> Any:
        """Return what every instance of a bag has in the assignment of highest entropy."""
        raise NotImplementedError

    def harden(self, bags: Segments, p: Any) -> Any:
        """Return the assignment that counts at the end of an annealing."""
        return p


@dataclass(frozen=True)
class SoftLabels(Softening):
    """Independent labels, at least one expected positive, and a penalized proportion."""

    C_proportion: float = 0.0  # C2, weight of the penalty; 0 for AL-SVM
    positive_fraction: float = 0.5  # p*, the expected fraction of positives
    variance: bool = True  # whether the penalty includes the variance of the number of positives
    rest_is_negative: ClassVar[bool] = True
    is_label: ClassVar[bool] = True

    def spread(self, bags: Segments) -> Any:
        """Return 1/2, and 1 in bags of one instance."""
        return 0.5 + 0.5 * bags.indicate(bags.sizes == 1)

    def harden(self, bags: Segments, p: Any) -> Any:
        """Decide what is still open, so that the objective is that of mi-SVM.

        Without its variance the penalty may want fractions: they are the solution then.
        """
        if self.C_proportion > 0 and not self.variance:
            return p
        return AtLeastOne().assign(bags, p - 0.5)

    def _targets(self, bags: Segments, fraction: Any) -> Any:
        return bags.counts * (self.positive_fraction if fraction is None else fraction)

    @property
    def _free(self) -> Softening:
        return replace(self, C_proportion=0.0)

    def soften(
        self, bags: Segments, gain: Any, loss: Any, temperature: float, facts: Facts = NO_FACTS
    ) -> Any:
        """Solve for one multiplier per bag; what is known costs nothing or everything."""
        cost = -facts.fix(bags.xp, gain - loss)
        if self.C_proportion == 0:
            return _settle(bags, cost, _sigmoid(bags.xp, -cost / temperature), temperature)  # Eq. 8
        targets = self._targets(bags, facts.fraction)
        p, mu = self._penalized(bags, cost, targets, temperature)
        live = p >= 0  # a bag that has come to rest stays there, whatever the others do
        for _ in range(PATIENCE if self.variance else 0):
            tangent = cost + self.C_proportion * (1 - 2 * p)
            new, mu = self._penalized(bags, tangent, targets, temperature, mu)
            moved = abs(new - p)
            p = bags.xp.where(live, new, p)
            live = live & bags.expand(bags.max(moved) > UNCHANGED)
            if not bool(live.any()):
                break
        return p

    def _penalized(
        self, bags: Segments, cost: Any, targets: Any, temperature: float, mu: Any = None
    ) -> tuple[Any, Any]:
        """Minimize p.cost - T S(p) + C2 (sum p - target)^2, at least one expected positive.

        Returns p and the multiplier of the square, for which ``mu`` is a guess.
        """
        xp, pull = bags.xp, 2 * self.C_proportion
        low, high = pull * (targets - bags.counts), pull * targets
        mu = 0.5 * (low + high) if mu is None else mu

        def excess(mu: Any) -> tuple[Any, Any]:
            p = _sigmoid(xp, (bags.expand(mu) - cost) / temperature)
            rise = 1 + pull * bags.sum(p * (1 - p)) / temperature
            return mu + pull * (bags.sum(p) - targets), rise

        if xp is np:
            from bagwise.assumptions._multipliers import find_multipliers

            where = bags.starts, bags.sizes, targets
            mu = find_multipliers(cost, *where, pull, float(temperature), mu)
        else:
            mu = _find_root(xp, excess, low, high, mu)
        p = _sigmoid(xp, (bags.expand(mu) - cost) / temperature)
        return _settle(bags, cost, p, temperature), mu

    def penalize(self, bags: Segments, p: Any, fraction: Any = None) -> Any:
        """Return C2 E(sum y - m p*)^2, or C2 (sum p - m p*)^2 without the variance."""
        if self.C_proportion == 0:
            return 0.0 * bags.counts
        squares = (bags.sum(p) - self._targets(bags, fraction)) ** 2  # Eq. 13
        if self.variance:
            squares = squares + bags.sum(p * (1 - p))
        return self.C_proportion * squares


@dataclass(frozen=True)
class SoftWitness(Softening):
    """A distribution over the witnesses of a bag; the other instances are ignored."""

    n_witnesses: int = 1

    def spread(self, bags: Segments) -> Any:
        """Return n_witnesses / m, at most 1."""
        share = self.n_witnesses / bags.counts
        return bags.xp.where(share < 1, share, 1.0)

    def harden(self, bags: Segments, p: Any) -> Any:
        """Return 1 for instances that weigh something, and for the heaviest one (line 11)."""
        return bags.indicate((p > NOTHING) | (p == bags.expand(bags.max(p))))

    def soften(
        self, bags: Segments, gain: Any, loss: Any, temperature: float, facts: Facts = NO_FACTS
    ) -> Any:
        """Return the softmax of -C l(f) / T (Eq. 11), capped at 1 for several witnesses.

        Known positives are witnesses. Others are sought only where these are too few.
        """
        xp, x = bags.xp, facts.fix(bags.xp, -loss / temperature)
        if self.n_witnesses == 1 and facts.known is None:
            e = xp.exp(x - bags.expand(bags.max(x)))
            return e / bags.expand(bags.sum(e))
        full = bags.expand(bags.sizes <= self.n_witnesses)
        if facts.known is not None:
            possible = facts.known >= 0
            few = bags.expand(bags.sum(1.0 * possible) <= self.n_witnesses)
            full = (possible & few) | (facts.known > 0)
        for _ in range(self.n_witnesses):
            free = xp.where(full, -np.inf, x)
            top = bags.max(free)
            e = xp.exp(free - bags.expand(xp.where(top > -np.inf, top, 0.0)))
            left = positive_part(self.n_witnesses - bags.sum(1.0 * full))
            total = bags.sum(e)  # at least 1 where an instance is free
            p = xp.where(full, 1.0, e * bags.expand(left / xp.where(total > 0, total, 1.0)))
            if not bool((p > 1).any()):
                break
            full = full | (p > 1)
        return p


@dataclass(frozen=True)
class Evenly(Instead):
    """Every instance of a bag has the same, as at an infinite temperature."""

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return the assignment of highest entropy."""
        return self.of.even(bags, facts)


@dataclass(frozen=True)
class Hardened(Instead):
    """What counts at the end of an annealing: by another rule, or as the soft one has it."""

    by: Rule | None = None

    def assign(self, bags: Segments, z: Any, temperature: float, facts: Facts) -> Any:
        """Return the hard assignment of a soft one."""
        p = self.of.assign(bags, z, temperature, facts)
        if self.by is not None:
            return self.by.assign(bags, p - 0.5, 0.0, facts)
        return self.of.harden(bags, p)


def _sigmoid(xp: Any, x: Any) -> Any:
    e = xp.exp(-abs(x))
    return xp.where(x > 0, 1.0, e) / (1 + e)


def _settle(bags: Segments, cost: Any, p: Any, temperature: float) -> Any:
    """Let bags whose labels sum to less than 1 sum to 1 (Eq. 6)."""
    if bags.has_singles:
        p = bags.xp.where(bags.expand(bags.sizes == 1), 1.0, p)
    short = bags.sum(p) < 1
    if bool(short.any()):
        some, rows = bags.select(short)
        p[rows] = _sum_to_one(some, -cost[rows] / temperature)
    return p


def _sum_to_one(bags: Segments, x: Any) -> Any:
    """Return p = sigma(x + nu) with sum p = 1.

    With e = exp(x - max x), E = sum e - 1 and u = exp(nu + max x): sigma <= u e gives the lower
    bound 1 / (1 + u) = E u, exact where all x are equal or far apart. log sum p is concave in nu as
    long as sum p <= 1, so that Newton rises from there to the root without guards.
    """
    xp = bags.xp
    e = xp.exp(x - bags.expand(bags.max(x)))
    tops = 1.0 * (e == 1)
    rest = bags.sum(xp.where(e == 1, 0.0, e)) + (bags.sum(tops) - 1) + _LEAST
    u = 2 / rest / (1 + xp.sqrt(1 + 4 / rest))
    live = u > 0  # a bag that has come to rest stays there, whatever the others do
    for _ in range(MAX_STEPS):
        p = e * bags.expand(u)
        p = p / (1 + p)
        if not bool(live.any()):
            break
        total, slope = bags.sum(p), bags.sum(p * (1 - p))
        step = -xp.log(total) * total / (slope + TINY) * (slope > 0)
        u = xp.where(live, u * xp.exp(step), u)
        live = live & (abs(step) > SQUARED) & (abs(total - 1) > ROUNDING)
    return p


def _find_root(
    xp: Any, rising: Callable[[Any], tuple[Any, Any]], low: Any, high: Any, at: Any
) -> Any:
    """Return where functions are 0, by guarded Newton; they come with slopes of at least 1."""
    moved, live = high - low, high > low
    for _ in range(MAX_STEPS):
        value, slope = rising(at)
        low = xp.where(value > 0, xp.maximum(low, at - value), at)  # a slope of 1 reaches 0 there
        high = xp.where(value > 0, at, xp.minimum(high, at - value))
        step = at - value / slope
        unit = xp.where(abs(at) > 1, abs(at), 1.0)
        near = abs(step - at) <= SQUARED * unit
        newton = near | ((low < step) & (step < high) & (abs(step - at) < 0.5 * moved))
        step = xp.where(newton, step, 0.5 * (low + high))  # or where steps do not shrink
        moved, at = abs(step - at), xp.where(live, step, at)
        live = live & (moved > xp.where(newton, SQUARED, INNER * ROUNDING) * unit)
        if not bool(live.any()):
            break
    return at
