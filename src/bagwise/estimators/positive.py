"""Which of two classes is the positive one, where nobody said it.

Multiple-instance learning is asymmetric: a positive bag contains an instance of interest, a
negative one contains none. With the classes exchanged, most models learn nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

from bagwise.errors import Message, Parameter, PositiveClassWarning

# Beginnings of a negative and of a positive label whose order is their meaning.
_MEANINGS = (("neg", "pos"), ("no", "yes"), ("false", "true"), ("absent", "present"))


def order_is_meaning(classes: list[Any]) -> bool:
    """Return whether the second of two classes is the positive one by the usual conventions.

    Examples
    --------
    >>> from bagwise.estimators.positive import order_is_meaning
    >>> order_is_meaning([-1, 1]), order_is_meaning(["neg", "pos"]), order_is_meaning(["mut", "wt"])
    (True, True, False)
    """
    if len(classes) != 2 or not all(isinstance(each, str) for each in classes):
        return True
    first, second = (str(each).strip().casefold() for each in classes)
    try:
        return float(first) < float(second)
    except ValueError:
        pass  # not numbers: words
    if (first, second) == ("n", "y"):
        return True
    return any(first.startswith(no) and second.startswith(yes) for no, yes in _MEANINGS)


def warn_of_unclear(classes: list[Any]) -> None:
    """Warn where the labels do not say which class is positive."""
    if order_is_meaning(classes):
        return
    other, taken = classes
    start = f"{taken!r} is taken as the positive class, whose bags contain an instance of interest."
    named = (Parameter("pos_label", repr(other)), Parameter("pos_label", repr(taken)))
    text = Message(start, " If it is the other one, pass ", named[0], "; ", named[1], " confirms.")
    warnings.warn(PositiveClassWarning(text), stacklevel=2)
