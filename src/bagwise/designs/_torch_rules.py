"""The rules of `bagwise.assumptions.rules` on tensors; others run on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.assumptions.hard import AtLeastOne, ExactlyOne
from bagwise.assumptions.rules import UNCHANGED, Choose, Keep, Rule, Soften, Tally
from bagwise.assumptions.soft import SoftLabels, SoftWitness
from bagwise.tolerances import DECIDED

_ROUNDS = 200  # of a guarded search: two halvings of an interval of 100 to each of its digits
_EPSILON = np.finfo(float).eps
_SATURATED = 1 - np.log(_EPSILON)  # whose sigmoid is 1 in float64
# Newton's error is squared in every step: after a step of this size it is below rounding.
_SQUARED = np.sqrt(_EPSILON) / 10


class Segments:
    """Sums and maxima within bags, in an order that does not vary."""

    def __init__(self, torch: Any, sizes: Any) -> None:
        self.torch, self.sizes = torch, sizes
        self.bag = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
        ends = torch.cumsum(sizes, 0)
        self.starts = ends - sizes

    def sum(self, values: Any) -> Any:
        """Return the sum of every bag."""
        return self._reduce(values, "sum")

    def max(self, values: Any) -> Any:
        """Return the largest value of every bag."""
        return self._reduce(values, "max")

    def _reduce(self, values: Any, how: str) -> Any:
        # Its own look at the lengths would wait for the device: they are right.
        return self.torch.segment_reduce(values, how, lengths=self.sizes, unsafe=True)

    def witnesses(self, values: Any) -> Any:
        """Return 1 for the first of the largest values of every bag."""
        torch, n = self.torch, len(values)
        rows = torch.arange(n, device=values.device, dtype=torch.float64)
        tops = torch.where(values == self.max(values)[self.bag], -rows, -float(n))
        chosen = torch.zeros_like(values)
        chosen[(-self.max(tops)).long()] = 1
        return chosen

    def of(self, bags: Any) -> tuple[Segments, Any]:
        """Return the segments of some bags (a mask), and the mask of their rows."""
        return Segments(self.torch, self.sizes[bags]), bags[self.bag]


def round_decided(torch: Any, p: Any) -> Any:
    """Count what is all but decided as decided."""
    return torch.where(p < DECIDED, 0.0, torch.where(p > 1 - DECIDED, 1.0, p))


def device_step(
    rule: Rule, z: Any, segments: Segments, p: Any, entered: Any, weight: Any
) -> tuple[Any, Tally]:
    """Return the next assignment and its tally, as the rule itself would."""
    if isinstance(rule, Keep) or len(p) == 0:
        return p, Tally()
    if isinstance(rule, Choose) and isinstance(rule.assumption, AtLeastOne | ExactlyOne):
        new, tally = _choose(rule, z, segments), Tally()
        tally.changed = int((new != p).sum())
    elif isinstance(rule, Soften) and _known(rule.softening):
        new, tally = _soften(rule, z, segments, p, entered, weight)
    else:
        new, tally = _on_host(rule, z, segments, p, entered, weight)
    tally.moved = float((new - entered).abs().max())
    return new, tally


def _known(softening: Any) -> bool:
    single = isinstance(softening, SoftWitness) and softening.n_witnesses == 1
    return single or isinstance(softening, SoftLabels)


def _on_host(
    rule: Rule, z: Any, segments: Segments, p: Any, entered: Any, weight: Any
) -> tuple[Any, Tally]:
    offsets = np.concatenate([[0], np.cumsum(segments.sizes.cpu().numpy())])
    host = [values.cpu().numpy() for values in (z, p, entered, weight)]
    new, tally = rule.step(host[0], offsets, *host[1:])
    return segments.torch.as_tensor(new).to(z.device), tally


def _choose(rule: Choose, z: Any, segments: Segments) -> Any:
    witnesses = segments.witnesses(z)
    if isinstance(rule.assumption, ExactlyOne):
        return witnesses
    return segments.torch.maximum((z > 0).double(), witnesses)


def _soften(
    rule: Soften, z: Any, segments: Segments, p: Any, entered: Any, weight: Any
) -> tuple[Any, Tally]:
    torch = segments.torch
    softening: Any = rule.softening
    gain = rule.C * (1 + z).clamp(min=0) ** 2
    loss = rule.C * (1 - z).clamp(min=0) ** 2

    def step(temperature: float, previous: Any) -> Any:
        if isinstance(softening, SoftWitness):
            return _softmax(segments, -loss / temperature)
        return _labels(softening, segments, loss - gain, temperature, previous)

    new = step(rule.temperature, p)
    own, last = torch.xlogy(new, new), torch.xlogy(new, p.clamp(min=1e-300))
    if isinstance(softening, SoftLabels):
        own = own + torch.xlogy(1 - new, 1 - new)
        last = last + torch.xlogy(1 - new, (1 - p).clamp(min=1e-300))
    tally = Tally(
        divergence=float(weight @ segments.sum(own - last)),
        entropy=float(-(weight @ segments.sum(own))),
        penalty=float(weight @ _penalty(softening, segments, new)),
        positives=float(weight @ segments.sum(new)),
        undecided=np.inf,
    )
    if float((new - entered).abs().max()) <= UNCHANGED:
        tally.undecided = float((step(rule.coldest, new) - new).abs().max())
    return new, tally


def _softmax(segments: Segments, logits: Any) -> Any:
    weights = segments.torch.exp(logits - segments.max(logits)[segments.bag])
    return weights / segments.sum(weights)[segments.bag]


def _targets(softening: SoftLabels, segments: Segments) -> Any:
    fraction = segments.torch.as_tensor(softening.positive_fraction, dtype=segments.torch.float64)
    return segments.sizes * fraction.to(segments.sizes.device)


def _penalty(softening: Any, segments: Segments, p: Any) -> Any:
    if getattr(softening, "C_proportion", 0.0) == 0:
        return segments.torch.zeros(len(segments.sizes), dtype=p.dtype, device=p.device)
    squares = (segments.sum(p) - _targets(softening, segments)) ** 2
    if softening.variance:
        squares = squares + segments.sum(p * (1 - p))
    return softening.C_proportion * squares


def _labels(
    softening: SoftLabels, segments: Segments, cost: Any, temperature: float, previous: Any
) -> Any:
    """Return independent labels, at least one expected positive, by a search in every bag."""
    torch, penalty = segments.torch, softening.C_proportion
    if penalty > 0:
        if softening.variance:
            cost = cost + penalty * (1 - 2 * previous)
        targets = _targets(softening, segments)
        low, high = 2 * penalty * (targets - segments.sizes), 2 * penalty * targets

        def excess(mu: Any) -> tuple[Any, Any]:
            p = torch.sigmoid((mu[segments.bag] - cost) / temperature)
            spread = segments.sum(p * (1 - p)) / temperature
            return mu + 2 * penalty * (segments.sum(p) - targets), 1 + 2 * penalty * spread

        mu = _root(torch, excess, low, high, 0.5 * (low + high))
        p = torch.sigmoid((mu[segments.bag] - cost) / temperature)
    else:
        p = torch.sigmoid(-cost / temperature)
    p = torch.where(segments.sizes[segments.bag] == 1, 1.0, p)
    short = segments.sum(p) < 1
    if bool(short.any()):
        part, rows = segments.of(short)
        p[rows] = _at_least_one(part, cost[rows] / temperature)
    return p


def _at_least_one(segments: Segments, logits: Any) -> Any:
    """Return sigma(nu + best - logit) with sum 1 in every bag.

    The labels of all but the cheapest sum to sigma(-nu): between the logarithms of the two sides
    Newton's method sees nearly a line.
    """
    torch = segments.torch
    below = -segments.max(-logits)[segments.bag] - logits  # 0 for the cheapest, negative else
    others = torch.where(segments.witnesses(below) == 1, -torch.inf, below)
    low = -torch.log((segments.sizes - 1).clamp(min=1).double())
    high = (-0.5 * segments.max(others)).clamp(max=_SATURATED)  # where two of them alone sum to 1

    def excess(nu: Any) -> tuple[Any, Any]:
        p = torch.sigmoid(nu[segments.bag] + others)
        rest = segments.sum(p).clamp(min=1e-300)
        value = torch.log(rest) - torch.nn.functional.logsigmoid(-nu)
        return value, segments.sum(p * (1 - p)) / rest + torch.sigmoid(nu)

    nu = _root(torch, excess, torch.minimum(low, high), high, high)
    return torch.sigmoid(nu[segments.bag] + below)


def _root(torch: Any, rising: Any, low: Any, high: Any, at: Any) -> Any:
    """Return where rising functions, which come with their slopes, are 0, by guarded Newton."""
    moved = high - low
    for _ in range(_ROUNDS):
        value, slope = rising(at)
        low, high = torch.where(value > 0, low, at), torch.where(value > 0, at, high)
        step = at - value / slope
        near = (step - at).abs() <= _SQUARED * at.abs().clamp(min=1)
        newton = near | ((low < step) & (step < high) & ((step - at).abs() < 0.5 * moved))
        step = torch.where(newton, step, 0.5 * (low + high))  # or where steps do not shrink
        moved, at = (step - at).abs(), step
        if not bool((moved > torch.where(newton, _SQUARED, 1e-15) * at.abs().clamp(min=1)).any()):
            break
    return at
