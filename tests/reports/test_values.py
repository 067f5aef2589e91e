"""Pages about models of numbers, grades and times."""

import json
import re

import numpy as np
import pytest

from bagwise import Bags, BagSurvival, CoxBag, OrdinalBagClassifier, WitnessRegressor, report


def planted(task, n_bags=60, seed=0):
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(2, 7), 2)) for _ in range(n_bags)]
    worst = np.array([X[:, 0].max() for X in members])
    time, until = rng.exponential(np.exp(-2 * worst)), rng.exponential(size=n_bags)
    y = {
        "numbers": worst,
        "grades": np.array(["low", "mid", "top"])[np.digitize(worst, [0.7, 1.3])],
        "times": np.column_stack([time <= until, np.minimum(time, until)]),
    }[task]
    return Bags.from_list(members).replace(groups=np.arange(n_bags) // 2), y


MODELS = {
    "numbers": WitnessRegressor(kernel="linear"),
    "grades": OrdinalBagClassifier(order=["low", "mid", "top"]),
    "times": CoxBag(),
}
METRIC = {"numbers": "r2", "grades": "kappa", "times": "harrell_c"}


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("task", MODELS)
def test_a_page_says_how_good_the_model_is_and_lists_the_bags(task, cv, tmp_path):
    bags, y = planted(task)
    new, truth = planted(task, seed=1) if cv is None else (bags, y)
    page = report(MODELS[task].fit(bags, y), new, truth, cv=cv, command="bagwise report m d")
    low, high = page.numbers[METRIC[task]][1:]
    assert low <= page.numbers[METRIC[task]][0] <= high
    assert page.numbers["n_folds"] == (cv or 0)
    data = re.search(r'<script type="application/json" id="rows">(.*?)</script>', page.html)
    rows = json.loads(data[1])["rows"]
    assert sorted(int(row["id"]) for row in rows) == list(range(len(new)))
    assert all(row["top"] and row["key"] == row["top"][0]["name"] for row in rows)
    assert page.html.count("<svg") == {"numbers": 3, "grades": 1, "times": 3}[task]
    assert ("3-fold cross-validation" in page.html) == (cv == 3)
    assert "bagwise report m d" in page.html
    page.save(tmp_path / "page.html")


def test_landmarks_have_a_page_with_their_certificate_missing():
    bags, y = planted("times")
    page = report(BagSurvival(times=2).fit(bags, y), bags, y, cv=3)
    assert "without a proof" in page.html
