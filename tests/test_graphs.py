"""Graph: construction, named errors, induced edges, homophily, immutability."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.base import clone

from bagwise import Graph, GraphSVC

pairs = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda edge: edge[0] != edge[1]),
    max_size=20,
)


def edge_set(edges, ids, directed):
    """Return {ends: weight} by id."""
    found = {}
    for a, b, w in zip(edges.source, edges.target, edges.weight, strict=True):
        key = (ids[a], ids[b]) if directed else frozenset((ids[a], ids[b]))
        assert key not in found, "an edge is there twice"
        found[key] = w
    return found


@given(pairs, st.booleans(), st.data())
def test_edges_among_some_ids_are_those_with_both_ends_there(edges, directed, data):
    weights = data.draw(
        st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(edges), max_size=len(edges))
    )
    ids = data.draw(st.permutations(range(7)))[: data.draw(st.integers(0, 7))]
    graph = Graph.from_edges(edges, weights, directed=directed)
    expected = {}
    for (a, b), w in zip(edges, weights, strict=True):
        if a in ids and b in ids:
            key = (a, b) if directed else frozenset((a, b))
            expected[key] = expected.get(key, 0.0) + w
    assert edge_set(graph.among(ids), ids, directed) == expected


@given(pairs, st.booleans())
def test_all_forms_give_the_same_graph(edges, directed):
    graph = Graph.from_edges(edges, directed=directed)
    matrix = np.zeros((7, 7))
    for a, b in edges:
        matrix[a, b] += 1
        matrix[b, a] += not directed
    others = [Graph.from_edges(np.array(edges), directed=directed)] if edges else []
    others += [Graph.from_sparse(m, directed=directed) for m in (matrix, sp.csr_matrix(matrix))]
    expected = edge_set(graph.among(range(7)), range(7), directed)
    for other in others:
        assert edge_set(other.among(range(7)), range(7), directed) == expected


def test_degrees_count_edges_and_are_at_least_one():
    edges = Graph.from_edges([("a", "b"), ("a", "c"), ("b", "c")], [5, 5, 5], directed=True)
    edges = edges.among(["a", "b", "c", "d"])
    np.testing.assert_array_equal(edges.degrees("out"), [2, 1, 1, 1])
    np.testing.assert_array_equal(edges.degrees("symmetric"), [2, 2, 2, 1])
    both = Graph.from_edges([("a", "b"), ("a", "c"), ("b", "c")]).among(["a", "b", "c", "d"])
    np.testing.assert_array_equal(both.degrees("out"), [2, 2, 2, 1])


def test_homophily_sees_labeled_ends_only():
    edges = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3)]).among(range(4))
    assert edges.homophily(np.array([1, 1, 0, -1])) == 0.5
    assert np.isnan(edges.homophily(np.array([1, -1, 0, -1])))


def test_a_graph_does_not_change_and_is_shared():
    graph = Graph.from_edges([("a", "b")])
    with pytest.raises(AttributeError, match="immutable"):
        graph.directed = True
    with pytest.raises(ValueError, match="read-only"):
        graph.weight[0] = 3
    assert copy.deepcopy(graph) is graph
    assert copy.copy(graph) is graph
    assert clone(GraphSVC(bag_graph=graph)).bag_graph is graph
    again = pickle.loads(pickle.dumps(graph))
    assert edge_set(again.among("ab"), "ab", False) == edge_set(graph.among("ab"), "ab", False)


def test_ids_of_mixed_kinds_and_edges_of_weight_zero():
    graph = Graph.from_edges([("a", 1), (1, (2, 3)), ("a", "b")], [1.0, 1.0, 0.0])
    assert graph.n_edges == 2
    assert len(graph.among([(2, 3), "b", 1])) == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Graph.from_edges([("a", "a")]), "Edge 0 joins 'a' to itself"),
        (lambda: Graph.from_edges([("a", "b")], [-1.0]), "Edge 0 has weight -1.0"),
        (lambda: Graph.from_edges([("a", "b")], [np.nan]), "Edge 0 has weight nan"),
        (lambda: Graph.from_edges([("a", "b")], [1, 2]), "1 edges, but the weights have shape"),
        (lambda: Graph.from_edges([("a", "b", "c")]), "Edge 0 is .*expected a pair"),
        (lambda: Graph.from_edges(np.zeros((2, 3))), r"shape \(n_edges, 2\), got \(2, 3\)"),
        (lambda: Graph.from_edges([("a", None)]), "NaN or missing"),
        (lambda: Graph.from_edges([("a", "x")], nodes=["a", "b"]), "ends at 'x', which is not"),
        (lambda: Graph(["a"], ["b", "c"]), "1 sources but 2 targets"),
        (lambda: Graph.from_sparse(np.zeros((2, 3))), "must be square"),
        (lambda: Graph.from_sparse([[0, 1], [0, 0]]), "not symmetric"),
        (lambda: Graph.from_sparse([[1, 0], [0, 0]]), "joins 0 to itself"),
        (lambda: Graph.from_sparse(np.zeros((2, 2)), ids=["a"]), "1 ids for 2 rows"),
        (lambda: Graph.from_edges([("a", "b")]).among(["a", "a"], "bag"), "bag id 'a' occurs twi"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
