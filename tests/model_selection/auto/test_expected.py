"""Expected gains: the order of candidates, and what is learned from one fold."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.model_selection.auto import expected
from bagwise.model_selection.auto.portfolio import PORTFOLIO

# One task where statistics are right, one where witnesses are.
TABLE = ["forest", "svm", "witness"], np.array([[0.95, 0.9, 0.6], [0.6, 0.55, 0.97]])


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(expected, "measured", lambda: TABLE)


def test_the_shipped_table_knows_every_candidate():
    names, table = expected.measured()
    assert names == [candidate.name for candidate in PORTFOLIO]
    assert table.shape[1] == len(names)
    assert np.all((table > 0) & (table <= 1))


@pytest.mark.usefixtures("small")
def test_the_order_is_by_what_each_adds():
    # The witness model has the best mean; the forest adds where it fails; the SVM adds nothing.
    assert expected.in_order(["svm", "forest", "witness"]) == ["witness", "forest", "svm"]
    assert expected.in_order(["mine", "svm"]) == ["svm", "mine"]


@pytest.mark.usefixtures("small")
def test_gains_follow_the_tasks_that_look_alike():
    gains = expected.expected_gains({"svm": 0.9, "forest": 0.94}, ["witness"])
    assert gains["witness"] == pytest.approx((0.97 - 0.6) / 2)  # both tasks rank them so
    gains = expected.expected_gains({"svm": 0.9, "witness": 0.6}, ["forest"])
    assert gains["forest"] == pytest.approx(0.05, abs=1e-4)  # that of the first task
    assert expected.expected_gains({"svm": 0.9}, ["mine"]) == {"mine": np.inf}


@pytest.mark.usefixtures("small")
def test_what_was_seen_shrinks_towards_what_is_known():
    seen = {"forest": 0.8, "svm": 0.9, "witness": 0.6}
    few = expected.expected_areas(seen, 10, list(seen))
    many = expected.expected_areas(seen, 100_000, list(seen))
    assert few["forest"] > few["svm"]
    assert many == pytest.approx(seen, abs=1e-3)
    assert expected.expected_areas({"mine": 0.7}, 10, ["mine"]) == {"mine": 0.7}


@pytest.mark.usefixtures("small")
def test_other_scalings_of_a_candidate_count_as_itself():
    assert expected.in_order(["mine, robust", "svm", "witness, robust"]) == [
        *("witness, robust", "svm", "mine, robust")
    ]
    plain = expected.expected_gains({"svm": 0.9, "forest": 0.94}, ["witness"])["witness"]
    scaled = expected.expected_gains({"svm": 0.9, "forest": 0.94}, ["witness, quantile"])
    assert scaled["witness, quantile"] == plain
    assert expected.usual_seconds("MI-SVM, robust") == expected.usual_seconds("MI-SVM")
