"""LC-MF: gradient and optima against brute force, links that decide, bags known by id."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from bagwise import Bags, ContentLinkSVC, Graph, MeanSVC, load, save
from bagwise.models.contentlink import Factorization


def small_problem(with_links=True):
    rng = np.random.default_rng(0)
    content = rng.normal(size=(12, 5))
    links = np.where(rng.random((12, 12)) < 0.3 * with_links, rng.random((12, 12)), 0.0)
    return Factorization(content, sp.csr_array(links), rng.random(12) + 0.5, 2.0, 1e-2), rng


def objective(problem, Z, U, V):
    s = problem.weight[:, None]
    content = np.sum(s * (problem.content - Z @ V.T) ** 2) + problem.alpha * np.sum(s * Z**2)
    links = problem.link_weight * np.sum((problem.links.toarray() - Z @ U @ Z.T) ** 2)
    return content + links + problem.alpha * (np.sum(U**2) + np.sum(V**2))


def test_the_objective_is_that_of_the_best_factors_and_has_its_gradient():
    problem, rng = small_problem()
    Z = rng.normal(size=(12, 3))
    value, gradient = problem.evaluate(Z.ravel())
    U, V = problem.best_links(Z), problem.best_content(Z)
    assert value == pytest.approx(objective(problem, Z, U, V))
    for _ in range(20):
        near = (each + 1e-3 * rng.normal(size=each.shape) for each in (U, V))
        assert objective(problem, Z, *near) > value
    numeric = approx_fprime(Z.ravel(), lambda z: problem.evaluate(z)[0], 1e-7)
    assert gradient == pytest.approx(numeric, abs=1e-5)


def test_the_start_is_optimal_without_links():
    problem, rng = small_problem(with_links=False)
    Z = problem.start(3)
    value, gradient = problem.evaluate(Z.ravel())
    assert np.abs(gradient).max() < 1e-12
    assert all(problem.evaluate(rng.normal(size=Z.size))[0] > value for _ in range(50))


def test_sparse_and_many_rows_give_the_same_factors(monkeypatch):
    problem, _ = small_problem(with_links=False)
    dense = problem.start(3)
    monkeypatch.setattr("bagwise.models.contentlink.LARGEST_DENSE", 1)
    sparse = Factorization(sp.csr_array(problem.content), problem.links, *_rest(problem)).start(3)
    assert dense @ dense.T == pytest.approx(sparse @ sparse.T)


def _rest(problem):
    return problem.weight, problem.link_weight, problem.alpha


def linked_bags():
    """Return bags whose contents say nothing, labels, and links within the classes."""
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    ids = np.array([f"b{i}" for i in range(60)])
    edges = [
        (ids[i], ids[j])
        for i in range(60)
        for j in rng.permutation(60)[:8]
        if y[i] == y[j] and i != j
    ]
    bags = Bags(rng.normal(size=(120, 4)), np.arange(0, 121, 2), ids=ids)
    return bags, y, Graph.from_edges(edges, directed=True)


def test_links_decide_where_contents_do_not():
    bags, y, graph = linked_bags()
    rates = [
        np.mean(
            ContentLinkSVC(bag_graph=given, kernel="linear", n_factors=8)
            .fit(bags[:30], y[:30], unlabeled=bags[30:])
            .predict(bags[30:])
            == y[30:]
        )
        for given in (graph, None)
    ]
    assert rates[0] > 0.9
    assert rates[1] < 0.7


def test_other_bags_are_described_by_their_contents():
    bags, y, graph = linked_bags()
    model = ContentLinkSVC(bag_graph=graph).fit(bags[:30], y[:30], unlabeled=bags[30:])
    renamed = bags.replace(ids=[f"new{i}" for i in range(60)])
    assert not np.allclose(model.decision_function(bags), model.decision_function(renamed))
    content_only = ContentLinkSVC(n_factors=4, alpha=1e-9, kernel="linear", C=3.0).fit(bags, y)
    means = MeanSVC(kernel="linear", C=1e9).fit(bags, y)  # a rotation of all contents
    assert content_only.factors_.shape == (60, 4)
    assert (
        np.corrcoef(content_only.decision_function(bags), means.decision_function(bags))[0, 1] > 0.9
    )


def test_a_limit_of_steps_warns_and_bags_need_ids(monkeypatch):
    bags, y, graph = linked_bags()
    with pytest.raises(ValueError, match="have no ids of their own"):
        ContentLinkSVC(bag_graph=graph).fit(bags.replace(ids=None), y)
    monkeypatch.setattr("bagwise.models.contentlink.MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="by 1 steps of its factorization"):
        ContentLinkSVC(bag_graph=graph).fit(bags, y)


def test_a_saved_model_knows_its_bags(tmp_path):
    bags, y, graph = linked_bags()
    model = ContentLinkSVC(bag_graph=graph).fit(bags[:30], y[:30], unlabeled=bags[30:])
    save(model, tmp_path / "m.bagwise")
    assert np.array_equal(
        load(tmp_path / "m.bagwise").decision_function(bags), model.decision_function(bags)
    )
