"""Every instance takes its bag's label: the single-instance baseline ("SIL").

    min 1/2|w|^2 + C sum_k l(Y_k (w.x_k + b)),   Y_k the label of the bag of instance k.

With ``vote="any"`` a bag is positive when one of its instances is (SVM-AtLeastOne of
Hajimirsadeghi & Mori 2017), with ``vote="majority"`` when at least half of them are
(SVM-Majority).
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from bagwise._docs import described
from bagwise.assumptions import AtLeastOne, AtLeastRatio
from bagwise.models.rows import RowsClassifier

__all__ = ["InstanceSVC"]


@described
class InstanceSVC(RowsClassifier):
    """Support vector machine on instances that take their bag's label.

    Parameters
    ----------
    vote : {"any", "majority"}, default="any"
        A bag is positive if one instance is, or if at least half of them are.
    %(rows_parameters)s
    %(plain_bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    LabelSVC : Finds out which instances of positive bags are positive.
    WitnessSVC : Finds one witness in each positive bag.

    Examples
    --------
    >>> from bagwise import InstanceSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> InstanceSVC(kernel="linear").fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "vote": [StrOptions({"any", "majority"})],
    }

    def __init__(
        self,
        vote="any",
        *,
        C=1.0,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.vote = vote

    def _assumption(self) -> Any:
        return AtLeastOne() if self.vote == "any" else AtLeastRatio(0.5)
