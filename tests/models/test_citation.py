"""Citation kNN against its definition in plain loops, and its key instances."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import Bags, CitationKNN
from bagwise.kernels.bag import hausdorff
from bagwise.testing._problems import planted_bags


def random_bags(seed: int, n: int = 25) -> tuple[Bags, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    bags = Bags(rng.normal(size=(sizes.sum(), 3)), np.concatenate([[0], np.cumsum(sizes)]))
    return bags, np.arange(n) % 2


def naive_votes(train: Bags, y, bag, R: int, C: int, distance: str) -> tuple[int, int]:
    """Count the positive and negative votes of references and citers, as the paper says it."""
    one = Bags.from_list([bag])
    to_bag = hausdorff(one, train, distance)[0]
    among = hausdorff(train, train, distance)
    voters = list(np.argsort(to_bag)[:R])
    for i in range(len(train)):
        others = np.delete(among[i], i)
        if np.count_nonzero(others < to_bag[i]) < C:
            voters.append(i)
    return sum(y[i] == 1 for i in voters), sum(y[i] == 0 for i in voters)


@pytest.mark.parametrize("distance", ["minimal", "average", "maximal"])
@pytest.mark.parametrize(("R", "C"), [(2, 4), (1, 0), (3, 1), (5, 5)])
def test_votes_equal_the_definition(distance, R, C):
    train, y = random_bags(0)
    test, _ = random_bags(1, 15)
    model = CitationKNN(n_references=R, n_citers=C, metric=distance).fit(train, y)
    scores = model.decision_function(test)
    for bag, score in zip(test, scores, strict=True):
        for_, against = naive_votes(train, y, bag, R, C, distance)
        low, high = np.array([-1.0, 0.0]) + for_ - against
        assert low < score * (for_ + against) < high  # the nearest bags decide within
        assert (score > 0) == (for_ > against)


def test_a_tie_is_negative_whatever_is_nearer():
    train = [[[0.0]], [[1.0]]]
    model = CitationKNN(n_references=2, n_citers=0).fit(train, [0, 1])
    scores = model.decision_function([[[0.9]], [[0.1]]])
    assert np.all(scores < 0)
    assert scores[0] > scores[1]  # but the ranking knows


def test_an_instance_is_a_bag_of_one():
    bags, y = random_bags(3)
    model = CitationKNN().fit(bags, y)
    alone = Bags(bags.X, np.arange(bags.n_instances + 1))
    np.testing.assert_array_equal(
        model.instance_decision_function(bags), model.decision_function(alone)
    )


def test_without_other_bags_everybody_cites():
    model = CitationKNN(n_references=1, n_citers=10).fit([[[0.0]], [[1.0]]], [0, 1])
    np.testing.assert_array_equal(model.reach_, np.inf)


@pytest.mark.parametrize("metric", ["minimal", "average", "maximal"])
def test_blocks_of_bags_give_the_same_scores(metric, monkeypatch):
    bags, y = planted_bags(n_bags=30)
    weight = 1.0 + np.arange(30) % 3
    whole = CitationKNN(metric=metric).fit(bags, y, weight)
    expected = whole.decision_function(bags), whole.instance_decision_function(bags)
    monkeypatch.setattr("bagwise.models.citation.BLOCK_VALUES", 7 * 30)
    parts = CitationKNN(metric=metric).fit(bags, y, weight)
    np.testing.assert_allclose(parts.reach_, whole.reach_, rtol=1e-8)
    np.testing.assert_allclose(parts.decision_function(bags), expected[0], rtol=1e-7)
    np.testing.assert_allclose(parts.instance_decision_function(bags), expected[1], rtol=1e-7)
