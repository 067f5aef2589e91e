"""Descriptions that many docstrings share, written once."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["described"]

_T = TypeVar("_T")

_SHARED = {
    "kernel_parameters": """
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
    "annealing_parameters": """
T0 : float, default=10.0
    First temperature, in units of C.
cooling : float, default=1.5
    Factor from one temperature to the next.
tol : float, default=1e-2
    Divergence a bag below which the assignment rests at its temperature.
newton_steps : int or None, default=None
    Newton steps an alternation; None solves each problem, 1 is quicker and often as good.""",
    "assignment_parameters": """
k : int, default=1
    Key instances a positive bag; their mean stands for the bag (all of a smaller one).
relax : bool, default=True
    Solve the convex relaxation over a growing pool of assignments. False is the non-convex
    variant (CCCP): fixed key instances, convex machine, the highest scores become the key
    instances.
refine : bool, default=False
    Round the relaxation to key instances and descend from there (CCCP).
start : {"mean", "cccp", "random"}, default="mean"
    The first assignment: the best instances of a machine in which the bag's mean stands for a
    positive bag, where CCCP from there ends, or drawn at random.
solver : {"newton", "mirror_prox", "stochastic_mirror_prox"}, default="newton"
    Solver of the problem over the pool; the last two are Zhang & Jin's, for study.
tol : float, default=0.01
    The pool stops growing when the heuristic gap over all assignments is this share of the
    objective.
kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="rbf"
    Kernel between instances. A callable takes two matrices. With "precomputed" the columns of the
    instances are kernel values with the instances numbered by ``instance_ids``. Every kernel, the
    linear one too, is used through its matrix between training instances, plus 1 for the bias.
gamma : {"median", "scale"} or float, default="median"
    Width of the rbf kernel, exp(-gamma d^2): 1 / (2 median distance^2), or as in scikit-learn.
degree : int, default=3
    Degree of the poly kernel.
coef0 : float, default=0.0
    Constant of the poly kernel.
pos_label : label, default=None
    The class whose bags hold witnesses; ``classes_[1]`` when not given. Two classes only.
threshold : float or "calibrated", default="calibrated"
    Bag score above which a bag is positive; "calibrated" chooses it on out-of-fold scores, which
    the relaxation needs: at 0 it can call every bag negative and still rank them well.
probability : False or "sigmoid", default=False
    With "sigmoid" there is ``predict_proba``, fitted to out-of-fold scores.
cv : int, splitter or iterable of folds, default=5
    Inner folds of ``threshold`` and ``probability``; a number of folds keeps ``bags.groups``
    together.
max_iter : int, default=30
    Largest pool, and most rounds of CCCP.
n_jobs : int, default=None
    Classes, or inner folds, fitted at the same time.
random_state : int, RandomState or None, default=None
    Seed of all that is drawn; None is seed 0, so that two fits always agree.
verbose : int, default=0
    Print one line an outer iteration.""",
    "assignment_attributes": """
n_columns_ : ndarray of int of shape (1 or n_classes,)
    Assignments in the pool.
heuristic_gap_ : ndarray of shape (1 or n_classes,)
    Distance from the relaxation over all assignments as far as the search could tell: no proof,
    unlike ``gap_``, which is over the pool. NaN without relaxation.
""",
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
_SHARED["rows_parameters"] = (
    "\nC : float, default=1.0\n    Weight of the losses under 1/2|w|^2."
    + _SHARED["kernel_parameters"]
)

_MAX_ITER = "max_iter : int, default=50\n    Most outer iterations.\n"
# For methods without outer iterations, or with another default.
_SHARED["plain_bag_parameters"] = _SHARED["bag_parameters"].replace(_MAX_ITER, "")


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
