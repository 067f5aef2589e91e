"""Which task the labels of bags set: classes, numbers, grades or times."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_CLASSES = 20  # distinct numbers; more are measured
_MOST_GRADES = 5  # whole numbers from 0 that may be grades or classes: 0 to 4


def is_measurement(y: Any) -> bool:
    """Return whether labels are numbers that are measured, not classes."""
    values = np.asarray(y)
    if values.dtype.kind not in "fiu":
        return False
    distinct = len(np.unique(values))
    return distinct > MOST_CLASSES and (distinct > len(values) / 2 or bool(np.any(values % 1)))


def are_classes_in_disguise(y: Any) -> bool:
    """Return whether numbers look like classes or grades: two values, or 0 to 4 at most.

    Examples
    --------
    >>> from bagwise.estimators.labels import are_classes_in_disguise
    >>> are_classes_in_disguise([0.0, 2.0, 1.0]), are_classes_in_disguise([0.0, 2.5, 1.0])
    (True, False)
    """
    values = np.unique(np.asarray(y))
    few = len(values) <= _MOST_GRADES and values.tolist() == list(range(len(values)))
    return len(values) > 1 and (len(values) == 2 or few)


def read_task(y: Any) -> str:
    """Return the task that labels set where nobody names it; grades are classes then.

    Examples
    --------
    >>> from bagwise.estimators.labels import read_task
    >>> read_task(["no", "yes"]), read_task([n / 7 for n in range(50)])
    ('classes', 'numbers')
    """
    y = np.asarray(y)
    if y.dtype.names is not None or y.ndim == 2:
        return "times"
    return "numbers" if is_measurement(y) else "classes"
