"""Descriptions that many docstrings share, written once."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["described"]

_T = TypeVar("_T")

_SHARED = {
    "rows_parameters": """
C : float, default=1.0
    Weight of the losses under 1/2|w|^2.
kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
    Kernel between instances. A callable takes two matrices. With "precomputed" the columns of the
    instances are kernel values with the instances numbered by ``instance_ids``.
gamma : {"median", "scale"} or float, default="median"
    Width of the rbf kernel, exp(-gamma d^2): 1 / (2 median distance^2), or as in scikit-learn.
degree : int, default=3
    Degree of the poly kernel.
coef0 : float, default=0.0
    Constant of the poly kernel.
loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    Margin loss.""",
    "bag_parameters": """
class_weight : "balanced", dict or None, default=None
    Weights of the classes; "balanced" counts bags.
pos_label : label, default=None
    The class whose bags hold witnesses; ``classes_[1]`` when not given. Two classes only.
threshold : float or "calibrated", default=0.0
    Bag score above which a bag is positive; "calibrated" chooses it on out-of-fold scores.
probability : False or "sigmoid", default=False
    With "sigmoid" there is ``predict_proba``, fitted to out-of-fold scores.
cv : int, splitter or iterable of folds, default=5
    Inner folds of ``threshold`` and ``probability``; a number of folds keeps ``bags.groups``
    together.
max_iter : int, default=50
    Most outer iterations.
n_jobs : int, default=None
    Classes, or inner folds, fitted at the same time.
random_state : int, RandomState or None, default=None
    Seed of all that is drawn; None is seed 0, so that two fits always agree.
verbose : int, default=0
    Print one line an outer iteration.""",
    "rows_attributes": """
classes_ : ndarray of shape (n_classes,)
    The labels.
coef_ : ndarray of shape (1 or n_classes, n_features)
    Weight vectors (``kernel="linear"``).
dual_coef_, support_, support_vectors_ : ndarray
    Dual coefficients, row numbers and instances of the support (other kernels).
intercept_ : ndarray of shape (1 or n_classes,)
    Intercepts.
threshold_ : ndarray of shape (1 or n_classes,)
    What ``decision_function`` subtracts.
objective_, gap_ : ndarray of shape (1 or n_classes,)
    The objective reached, and the proven bound on the last convex problem's distance from its
    optimum.
n_iter_ : int
    Outer iterations.
history_ : list of dict
    One record an outer iteration (a list of these a class for three classes or more).
instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
    Weight of each training instance as a positive.""",
}


def described(documented: _T) -> _T:
    """Fill the ``%(name)s`` lines of a class's docstring with the shared descriptions."""
    lines: list[str] = []
    for line in (documented.__doc__ or "").splitlines():
        name = line.strip().removeprefix("%(").removesuffix(")s")
        indent = line[: len(line) - len(line.lstrip())]
        shared: Any = _SHARED.get(name) if line.strip().startswith("%(") else None
        if shared is None:
            lines.append(line)
        else:
            lines.extend(indent + text for text in shared.strip("\n").splitlines())
    documented.__doc__ = "\n".join(lines)
    return documented
