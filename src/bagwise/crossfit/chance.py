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
_SHORTFALL = 0.1  # of the balanced accuracy; less is within the noise of a few dozen bags


def lowest_by_chance(n_pos: float, n_neg: float) -> float:
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


def decision_rates(scores: Array, positive: Array) -> dict[str, float]:
    """Return AUC, sensitivity and specificity of scores whose threshold is 0, of two classes."""
    return {
        "auc": float(roc_auc_score(positive, scores)),
        "sensitivity": float(np.mean(scores[positive] > 0)),
        "specificity": float(np.mean(scores[~positive] <= 0)),
    }


def decides_badly(rates: dict[str, float]) -> Message | None:
    """Return what to say of a model that ranks bags well and calls many wrong, else None.

    Normal scores of equal spread with this AUC have a threshold with a balanced accuracy of
    Phi(Phi^-1(AUC) / sqrt 2): far less is the threshold's fault.
    """
    attainable = norm.cdf(norm.ppf(rates["auc"]) / np.sqrt(2))
    balanced = (rates["sensitivity"] + rates["specificity"]) / 2
    if not balanced < attainable - _SHORTFALL:
        return None
    return Message(
        "The model ranks bags well and decides badly: its AUC is {auc:.2f}, but at its threshold "
        "the sensitivity is {sensitivity:.2f} and the specificity {specificity:.2f}. "
        "".format(**rates),
        Parameter("threshold", "'balanced'"),
        " chooses another one on out-of-fold scores.",
    )
