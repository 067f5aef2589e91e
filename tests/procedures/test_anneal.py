"""Annealing: it descends at every temperature, cools as told, and always ends."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, xlogy

from bagwise import AnnealedLabelSVC, AnnealedProportionSVC, AnnealedWitnessSVC
from bagwise.assumptions.soft import Softened
from bagwise.bags.segments import expand, segment_sum
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.designs import Point
from bagwise.models import annealed
from bagwise.models.annealed import Annealing
from bagwise.procedures.anneal import Schedule, anneal

OFFSETS, WEIGHT = np.array([0, 2, 4]), np.array([1.0, 3.0])
NOWHERE = Point(np.zeros(1), 0.0, np.zeros(1))


class Script:
    """Assignments played back, one per p-step; the last one again and again."""

    def __init__(self, assignments, divergences, entropy=1.0):
        self.assignments, self.divergences = list(assignments), list(divergences)
        self.entropy, self.temperatures, self.starts = entropy, [], []

    def fit(self, p, last):
        self.starts.append((p, last))
        return NOWHERE, 2

    def soften(self, point, p, temperature):
        self.temperatures.append(temperature)
        p = self.assignments[0] if len(self.assignments) == 1 else self.assignments.pop(0)
        rest = self.divergences
        divergence = rest[0] if len(rest) == 1 else rest.pop(0)
        return Softened(np.asarray(p, float), np.full(2, self.entropy), np.full(2, divergence))

    def run(self, schedule, **options):
        energy = lambda point, softened, temperature: temperature  # noqa: E731
        start = np.full(4, 0.5)
        return anneal(self.fit, self.soften, energy, start, OFFSETS, WEIGHT, schedule, **options)


def wandering(n):
    """Assignments that never come to rest."""
    rng = np.random.default_rng(0)
    return rng.random((n, 4))


def test_the_floor_ends_what_nothing_else_does():
    script = Script(wandering(1000), [1e-3])
    run = script.run(Schedule(10.0, 1.0, cooling=1.5, rest=1e-2, max_inner=5))
    temperatures = [record["temperature"] for record in run.history]
    assert temperatures[0] == 10.0
    assert temperatures[-1] == 1.0
    assert all(a > b for a, b in pairwise(temperatures))
    assert run.converged


def test_busy_temperatures_cool_by_the_factor():
    script = Script(wandering(1000), [1.0, 1e-3] * 500)
    run = script.run(Schedule(10.0, 1.0, cooling=1.5, rest=1e-2))
    temperatures = np.array([record["temperature"] for record in run.history])
    np.testing.assert_allclose(temperatures[:-2] / temperatures[1:-1], 1.5)
    assert len(temperatures) == 1 + np.ceil(np.log(10) / np.log(1.5))
    assert [record["alternations"] for record in run.history] == [2] * len(temperatures)
    assert [record["factorizations"] for record in run.history] == [4] * len(temperatures)


@pytest.mark.parametrize(
    ("divergences", "powers"),
    [([1e-9], [2, 3, 4, 5]), ([1e-9, 1e-9, 1.0, 1e-9, 1e-9], [2, 3, 1, 2])],
    ids=["longer while idle", "short again after a busy one"],
)
def test_strides_of_temperatures(divergences, powers):
    run = Script(wandering(1000), divergences).run(Schedule(1e6, 1.0, cooling=1.5, rest=1e-2))
    temperatures = np.array([record["temperature"] for record in run.history])
    np.testing.assert_allclose(temperatures[:4] / temperatures[1:5], 1.5 ** np.array(powers))


def test_an_assignment_without_entropy_ends_it():
    script = Script(wandering(1000), [1e-3], entropy=1e-6)
    run = script.run(Schedule(10.0, 1e-9, rest=1e-2))
    assert len(run.history) == 1


def test_an_assignment_that_no_longer_moves_ends_it():
    p = wandering(2)
    script = Script([p[0], p[1], p[1]], [1e-3])
    run = script.run(Schedule(10.0, 1e-9, rest=1e-2, entropy=0.0))
    assert len(run.history) == 3
    np.testing.assert_array_equal(run.assignment, p[1])


def test_an_assignment_that_only_heat_keeps_still_goes_on():
    def soften(point, p, temperature):
        p = expit(np.array([1.0, -1.0, 1.0, -1.0]) / temperature)
        return Softened(p, np.ones(2), np.full(2, 1e-9))

    schedule, nothing = Schedule(1e9, 1e-3, entropy=0.0), lambda *_: 0.0
    start = np.full(4, 0.5)
    run = anneal(lambda *_: (NOWHERE, 1), soften, nothing, start, OFFSETS, WEIGHT, schedule)
    np.testing.assert_allclose(run.assignment, [1, 0, 1, 0], atol=1e-3)


def test_restless_temperatures_are_cut_and_said():
    script = Script(wandering(1000), [1.0])
    run = script.run(Schedule(10.0, 5.0, max_inner=7))
    assert not run.converged
    assert all(record["alternations"] == 7 for record in run.history)


def test_a_run_that_spent_its_steps_goes_to_the_coldest_temperature():
    script = Script(wandering(1000), [1.0])
    run = script.run(Schedule(10.0, 1e-3, max_inner=7, max_steps=20))
    assert [record["alternations"] for record in run.history] == [7, 3, 1]
    assert run.history[-1]["temperature"] == 1e-3
    assert not run.converged


def test_every_problem_starts_where_the_last_one_ended():
    known = Point(np.ones(1), 1.0, np.ones(1))
    alone, told = (Script(wandering(1000), [1.0, 1e-3] * 20) for _ in range(2))
    run = alone.run(Schedule(10.0, 5.0, rest=1e-2))
    assert alone.starts[0][1] is None
    assert all(last is NOWHERE for _, last in alone.starts[1:])
    assert run.solution is NOWHERE
    told.run(Schedule(10.0, 5.0, rest=1e-2), first=known)  # which is not solved again
    assert len(told.starts) == len(alone.starts) - 1
    assert told.starts[0][1] is known


def test_records_weigh_the_bags():
    script, seen = Script([[0.2, 0.4, 0.6, 0.8]], [1e-3], entropy=2.0), []
    run = script.run(Schedule(10.0, 10.0, rest=1e-2), callback=seen.append)
    (record,) = run.history
    assert seen == run.history
    assert record["p_hat"] == pytest.approx((0.6 * 1 + 1.4 * 3) / 8)
    assert record["entropy"] == pytest.approx(2.0 * 1 + 2.0 * 3)
    assert record["divergence"] == pytest.approx(1e-3)
    assert record["objective"] == 10.0
    assert record["seconds"] >= 0


# The objective within a temperature ------------------------------------------------------------


@pytest.fixture
def values(monkeypatch):
    """Collect (temperature, objective) after every w-step and every p-step."""
    collected = []

    def watched(fit, soften, energy, *rest):
        made = []

        def soften_and_look(point, p, temperature):
            before = [softened for softened in made if softened.p is p]
            for softened in before:
                collected.append((temperature, energy(point, softened, temperature)))
            made.append(soften(point, p, temperature))
            collected.append((temperature, energy(point, made[-1], temperature)))
            return made[-1]

        return anneal(fit, soften_and_look, energy, *rest)

    monkeypatch.setattr(annealed, "anneal", watched)
    return collected


MODELS = {
    "labels": AnnealedLabelSVC(C=5),
    "labels, one Newton step": AnnealedLabelSVC(C=5, annealing=Annealing(newton_steps=1)),
    "labels, linear": AnnealedLabelSVC(C=0.1, kernel="linear", annealing=Annealing(tol=1e-4)),
    "proportion": AnnealedProportionSVC(positive_fraction=0.4, C_proportion=3.0, C=1.0),
    "proportion as printed": AnnealedProportionSVC(
        positive_fraction=0.4,
        C_proportion=3.0,
        kernel="linear",
        annealing=Annealing(variance=False),
    ),
    "witness": AnnealedWitnessSVC(C=5),
    "two witnesses": AnnealedWitnessSVC(n_witnesses=2, C=1, kernel="linear"),
}
DATA = {
    "gaussian": make_gaussian_bags(n_bags=30, shift=1.0, random_state=0),
    "digits": load_digits_bags(n_bags=24, random_state=0),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_the_objective_never_rises_within_a_temperature(name, data, values):
    bags, y = DATA[data]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    MODELS[name].fit(bags, y, sample_weight=weight)
    assert len({temperature for temperature, _ in values}) >= 5
    compared = 0
    for (hot, before), (cold, after) in pairwise(values):
        if hot == cold:
            compared += 1
            assert after <= before + 1e-10 * abs(before)
    assert compared >= 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_printed_rule_raises_the_objective(values, monkeypatch):
    """What `test_the_objective_never_rises_within_a_temperature` can catch."""

    def printed(task, softening, point, p, temperature):
        f = point.scores[task.positive_rows] + point.intercept
        cost = task.C * (task.loss.value(f) - task.loss.value(-f))
        offsets = task.positive_offsets
        p = expit(-cost / temperature)
        total = expand(segment_sum(p, offsets), offsets)
        p = np.where(total < 1, p / total, p)
        entropy = segment_sum(-xlogy(p, p) - xlogy(1 - p, 1 - p), offsets)
        return Softened(p, entropy, np.ones(len(entropy)))

    monkeypatch.setattr(annealed, "_soften", printed)
    AnnealedLabelSVC(C=5, annealing=Annealing(max_inner=5)).fit(*DATA["gaussian"])
    rises = [b - a for (hot, a), (cold, b) in pairwise(values) if hot == cold]
    assert max(rises) > 1e-3
