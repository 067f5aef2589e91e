"""Which of two classes is the positive one, by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from bagwise.bags import check_bags
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.errors import Argument
from bagwise.model_selection.scaling import with_scaler

_TIE = 0.01  # of AUC: less says nothing, and models that treat classes alike differ by rounding


@dataclass(frozen=True)
class PositiveChoice:
    """A positive class, and the AUC on held-out bags with each class as the positive one.

    Parameters
    ----------
    label : object
        The class.
    aucs : dict of object to float
        By class.

    Examples
    --------
    >>> from bagwise.model_selection import PositiveChoice
    >>> print(PositiveChoice("mut", {"mut": 1.0, "wt": 0.46}))
    mut is taken as the positive class (cross-validated AUC: mut 1.000, wt 0.460)
    """

    label: Any
    aucs: dict[Any, float]

    def __str__(self) -> str:
        aucs = ", ".join(f"{label} {auc:.3f}" for label, auc in self.aucs.items())
        one, other = self.aucs.values()
        close = "; both do equally well" if abs(one - other) < _TIE else ""
        return f"{self.label} is taken as the positive class (cross-validated AUC: {aucs}{close})"


def choose_positive(
    model: Any,
    bags: Any,
    y: Any,
    *,
    scaler: Any = None,
    cv: int = 3,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> PositiveChoice:
    """Try both classes as the positive one, and take the one whose model ranks bags better.

    Parameters
    ----------
    model : BagClassifier
        Cloned for every fit, with either class as its ``pos_label``.
    bags : Bags, or anything check_bags takes
        The training bags.
    y : array-like of shape (n_bags,)
        Their labels, of two classes.
    scaler : transformer of bags, default=None
        Fitted before the model on the training part of each fold.
    cv : int, default=3
        Number of folds.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, default=None
        Number of folds fitted at the same time.

    Returns
    -------
    PositiveChoice
        The class; the second one where both do equally well, as for models that treat both alike.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import choose_positive
    >>> bags, y = make_gaussian_bags(n_bags=60, shift=4.0)
    >>> choose_positive(WitnessSVC(kernel="linear"), bags, np.array(["wt", "mut"])[y]).label
    'mut'
    """
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"A positive class is one of two; there are {len(classes)} classes.")
    splits = folds(bags, y, cv, random_state, name=Argument("cv", ""))
    aucs = {}
    for label in classes.tolist():
        candidate = with_scaler(clone(model).set_params(pos_label=label), scaler)
        scores = out_of_fold_scores(candidate, bags, y, None, splits, n_jobs)
        aucs[label] = float(roc_auc_score(y == classes[1], scores))
    first, second = aucs
    return PositiveChoice(first if aucs[first] > aucs[second] + _TIE else second, aucs)
