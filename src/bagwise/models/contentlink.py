"""LC-MF (Zhu, Yu, Chi & Gong 2007): factors shared by contents and links, and an SVM over them.

With c_i the mean of bag i's instances and A the matrix of links between bags, both divided by a
(weighted) Frobenius norm, it descends

    min_{Z,U,V} sum_i s_i (|c_i - V z_i|^2 + alpha |z_i|^2) + alpha |V|^2                       (4)
                + link_weight |A - Z U Z'|^2 + alpha |U|^2,

where z_i describes bag i, Z holds them as rows and s_i are the weights of the bags. Given Z, the
best V and U solve linear systems, so L-BFGS runs over Z alone; it starts from a singular value
decomposition, the optimum where there are no links. Then an SVM separates the labeled z_i. The
problem has local minima: there is no gap for the factors, and ``gap_`` is that of the SVM.

Departures: the print has no penalty on Z, whose scale would grow without end, and no norms. A bag
that took no part in the fit is described by its content: z = (V'V + alpha I)^-1 V'c.

Reference: S. Zhu, K. Yu, Y. Chi, Y. Gong, "Combining content and link for classification using
matrix factorization", SIGIR 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import svds

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.bags.statistics import statistics_without_each
from bagwise.estimators.params import integer, param, positive
from bagwise.estimators.task import warn_stopped
from bagwise.graphs import Graph
from bagwise.models.graph.structure import (
    check_graph_ids,
    find_present_edges,
    pad,
    validate_unlabeled,
)
from bagwise.models.meansvc import EmbeddingSVC, bag_means
from bagwise.problems import is_in_doubt
from bagwise.tolerances import LARGEST_DENSE, MAX_STEPS


@dataclass(frozen=True)
class Factorization:
    """Problem (4) for given contents and links, as a function of Z."""

    content: Any  # (n_bags, n_features), of norm 1
    links: Any  # (n_bags, n_bags), of norm 1, or 0
    weight: Array  # (n_bags,), s
    link_weight: float
    alpha: float

    def start(self, n_factors: int) -> Array:
        """Return shrunken singular vectors of contents and links: the best Z without links."""
        root, links = np.sqrt(self.weight)[:, None], np.sqrt(self.link_weight) * self.links
        rows = sp.hstack([sp.csr_array(self.content), links, links.T], format="csr") * root
        k = min(n_factors, *rows.shape)
        if k == min(rows.shape) or min(rows.shape) <= LARGEST_DENSE:
            left, values, _ = np.linalg.svd(rows.toarray(), full_matrices=False)
        else:
            left, values, _ = svds(rows.tocsr(), k, v0=np.ones(min(rows.shape)))
            left, values = left[:, ::-1], values[::-1]
        return left[:, :k] * np.sqrt(np.maximum(values[:k] - self.alpha, 0)) / root

    def best_content(self, Z: Array) -> Array:
        """Return the best V for Z."""
        weighted = self.weight[:, None] * Z
        gram = weighted.T @ Z + self.alpha * np.eye(Z.shape[1])
        return np.linalg.solve(gram, (self.content.T @ weighted).T).T

    def best_links(self, Z: Array) -> Array:
        """Return the best U for Z: G U G + alpha / link_weight U = Z'AZ with G = Z'Z."""
        values, Q = np.linalg.eigh(Z.T @ Z)
        pulled = Q.T @ (Z.T @ (self.links @ Z)) @ Q
        return Q @ (pulled / (np.outer(values, values) + self.alpha / self.link_weight)) @ Q.T

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """Return the objective at the best V and U, and its gradient in Z."""
        Z, s = z.reshape(self.content.shape[0], -1), self.weight[:, None]
        CV, VV = self.content @ (V := self.best_content(Z)), V.T @ V
        fit = np.sum(s * Z * (Z @ VV - 2 * CV)) + _square(self.content * np.sqrt(s))
        value = fit + self.alpha * (np.sum(s * Z * Z) + np.sum(V * V))
        gradient = s * (Z @ VV - CV + self.alpha * Z)
        if self.links.nnz:
            U, G = self.best_links(Z), Z.T @ Z
            out, back = self.links @ (Z @ U.T), self.links.T @ (Z @ U)
            value += self.alpha * np.sum(U * U) + self.link_weight * (
                _square(self.links) - 2 * np.sum(Z * out) + np.sum((U @ G) * (G @ U))
            )
            gradient += self.link_weight * (Z @ (U @ G @ U.T + U.T @ G @ U) - out - back)
        return float(value), 2 * gradient.ravel()


def _square(X: Any) -> float:
    return float(np.sum(np.square(X.data if sp.issparse(X) else X)))


def _norm(X: Any) -> float:
    """Return the Frobenius norm, whatever its size; 1 for zeros."""
    largest = float(abs(X).max())
    return largest * np.sqrt(_square(X / largest)) if largest > 0 else 1.0


class ContentLinkSVC(EmbeddingSVC):
    """SVM over factors that describe contents of bags and links between them (LC-MF).

    Bags without labels may take part (``fit(..., unlabeled=bags)``). With a graph, bags of the fit
    are recognized by their ids; other bags are described by their content alone. An instance's
    score is the change of the bag's score when the instance is taken out of its content.

    Attributes
    ----------
    ids_, factors_ : ndarray of shape (n_bags,), ndarray of shape (n_bags, n_factors)
        The bags of the fit, labeled ones first: ids, and z_i with a mean square of 1.
    projection_ : ndarray of shape (n_features, n_factors)
        What turns the content of another bag into its factors.
    factor_objective_ : float
        The value of (4).

    See Also
    --------
    GraphSVC : Wants linked bags to score alike.

    Examples
    --------
    >>> from bagwise import Bags, ContentLinkSVC, Graph
    >>> arrays = [[[1.0, 0, 0], [0, 0, 1]], [[0, 1.0, 0]], [[-1.0, 0, 0]], [[0, -1.0, 0]]]
    >>> bags = Bags.from_list(arrays, ids=["a", "b", "c", "d"])
    >>> model = ContentLinkSVC(bag_graph=Graph.from_edges([("a", "b"), ("c", "d")]), C=10)
    >>> model.fit(bags[[0, 2]], [1, 0], unlabeled=bags[[1, 3]]).predict(bags[[0, 2]])
    array([1, 0])
    """

    bag_graph: Any = param(None, [Graph, None], "Links between bag ids.", kind="Graph or None")
    n_factors: int = param(50, integer(), "Number of factors.")
    link_weight: float = param(1.0, positive(), "Weight of the links beside the contents.")
    alpha: float = param(1e-3, positive(), "Weight of the penalties on the factors.")
    tol: float = param(1e-6, positive(), "Relative gain at which the factorization ends.")

    @answers("self", "The fitted estimator.", unlabeled="Bags without labels.")
    def fit(self, bags: Any, y: Any, sample_weight: Any = None, unlabeled: Any = None) -> Self:
        """Learn from labeled bags, and from contents and links of unlabeled ones."""
        return self._fit(bags, y, sample_weight, unlabeled=unlabeled)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array, unlabeled: Any = None) -> None:
        others = validate_unlabeled(self, bags, unlabeled)
        check_graph_ids("bag", self.bag_graph, bags, others)
        everyone = bags if others is None else Bags.concat([bags, others])
        self._factorize(everyone, pad(weight, len(everyone), 1.0))
        super()._fit_classes(bags, codes, weight)

    def _factorize(self, bags: Bags, weight: Array) -> None:
        used, content = np.flatnonzero(weight), bag_means(bags).astype(np.float64)
        s, links = weight[used], self._links(bags)[used][:, used]
        unit = _norm(content * np.sqrt(weight)[:, None])
        problem = Factorization(content[used] / unit, links, s, self.link_weight, self.alpha)
        start = problem.start(self.n_factors)
        limits = {"maxiter": MAX_STEPS, "ftol": self.tol, "gtol": 0.0}
        found = minimize(problem.evaluate, start.ravel(), (), "L-BFGS-B", True, options=limits)
        self.factor_objective_, Z = float(found.fun), found.x.reshape(start.shape)
        V, scale = problem.best_content(Z), _norm(Z * np.sqrt(s / s.sum())[:, None])
        gram = V.T @ V + self.alpha * np.eye(V.shape[1])
        self.projection_ = np.linalg.solve(gram, V.T).T / (unit * scale)
        self.ids_, self.factors_ = bags.ids, content @ self.projection_
        self.factors_[used] = Z / scale
        if is_in_doubt(found.fun, 0.0, converged=found.success, stopped=not found.success):
            steps = f"{found.nit} steps of its factorization"
            warn_stopped(self, steps, found.fun, "Raise tol or alpha.")

    def _links(self, bags: Bags) -> Any:
        """Return the matrix of links between these bags, of norm 1 where there are some."""
        links = sp.csr_array((len(bags), len(bags)))
        views = (self.bag_graph,) if self.bag_graph else ()
        for edges in find_present_edges(views, "bag", bags.ids, bags.instance_ids):
            found = sp.csr_array((edges.weight, (edges.source, edges.target)), shape=links.shape)
            links = found if edges.directed else found + found.T
        return links / _norm(links)

    def _embed(self, bags: Bags) -> Any:
        found = bag_means(bags) @ self.projection_
        if self.bag_graph is not None and bags.has_ids:
            place = dict(zip(self.ids_.tolist(), range(len(self.ids_)), strict=True))
            rows = np.array([place.get(name, -1) for name in bags.ids.tolist()])
            found[rows >= 0] = self.factors_[rows[rows >= 0]]
        return found

    def _embed_without_each(self, bags: Bags) -> Any:
        by_links = self._embed(bags) - bag_means(bags) @ self.projection_
        means = [means @ self.projection_ for _, means in statistics_without_each(bags, ("mean",))]
        return np.vstack(means) + expand(by_links, bags.offsets)
