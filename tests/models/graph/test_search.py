"""GraphSVCCV: the graph is chosen where it helps, and neighbors on the grid start each other."""

import warnings

import numpy as np
import pytest

from bagwise import Bags, Graph, GraphSVC, GraphSVCCV
from reference.structured import noisy_bags


def test_cv_chooses_the_graph_where_it_helps_and_leaves_it_where_it_does_not():
    # Labelled and unlabeled alike: a fold's own words are hidden with its labels.
    rng = np.random.default_rng(0)
    n = 60
    y = np.arange(n) % 2
    X = np.eye(n)  # every bag has a word of its own: only edges can tell
    same = [(i, j) for i in range(n) for j in rng.choice(n, 4) if y[i] == y[j] and i != j]
    mixed = [(i, (i + 1 + int(j)) % n) for i in range(n) for j in rng.integers(0, n - 1, 4)]
    bags = Bags(X, np.arange(n + 1), ids=np.arange(n))
    grid = {"Cs": [100.0], "mus": [10.0, 0.0], "cv": 3, "tol": 1e-3}
    helped = GraphSVCCV(bag_graph=Graph.from_edges(same), **grid).fit(bags, y)
    assert helped.mu_ == 10.0
    by_mu = {record["mu"]: record["score"] for record in helped.cv_results_}
    assert by_mu[10.0] >= by_mu[0.0] + 0.3
    assert helped.C_ == 100.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        useless = GraphSVCCV(bag_graph=Graph.from_edges(mixed), **grid).fit(bags, y)
    assert max(record["score"] for record in useless.cv_results_) <= 0.7


def test_cv_from_neighbors_agrees_with_single_fits():
    bags, y, _, _ = noisy_bags(12, n_bags=40)
    search = GraphSVCCV(Cs=[1.0, 30.0], mus=[0.0], cv=3, scoring="roc_auc").fit(bags, y)
    single = GraphSVC(C=search.C_, mu=0.0).fit(bags, y)
    np.testing.assert_allclose(search.coef_, single.coef_, atol=1e-6)
    assert [record["C"] for record in search.cv_results_] == [1.0, 30.0]
    with pytest.raises(ValueError, match="roc_auc' is for two classes"):
        GraphSVCCV(Cs=[1.0], mus=[0.0], cv=3, scoring="roc_auc").fit(bags, np.arange(40) % 3)
