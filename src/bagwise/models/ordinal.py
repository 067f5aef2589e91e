"""Grades: classes with an order, by one two-class model per grade.

"Grade >= k" is a two-class problem for each k. If the grade of a bag is that of its worst instance,
each of them satisfies the standard assumption exactly: a bag is positive if one instance is.

Reference: E. Frank, M. Hall, "A simple approach to ordinal classification", ECML 2001.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import cohen_kappa_score
from sklearn.utils.metaestimators import available_if

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.errors import Argument, Message, TaskWarning, list_names
from bagwise.estimators.base import refuse_numbers
from bagwise.estimators.discovery import LEVEL
from bagwise.estimators.input import check_target, order_is_meaning, refuse_missing_labels
from bagwise.estimators.params import Words, param
from bagwise.estimators.tags import bag_tags
from bagwise.models.thresholds import ThresholdModels


def _has_exact(model: OrdinalBagClassifier) -> bool:
    return bag_tags(model).exact_instance_scores


def needs_order(grades: list[Any]) -> bool:
    """Return whether grades are text whose order is not that of the alphabet by convention."""
    return isinstance(grades[0], str) and not (len(grades) == 2 and order_is_meaning(grades))


def order_of_categories(y: Any) -> Any:
    """Return the order of ordered categories of pandas; None for other labels."""
    kind: Any = getattr(y, "dtype", None)
    return kind.categories if getattr(kind, "ordered", False) else None


def sort_grades(y: Array, order: Any = None) -> Array:
    """Return the grades that occur from the lowest to the highest, as an ``order`` has them."""
    found = np.unique(y)
    if order is None:
        return found
    names: list[Any] = np.asarray(order).tolist()
    given = Argument("order", str(names))
    if len({*names}) < len(names):
        raise ValueError(Message(given, " has a grade twice."))
    unknown = next((grade for grade in found.tolist() if grade not in names), None)
    if unknown is not None:
        raise ValueError(Message(f"y contains {unknown!r}, which is not in ", given, "."))
    return np.array([grade for grade in names if grade in found.tolist()])


def number_grades(y: Array, grades: Any) -> Array:
    """Return the numbers of grades, given from the lowest to the highest."""
    number = {grade: k for k, grade in enumerate(np.asarray(grades).tolist())}
    unknown = next((grade for grade in y.tolist() if grade not in number), None)
    if unknown is not None:
        raise ValueError(f"y contains {unknown!r}; the model knows {list(number)}.")
    return np.array([number[grade] for grade in y.tolist()])


class OrdinalBagClassifier(ClassifierMixin, ThresholdModels):
    """Predict grades with any bag classifier, fitted at every threshold between them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_grades,)
        The grades, from the lowest to the highest.

    See Also
    --------
    BagSurvival : The same for times of events.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import OrdinalBagClassifier
    >>> rng = np.random.default_rng(0)
    >>> members = [rng.normal(size=(6, 2)) for _ in range(90)]
    >>> y = np.digitize([X[:, 0].max() for X in members], [0.8, 1.6])
    >>> model = OrdinalBagClassifier().fit(members[:60], y[:60])
    >>> model.score(members[60:], y[60:]) > 0.8
    True
    """

    order: Any = param(
        None,
        ["array-like", None],
        "The grades from the lowest to the highest. None takes that of ordered categories, or "
        "sorts the labels.",
        kind="sequence of labels",
    )
    rule: str = param(
        "median",
        Words("median", "mode"),
        "Which grade is predicted: the middle one by the probabilities, or the most probable.",
    )

    task = "grades"
    _rising = False

    def _read_labels(self, bags: Bags, y: Any, weight: Array) -> Array:
        order = order_of_categories(y) if self.order is None else self.order
        y = check_target(self, bags, y)
        refuse_missing_labels(bags, y)
        refuse_numbers(self, y)
        self.classes_ = sort_grades(y, order)
        if order is None and needs_order(grades := self.classes_.tolist()):
            start = f"Grades that are text are sorted as such: {list_names(grades)}. Give "
            message = Message(start, "their order with ", Argument("order"), ".")
            warnings.warn(message, TaskWarning, stacklevel=4)
        if len(np.unique(y[weight > 0])) < 2:
            raise ValueError(f"There is only one class, {y.tolist()[0]!r}: grades need two.")
        return number_grades(y, self.classes_)

    def _recall_labels(self, bags: Bags, y: Any) -> Array:
        return number_grades(check_target(self, bags, y), self.classes_)

    def _ask_thresholds(self, y: Array) -> tuple[Array, Array]:
        truth = y[:, None] >= np.arange(1, len(self.classes_))
        return truth, np.ones(truth.shape)

    def _name_threshold(self, number: int) -> str:
        return f"Grade {self.classes_.tolist()[number + 1]!r} or more"

    def _reduce(self, chances: Array) -> Array:
        return chances.sum(axis=1, keepdims=True)

    # Predicting ----------------------------------------------------------------------------------

    @answers("ndarray of shape (n_bags, n_grades)", "Rows sum to one.")
    def predict_proba(self, bags: Any) -> Array:
        """Return the probability of every grade."""
        return self._to_grades(self._chances(self._check_bags(bags)))

    @answers("ndarray of shape (n_bags,)", "One grade per bag.")
    def predict(self, bags: Any) -> Array:
        """Predict the grade of bags."""
        return self._choose(self._chances(self._check_bags(bags)))

    @available_if(_has_exact)
    @answers("ndarray of shape (n_instances,)", "Aligned with ``bags.X``.")
    def predict_instances(self, bags: Any) -> Array:
        """Predict the grade of every instance: that of a bag which contains nothing else."""
        return self._choose(self._instance_chances(self._check_bags(bags)))

    @answers("float", "1 is perfect, 0 is chance.", sample_weight="One weight per bag.")
    def score(self, bags: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the quadratic weighted kappa of the predicted grades."""
        codes = [number_grades(of, self.classes_) for of in (np.asarray(y), self.predict(bags))]
        return float(cohen_kappa_score(*codes, weights="quadratic", sample_weight=sample_weight))

    @answers(
        *("ndarray of shape (n_instances,)", "Aligned with ``bags.X``."),
        level="Share of bags below a threshold that may have any discovery at it.",
    )
    def discover_grades(self, bags: Any, level: float = LEVEL) -> Array:
        """Return the highest grade at which each instance is discovered, else the lowest grade."""
        found = self._find_discoveries(self._check_bags(bags), level)
        return self.classes_[(found * np.arange(1, len(self.classes_))).max(axis=1)]

    def _to_grades(self, chances: Array) -> Array:
        ends = np.ones((len(chances), 1)), np.zeros((len(chances), 1))
        reached = np.concatenate([ends[0], chances, ends[1]], axis=1)
        return reached[:, :-1] - reached[:, 1:]

    def _choose(self, chances: Array) -> Array:
        if self.rule == "median":
            return self.classes_[np.sum(chances > 0.5, axis=1)]
        return self.classes_[np.argmax(self._to_grades(chances), axis=1)]
