"""GraphSVC: descent, limits, graphs that help and graphs that do not, named errors."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

from bagwise import Bags, Graph, GraphSVC, GraphSVCCV
from bagwise.datasets import make_graph_bags
from bagwise.model_selection import transductive_cv


def noisy(seed, n_bags=30, d=4):
    """Overlapping classes, so that witnesses move and slacks are many."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    y = np.append(rng.integers(0, 2, n_bags - 2), [0, 1])
    X = rng.normal(size=(sizes.sum(), d))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X[offsets[:-1], 0] += 1.5 * y
    bags = Bags(X, offsets, ids=np.arange(n_bags), instance_ids=np.arange(len(X)))
    edges = rng.integers(0, n_bags, (40, 2))
    links = rng.integers(0, len(X), (40, 2))
    graphs = [Graph.from_edges(e[e[:, 0] != e[:, 1]], directed=True) for e in (edges, links)]
    return bags, y, *graphs


def by_hand(model, bags, y):
    """Return the objective (1) of a fitted binary model, bag by bag and edge by edge."""
    f = bags.X @ model.coef_[0] + model.intercept_[0]
    top = np.array([part.max() for part in np.split(f, bags.offsets[1:-1])])
    sign = np.where(y == 1, 1, -1)
    value = 0.5 * (model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2)
    value += model.C * np.mean(np.maximum(0, 1 - sign * top))
    for graph, ids, scores in (
        (model.bag_graph, bags.ids, top),
        (model.instance_graph, bags.instance_ids, f),
    ):
        if graph is not None:
            value += model.mu * _roughness(graph.among(ids), scores)
    return value


def _roughness(edges, scores):
    degree = np.ones(len(scores))
    for a in np.unique(edges.source):
        degree[a] = np.sum(edges.source == a)
    total = 0.0
    for a, b, w in zip(edges.source, edges.target, edges.weight, strict=True):
        total += w * abs(scores[a] / np.sqrt(degree[a]) - scores[b] / np.sqrt(degree[b]))
    return total / len(edges)


@given(st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 1000.0]), st.booleans(), st.booleans())
def test_the_true_objective_falls_with_exact_negatives(seed, C, over_bags, over_instances):
    bags, y, of_bags, of_rows = noisy(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # homophily of a random graph
        model = GraphSVC(
            of_bags if over_bags else None, of_rows if over_instances else None, C=C, mu=2.0
        ).fit(bags, y)
    steps = [(record["objective"], record["gap"]) for record in model.history_]
    for (before, _), (after, gap) in pairwise(steps):
        assert after <= before + gap + 1e-9 * C
    assert all(record["rise"] == 0 for record in model.history_)
    assert model.objective_[0] == pytest.approx(by_hand(model, bags, y), rel=1e-9)
    assert model.gap_[0] <= 1e-4 * (C + 4) + 1e-9


def test_the_printed_linearisation_climbs_and_says_so():
    climbed = 0
    for seed in range(6):
        bags, y, graph, _ = noisy(seed, n_bags=40)
        printed = GraphSVC(graph, C=1000.0, mu=2.0, linearize_negatives=True, max_iter=5)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            printed.fit(bags, y)
        rose = max(record["rise"] for record in printed.history_) > 0
        told = any("objective rose by up to" in str(warning.message) for warning in caught)
        assert rose == told
        climbed += rose
    assert climbed >= 3


@pytest.mark.parametrize("negatives", ["bags", "instances"])
def test_without_weight_or_edges_a_graph_changes_nothing(negatives):
    bags, y, graph, _ = noisy(1)
    plain = GraphSVC(negatives=negatives).fit(bags, y)
    none = Graph.from_edges([])
    elsewhere = Graph.from_edges([(0, 999), (1, 998)])  # one end each is not in the fit
    for model in (
        GraphSVC(graph, graph, mu=0.0, negatives=negatives),
        GraphSVC(none, none, negatives=negatives),
        GraphSVC(elsewhere, negatives=negatives),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model.fit(bags, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_block_descent_and_cutting_planes_run_the_same_cccp():
    bags, y, _, _ = noisy(4)
    bags = bags.replace(X=np.pad(bags.X, ((0, 0), (0, 600))))  # many features go to block descent
    blocks = GraphSVC(C=50.0).fit(bags, y)
    products = bags.replace(X=bags.X @ bags.X.T, feature_names=None)
    cuts = GraphSVC(C=50.0, kernel="precomputed", eps1=1e-9).fit(products, y)
    np.testing.assert_allclose(
        cuts.decision_function(products), blocks.decision_function(bags), atol=1e-5
    )
    assert cuts.objective_[0] == pytest.approx(blocks.objective_[0], abs=1e-6)


def accuracy_on_hidden(homophily, mu, **options):
    data = make_graph_bags(200, homophily, random_state=0)
    graph = Graph.from_edges(data.edges, directed=True)
    seen, hidden = data.labelled, ~data.labelled
    model = GraphSVC(graph, C=100.0, mu=mu, eps1=1e-3, eps2=1e-3, **options)
    model.fit(data.bags[seen], data.y[seen], unlabeled=data.bags[hidden])
    return model, model.score(data.bags[hidden], data.y[hidden])


def test_a_homophilous_graph_carries_labels_to_bags_without():
    _, without = accuracy_on_hidden(1.0, 0.0)
    model, with_graph = accuracy_on_hidden(1.0, 30.0)
    assert without <= 0.80
    assert with_graph >= 0.98
    assert model.homophily_ == 1.0
    assert model.n_edges_ == (1000, 0)


def test_a_random_graph_carries_nothing():
    _, without = accuracy_on_hidden(0.5, 0.0)
    _, with_graph = accuracy_on_hidden(0.5, 30.0)
    assert abs(with_graph - without) <= 0.1


def test_an_instance_graph_carries_scores_to_instances_without():
    # Two words that mean the same, of which only one occurs in labelled bags; edges join them.
    eye = np.eye(4)
    arrays = [eye[[0]], eye[[1]], eye[[2]], eye[[3]]]  # +, -, and their twins
    bags = Bags.from_list(arrays, ids=list("abcd"), instance_ids=["w", "x", "w2", "x2"])
    graph = Graph.from_edges([("w", "w2"), ("x", "x2")])
    alone = GraphSVC(C=100).fit(bags[:2], [1, 0])
    assert alone.decision_function(bags[2:])[0] == pytest.approx(
        alone.decision_function(bags[2:])[1]
    )
    model = GraphSVC(instance_graph=graph, C=100, mu=10.0)
    model.fit(bags[:2], [1, 0], unlabeled=bags[2:])
    np.testing.assert_array_equal(model.predict(bags), [1, 0, 1, 0])
    assert model.instance_weights_.shape == (2,)
    assert model.instance_homophily_ != model.instance_homophily_  # no edge between labels


def test_low_homophily_is_warned_about():
    with pytest.warns(UserWarning, match="of the edges of bag_graph .* join equal labels"):
        model, _ = accuracy_on_hidden(0.2, 0.1)
    assert model.homophily_ < 0.5


@pytest.mark.parametrize("scaling", ["none", "out", "symmetric"])
def test_scalings_differ_where_degrees_do(scaling):
    bags = Bags.from_list([[[1.0]], [[2.0]], [[-1.0]]], ids=list("abc"))
    star = Graph.from_edges([("a", "b"), ("a", "c")], directed=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = GraphSVC(star, C=10, mu=1.0, scaling=scaling, fit_intercept=False)
        model.fit(bags, [1, 1, 0])
    a, b, c = bags.X.ravel() * model.coef_[0, 0]
    s = {"none": (1, 1, 1), "out": (2, 1, 1), "symmetric": (2, 1, 1)}[scaling]
    rough = sum(abs(a / s[0] ** 0.5 - v / k**0.5) for v, k in ((b, s[1]), (c, s[2]))) / 2
    hinge = np.mean([max(0, 1 - a), max(0, 1 - b), max(0, 1 + c)])
    expected = 0.5 * model.coef_[0, 0] ** 2 + 10 * hinge + rough
    assert model.objective_[0] == pytest.approx(expected, abs=1e-9)


def test_weights_of_edges_multiply_and_weights_of_bags_are_repetition():
    bags, y, graph, _ = noisy(6)
    options = {"C": 20.0, "eps1": 1e-8, "eps2": 1e-8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        twice = Graph(
            graph.ids[graph.source], graph.ids[graph.target], 2 * graph.weight, directed=True
        )
        heavy = GraphSVC(twice, mu=1.0, **options).fit(bags, y)
        strong = GraphSVC(graph, mu=2.0, **options).fit(bags, y)
        doubled = GraphSVC(graph, mu=2.0, **options).fit(bags, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(heavy.coef_, strong.coef_, atol=1e-5)
    np.testing.assert_allclose(doubled.coef_, strong.coef_, atol=1e-5)


def test_sparse_instances_and_a_kernel():
    bags, y, graph, _ = noisy(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = {"mu": 1.0, "eps1": 1e-8, "eps2": 1e-8}
        dense = GraphSVC(graph, **options).fit(bags, y)
        sparse = GraphSVC(graph, **options).fit(bags.replace(X=sp.csr_array(bags.X)), y)
        kernel = GraphSVC(graph, kernel="rbf", C=1000.0).fit(bags, y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    assert kernel.score(bags, y) >= dense.score(bags, y)
    assert kernel.gap_[0] <= 0.1 + 1e-4


def test_three_classes_over_a_graph():
    bags, _, graph, _ = noisy(9)
    y = np.arange(len(bags)) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = GraphSVC(graph).fit(bags, y)
    assert model.decision_function(bags).shape == (30, 3)
    assert model.objective_.shape == (3,)


def test_scikit_learn_folds_use_the_edges_that_are_there():
    data = make_graph_bags(60, 1.0, random_state=1)
    model = GraphSVC(Graph.from_edges(data.edges, directed=True), mu=1.0, eps1=1e-2, eps2=1e-2)
    scores = cross_val_score(model, data.bags, data.y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    fitted = model.fit(data.bags[:30], data.y[:30])
    inside = np.all(data.edges < 30, axis=1)
    assert fitted.n_edges_ == (np.count_nonzero(inside), 0)


def test_transductive_folds_hide_labels_only():
    data = make_graph_bags(90, 1.0, random_state=2)
    graph = Graph.from_edges(data.edges, directed=True)
    half = data.labelled  # the other half's words are met without labels, in every fold
    model = GraphSVC(graph, mu=30.0, eps1=1e-3, eps2=1e-3)
    result = transductive_cv(model, data.bags[half], data.y[half], unlabeled=data.bags[~half], cv=3)
    assert [fitted.n_edges_[0] for fitted in result["estimator"]] == [graph.n_edges] * 3
    assert result["test_score"].mean() >= 0.9
    areas = transductive_cv(model, data.bags[half], data.y[half], cv=3, scoring="roc_auc")[
        "test_score"
    ]
    assert areas.shape == (3,)
    assert roc_auc_score(data.y[half], result["decision"]) >= 0.9


def test_cv_chooses_the_graph_where_it_helps_and_leaves_it_where_it_does_not():
    # Labelled and unlabelled alike: a fold's own words are hidden with its labels.
    rng = np.random.default_rng(0)
    n = 60
    y = np.arange(n) % 2
    X = np.eye(n)  # every bag has a word of its own: only edges can tell
    same = [(i, j) for i in range(n) for j in rng.choice(n, 4) if y[i] == y[j] and i != j]
    mixed = [(i, (i + 1 + int(j)) % n) for i in range(n) for j in rng.integers(0, n - 1, 4)]
    bags = Bags(X, np.arange(n + 1), ids=np.arange(n))
    grid = {"Cs": [100.0], "mus": [10.0, 0.0], "cv": 3, "eps1": 1e-3, "eps2": 1e-3}
    helped = GraphSVCCV(Graph.from_edges(same), **grid).fit(bags, y)
    assert helped.mu_ == 10.0
    by_mu = {record["mu"]: record["score"] for record in helped.cv_results_}
    assert by_mu[10.0] >= by_mu[0.0] + 0.3
    assert helped.C_ == 100.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        useless = GraphSVCCV(Graph.from_edges(mixed), **grid).fit(bags, y)
    assert max(record["score"] for record in useless.cv_results_) <= 0.7


def test_cv_from_neighbours_agrees_with_single_fits():
    bags, y, _, _ = noisy(12, n_bags=40)
    search = GraphSVCCV(Cs=[1.0, 30.0], mus=[0.0], cv=3, scoring="roc_auc").fit(bags, y)
    single = GraphSVC(C=search.C_, mu=0.0).fit(bags, y)
    np.testing.assert_allclose(search.coef_, single.coef_, atol=1e-6)
    assert [record["C"] for record in search.cv_results_] == [1.0, 30.0]
    with pytest.raises(ValueError, match="roc_auc' is for two classes"):
        GraphSVCCV(Cs=[1.0], mus=[0.0], cv=3, scoring="roc_auc").fit(bags, np.arange(40) % 3)


def test_two_fits_give_the_same_bits():
    bags, y, graph, _ = noisy(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, two = (GraphSVC(graph, mu=2.0).fit(bags, y) for _ in range(2))
    assert one.coef_.tobytes() == two.coef_.tobytes()


def test_max_iter_warns():
    bags, y, _, _ = noisy(0, n_bags=60)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GraphSVC(C=1000.0, max_iter=1).fit(bags, y)


BAGS, Y, BAG_GRAPH, ROW_GRAPH = noisy(0)
NAMED = BAGS.replace(instance_ids=[f"row {k}" for k in range(BAGS.n_instances)])
ROWS_BY_NAME = Graph.from_edges([("row 0", "row 3")])


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: GraphSVC(ROWS_BY_NAME).fit(NAMED, Y), "'row 0', is the id of a bag .*instances"),
        (
            lambda: GraphSVC(instance_graph=BAG_GRAPH).fit(NAMED, Y),
            "is the id of a instance .* They are ids of bags",
        ),
        (lambda: GraphSVC(BAG_GRAPH).fit(list(BAGS), Y), "no ids of their own.*with ids"),
        (
            lambda: GraphSVC(instance_graph=ROW_GRAPH).fit(BAGS.replace(instance_ids=None), Y),
            "no ids of their own.*with instance_ids",
        ),
        (
            lambda: GraphSVC(BAG_GRAPH).fit(BAGS.replace(ids=np.arange(30) // 2), Y),
            "bag id 0 is there twice",
        ),
        (
            lambda: GraphSVC(BAG_GRAPH).fit(BAGS, Y, unlabeled=BAGS[:3]),
            "bag id 0 is there twice",
        ),
        (
            lambda: GraphSVC(BAG_GRAPH).fit(
                BAGS, Y, unlabeled=BAGS.replace(X=BAGS.X[:, :2], ids=np.arange(30, 60))
            ),
            "unlabeled bags have 2 features, the labelled ones have 4",
        ),
        (
            lambda: GraphSVC(negatives="instances", linearize_negatives=True).fit(BAGS, Y),
            "Choose one of the two",
        ),
        (lambda: GraphSVC(bag_graph=[(0, 1)]).fit(BAGS, Y), "'bag_graph' parameter"),
        (lambda: GraphSVC(mu=-1).fit(BAGS, Y), "'mu' parameter"),
    ],
)
def test_bad_input_is_named(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()
