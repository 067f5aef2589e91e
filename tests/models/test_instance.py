"""The single-instance baseline: its problem, and its two ways to vote."""

import numpy as np
import pytest

from bagwise import InstanceSVC
from bagwise.losses import LOSSES
from bagwise.testing._problems import planted_bags
from reference.program import reference_solution


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_it_is_one_convex_problem_over_instances(loss, C):
    bags, y = planted_bags()
    model = InstanceSVC(kernel="linear", loss=loss, C=C).fit(bags, y)
    up = np.repeat(y == 1, bags.sizes)
    found = reference_solution(bags.X, C * up, C * ~up, LOSSES[loss])
    assert model.objective_[0] == pytest.approx(found.primal, rel=1e-4)
    np.testing.assert_allclose(model.coef_[0], found.coef, atol=1e-2 * np.abs(found.coef).max())
    np.testing.assert_array_equal(model.instance_weights_, 1.0 * up)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("vote", ["any", "majority"])
def test_votes_are_counted(vote):
    bags, y = planted_bags(n_bags=40)
    model = InstanceSVC(vote=vote, C=0.3).fit(bags, y)
    votes = np.split(model.predict_instances(bags), bags.offsets[1:-1])
    if vote == "any":
        expected = [int(part.any()) for part in votes]
    else:
        expected = [int(2 * part.sum() >= len(part)) for part in votes]
    np.testing.assert_array_equal(model.predict(bags), expected)
    both = InstanceSVC(C=0.3).fit(bags, y), InstanceSVC(vote="majority", C=0.3).fit(bags, y)
    np.testing.assert_array_equal(both[0].dual_coef_, both[1].dual_coef_)  # the same SVM
    assert np.any(both[0].predict(bags) != both[1].predict(bags))
