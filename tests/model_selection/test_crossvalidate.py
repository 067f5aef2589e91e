"""Cross-validation of one model: folds that scikit-learn makes, hidden labels, positive class."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, Graph, GraphSVC, MeanSVC, PerInstance, WitnessSVC
from bagwise.datasets import make_gaussian_bags, make_graph_bags
from bagwise.errors import Message
from bagwise.metrics import bag_report
from bagwise.model_selection import (
    CrossValidation,
    choose_positive,
    cross_validate_bags,
    transductive_cv,
)

MODEL = WitnessSVC(kernel="linear")
BAGS, Y = make_gaussian_bags(60, 5, shift=4.0, witness_rate=0.1)


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


def test_each_fold_is_judged_by_a_model_that_did_not_see_it(problem):
    bags, y = problem
    model = make_pipeline(PerInstance(StandardScaler()), MODEL)
    result = cross_validate_bags(model, bags, y, cv=3, n_repeats=2, random_state=5)
    expected = []
    for seed in (5, 6):
        splits = StratifiedKFold(3, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
        expected += [bag_report(model.fit(bags[a], y[a]), bags[b], y[b]) for a, b in splits]
    assert result.folds == expected
    assert result.warned == []


def test_groups_stay_together():
    bags, y = make_gaussian_bags(n_bags=24, shift=4.0, random_state=0)
    groups = np.arange(24) // 4
    seen = []

    class Watched(WitnessSVC):
        def fit(self, bags, y):
            seen.append(set(bags.groups.tolist()))
            return super().fit(bags, y)

    bags = Bags(bags.X, bags.offsets, groups=groups)
    cross_validate_bags(Watched(kernel="linear"), bags, y, cv=3)
    assert [len(trained) for trained in seen] == [4, 4, 4]


def test_the_callback_counts_folds_and_workers_send_their_warnings(problem):
    bags, y = problem
    calls = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none comes through
        result = cross_validate_bags(
            WitnessSVC(kernel="linear", max_iter=1), bags, y, cv=3, n_jobs=2,
            callback=lambda: calls.append(1),
        )  # fmt: skip
    assert len(calls) == 3
    assert len(result.warned) == 3
    assert all(isinstance(message, Message) for message in result.warned)


def test_a_summary_leaves_out_folds_that_do_not_define_a_metric():
    folds = [{"accuracy": 0.5, "auc": np.nan}, {"accuracy": 1.0, "auc": 0.7, "rate": 1.0}]
    summary = CrossValidation(folds, []).summary()
    assert summary["accuracy"] == {"mean": 0.75, "error": pytest.approx(0.25)}
    assert summary["auc"] == {"mean": 0.7, "error": None}
    assert summary["rate"] == {"mean": 1.0, "error": None}
    assert CrossValidation([{"auc": np.nan}], []).summary()["auc"]["mean"] is None


def test_transductive_folds_hide_labels_only():
    data = make_graph_bags(90, 1.0, random_state=2)
    graph = Graph.from_edges(data.edges, directed=True)
    half = data.labeled  # the other half's words are met without labels, in every fold
    model = GraphSVC(bag_graph=graph, mu=30.0, tol=1e-3)
    result = transductive_cv(model, data.bags[half], data.y[half], unlabeled=data.bags[~half], cv=3)
    assert [fitted.n_edges_[0] for fitted in result["estimator"]] == [graph.n_edges] * 3
    assert result["test_score"].mean() >= 0.9
    areas = transductive_cv(model, data.bags[half], data.y[half], cv=3, scoring="roc_auc")[
        "test_score"
    ]
    assert areas.shape == (3,)
    assert roc_auc_score(data.y[half], result["decision"]) >= 0.9


@pytest.mark.parametrize("labels", [["wt", "mut"], ["mut", "wt"]])
def test_the_class_with_the_witnesses_is_found_wherever_it_is_in_the_alphabet(labels):
    choice = choose_positive(MODEL, BAGS, np.array(labels)[Y])
    assert choice.label == labels[1]
    assert choice.aucs[labels[1]] > choice.aucs[labels[0]] + 0.1
    assert str(choice).startswith(f"{labels[1]} is taken as the positive class")


def test_a_model_that_treats_two_classes_alike_takes_the_second_and_says_so():
    choice = choose_positive(MeanSVC(kernel="linear"), BAGS, np.array(["b", "a"])[Y])
    assert choice.label == "b"
    assert "both do equally well" in str(choice)
    with pytest.raises(ValueError, match="there are 3 classes"):
        choose_positive(MeanSVC(), BAGS, np.arange(60) % 3)
