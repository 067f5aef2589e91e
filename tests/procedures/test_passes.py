"""Annealing by passes."""

import numpy as np

from bagwise.assumptions.soft import SoftLabels
from bagwise.datasets import make_gaussian_bags
from bagwise.procedures import passes
from bagwise.procedures.anneal import Schedule
from bagwise.procedures.run import run
from bagwise.rows import Assignment, Labels, Newton, Rows


def test_a_step_that_raises_the_energy_is_taken_back(monkeypatch):
    energies, taken_back, soften = [], [], passes._Annealing.soften

    def watch(self, here, p, temperature):
        old = None if self.before is None else self.view
        softer = yield from soften(self, here, p, temperature)
        if old is not None:
            energies.append([self.energy_of(each, temperature) for each in (old, self.view)])
        taken_back.append(self.repeated > 0)
        return softer

    monkeypatch.setattr(passes._Annealing, "soften", watch)
    bags, y = make_gaussian_bags(40, 40, bag_size=6, shift=2.0, random_state=0)
    rows = Rows(bags.X * np.geomspace(1, 100, 40), bags.offsets)
    C, rule = 100.0, SoftLabels()
    newton = Newton(rows, Labels(y == 1, np.full(40, C), C))
    path = Assignment(rule.start()), Schedule(10 * C, 1e-6 * C), None, None
    run(rows, passes.anneal_passes(newton, rule, *path))
    assert any(taken_back)
    assert all(after <= before for before, after in energies)
