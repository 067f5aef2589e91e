"""KI-SVM (Li, Kwok, Tsang & Zhou 2009): support vector machines over key-instance assignments.

The same relaxation as MI-ODM (`bagwise.models.odm`) with a one-sided margin, nu = 0 and theta = 0:

    min_A min_w 1/2|w|^2 + C/2 sum_{positive bags i} (1 - w.psi_i(A))+^2
                         + C/2 sum_{negative rows s} (1 + w.x_s)+^2.

Ins-KI-SVM takes every negative instance as a row, Bag-KI-SVM the mean of each negative bag. The
saddle problem and the departures are those of `bagwise.solvers.saddle` and `bagwise.models.odm`.

Reference: Y.-F. Li, J. T. Kwok, I. W. Tsang, Z.-H. Zhou, "A convex method for locating regions of
interest with multi-instance learning", ECML PKDD 2009.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from bagwise._docs import described
from bagwise.losses import MarginBand
from bagwise.models.assigned import AssignedClassifier
from bagwise.models.keyrows import KeyRows

__all__ = ["KeyInstanceSVC"]

Array = NDArray[Any]


@described
class KeyInstanceSVC(AssignedClassifier):
    """Locate key instances by a convex relaxation over assignments (Ins- and Bag-KI-SVM).

    Parameters
    ----------
    negatives : {"instances", "bags"}, default="instances"
        Whether every instance of a negative bag is a negative row (Ins-KI-SVM) or the bag's mean
        is (Bag-KI-SVM).
    C : float, default=10.0
        Weight of the squared losses (C/2 each) under 1/2|w|^2.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes; "balanced" counts bags.
    %(assignment_parameters)s

    Attributes
    ----------
    %(rows_attributes)s
    %(assignment_attributes)s

    See Also
    --------
    OptimalMarginSVC : Optimises the margin distribution instead of the minimum margin.
    WitnessSVC : One witness a bag, by alternation.

    References
    ----------
    .. [1] Y.-F. Li, J. T. Kwok, I. W. Tsang, Z.-H. Zhou, "A convex method for locating regions of
       interest with multi-instance learning", ECML PKDD 2009.

    Examples
    --------
    >>> from bagwise import KeyInstanceSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = KeyInstanceSVC(kernel="linear", threshold=0.0).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AssignedClassifier._parameter_constraints,
        "negatives": [StrOptions({"instances", "bags"})],
    }

    def __init__(
        self,
        negatives="instances",
        *,
        C=10.0,
        class_weight=None,
        k=1,
        relax=True,
        refine=False,
        start="mean",
        solver="newton",
        tol=0.01,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        pos_label=None,
        threshold="calibrated",
        probability=False,
        cv=5,
        max_iter=30,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.negatives = negatives
        self.C = C
        self.class_weight = class_weight
        self.k = k
        self.relax = relax
        self.refine = refine
        self.start = start
        self.solver = solver
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _band(self) -> MarginBand:
        return MarginBand(theta=0.0, nu=0.0)

    def _row_weights(self, rows: KeyRows) -> Array:
        # The task's weights have C inside already.
        return 0.5 * np.concatenate([rows.bag_weights[0], rows.negative_weights])
