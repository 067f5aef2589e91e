"""The planted graph carries the labels, the words do not."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.svm import LinearSVC

from bagwise.bags.segments import segment_max, segment_sum
from bagwise.datasets import make_graph_bags

SETTINGS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**31)


def _text_alone(data):
    """Accuracy on the unlabeled half of a linear SVM on the bags' largest word weights."""
    words = segment_max(data.bags.X.toarray(), data.bags.offsets)
    model = LinearSVC().fit(words[data.labeled], data.y[data.labeled])
    assert model.score(words[data.labeled], data.y[data.labeled]) == 1.0
    return model.score(words[~data.labeled], data.y[~data.labeled])


def _graph_alone(data):
    """Accuracy on the unlabeled half of the labeled neighbors' majority."""
    votes = np.zeros(len(data.y))
    sign = np.where(data.labeled, 2 * data.y - 1, 0)
    for here, there in (data.edges.T, data.edges.T[::-1]):
        np.add.at(votes, here, sign[there])
    return ((votes > 0) == data.y)[~data.labeled].mean()


@pytest.mark.parametrize("seed", range(3))
def test_graph_bags_are_learned_by_the_graph_and_not_by_the_text(seed):
    data = make_graph_bags(homophily=1.0, random_state=seed)
    assert _text_alone(data) <= 0.8
    assert _graph_alone(data) >= 0.98
    assert _graph_alone(make_graph_bags(homophily=0.5, random_state=seed)) <= 0.65


@SETTINGS
@given(seed=SEEDS, homophily=st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_planted_graph(seed, homophily):
    data = make_graph_bags(n_bags=200, homophily=homophily, degree=4, random_state=seed)
    source, target = data.edges.T
    assert np.all(np.bincount(source) == 4)
    assert len(np.unique(data.edges, axis=0)) == len(data.edges)
    assert np.all(source != target)
    assert (data.y[source] == data.y[target]).mean() == pytest.approx(homophily, abs=0.08)
    assert data.bags.has_ids
    assert data.bags.X.indices.dtype == np.int32
    np.testing.assert_array_equal(segment_sum(data.bags.instance_labels, data.bags.offsets), data.y)


def test_graph_halves_share_only_common_words():
    data = make_graph_bags(n_marking_words=10, n_common_words=50)
    used = [np.unique(data.bags[half].X.indices) for half in (data.labeled, ~data.labeled)]
    assert np.intersect1d(*used).min() >= 40
