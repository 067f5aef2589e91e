"""Folds that hide labels and keep the bags."""

from __future__ import annotations

from sklearn.metrics import roc_auc_score

from bagwise import Graph, GraphSVC
from bagwise.datasets import make_graph_bags
from bagwise.model_selection import transductive_cv


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
