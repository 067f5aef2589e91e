"""Annealing: it descends at every temperature, cools as told, and always ends."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from bagwise import AnnealedLabelSVC, AnnealedProportionSVC, AnnealedWitnessSVC
from bagwise.assumptions.soft import SoftLabels
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.designs import Point
from bagwise.estimators.task import Task
from bagwise.models.annealed import Annealing, Vectors
from bagwise.procedures.anneal import Schedule, Softer, Views, anneal_passes, cool
from bagwise.procedures.run import as_steps, finish, run
from bagwise.rows import Assignment, Labels, Newton, Rows

NOWHERE = Point(np.zeros(1), 0.0, np.zeros(1))


class Script:
    """Assignments played back, one per p-step; the last one again and again."""

    n_instances = 4.0

    def __init__(self, assignments, divergences, entropy=1.0):
        self.assignments, self.divergences = list(assignments), list(divergences)
        self.entropy, self.temperatures, self.starts = entropy, [], []
        self.fit, self.soften = as_steps(self._fit), as_steps(self._soften)

    def _fit(self, p, last):
        self.starts.append((p, last))
        return NOWHERE, 2

    def _soften(self, here, p, temperature):
        self.temperatures.append(temperature)
        p = self.assignments[0] if len(self.assignments) == 1 else self.assignments.pop(0)
        rest = self.divergences
        divergence = rest[0] if len(rest) == 1 else rest.pop(0)
        return Softer(np.asarray(p, float), divergence, self.entropy, 0.5)

    def energy(self, here, temperature):
        return temperature

    def is_at_rest(self, here, p, entered):
        return np.array_equal(p, entered)

    def run(self, schedule):
        return finish(cool(self, np.full(4, 0.5), schedule))


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


OFFSETS, WEIGHT = np.array([0, 2, 4]), np.array([1.0, 3.0])


def play(soften, coldest=1e-3):
    """Return steps on vectors whose points lead nowhere."""
    task = Task(None, OFFSETS, np.array([True, True]), WEIGHT, None)
    steps = Vectors(task, SoftLabels(), None, coldest)
    steps.fit, steps.assign, steps.value = as_steps(lambda *_: (NOWHERE, 1)), soften, lambda _: 10.0
    return steps


def test_an_assignment_that_only_heat_keeps_still_goes_on():
    steps = play(lambda _, T: expit(np.array([1.0, -1.0, 1.0, -1.0]) / T))
    run = finish(cool(steps, np.full(4, 0.5), Schedule(1e9, 1e-3, entropy=0.0)))
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
    script = Script(wandering(1000), [1.0, 1e-3] * 20)
    run = script.run(Schedule(10.0, 5.0, rest=1e-2))
    assert script.starts[0][1] is None
    assert all(last is NOWHERE for _, last in script.starts[1:])
    assert run.solution is NOWHERE


def test_records_weigh_the_bags():
    seen, p, q = [], np.array([0.2, 0.4, 0.6, 0.8]), np.full(4, 0.5)
    steps = play(lambda *_: p)
    run = finish(cool(steps, q, Schedule(10.0, 10.0, rest=1.0), seen.append))
    (record,) = run.history
    assert seen == run.history
    assert record["p_hat"] == pytest.approx((0.6 * 1 + 1.4 * 3) / 8)
    entropy, divergence = SoftLabels().compare(steps.bags, p, q)
    assert record["entropy"] == pytest.approx(entropy @ WEIGHT)
    divergence = divergence @ WEIGHT / 4
    assert record["divergence"] == pytest.approx(divergence)
    assert record["objective"] == pytest.approx(10.0 - 10.0 * entropy @ WEIGHT)
    assert record["seconds"] >= 0


# The objective within a temperature ------------------------------------------------------------


@pytest.fixture
def values(monkeypatch):
    """Collect (temperature, objective) after every w-step and every p-step."""
    collected, soften = [], Vectors.soften

    def watch(self, here, p, temperature):
        if collected:  # after the w-step, at the last assignment
            self.p, self.entropy = p, self.weight @ self.softening.compare(self.bags, p, p)[0]
            collected.append((temperature, self.energy(here, temperature)))
        softer = yield from soften(self, here, p, temperature)
        collected.append((temperature, self.energy(here, temperature)))
        return softer

    monkeypatch.setattr(Vectors, "soften", watch)
    return collected


MODELS = {
    "labels": AnnealedLabelSVC(C=5),
    "labels, one Newton step": AnnealedLabelSVC(C=5, annealing=Annealing(newton_steps=1)),
    "proportion as printed": AnnealedProportionSVC(
        positive_fraction=0.4, C_proportion=3.0, annealing=Annealing(variance=False)
    ),
    "witness": AnnealedWitnessSVC(C=5),
    "two witnesses": AnnealedWitnessSVC(n_witnesses=2, C=1),
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

    def printed(self, bags, gain, loss, temperature, fraction=None):
        p = expit((gain - loss) / temperature)
        total = bags.expand(bags.sum(p))
        return np.where(total < 1, p / total, p)

    monkeypatch.setattr(SoftLabels, "soften", printed)
    AnnealedLabelSVC(C=5, annealing=Annealing(max_inner=5)).fit(*DATA["gaussian"])
    rises = [b - a for (hot, a), (cold, b) in pairwise(values) if hot == cold]
    assert max(rises) > 1e-3


def test_a_step_that_raises_the_energy_is_taken_back(monkeypatch):
    energies, taken_back, soften = [], [], Views.soften

    def watch(self, here, p, temperature):
        old = None if self.before is None else self.view
        softer = yield from soften(self, here, p, temperature)
        if old is not None:
            energies.append([self.energy_of(each, temperature) for each in (old, self.view)])
        taken_back.append(self.repeated > 0)
        return softer

    monkeypatch.setattr(Views, "soften", watch)
    bags, y = make_gaussian_bags(40, 40, bag_size=6, shift=2.0, random_state=0)
    rows = Rows(bags.X * np.geomspace(1, 100, 40), bags.offsets)
    C, rule = 100.0, SoftLabels()
    newton = Newton(rows, Labels(y == 1, np.full(40, C), C))
    path = Assignment(rule.start()), Schedule(10 * C, 1e-6 * C), None, None
    run(rows, anneal_passes(newton, rule, *path))
    assert any(taken_back)
    assert all(after <= before for before, after in energies)
