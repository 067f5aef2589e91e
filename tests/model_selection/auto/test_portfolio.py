"""The candidates, as they suit the bags."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler

from bagwise import Bags, WitnessSVC
from bagwise.model_selection.auto.portfolio import PORTFOLIO, Candidate, at_scales, name_models
from bagwise.model_selection.scaling import scalings
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()
LARGE = Bags(np.zeros((6000, 2)), [0, 6000])


def test_names_tell_candidates_apart_and_all_families_are_there():
    names = [candidate.name for candidate in PORTFOLIO]
    assert len(set(names)) == len(names)
    assert {c.family for c in PORTFOLIO} == {"statistics", "bags", "witness"}
    assert list(name_models(names)) == names


@pytest.mark.parametrize("candidate", PORTFOLIO, ids=lambda candidate: candidate.name)
def test_every_candidate_learns_dense_and_sparse_bags(candidate):
    for bags in (BAGS, BAGS.replace(X=sp.csr_array(BAGS.X))):
        if not candidate.refuse(bags, 2, np.inf):
            model = candidate.build(bags, random_state=0).fit(bags, Y)
            assert model.decision_function(bags).shape == Y.shape
            assert isinstance(model, Pipeline) == (candidate.scale == "standard")


def test_large_data_gets_linear_kernels_or_a_reason():
    assert Candidate("MILES").refuse(LARGE, 2, np.inf).startswith("compares all pairs of the 6000")
    candidate = Candidate("MI-SVM", linear={"kernel": "linear"})
    assert candidate.refuse(LARGE, 2, 1.0) == ""
    assert candidate.build(LARGE, random_state=3, unknown=1).kernel == "linear"
    assert Candidate("MILES").refuse(BAGS, 2, 8.0) != ""  # a byte is not enough


def test_estimators_are_taken_as_they_are():
    mine = WitnessSVC(C=7)
    assert name_models([mine, "MI-SVM"])["WitnessSVC"] is mine


def test_scalings_are_candidates_of_their_own():
    given = name_models(["MI-SVM", "MI-SVM, standardized", "StatisticsSVC"]) | {
        "mine": WitnessSVC()
    }
    found = at_scales(given, scalings(BAGS, "search"))
    shown = ["", ", standardized", ", robust", ", quantile"]
    assert list(found) == [f"MI-SVM{s}" for s in shown] + ["StatisticsSVC"] + [
        f"mine{s}" for s in shown
    ]
    robust = found["MI-SVM, robust"].build(BAGS)
    assert isinstance(robust[0].transformer, RobustScaler)
    assert isinstance(found["mine, quantile"][0].transformer, QuantileTransformer)
    one = at_scales(given, scalings(BAGS, "standard"))
    assert list(one) == [
        *("MI-SVM, standardized", "StatisticsSVC, standardized", "mine, standardized")
    ]
