"""MI-ODM (Zhang & Jin 2020): an optimal margin distribution over key-instance assignments.

`OptimalMarginSVC` asks every margin to lie in the band [1 - theta, 1 + theta] instead of only above
a minimum, which keeps the margins' mean up and their variance down (Eq. 4):

    min_A min_w 1/2|w|^2 + lambda1/p sum_{positive bags i} l(w.psi_i(A))
                         + lambda2/q sum_{negative instances s} l(-w.x_s),

    l(m) = [max(0, 1 - theta - m)^2 + nu max(0, m - 1 - theta)^2] / (1 - theta)^2,

A choosing the key instance psi_i of each positive bag. The minimum over A is relaxed to weights v
on a pool of assignments (Eq. 9), a saddle problem (`bagwise.solvers.saddle`).

`ODM` (Zhang & Zhou 2019; Eq. 2) is the single-instance classifier that this generalizes:

    min_w 1/2|w|^2 + lambda/m sum_k l(y_k w.x_k).

Departures from the print: Eq. 5 is corrected; the pool grows instead of holding all assignments;
Newton instead of mirror prox by default; k > 1 key instances enter by their mean; the threshold is
calibrated, because the relaxation earns the positive bags' margins from a mixture that the
highest instance score does not reproduce. p and q are sums of bag weights. As in the paper the bias
is a constant feature.

Reference: T. Zhang, H. Jin, "Optimal margin distribution machine for multi-instance learning",
IJCAI 2020.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from bagwise._typing import Array
from bagwise.designs import augmented_design
from bagwise.estimators.assigned import AssignedClassifier
from bagwise.estimators.keyrows import KeyRows
from bagwise.estimators.params import param, positive, redeclare, shared
from bagwise.estimators.rows import RowsClassifier, Start
from bagwise.estimators.task import Task
from bagwise.losses import MarginBand
from bagwise.procedures import Run
from bagwise.procedures.columns import margin_moments
from bagwise.solvers.column_newton import column_newton


class OptimalMarginSVC(AssignedClassifier):
    """Key instances by optimizing the whole margin distribution (MI-ODM).

    See Also
    --------
    KeyInstanceSVC : The same relaxation with a one-sided margin.
    ODM : The same classifier on instances that take their bag's label.

    Examples
    --------
    >>> model = OptimalMarginSVC(kernel="linear", threshold=0.0).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    C_pos: float = param(
        100.0,
        positive(),
        "Weight (lambda1 in the paper) of the mean loss of the positive bags; it takes the place "
        "of a class weight.",
    )
    C_neg: float = param(
        100.0,
        positive(),
        "Weight (lambda2) of the losses of negative instances, summed and divided by the number of "
        "negative bags.",
    )

    nu: float = param(
        0.4, positive(zero=True), "Weight of margins above the band against those below it."
    )
    theta: float = param(
        0.4, Interval(Real, 0, 1, closed="left"), "Half-width of the band around margin 1, below 1."
    )

    _loss_weights = "C_pos and C_neg"

    def _band(self) -> MarginBand:
        return MarginBand(self.theta, self.nu)

    def _loss_weight(self) -> float:
        return 1.0  # C_pos and C_neg enter with the means over bags

    def _row_weights(self, rows: KeyRows) -> Array:
        positive, negative = rows.bag_weights
        # Eq. 4: lambda1 / p and lambda2 / q, with p and q as sums of bag weights.
        return np.concatenate(
            [
                self.C_pos / positive.sum() * positive,
                self.C_neg / negative.sum() * rows.negative_weights,
            ]
        )


class ODM(RowsClassifier):
    """Optimal margin distribution machine on instances that take their bag's label.

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

    _linear_design = staticmethod(augmented_design)

    C: float = shared("C", default=100.0, doc="Weight (lambda in the paper) of the mean loss.")
    kernel: Any = shared(
        "kernel", doc="Kernel between instances; 1 is added to it for the intercept."
    )
    nu: float = redeclare(OptimalMarginSVC, "nu")
    theta: float = redeclare(OptimalMarginSVC, "theta")
    class_weight: Any = shared("class_weight")

    def _loss(self) -> MarginBand:
        return MarginBand(self.theta, self.nu)

    def _loss_weight(self) -> float:
        return 1.0  # C enters with the mean over instances

    def _fit_from(self, task: Task, start: Start) -> Run:
        singles = Task(
            task.design, np.arange(len(task.weight) + 1), task.in_positive, task.weight, task.loss
        )
        rows = KeyRows(singles, "instances", n_witnesses=1)
        assert isinstance(task.loss, MarginBand)  # see _loss
        positive, negative = rows.bag_weights
        weight = np.concatenate([positive, negative])
        saddle = rows.saddle(self.C / weight.sum() * weight, task.loss)
        saddle = saddle.only(rows.choices.means())
        point = column_newton(saddle)
        record = {
            "objective": point.upper,
            "gap": point.gap,
            **margin_moments(saddle, point.scores),
        }
        self._report(record)
        mu = rows.instance_weights(saddle, point)
        return Run(rows.solution(saddle, point), mu, [record], True)
