"""KI-SVM (Li, Kwok, Tsang & Zhou 2009): SVMs over key-instance assignments.

The same relaxation as MI-ODM (`bagwise.models.odm`) with a one-sided margin, nu = 0 and theta = 0:

    min_A min_w 1/2|w|^2 + C/2 sum_{positive bags i} (1 - w.psi_i(A))+^2
                         + C/2 sum_{negative rows s} (1 + w.x_s)+^2.

Ins-KI-SVM takes every negative instance as a row, Bag-KI-SVM the mean of each negative bag. The
saddle problem and the departures are those of `bagwise.solvers.saddle` and `bagwise.models.odm`.

Reference: Y.-F. Li, J. T. Kwok, I. W. Tsang, Z.-H. Zhou, "A convex method for locating regions of
interest with multi-instance learning", ECML PKDD 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.estimators.assigned import AssignedClassifier
from bagwise.estimators.keyrows import KeyRows
from bagwise.estimators.params import Words, param, shared
from bagwise.losses import MarginBand


class KeyInstanceSVC(AssignedClassifier):
    """Locate key instances by a convex relaxation over assignments (Ins- and Bag-KI-SVM).

    See Also
    --------
    OptimalMarginSVC : Optimizes the margin distribution instead of the minimum margin.
    WitnessSVC : One witness per bag, by alternation.

    Examples
    --------
    >>> model = KeyInstanceSVC(kernel="linear", threshold=0.0).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    negatives: str = param(
        "instances",
        Words("instances", "bags"),
        "Whether every instance of a negative bag is a negative row (Ins-KI-SVM) or the bag's "
        "mean is (Bag-KI-SVM).",
    )
    C: float = shared(
        "C", default=10.0, doc="Weight of the squared losses, C/2 each, under 1/2|w|^2."
    )
    class_weight: Any = shared("class_weight")

    def _band(self) -> MarginBand:
        return MarginBand(theta=0.0, nu=0.0)

    def _negatives(self) -> str:
        return self.negatives

    def _loss_weight(self) -> float:
        return self.C

    def _row_weights(self, rows: KeyRows) -> Array:
        # The task's weights have C inside already.
        return 0.5 * np.concatenate([rows.bag_weights[0], rows.negative_weights])
