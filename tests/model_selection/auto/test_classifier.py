"""The automatic model: what it combines, what it keeps, and how it stops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise import (
    AutoBagClassifier,
    BagKernelSVC,
    InstanceSVC,
    MeanSVC,
    MILBoost,
    PerInstance,
    WitnessSVC,
)
from bagwise.datasets import load_digits_bags, make_gaussian_bags
from bagwise.estimators.tags import bag_tags
from bagwise.metrics import key_instance_rate
from bagwise.model_selection import clock
from bagwise.testing._problems import planted_bags

FAST = ["MI-SVM", "SimpleMI", "STK"]


def gaussian_bags(n_bags=60, **options):
    bags, y = make_gaussian_bags(n_bags=n_bags, shift=4.0, random_state=0, **options)
    return bags, y


def test_witness_models_decide_where_one_instance_in_many_does():
    bags, y = load_digits_bags(9, n_bags=80, subset="train")
    new, truth = load_digits_bags(9, n_bags=100, subset="test")
    model = AutoBagClassifier(models=FAST).fit(bags, y)
    assert model.names_[model.weights_.argmax()] == "MI-SVM"
    assert roc_auc_score(truth, model.decision_function(new)) > 0.95


def test_scores_are_the_weighted_log_odds_of_the_members():
    bags, y = gaussian_bags()
    model = AutoBagClassifier(models=FAST, threshold=0.0).fit(bags, y)
    facts = zip(model.members_, model.weights_, model.slopes_, model.midpoints_, strict=True)
    expected = sum(w * a * (member.decision_function(bags) - m) for member, w, a, m in facts)
    np.testing.assert_allclose(model.decision_function(bags), expected, rtol=1e-12)
    assert model.weights_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_two_fits_give_the_same_bits_also_in_parallel(n_classes):
    bags, y = planted_bags(n_classes, n_bags=45, shift=4.0)
    one = AutoBagClassifier(models=FAST, time_limit=None).fit(bags, y)
    other = AutoBagClassifier(models=FAST, time_limit=None, n_jobs=2).fit(bags, y)
    np.testing.assert_array_equal(one.predict_proba(bags), other.predict_proba(bags))


def test_estimators_and_pipelines_are_candidates_too():
    bags, y = gaussian_bags()
    scaled = make_pipeline(PerInstance(StandardScaler()), MeanSVC())
    model = AutoBagClassifier(models=[WitnessSVC(C=10), scaled, MeanSVC()]).fit(bags, y)
    assert [r["model"] for r in model.results_[1:]] == ["WitnessSVC", "MeanSVC", "MeanSVC #2"]
    assert model.key_instances(bags).shape == (len(bags),)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(ValueError, match="Did you mean 'MI-SVM' or 'mi-SVM'"):
        AutoBagClassifier(models=["MI-SWM"]).fit(*gaussian_bags())


def test_a_model_that_fails_is_on_the_leaderboard_with_its_reason():
    bags, y = gaussian_bags()
    bad = WitnessSVC(kernel="precomputed")  # instance ids are not the columns
    model = AutoBagClassifier(models=[bad, "SimpleMI"]).fit(bags, y)
    frame = model.leaderboard_.set_index("model")
    assert "instance_ids" in frame.loc["WitnessSVC", "failure"]
    assert frame.loc["SimpleMI", "weight"] == 1.0
    with pytest.raises(ValueError, match="WitnessSVC could not be fitted"):
        AutoBagClassifier(models=[bad]).fit(bags, y)


def test_labels_without_a_signal_give_a_warning_and_frequencies():
    bags, _ = gaussian_bags(n_bags=40)
    bags, y = bags.replace(X=np.ones_like(bags.X)), np.arange(40) % 4 == 0
    model = AutoBagClassifier(models=["SimpleMI"])
    with pytest.warns(UserWarning, match="better than chance"):
        model.fit(bags, y)
    np.testing.assert_allclose(model.predict_proba(bags)[:, 1], 0.25, atol=0.01)


def test_a_model_file_keeps_everything(tmp_path):
    bags, y = gaussian_bags()
    model = AutoBagClassifier(models=[*FAST, MILBoost(n_estimators=3)]).fit(bags, y)
    bagwise.save(model, tmp_path / "auto.bagwise")
    loaded = bagwise.load(tmp_path / "auto.bagwise")
    np.testing.assert_array_equal(loaded.predict_proba(bags), model.predict_proba(bags))
    assert loaded.leaderboard_.equals(model.leaderboard_)


def test_it_works_in_pipelines_and_searches():
    bags, y = gaussian_bags()
    pipeline = make_pipeline(PerInstance(StandardScaler()), AutoBagClassifier(models=FAST))
    grid = {"autobagclassifier__models": [["SimpleMI"], ["MI-SVM"]]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring="roc_auc").fit(bags, y)
    assert search.best_params_ == {"autobagclassifier__models": ["MI-SVM"]}


def test_groups_stay_together_and_few_bags_mean_few_folds():
    bags, _ = gaussian_bags(n_bags=24)
    groups = np.arange(24) // 3
    folds = []
    model = AutoBagClassifier(models=["SimpleMI"], callback=folds.append)
    model.fit(bags.replace(groups=groups), np.arange(24) // 3 % 2)
    assert len(folds) == 4  # of the four groups of each class
    with pytest.raises(ValueError, match="fewer than the 5 inner folds of cv"):
        AutoBagClassifier(models=["SimpleMI"], cv=5).fit(bags[:8], [0, 1] * 4)


# Instances ---------------------------------------------------------------------------------------


def test_key_instances_are_the_digits_in_question():
    bags, y = load_digits_bags(9, n_bags=80, subset="train")
    new, truth = load_digits_bags(9, n_bags=100, subset="test")
    model = AutoBagClassifier(models=["StatisticsSVC", *FAST]).fit(bags, y)
    assert key_instance_rate(model, new, truth) > 0.9
    frame = model.explain(new[:2])
    assert frame["score"].tolist() == model.instance_decision_function(new[:2]).tolist()
    assert not hasattr(model, "predict_instances")


def test_instance_scores_are_log_odds_of_witnesses_and_changes_without_instances():
    bags, y = gaussian_bags()
    model = AutoBagClassifier(models=["MI-SVM", "StatisticsForest"]).fit(bags, y)
    assert sorted(model.names_) == ["MI-SVM", "StatisticsForest"]
    found, expected = model.instance_decision_function(bags), np.zeros(bags.n_instances)
    facts = zip(model.members_, model.weights_, model.slopes_, model.midpoints_, strict=True)
    for member, weight, slope, midpoint in facts:
        if isinstance(member, WitnessSVC):
            scores = member.instance_decision_function(bags) - midpoint
        else:
            left = [np.delete(bag, i, axis=0) for bag in bags for i in range(len(bag))]
            own = np.repeat(member.decision_function(bags), bags.sizes)
            scores = own - member.decision_function(left)
        expected += weight * slope * scores
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (WitnessSVC(), True),
        (MILBoost(), True),
        (BagKernelSVC(), False),  # the mean
        (MeanSVC(), False),
        (InstanceSVC(vote="majority"), False),
    ],
)
def test_where_one_instance_decides(model, expected):
    assert bag_tags(model).one_decides == expected


# Budgets -----------------------------------------------------------------------------------------


def test_out_of_time_there_is_still_a_model(monkeypatch):
    bags, y = gaussian_bags()
    moments = iter(np.arange(0.0, 1e4, 10.0))  # every look at the clock takes ten seconds
    monkeypatch.setattr(clock.time, "monotonic", lambda: next(moments))
    model = AutoBagClassifier(models=FAST, time_limit=150.0).fit(bags, y)
    assert 0 < sum(r["folds"] for r in model.results_[1:]) < 2 * 5
    assert model.predict(bags).shape == y.shape


def test_no_time_at_all_is_an_error_that_names_the_limit():
    with pytest.raises(ValueError, match="time_limit=1e-09"):
        AutoBagClassifier(models=FAST, time_limit=1e-9).fit(*gaussian_bags())


class Interrupting(MeanSVC):
    """Raises KeyboardInterrupt, as Ctrl-C does."""

    def _fit_classes(self, bags, codes, weight):
        raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_so_far():
    bags, y = gaussian_bags()
    with pytest.warns(UserWarning, match="interrupted"):
        model = AutoBagClassifier(models=["MI-SVM", Interrupting()]).fit(bags, y)
    assert (model.names_, model.interrupted_) == (["MI-SVM"], True)
    with pytest.raises(KeyboardInterrupt):
        AutoBagClassifier(models=[Interrupting()]).fit(bags, y)


def test_progress_is_reported_cell_by_cell(capsys):
    bags, y = gaussian_bags()
    records = []
    model = AutoBagClassifier(models=FAST, cv=3, callback=records.append, verbose=1).fit(bags, y)
    assert len(records) == sum(r["folds"] for r in model.results_[1:])
    assert "MI-SVM" in capsys.readouterr().out


def test_scale_is_tried_on_the_inner_folds_and_named():
    bags, y = planted_bags(n_bags=40)
    bags = bags.replace(X=bags.X * np.array([1e4] + [1.0] * (bags.n_features - 1)))
    model = AutoBagClassifier(models=["SimpleMI"], scale="search", cv=2).fit(bags, y)
    tried = {row["model"] for row in model.results_[1:]}
    names = {"SimpleMI", "SimpleMI, standardized", "SimpleMI, robust", "SimpleMI, quantile"}
    assert tried == names
    alone = AutoBagClassifier(models=["SimpleMI"], scale="robust", cv=2).fit(bags, y)
    assert alone.names_ == ["SimpleMI, robust"]
    sparse = bags.replace(X=sp.csr_array(bags.X))
    with pytest.raises(ValueError, match="would fill sparse instances"):
        AutoBagClassifier(models=["SimpleMI"], scale="quantile").fit(sparse, y)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_candidates_that_do_not_help_a_large_first_fold_have_no_second(n_jobs):
    bags, y = planted_bags(n_bags=300, shift=4.0)
    model = AutoBagClassifier(models=["MI-SVM", MeanSVC(C=1e-3)], n_jobs=n_jobs, time_limit=None)
    frame = model.fit(bags, y).leaderboard_.set_index("model")
    assert frame["folds"].to_dict() == {"ensemble": 5, "MI-SVM": 5, "MeanSVC": 1}
    assert "log loss of the first fold" in frame.loc["MeanSVC", "failure"]
    few = model.fit(bags[:280], y[:280]).leaderboard_  # 28 bags of each class
    assert few["folds"].tolist() == [5, 5, 5]
