"""MILES: the embedding against loops, the linear program against itself whole, the shares."""

import numpy as np
import pytest

from bagwise import MILES, MILESEmbedding
from bagwise.bags.segments import expand
from bagwise.datasets import load_digits_bags
from bagwise.testing._problems import planted_bags


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=0, n_bags=60, random_state=1)


def test_embedding_equals_a_loop(digits):
    bags = digits[0]
    embedding = MILESEmbedding(gamma=0.1).fit(bags[:10])
    expected = [
        [max(np.exp(-0.1 * ((x - p) ** 2).sum()) for x in bag) for p in embedding.points_]
        for bag in bags[10:13]
    ]
    np.testing.assert_allclose(embedding.transform(bags[10:13]), expected, rtol=1e-9)


def test_shares_of_the_speaking_instances_sum_to_the_bag_score(digits):
    bags, y = digits
    model = MILES(C=10).fit(bags[:40], y[:40])
    test = bags[40:]
    scores = model.instance_decision_function(test)
    embedded = MILESEmbedding(gamma=model.gamma_).fit([model.support_vectors_])
    similar = np.concatenate([embedded.transform(bag[:, None]) for bag in test])
    for i, bag_score in enumerate(model.decision_function(test)):
        rows = slice(test.offsets[i], test.offsets[i + 1])
        speakers = np.unique(similar[rows].argmax(axis=0))
        assert scores[rows][speakers].sum() == pytest.approx(bag_score)


# Landmarks ----------------------------------------------------------------------------------------


def test_as_many_landmarks_as_instances_are_all_of_them():
    bags, y = planted_bags(n_bags=20)
    every, all_ = (MILES(n_components=n).fit(bags, y) for n in (None, 1000))
    np.testing.assert_array_equal(every.decision_function(bags), all_.decision_function(bags))


def test_bags_are_compared_with_landmarks_only():
    bags, y = planted_bags(n_bags=20)
    weight = np.where(np.arange(20) % 4, 1.0, 0.0)
    few = {"n_components": 9}
    embedding = MILESEmbedding(gamma=0.5, **few).fit(bags)
    assert embedding.transform(bags).shape == (20, 9)
    model = MILES(gamma=0.5, **few).fit(bags, y, weight)
    assert np.all(expand(weight, bags.offsets)[model.support_] > 0)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]
    np.testing.assert_array_equal(bags.X[model.support_], model.support_vectors_)


def test_an_embedding_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr("bagwise.kernels.instance.memory_limit", lambda: 2.0**10)
    bags, y = planted_bags(n_bags=20)
    size = rf"similarities of 20 x {bags.n_instances} values"
    for model in (MILES(), MILESEmbedding()):
        with pytest.raises(MemoryError, match=rf"{size}.* Set n_components=500"):
            model.fit(bags, y)
