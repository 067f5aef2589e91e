"""Algorithmic unit tests: does a model respect the standard assumption, or does it take shortcuts?

Under the standard assumption a bag is positive because of what it contains, never because of what
it lacks. Each problem has training bags with a shortcut that violates this, and new bags in which
the shortcut is reversed. A model that respects the assumption cannot use the shortcut; one that
uses it ranks new bags worse than chance. Instances are background, one of two concepts, or poison.

- single concept: positive bags contain the concept. Poison is in all negative training bags, and in
  all positive new bags.
- threshold: positive bags contain both concepts, negative ones only one of them; poison as above.
- false frequency: as threshold, without poison. Positive training bags contain many instances of
  the concepts and negative ones few; in new bags it is the other way round.

Written from the description in: E. Raff & J. Holt, "Reproducibility in multiple instance learning:
a case for algorithmic unit tests", NeurIPS 2023. Sizes and distances are our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from bagwise._documented import documenting
from bagwise._typing import Array
from bagwise.bags import Bags

ASSUMPTION_TESTS = ("single concept", "threshold", "false frequency")
_N_BAGS, _N_BACKGROUND, _FEATURES = 100, 10, 8
_explains = documenting(
    {
        "test": ('{"single concept", "threshold", "false frequency"}', "The problem."),
        "seed": "Seed of the draws.",
    }
)
_AWAY = np.array([6.0, 6.0, 12.0])  # of each kind from the background: all are clear, poison most


def _draw_bag(kinds: list[int], rng: np.random.Generator) -> Array:
    """Draw background and instances of kinds 0 and 1 (concepts) and 2 (poison)."""
    X = rng.normal(size=(_N_BACKGROUND + len(kinds), _FEATURES))
    X[np.arange(len(kinds)), kinds] += _AWAY[kinds]
    return X


def _choose_kinds(test: str, positive: bool, train: bool, rng: np.random.Generator) -> list[int]:
    poison = [2, 2, 2] * (positive != train)
    if test == "single concept":
        return [0] * positive + poison
    present = [0, 1] if positive else [int(rng.integers(2))]
    if test == "threshold":
        return present + poison
    return present * (4 if positive == train else 1) * (1 if positive else 2)


@_explains()
def make_assumption_test(test: str, seed: int = 0) -> tuple[Bags, Array, Bags, Array]:
    """Draw training bags with a shortcut, and new bags with the shortcut reversed.

    Returns
    -------
    bags, y : Bags, ndarray of shape (100,)
        100 training bags and their labels; half are positive.
    new_bags, new_y : Bags, ndarray of shape (100,)
        100 new bags and their labels.

    Examples
    --------
    >>> from bagwise.testing import make_assumption_test
    >>> bags, y, new, truth = make_assumption_test("single concept")
    >>> len(bags), len(new), int(y.sum())
    (100, 100, 50)
    """
    if test not in ASSUMPTION_TESTS:
        raise ValueError(f"There is no test {test!r}: use one of {', '.join(ASSUMPTION_TESTS)}.")
    rng, y = np.random.default_rng(seed), np.arange(_N_BAGS) % 2
    train, new = (
        Bags.from_list([_draw_bag(_choose_kinds(test, bool(k), part, rng), rng) for k in y])
        for part in (True, False)
    )
    return train, y, new, y


@_explains(model=("bag estimator", "Cloned and fitted."))
def score_assumption_test(model: Any, test: str, seed: int = 0) -> float:
    """Return the AUC on bags in which the shortcut of the training bags is reversed.

    Returns
    -------
    float
        Below 0.5 where the model uses the shortcut.

    Examples
    --------
    >>> from bagwise import MeanSVC, WitnessSVC
    >>> from bagwise.testing import score_assumption_test
    >>> [score_assumption_test(model, "single concept") for model in (WitnessSVC(), MeanSVC())]
    [1.0, 0.0]
    """
    bags, y, new, truth = make_assumption_test(test, seed)
    return float(roc_auc_score(truth, clone(model).fit(bags, y).decision_function(new)))
