"""MI-ODM (Zhang & Jin 2020): an optimal margin distribution over key-instance assignments.

`OptimalMarginSVC` asks every margin to lie in the band [1 - theta, 1 + theta] instead of only above
a minimum, which keeps the margins' mean up and their variance down (Eq. 4):

    min_A min_w 1/2|w|^2 + lambda1/p sum_{positive bags i} l(w.psi_i(A))
                         + lambda2/q sum_{negative instances s} l(-w.x_s),

    l(m) = [max(0, 1 - theta - m)^2 + nu max(0, m - 1 - theta)^2] / (1 - theta)^2,

A choosing the key instance psi_i of each positive bag. The minimum over A is relaxed to weights v
on a pool of assignments (Eq. 9), a saddle problem (`bagwise.solvers.saddle`).

`ODM` (Zhang & Zhou 2019; Eq. 2) is the single-instance machine that this generalises:

    min_w 1/2|w|^2 + lambda/m sum_k l(y_k w.x_k).

Departures from the print: Eq. 5 is corrected; the pool grows instead of holding all assignments;
Newton instead of mirror prox by default; k > 1 key instances enter by their mean; the threshold is
calibrated, because the relaxed machine earns the positive bags' margins from a mixture that the
highest instance score does not reproduce. p and q are sums of bag weights. As in the paper the bias
is a constant feature.

Reference: T. Zhang, H. Jin, "Optimal margin distribution machine for multi-instance learning",
IJCAI 2020.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from bagwise._docs import described
from bagwise.losses import MarginBand
from bagwise.models.assigned import AssignedClassifier
from bagwise.models.keyrows import KeyRows
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.procedures.columns import margin_moments
from bagwise.solvers.column_newton import column_newton

__all__ = ["ODM", "OptimalMarginSVC"]

Array = NDArray[Any]

_POSITIVE = Interval(Real, 0, None, closed="neither")
_BAND: dict[str, Any] = {
    "nu": [Interval(Real, 0, None, closed="left")],
    "theta": [Interval(Real, 0, 1, closed="left")],
}


@described
class OptimalMarginSVC(AssignedClassifier):
    """Key instances by optimising the whole margin distribution (MI-ODM).

    Parameters
    ----------
    lambda1, lambda2 : float, default=100.0
        Weights of the mean loss of positive bags, and of the negative instances' losses a bag.
        They take the place of class weights.
    nu : float, default=0.4
        Weight of margins above the band against those below it.
    theta : float, default=0.4
        Half-width of the band around margin 1, below 1.
    %(assignment_parameters)s

    Attributes
    ----------
    %(rows_attributes)s
    %(assignment_attributes)s

    See Also
    --------
    KeyInstanceSVC : The same relaxation with a one-sided margin.
    ODM : The machine without bags.

    References
    ----------
    .. [1] T. Zhang, H. Jin, "Optimal margin distribution machine for multi-instance learning",
       IJCAI 2020.

    Examples
    --------
    >>> from bagwise import OptimalMarginSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = OptimalMarginSVC(kernel="linear", threshold=0.0).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    C = 1.0  # lambda1 and lambda2 weigh the losses
    _loss_weights = "lambda1 and lambda2"
    class_weight = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **AssignedClassifier._parameter_constraints,
        "lambda1": [_POSITIVE],
        "lambda2": [_POSITIVE],
        **_BAND,
    }

    def __init__(
        self,
        lambda1=100.0,
        lambda2=100.0,
        nu=0.4,
        theta=0.4,
        *,
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
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.nu = nu
        self.theta = theta
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
        return MarginBand(self.theta, self.nu)

    def _row_weights(self, rows: KeyRows) -> Array:
        positive, negative = rows.bag_weights
        return np.concatenate(
            [
                self.lambda1 / positive.sum() * positive,
                self.lambda2 / negative.sum() * rows.negative_weights,
            ]
        )


@described
class ODM(RowsClassifier):
    """Optimal margin distribution machine on instances that take their bag's label.

    Parameters
    ----------
    lam : float, default=100.0
        Weight of the mean loss.
    nu : float, default=0.4
        Weight of margins above the band against those below it.
    theta : float, default=0.4
        Half-width of the band around margin 1, below 1.
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
        Kernel between instances, used through its matrix, plus 1 for the bias.
    gamma : {"median", "scale"} or float, default="median"
        Width of the rbf kernel, exp(-gamma d^2): 1 / (2 median distance^2), or as in scikit-learn.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant of the poly kernel.
    %(plain_bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    OptimalMarginSVC : Chooses one instance of each positive bag.
    InstanceSVC : The same with a one-sided margin.

    References
    ----------
    .. [1] T. Zhang, Z.-H. Zhou, "Optimal margin distribution machine", IEEE TKDE 2019.

    Examples
    --------
    >>> from bagwise import ODM
    >>> ODM(kernel="linear").fit([[[0.0]], [[3.0]], [[2.9]]], [0, 1, 1]).predict([[[2.0]]])
    array([1])
    """

    C = 1.0  # lam weighs the losses
    _loss_weights = "lam"
    loss = "margin_band"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "lam": [_POSITIVE],
        **_BAND,
    }

    def __init__(
        self,
        lam=100.0,
        nu=0.4,
        theta=0.4,
        *,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.lam = lam
        self.nu = nu
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> MarginBand:
        return MarginBand(self.theta, self.nu)

    def _fit_binary(self, task: Task) -> BinaryFit:
        singles = Task(
            task.design,
            np.arange(len(task.weight) + 1),
            task.in_positive,
            task.weight,
            task.loss,
        )
        rows = KeyRows(singles, "instances", k=1)
        positive, negative = rows.bag_weights
        weight = np.concatenate([positive, negative])
        saddle = rows.saddle(self.lam / weight.sum() * weight, task.loss)
        saddle = saddle.only(rows.choices.means())
        point = column_newton(saddle)
        record = {
            "objective": point.upper,
            "gap": point.gap,
            **margin_moments(saddle, point.scores),
        }
        self._report(record)
        mu = rows.instance_weights(saddle, point)
        return BinaryFit(rows.solution(saddle, point), mu, [record], True)
