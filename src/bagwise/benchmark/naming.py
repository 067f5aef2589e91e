"""Estimators by the names that a benchmark's YAML gives them."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

import bagwise.models
from bagwise.base import BagClassifier
from bagwise.papers import METHODS, UnknownMethodError, by_paper_name

__all__ = ["check_method", "make_estimator"]


def make_estimator(name: str, **params: Any) -> BagClassifier:
    """Build an estimator by its paper's name or its class.

    Parameters
    ----------
    name : str
        Such as "MI-SVM" or "WitnessSVC".
    **params : object
        Its parameters.

    Returns
    -------
    BagClassifier
        Not fitted.

    Examples
    --------
    >>> from bagwise.benchmark.naming import make_estimator
    >>> make_estimator("MI-SVM", C=10), make_estimator("WitnessSVC", C=10)
    (WitnessSVC(C=10), WitnessSVC(C=10))
    """
    kind = _class_of(name)
    return by_paper_name(name, **params) if kind is None else kind(**params)


def check_method(name: str, params: list[str]) -> None:
    """Raise a ValueError where a method or one of its parameters does not exist."""
    kind = _class_of(name)
    if kind is None:
        by_paper_name(name)  # knows the nearest name
        method = next(method for method in METHODS if method.name == name)
        kind = method.estimator
        fixed = next((key for key in params if key in method.options), None)
        if fixed is not None:
            raise UnknownMethodError(f"{fixed} cannot be set: {name} is {method.code}.")
    known = kind._get_param_names()
    unknown = next((key for key in params if key not in known), None)
    if unknown is not None:
        raise UnknownMethodError(
            f"{name} has no parameter {unknown!r}; there are {', '.join(known)}."
        )


def _class_of(name: str) -> type[Any] | None:
    found = getattr(bagwise.models, name, None) if name in bagwise.models.__all__ else None
    is_class = isinstance(found, type) and issubclass(found, BaseEstimator)
    return found if is_class and hasattr(found, "predict") else None
