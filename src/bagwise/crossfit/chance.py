"""Scores of unseen bags that are worse than chance, which no honest model should hide.

Where scores carry no information, the AUC of n_pos positive and n_neg negative bags has mean 1/2
and variance (n_pos + n_neg + 1) / (12 n_pos n_neg) (Mann & Whitney 1947).
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from bagwise._typing import Array
from bagwise.errors import SCALE, BelowChanceWarning, Message, Parameter

_LEVEL = 0.05  # of data sets without any signal are warned of, which is no harm


def lowest_by_chance(n_pos: int, n_neg: int) -> float:
    """Return the AUC that scores without information fall below once in twenty times.

    Examples
    --------
    >>> from bagwise.crossfit import lowest_by_chance
    >>> round(lowest_by_chance(50, 50), 3), round(lowest_by_chance(5, 5), 3)
    (0.405, 0.185)
    """
    deviation = np.sqrt((n_pos + n_neg + 1) / (12 * n_pos * n_neg)) if n_pos and n_neg else np.inf
    return float(0.5 + norm.ppf(_LEVEL) * deviation)


def below_chance(auc: float, n_pos: int, n_neg: int) -> Message | None:
    """Return what to say of an AUC on unseen bags that is significantly below 1/2, else None."""
    if not auc < lowest_by_chance(n_pos, n_neg):
        return None
    return Message(
        f"The AUC on bags that the model has not seen is {auc:.2f}, significantly below 0.5. "
        "Either the other class may be the positive one (",
        Parameter("pos_label"),
        "), or the model sees no signal: try another scale of the features (",
        SCALE,
        ") or another kernel width (",
        Parameter("gamma"),
        ").",
    )


def warn_if_below_chance(scores: Array, truth: Array) -> None:
    """Warn of out-of-fold scores of two classes that rank bags significantly worse than chance.

    ``scores`` and ``truth`` have one column per model; several classes are not judged.
    """
    n_pos = int(truth.sum())
    n_neg = len(truth) - n_pos
    if truth.shape[1] == 1 and n_pos and n_neg:
        text = below_chance(float(roc_auc_score(truth[:, 0], scores[:, 0])), n_pos, n_neg)
        if text is not None:
            warnings.warn(BelowChanceWarning(text), stacklevel=2)
