"""DD-SVM (Chen & Wang 2004): distances to many diverse-density prototypes, and a kernel SVM.

1. Prototypes: the local optima (point, scales) of the diverse density of every class against the
   rest (for two classes: of the labels and of the swapped labels, as in the paper), reached from
   the best starts. Of these only the likely ones stay, log likelihood at least half way between the
   best and the worst, and of near copies the likeliest (Algorithm 1).
2. A bag becomes its distances to the prototypes, phi_k(B) = min_{x in B} |s_k (x - c_k)|  (Eq. 6),
   each divided by its standard deviation.
3. A SVM, rbf by default, over these vectors.

Departures: starts are screened as in `DiverseDensity`; distances are standardized.

Reference: Y. Chen, J. Z. Wang, "Image categorization by learning and reasoning with regions",
JMLR 5 (2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_max
from bagwise.bags.without import max_without_each
from bagwise.estimators.params import integer, param, positive
from bagwise.estimators.tags import BagTags
from bagwise.kernels import settle_gamma
from bagwise.models.density import Concept, Density, measure_distances
from bagwise.models.diverse_density import Scaling, start_at
from bagwise.models.meansvc import EmbeddingSVC
from bagwise.tolerances import in_threads

_COPIES = 0.05  # of the mean distance between prototypes: nearer ones are copies (Algorithm 1)


class DDSVM(EmbeddingSVC):
    """SVM over distances to diverse-density prototypes (DD-SVM).

    An instance's score is the change of the bag's score when the instance is taken out.

    Attributes
    ----------
    prototypes_, scales_ : ndarray of shape (n_prototypes, n_features)
        The prototypes and their scales, in the features' own units.

    See Also
    --------
    DiverseDensity : One prototype, no SVM.
    MILES : Every training instance as a prototype.

    Examples
    --------
    >>> DDSVM(C=10).fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    n_init: int = param(20, integer(), "Number of starts of the search for prototypes, per class.")
    tol: float = param(
        1e-3, positive(zero=True), "Relative gain in likelihood at which a search ends."
    )
    max_inner: int = param(1000, integer(), "Maximum number of quasi-Newton steps per search.")

    def __bag_tags__(self) -> BagTags:
        """Searches that differ by rounding end a little apart."""
        return BagTags(
            instance_scores="occlusion", bag_score=None, tolerance=5e-2, whole_bag="other"
        )

    def _fit_embedding(self, bags: Bags, codes: Array, weight: Array) -> None:
        used = np.flatnonzero(weight)
        train, codes, weight = bags[used], codes[used], weight[used]
        row_weight = expand(weight, train.offsets)
        scaling = Scaling(train.X, row_weight)
        X = scaling.apply(train.X)
        seed = check_random_state(self.random_state)
        first_scale = settle_gamma("median", X, row_weight, seed)
        concepts: list[Concept] = []
        for k in self._class_order():
            density = Density(X, train.offsets, codes == k, weight)
            concepts += _distinct(_likely(self._optima(density, first_scale)))
        self.prototypes_ = np.stack([c.point for c in concepts]) * scaling.divisor + scaling.center
        self.scales_ = np.stack([c.scale for c in concepts]) / scaling.divisor
        distances = self._distances(train)
        center = np.average(distances, axis=0, weights=weight)
        spread = np.sqrt(np.average((distances - center) ** 2, axis=0, weights=weight))
        self.scales_ /= np.where(spread > 0, spread, 1.0)[:, None]

    def _optima(self, density: Density, gamma: float) -> list[Concept]:
        def climb(row: int) -> Concept:
            start = start_at(density, row, gamma)
            return density.climb("noisy_or", *start, self.tol, self.max_inner)

        return in_threads(climb, density.starts("noisy_or", gamma, self.n_init), self.n_jobs)

    def _distances(self, bags: Bags) -> Array:
        """Return phi(B), one row per bag (Eq. 6)."""
        return -segment_max(-self._instance_distances(bags), bags.offsets)

    def _instance_distances(self, bags: Bags) -> Array:
        prototypes = zip(self.prototypes_, self.scales_, strict=True)
        columns = [np.sqrt(measure_distances(bags.X, point, scale)) for point, scale in prototypes]
        return np.stack(columns, axis=1)

    def _embed(self, bags: Bags) -> Any:
        return self._distances(bags)

    def _embed_without_each(self, bags: Bags) -> Any:
        return -max_without_each(-self._instance_distances(bags), bags.offsets)


def _likely(concepts: list[Concept]) -> list[Concept]:
    """Keep those at least half way from the worst to the best log likelihood, the best first."""
    ranked = sorted(concepts, key=lambda concept: concept.objective)
    limit = (ranked[0].objective + ranked[-1].objective) / 2
    return [concept for concept in ranked if concept.objective <= limit] or ranked[:1]


def _distinct(concepts: list[Concept]) -> list[Concept]:
    """Drop every concept that is nearer to a likelier one than a fraction of the mean distance."""
    points = np.stack([np.concatenate([c.point * c.scale, c.scale]) for c in concepts])
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    limit = _COPIES * apart.mean()
    kept: list[int] = []
    for i in range(len(concepts)):
        if all(apart[i, j] > limit for j in kept):
            kept.append(i)
    return [concepts[i] for i in kept]
