"""GraphSVC: descent, limits, graphs that help and graphs that do not, named errors."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from bagwise import Bags, Graph, GraphSVC
from bagwise.datasets import make_graph_bags
from reference.structured import noisy_bags

# Random graphs join unequal labels as often as equal ones.
pytestmark = pytest.mark.filterwarnings("ignore:.*join equal labels")


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
        for view in [graph] if isinstance(graph, Graph) else graph or []:
            value += model.mu * _roughness(view.among(ids), scores)
    return value


def _roughness(edges, scores):
    degree = np.ones(len(scores))
    for a in np.unique(edges.source):
        degree[a] = np.sum(edges.source == a)
    total = 0.0
    for a, b, w in zip(edges.source, edges.target, edges.weight, strict=True):
        total += w * abs(scores[a] / np.sqrt(degree[a]) - scores[b] / np.sqrt(degree[b]))
    return total / len(edges)


VIEWS = st.sampled_from(["none", "one", "two"])


def views_of(graph, other, how_many):
    return {"none": None, "one": graph, "two": [graph, other.scaled(0.3)]}[how_many]


@given(st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 1000.0]), VIEWS, VIEWS)
def test_the_true_objective_falls_with_exact_negatives(seed, C, over_bags, over_instances):
    bags, y, of_bags, of_rows = noisy_bags(seed)
    _, _, more_bags, more_rows = noisy_bags(seed + 1)
    model = GraphSVC(
        bag_graph=views_of(of_bags, more_bags, over_bags),
        instance_graph=views_of(of_rows, more_rows, over_instances),
        C=C,
        mu=2.0,
    ).fit(bags, y)
    steps = [(record["objective"], record["gap"]) for record in model.history_]
    for (before, _), (after, gap) in pairwise(steps):
        assert after <= before + gap + 1e-9 * C
    assert all(record["rise"] == 0 for record in model.history_)
    assert model.objective_[0] == pytest.approx(by_hand(model, bags, y), rel=1e-9)
    assert model.gap_[0] <= 1e-4 * (C + 8) + 1e-9


def test_a_graph_in_two_halves_is_the_graph():
    bags, y, graph, _ = noisy_bags(4)
    halves = [graph.scaled(0.25), graph.scaled(0.75)]
    whole, parts = (GraphSVC(bag_graph=g, mu=2.0, tol=1e-7).fit(bags, y) for g in (graph, halves))
    assert parts.objective_[0] == pytest.approx(whole.objective_[0], rel=1e-5)
    assert parts.homophily_ == whole.homophily_
    assert parts.n_edges_ == (2 * whole.n_edges_[0], 0)


def test_the_printed_linearization_climbs_and_says_so():
    climbed = 0
    for seed in range(6):
        bags, y, graph, _ = noisy_bags(seed, n_bags=40)
        printed = GraphSVC(bag_graph=graph, C=1000.0, mu=2.0, negatives="witnesses", max_iter=5)
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
    bags, y, graph, _ = noisy_bags(1)
    plain = GraphSVC(negatives=negatives).fit(bags, y)
    none = Graph.from_edges([])
    elsewhere = Graph.from_edges([(0, 999), (1, 998)])  # one end each is not in the fit
    for model in (
        GraphSVC(bag_graph=graph, instance_graph=graph, mu=0.0, negatives=negatives),
        GraphSVC(bag_graph=none, instance_graph=none, negatives=negatives),
        GraphSVC(bag_graph=elsewhere, negatives=negatives),
    ):
        model.fit(bags, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_block_descent_and_cutting_planes_run_the_same_cccp():
    bags, y, _, _ = noisy_bags(4)
    bags = bags.replace(X=np.pad(bags.X, ((0, 0), (0, 600))))  # many features go to block descent
    blocks = GraphSVC(C=50.0).fit(bags, y)
    products = bags.replace(X=bags.X @ bags.X.T, feature_names=None)
    cuts = GraphSVC(C=50.0, kernel="precomputed", tol=1e-9).fit(products, y)
    np.testing.assert_allclose(
        cuts.decision_function(products), blocks.decision_function(bags), atol=1e-5
    )
    assert cuts.objective_[0] == pytest.approx(blocks.objective_[0], abs=1e-6)


def accuracy_on_hidden(homophily, mu, **options):
    data = make_graph_bags(200, homophily, random_state=0)
    graph = Graph.from_edges(data.edges, directed=True)
    seen, hidden = data.labeled, ~data.labeled
    model = GraphSVC(bag_graph=graph, C=100.0, mu=mu, tol=1e-3, **options)
    model.fit(data.bags[seen], data.y[seen], unlabeled=data.bags[hidden])
    return model, model.score(data.bags[hidden], data.y[hidden])


def test_a_homophilous_graph_carries_labels_to_bags_without():
    _, without = accuracy_on_hidden(1.0, 0.0)
    model, with_graph = accuracy_on_hidden(1.0, 30.0)
    assert without <= 0.80
    assert with_graph >= 0.98
    assert model.homophily_ == 1.0
    assert model.n_edges_ == (1000, 0)


def test_an_instance_graph_carries_scores_to_instances_without():
    # Two words that mean the same, of which only one occurs in labeled bags; edges join them.
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
    model = GraphSVC(bag_graph=star, C=10, mu=1.0, scaling=scaling, fit_intercept=False)
    model.fit(bags, [1, 1, 0])
    a, b, c = bags.X.ravel() * model.coef_[0, 0]
    s = {"none": (1, 1, 1), "out": (2, 1, 1), "symmetric": (2, 1, 1)}[scaling]
    rough = sum(abs(a / s[0] ** 0.5 - v / k**0.5) for v, k in ((b, s[1]), (c, s[2]))) / 2
    hinge = np.mean([max(0, 1 - a), max(0, 1 - b), max(0, 1 + c)])
    expected = 0.5 * model.coef_[0, 0] ** 2 + 10 * hinge + rough
    assert model.objective_[0] == pytest.approx(expected, abs=1e-9)


def test_weights_of_edges_multiply_and_weights_of_bags_are_repetition():
    bags, y, graph, _ = noisy_bags(6)
    options = {"C": 20.0, "tol": 1e-8}
    twice = Graph(graph.ids[graph.source], graph.ids[graph.target], 2 * graph.weight, directed=True)
    heavy = GraphSVC(bag_graph=twice, mu=1.0, **options).fit(bags, y)
    strong = GraphSVC(bag_graph=graph, mu=2.0, **options).fit(bags, y)
    doubled = GraphSVC(bag_graph=graph, mu=2.0, **options).fit(bags, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(heavy.coef_, strong.coef_, atol=1e-5)
    np.testing.assert_allclose(doubled.coef_, strong.coef_, atol=1e-5)


def test_scikit_learn_folds_use_the_edges_that_are_there():
    data = make_graph_bags(60, 1.0, random_state=1)
    model = GraphSVC(bag_graph=Graph.from_edges(data.edges, directed=True), mu=1.0, tol=1e-2)
    scores = cross_val_score(model, data.bags, data.y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    fitted = model.fit(data.bags[:30], data.y[:30])
    inside = np.all(data.edges < 30, axis=1)
    assert fitted.n_edges_ == (np.count_nonzero(inside), 0)


def test_max_iter_warns():
    bags, y, _, _ = noisy_bags(0, n_bags=60)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GraphSVC(C=1000.0, max_iter=1).fit(bags, y)


BAGS, Y, BAG_GRAPH, ROW_GRAPH = noisy_bags(0)
NAMELESS = BAGS.replace(instance_ids=None)
NAMED = BAGS.replace(instance_ids=[f"row {k}" for k in range(BAGS.n_instances)])
ROWS_BY_NAME, ELSEWHERE = (Graph.from_edges([ends]) for ends in (("row 0", "row 3"), ("u", "v")))
NARROW = BAGS.replace(X=BAGS.X[:, :2], ids=np.arange(30, 60))


@pytest.mark.parametrize(
    ("options", "bags", "unlabeled", "message"),
    [
        ({"bag_graph": ROWS_BY_NAME}, NAMED, None, "'row 0', is the id of a bag .*instances"),
        ({"bag_graph": ELSEWHERE}, NAMED, None, "Give the graph over bag ids"),
        ({"instance_graph": BAG_GRAPH}, NAMED, None, "id of a instance .* They are ids of bags"),
        ({"bag_graph": BAG_GRAPH}, list(BAGS), None, "no ids of their own.*with ids"),
        ({"instance_graph": ROW_GRAPH}, NAMELESS, None, "no ids of their own.*with instance_ids"),
        ({"bag_graph": BAG_GRAPH}, BAGS, BAGS[:3], "bag id 0 occurs twice"),
        ({"bag_graph": BAG_GRAPH}, BAGS, NARROW, "have 2 features, the labeled ones have 4"),
        ({"bag_graph": (0, 1)}, BAGS, None, r"bag_graph\[0\] must be a Graph"),
        ({"bag_graph": 5}, BAGS, None, "'bag_graph' parameter"),
        ({"mu": -1}, BAGS, None, "'mu' parameter"),
    ],
)
def test_bad_input_is_named(options, bags, unlabeled, message):
    with pytest.raises(ValueError, match=message):
        GraphSVC(**options).fit(bags, Y, unlabeled=unlabeled)


def test_a_factor_of_a_graph_is_positive():
    with pytest.raises(ValueError, match="factor must be a positive number"):
        BAG_GRAPH.scaled(0.0)
