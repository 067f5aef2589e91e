"""Grid points, and how they are judged on held-out bags."""

from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from bagwise import ODM, AnnealedProportionSVC, CitationKNN, InstanceSVC, WitnessSVC
from bagwise.model_selection import grid_points, search
from bagwise.testing._problems import planted_bags


def test_grid_points_are_those_of_the_user_or_of_the_catalog_without_what_is_fixed():
    assert grid_points(WitnessSVC(), {"C": [1], "kernel": ["linear", "rbf"]}) == [
        {"C": 1, "kernel": "linear"},
        {"C": 1, "kernel": "rbf"},
    ]
    usual = [{"C": 0.3}, {"C": 3.0}, {"C": 30.0}]
    assert grid_points(WitnessSVC()) == grid_points(WitnessSVC(), fixed=["kernel"]) == usual
    assert grid_points(WitnessSVC(C=7), fixed=["C"]) == grid_points(CitationKNN()) == [{}]
    assert grid_points(ODM()) == [{"C": 10.0}, {"C": 100.0}, {"C": 1000.0}]
    assert len(grid_points(AnnealedProportionSVC())) == 9


def test_the_search_calibrates_on_held_out_scores():
    bags, y = planted_bags(n_bags=40)
    model, points, done = InstanceSVC(), [{"C": 0.5}, {"C": 5.0}], []
    plain = search(model, points, bags, y, callback=lambda: done.append(1))
    assert len(done) == 2
    calibrated = search(model, points, bags, y, calibrate=True)
    for one, other in zip(plain, calibrated, strict=True):
        assert one.threshold == 0.0
        assert other.value >= one.value
    assert any(choice.threshold != 0.0 for choice in calibrated)


def test_values_are_those_of_out_of_fold_scores():
    bags, y = planted_bags(n_bags=40)
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    for metric, score in (("accuracy", accuracy_score), ("auc", roc_auc_score)):
        (choice,) = search(InstanceSVC(), [{"C": 5.0}], bags, y, metric=metric, random_state=7)
        model = InstanceSVC(C=5.0)
        scores = cross_val_predict(model, bags, y, cv=folds, method="decision_function")
        expected = score(y, scores > 0) if metric == "accuracy" else score(y, scores)
        assert choice.value == expected
