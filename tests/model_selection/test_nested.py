"""An outer fold, redone by hand: choose inside, calibrate inside, judge outside."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import InstanceSVC, MeanSVC, PerInstance
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import grid_points, search
from bagwise.model_selection.nested import NestedCell, OuterFolds, Protocol
from bagwise.model_selection.scaling import scalings, with_scaler


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


def outer(problem, **changes):
    rules = {"cv": 2, "inner_cv": 3, "metric": "auc", "scale": None, "random_state": 0}
    return OuterFolds(*problem, Protocol(**{**rules, **changes}))


@pytest.mark.parametrize("scale", [None, "standard", "search"])
@pytest.mark.parametrize("repeat", [0, 1])
def test_a_comparison_is_nested_cross_validation(problem, scale, repeat):
    bags, y = problem
    folds = StratifiedKFold(2, shuffle=True, random_state=repeat).split(np.zeros(len(y)), y)
    for fold, (train, test) in enumerate(folds):
        found = outer(problem, scale=scale).judge(NestedCell("SIL", InstanceSVC(), repeat, fold))
        part, held_out = bags[train], bags[test]
        grid, options = grid_points(InstanceSVC()), {"metric": "auc", "calibrate": True}
        choices = search(InstanceSVC(), grid, part, y[train], scale=scale, **options)
        best = max(choices, key=lambda choice: choice.value)
        scaler = scalings(part, best.scale)[best.scale]
        model = with_scaler(InstanceSVC(**best.point), scaler).fit(part, y[train])
        scores = model.decision_function(held_out)
        assert found["scale"] == best.scale
        assert found["point"] == best.point
        assert found["scores"] == (scores - best.threshold).tolist()


def test_any_estimator_of_bags_can_be_judged(problem):
    pipeline = make_pipeline(PerInstance(StandardScaler()), MeanSVC())
    record = outer(problem).judge(NestedCell("mine", pipeline, 0, 0))
    assert len(record["scores"]) == 18


class NaNScores(MeanSVC):
    """A model whose scores are broken."""

    def decision_function(self, bags):
        return np.full(len(bags), np.nan)


def test_scores_that_are_no_numbers_are_refused(problem):
    with pytest.raises(ValueError, match="NaN"):
        outer(problem).judge(NestedCell("bad", NaNScores(), 0, 1))
