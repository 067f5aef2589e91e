"""Early stopping: which iterate is kept, when a descent ends, and what is proven about it."""

import numpy as np
import pytest

from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.nrbm import restart_nrbm
from bagwise.solvers.bundle import bmrm
from procedures.test_nrbm import Ramps, objective

OPTIONS = {"tol": 1e-5, "max_iter": 50}


class Script:
    """Judges that give prescribed scores, one after another, and remember who got them."""

    def __init__(self, *losses):
        self.losses, self.seen = losses, []

    def __call__(self, coef):
        self.seen.append(coef)
        return 0.5, self.losses[min(len(self.seen), len(self.losses)) - 1]


def test_accuracy_comes_first_then_loss_then_the_later_iterate():
    scores = iter([(0.5, 1.0), (0.6, 9.0), (0.6, 9.0), (0.6, 9.5), (0.5, 0.0)])
    judge = HeldOut(lambda coef: next(scores), patience=2)
    assert [judge(np.array([i])) for i in range(5)] == [False, False, False, False, True]
    assert judge.coef.tolist() == [2]
    assert judge.record(early=True) == {
        "validation_score": 0.6,
        "validation_loss": 9.0,
        "stopped_early": True,
    }


def test_a_score_that_never_falls_changes_nothing():
    risk = Ramps(seed=1)
    plain = restart_nrbm(risk, 0.1, np.zeros(4), **OPTIONS)
    script = Script(*range(1000, 0, -1))
    watched = restart_nrbm(risk, 0.1, np.zeros(4), held_out=HeldOut(script, 1), **OPTIONS)
    np.testing.assert_array_equal(watched.solution.coef, plain.solution.coef)
    assert watched.solution.gap == plain.solution.gap
    assert watched.converged
    assert watched.history[-1]["stopped_early"] is False
    assert len(script.seen) > 5


@pytest.mark.parametrize("patience", [1, 3])
def test_the_best_iterate_is_kept_and_its_bound_holds(patience):
    risk, script = Ramps(seed=1), Script(5.0, 3.0, 1.0, 2.0, 2.5, 3.0)
    judge = HeldOut(script, patience)
    run = restart_nrbm(risk, 0.1, np.zeros(4), held_out=judge, **OPTIONS)
    assert len(script.seen) == 3 + patience
    point = run.solution
    np.testing.assert_array_equal(point.coef, script.seen[2])
    assert run.converged  # it was asked for
    assert run.history[-1]["stopped_early"] is True
    assert point.objective == pytest.approx(objective(risk, 0.1, point.coef), rel=1e-12)
    convex = bmrm(risk.freeze(point.scores), 0.1, point.coef, tol=1e-9, max_iter=2000)
    assert convex.converged
    assert 0 < point.objective - convex.objective <= point.gap
    assert point.gap <= point.objective - convex.objective + 2e-5 * point.objective


def test_a_start_that_is_best_is_kept():
    risk = Ramps(seed=1)
    run = restart_nrbm(risk, 0.1, np.ones(4), held_out=HeldOut(Script(0.0, 1.0), 2), **OPTIONS)
    np.testing.assert_array_equal(run.solution.coef, np.ones(4))
    assert np.isfinite(run.solution.gap)


def test_what_max_iter_ended_is_no_convergence():
    risk = Ramps(seed=1)
    judge = HeldOut(Script(*range(1000, 0, -1)), 1)
    run = restart_nrbm(risk, 0.1, np.full(4, 2.0), tol=1e-8, max_iter=1, held_out=judge)
    assert not run.converged
