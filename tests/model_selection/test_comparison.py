"""What a comparison says about results that are known: groups, recommendation, bags needed."""

import numpy as np
import pytest

from bagwise import AutoBagClassifier, CitationKNN, InstanceSVC, WitnessSVC
from bagwise.catalog import rank_cost
from bagwise.model_selection import Compared, Comparison
from bagwise.model_selection.intervals import Sample
from bagwise.model_selection.nested import Protocol

N_BAGS, CV = 60, 5
Y = np.arange(N_BAGS) % 2
FOLDS = (np.arange(N_BAGS) // 2) % CV
MODELS = {"MI-SVM": WitnessSVC(), "SIL": InstanceSVC(), "Citation kNN": CitationKNN()}
MODELS["auto"] = AutoBagClassifier()


def made(scores, models=None, metric="auc", **more):
    """Make a comparison of given out-of-fold scores, one repeat."""
    records = [
        {"model": name, "code": "", "repeat": 0, "fold": fold, "seconds": 1.0, "point": {},
         "scores": np.asarray(values)[fold == FOLDS].tolist(), "warned": []}
        for name, values in scores.items()
        for fold in range(CV)
    ]  # fmt: skip
    chosen = {name: MODELS.get(name, WitnessSVC()) for name in models or scores}
    rules = Protocol(CV, 3, metric, None, 0)
    sample = Sample(Y, np.array([0, 1]), CV)
    return Comparison(chosen, records + more.pop("records", []), sample, [FOLDS], rules, **more)


def noisy(shift, seed=0):
    return np.random.default_rng(seed).normal(size=N_BAGS) + shift * (Y - 0.5)


def test_the_best_is_first_and_the_worst_in_another_group():
    found = made({"bad": noisy(0.0), "good": noisy(6.0), "SIL": noisy(5.0, 1)})
    assert list(found.results)[-1] == "bad"
    assert [set(group) for group in found.groups] == [{"good", "SIL"}, {"bad"}]
    assert found.runs == [(0, 1)]
    table = found.p_values()
    assert table.loc["good", "bad"] < 0.01
    assert np.allclose(table, table.T)
    assert (np.diag(table) == 1).all()


def test_the_recommended_model_is_cheap_and_near_the_best():
    best = noisy(1.5)
    tied = made({"mi-SVM": best, "SIL": best + 1e-9})
    assert tied.recommendation == min(("mi-SVM", "SIL"), key=rank_cost) == "SIL"
    far = made({"MI-SVM": noisy(2.0, 1), "SIL": noisy(1.4, 2)})
    gap = far.difference("MI-SVM", "SIL")
    assert gap.value > gap.error, "the example is not far apart"
    assert len(far.groups[0]) == 2
    assert far.recommendation == "MI-SVM"


def test_a_model_that_decides_badly_is_not_recommended_beside_one_that_does_not():
    best = noisy(1.5)
    shifted = made({"mi-SVM": best, "SIL": best - 3.0})
    assert shifted.results["SIL"].decides_badly
    assert not shifted.results["mi-SVM"].decides_badly
    assert shifted.recommendation == "mi-SVM"


def test_models_that_point_at_instances_come_first(monkeypatch):
    assert made({"auto": noisy(1.0)}).recommendation == "auto"
    kinds = {"WitnessSVC": "", "InstanceSVC": "occlusion", "CitationKNN": "exact"}
    kinds["AutoBagClassifier"] = "mixed"
    kind = property(lambda self: kinds[type(self.model).__name__])
    monkeypatch.setattr(Compared, "instance_scores", kind)
    scores = dict.fromkeys(MODELS, noisy(1.0))
    assert made(scores).recommendation == "Citation kNN"
    scores.pop("Citation kNN")
    assert made(scores).recommendation == "auto"
    scores.pop("auto")
    assert made(scores).recommendation == "SIL"


def test_more_bags_are_asked_for_where_models_are_tied():
    close = made({"a": noisy(2.0, 1), "b": noisy(1.5, 2)})
    assert len(close.groups) == 1
    assert close.more_bags > 0
    assert made({"a": noisy(2.0), "b": noisy(2.0)}).more_bags is None, "no number is enough"
    assert made({"a": noisy(2.0)}).more_bags is None


def test_a_reversed_model_is_noticed():
    found = made({"good": noisy(3.0), "reversed": -noisy(3.0, 1), "chance": noisy(0.0, 2)})
    assert found.reversed_models == ["reversed"]


def test_failures_and_unfinished_models():
    failed = {"model": "bad", "code": "", "repeat": 0, "fold": 0, "failure": "no", "seconds": 0.0}
    started = {**failed, "model": "slow", "scores": [0.0] * 12, "point": {}}
    del started["failure"]
    later = {**failed, "model": "good", "repeat": 1}  # leaves the whole repeats
    names = ["good", "bad", "slow", "open"]
    found = made({"good": noisy(3.0)}, names, records=[failed, started, later])
    assert list(found.results) == ["good"]
    assert found.failures == {"bad": "no"}
    assert found.unfinished == {"slow": 1, "open": 0}
    rows = found.frame.set_index("model")
    assert rows.loc["bad", "failure"] == "no"
    assert rows.loc["good", "group"] == 1


@pytest.mark.parametrize("metric", ["auc", "accuracy", "balanced_accuracy", "specificity"])
def test_the_metric_decides_the_order(metric):
    """Scores in perfect order, all above the threshold: the best AUC, accuracy by chance."""
    found = made({"ordered": Y + 10.0, "coarse": np.where(noisy(3.0) > 0, 1.0, -1.0)}, None, metric)
    assert (next(iter(found.results)) == "ordered") == (metric == "auc")
    usual = {"auc": 0.5, "accuracy": 0.5, "balanced_accuracy": 0.5}
    assert found.majority == usual | {"sensitivity": 0.0, "specificity": 1.0}
