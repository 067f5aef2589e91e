"""Diverse density (Maron & Lozano-Perez 1998) and EM-DD (Zhang & Goldman 2001).

The concept is a point c with a scale s_f for every feature; an instance x belongs to it with
probability exp(-d(x)), d(x) = sum_f s_f^2 (x_f - c_f)^2. Both look for the (c, s) under which the
bags' labels are likeliest.

- `DiverseDensity`: quasi-Newton on the noisy-or likelihood (or the most likely cause's).
- `EMDD`: alternates between the nearest instance of every bag (E) and quasi-Newton on those alone
  (M), as long as the most-likely-cause likelihood of all instances grows.

Departures: features are divided by their standard deviation; the first scales are sqrt(gamma), not
1, so that a point can see its neighbors in many dimensions too; every instance of a positive bag
is tried as a start (of very many, a part), but only the best of each of the ``n_init`` best bags is
followed. The papers follow every instance of some positive bags. The hypothesis kept is the
likeliest one. A bag is positive when an instance has d < ``radius_``, the radius that classifies
the training bags best.

References: O. Maron, T. Lozano-Perez, "A framework for multiple-instance learning", NIPS 1998.
Q. Zhang, S. A. Goldman, "EM-DD: an improved multiple-instance learning technique", NIPS 2001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_max, segment_softmax
from bagwise.crossfit import best_threshold
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import Words, integer, param, positive, redeclare, shared
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import stack_models, warn_stopped
from bagwise.kernels import settle_gamma
from bagwise.models.density import Concept, Density, measure_distances
from bagwise.problems import is_in_doubt
from bagwise.tolerances import in_threads


class Scaling:
    """Features centered (dense ones) and divided by their weighted standard deviation."""

    def __init__(self, X: Any, weight: Array) -> None:
        share = weight / weight.sum()
        mean = np.asarray(share @ X, dtype=np.float64)
        squares = X.multiply(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64) ** 2
        spread = np.sqrt(np.maximum(np.asarray(share @ squares) - mean**2, 0.0))
        self.divisor = np.where(spread > 1e-12 * (1 + np.abs(mean)), spread, 1.0)
        self.center = np.zeros_like(mean) if sp.issparse(X) else mean

    def apply(self, X: Any) -> Any:
        """Return scaled instances in float64."""
        if sp.issparse(X):
            return sp.csr_array(X.astype(np.float64) @ sp.diags_array(1 / self.divisor))
        return (np.asarray(X, dtype=np.float64) - self.center) / self.divisor


class _DensityClassifier(BagClassifier):
    """One concept per class: searches in parallel, the likeliest concept is kept.

    Attributes
    ----------
    points_, scales_ : ndarray of shape (1 or n_classes, n_features)
        The concept: a point, and one scale per feature, in the units of the features.
    radius_ : ndarray of shape (1 or n_classes,)
        Distance below which an instance makes its bag positive.
    gamma_ : float
        Square of the first scales.
    objective_ : ndarray of shape (1 or n_classes,)
        Negative log likelihood of the concept.
    n_iter_ : int
        Number of iterations of the search that was kept (the maximum over classes).
    history_ : list of dict
        One record per iteration of that search (one such list per class for three classes or more).
    searches_ : list of dict
        Objective and number of iterations of every search (one such list per class for three
        classes or more).
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        How much each instance of a positive bag is the cause of its label.
    """

    n_init: int = param(
        10,
        integer(),
        "Number of searches, from the likeliest instance of each of the likeliest positive bags.",
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")
    gamma: float | str = shared(
        "gamma", doc="Square of the first scales, on features of unit deviation."
    )
    tol: float = param(
        1e-3, positive(zero=True), "Relative gain in likelihood at which a search ends."
    )
    max_inner: int = param(1000, integer(), "Maximum number of quasi-Newton steps per search.")

    def _likelihood(self) -> str:
        raise NotImplementedError

    def _search(self, density: Density, gamma: float, row: int) -> Concept:
        raise NotImplementedError

    def _responsibility(self, density: Density, d: Array) -> Array:
        raise NotImplementedError

    def __bag_tags__(self) -> BagTags:
        """The likelihood is not concave: there is no gap, and rounding may part two searches."""
        return BagTags(gap=False, tolerance=1e-2)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        used = np.flatnonzero(weight)
        rows = np.flatnonzero(expand(weight > 0, bags.offsets))
        train, weight = bags[used], weight[used]
        row_weight = expand(weight, train.offsets)
        scaling = Scaling(train.X, row_weight)
        X = scaling.apply(train.X)
        seed = check_random_state(self.random_state)
        self.gamma_ = settle_gamma(self.gamma, X, row_weight, seed)
        densities = [
            Density(X, train.offsets, column, weight) for column in self._truth(codes[used]).T
        ]
        searches = [self._searches(density) for density in densities]
        for concept in (concept for found in searches for concept in found):
            self._report(_record(concept))
        concepts = [min(found, key=lambda concept: concept.objective) for found in searches]
        self._keep(scaling, concepts, searches)
        self._keep_radius(densities, concepts)
        responsibility = np.zeros((len(concepts), bags.n_instances))
        for k, (density, concept) in enumerate(zip(densities, concepts, strict=True)):
            d = density.distances(concept.point, concept.scale)
            responsibility[k, rows] = self._responsibility(density, d)
        self.instance_weights_ = stack_models(responsibility)

    def _searches(self, density: Density) -> list[Concept]:
        starts = density.starts(self._likelihood(), self.gamma_, self.n_init)
        return in_threads(partial(self._search, density, self.gamma_), starts, self.n_jobs)

    def _keep(
        self, scaling: Scaling, concepts: list[Concept], searches: list[list[Concept]]
    ) -> None:
        points = np.stack([concept.point for concept in concepts])
        self.points_ = points * scaling.divisor + scaling.center
        self.scales_ = np.stack([concept.scale for concept in concepts]) / scaling.divisor
        self.objective_ = np.array([concept.objective for concept in concepts])
        self.n_iter_ = max(len(concept.history) for concept in concepts)
        records = [[_record(concept) for concept in found] for found in searches]
        self.searches_ = records if len(records) > 1 else records[0]
        histories = [concept.history for concept in concepts]
        self.history_ = histories if len(histories) > 1 else histories[0]
        stopped, worst = not all(concept.converged for concept in concepts), max(self.objective_)
        if is_in_doubt(worst, 0.0, converged=not stopped, stopped=stopped):  # there is no gap
            warn_stopped(self, f"max_inner={self.max_inner}", worst, "Raise max_inner.")

    def _keep_radius(self, densities: list[Density], concepts: list[Concept]) -> None:
        self.radius_ = np.array(
            [
                _best_radius(density, density.distances(concept.point, concept.scale))
                for density, concept in zip(densities, concepts, strict=True)
            ]
        )

    def _instance_scores(self, bags: Bags) -> Array:
        concepts = zip(self.points_, self.scales_, strict=True)
        columns = [measure_distances(bags.X, point, scale) for point, scale in concepts]
        return self.radius_ - np.stack(columns, axis=1)


def _best_radius(density: Density, d: Array) -> float:
    """Return the radius that classifies the bags best; of equals the one nearest to p = 1/2."""
    nearest = -segment_max(-d, density.offsets)
    unit = 1e-9 * max(float(nearest.max()), 1e-300)
    nearest = np.round(nearest / unit) * unit  # rounding must not part copies of one bag
    half = np.log(2.0)
    return half - best_threshold(half - nearest, density.positive, density.weight)


def _record(concept: Concept) -> dict[str, Any]:
    return {"objective": concept.objective, "n_iter": len(concept.history)}


class DiverseDensity(_DensityClassifier):
    """Find the point near instances of all positive bags and far from all negative instances.

    See Also
    --------
    EMDD : The same idea by expectation maximization, much faster.
    DDSVM : Many local optima as features of an SVM.

    Examples
    --------
    >>> model = DiverseDensity().fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    likelihood: str = param(
        "noisy_or",
        Words("noisy_or", "most_likely_cause"),
        "How the instances of a bag combine: one minus the product of misses, or the best "
        "instance.",
    )

    def _likelihood(self) -> str:
        return self.likelihood

    def _search(self, density: Density, gamma: float, row: int) -> Concept:
        point, scale = start_at(density, row, gamma)
        return density.climb(self.likelihood, point, scale, self.tol, self.max_inner)

    def _responsibility(self, density: Density, d: Array) -> Array:
        return density.in_positive * segment_softmax(-d, density.offsets)


class EMDD(_DensityClassifier):
    """Diverse density by expectation maximization: one likeliest instance speaks for each bag.

    See Also
    --------
    DiverseDensity : Quasi-Newton on the likelihood of all instances.

    Examples
    --------
    >>> model = EMDD().fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    n_init: int = redeclare(_DensityClassifier, "n_init", default=20)
    max_iter: int = param(100, integer(), "Maximum number of EM rounds per search.")

    def _likelihood(self) -> str:
        return "most_likely_cause"

    def _search(self, density: Density, gamma: float, row: int) -> Concept:
        point, scale = start_at(density, row, gamma)
        d = density.distances(point, scale)
        best = Concept(point, scale, float(density.most_likely_cause(d)[0]), [], True)
        for _ in range(self.max_iter):
            # E: the nearest instance of every bag. M: the concept that explains those best.
            chosen = density.only(density.causes(d))
            found = chosen.climb(
                "most_likely_cause", best.point, best.scale, self.tol, self.max_inner
            )
            d = density.distances(found.point, found.scale)
            value = float(density.most_likely_cause(d)[0])
            history = [*best.history, {"objective": value}]
            if value >= best.objective * (1 - self.tol):
                return replace(best, history=history)
            best = Concept(found.point, found.scale, value, history, found.converged)
        return replace(best, converged=False)

    def _responsibility(self, density: Density, d: Array) -> Array:
        speaks = np.zeros(len(d))
        speaks[density.causes(d)] = 1.0
        return speaks * density.in_positive


def start_at(density: Density, row: int, gamma: float) -> tuple[Array, Array]:
    """Return an instance as the point, and sqrt(gamma) as every scale."""
    point = density.X[[row]]
    point = point.toarray()[0] if sp.issparse(point) else point[0]
    return point, np.full(len(point), np.sqrt(gamma))
