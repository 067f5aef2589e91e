"""Every instance takes its bag's label: the single-instance baseline ("SIL").

    min 1/2|w|^2 + C sum_k l(Y_k (w.x_k + b)),   Y_k the label of the bag of instance k.

With ``vote="any"`` a bag is positive when one of its instances is (SVM-AtLeastOne of
Hajimirsadeghi & Mori 2017), with ``vote="majority"`` when at least half of them are
(SVM-Majority).
"""

from __future__ import annotations

from typing import Any

from bagwise.assumptions import AtLeastFraction, AtLeastOne
from bagwise.estimators.params import Words, param
from bagwise.estimators.rows import MarginClassifier


class InstanceSVC(MarginClassifier):
    """SVM on instances that take their bag's label.

    See Also
    --------
    LabelSVC : Finds out which instances of positive bags are positive.
    WitnessSVC : Finds one witness in each positive bag.

    Examples
    --------
    >>> InstanceSVC(kernel="linear").fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    _follows_rows = True
    _uses_known = True

    vote: str = param(
        "any",
        Words("any", "majority"),
        "A bag is positive if one instance is, or if at least half of them are.",
    )

    def _assumption(self) -> Any:
        return AtLeastOne() if self.vote == "any" else AtLeastFraction(0.5)
