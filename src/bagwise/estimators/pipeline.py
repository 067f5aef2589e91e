"""Pipelines whose instances have scores: what a bag classifier can do, through what is around it.

`PointsThrough` passes questions about instances on to the classifier inside a pipeline or a search.
Where there is none, as in a pipeline of `BagStatistics` and a classifier of scikit-learn, instances
are scored by occlusion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import check_bags
from bagwise.bags.segments import segment_argmax
from bagwise.estimators.discovery import Discoveries, forget_calibration
from bagwise.estimators.explanation import N_FEATURES, explanation
from bagwise.estimators.occlusion import occlusion_scores
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import OPAQUE, BagTags, bag_tags, innermost, last_step


def _can(method: str) -> Callable[[Any], bool]:
    def is_there(model: Any) -> bool:
        last = last_step(model)
        if isinstance(last, BagScores):
            getattr(last, method)  # its own error says why it is not there
            return True
        if method == "predict_instances" or not hasattr(last, "decision_function"):
            raise AttributeError(f"{type(last).__name__} gives no labels or scores to instances.")
        return True

    return is_there


def document_as(original: Any) -> Callable[[Any], Any]:
    """Give a method the docstring of the one that it passes questions on to."""

    def take(method: Any) -> Any:
        method.__doc__ = original.__doc__
        return method

    return take


class PointsThrough(Discoveries):
    """Instance scores, key instances, discoveries and explanations of a pipeline or search."""

    def __bag_tags__(self) -> BagTags:
        """The tags of the classifier, or those of occlusion."""
        last = last_step(self)
        if isinstance(last, BagScores):
            return bag_tags(last)
        return replace(OPAQUE, instance_scores="occlusion")

    def _inside(self, bags: Any) -> tuple[Any, Any]:
        return innermost(self, check_bags(bags, finite=False))

    @available_if(_can("instance_decision_function"))
    @answers(
        "ndarray of shape (n_instances,) or (n_instances, n_classes)", "Aligned with ``bags.X``."
    )
    def instance_decision_function(self, bags: Any) -> Array:
        """Score every instance, as the classifier inside does, or by occlusion."""
        model, seen = self._inside(bags)
        if isinstance(model, BagScores):
            return model.instance_decision_function(seen)
        return occlusion_scores(model, seen)

    @available_if(_can("predict_instances"))
    @document_as(BagScores.predict_instances)
    def predict_instances(self, bags: Any) -> Array:  # noqa: D102
        model, seen = self._inside(bags)
        return model.predict_instances(seen)

    @available_if(_can("key_instances"))
    @document_as(BagScores.key_instances)
    def key_instances(self, bags: Any) -> Array:  # noqa: D102
        model, seen = self._inside(bags)
        if isinstance(model, BagScores):
            return model.key_instances(seen)
        keys = segment_argmax(occlusion_scores(model, seen), seen.offsets)
        if keys.ndim == 1:
            return keys
        return keys[np.arange(len(seen)), model.decision_function(seen).argmax(axis=1)]

    @available_if(_can("explain"))
    @document_as(BagScores.explain)
    def explain(self, bags: Any, *, n_features: int = N_FEATURES) -> Any:  # noqa: D102
        model, seen = self._inside(bags)
        return explanation(model if isinstance(model, BagScores) else self, seen, n_features)


class BagPipeline(PointsThrough, Pipeline):
    """A scikit-learn ``Pipeline`` with the instance scores of its last step.

    It has ``instance_decision_function``, ``key_instances``, ``explain`` and, where the last step
    scores instances by itself, ``predict_instances``. Everything else is that of ``Pipeline``.

    Parameters
    ----------
    steps : list of tuple
        Names and transformers; the last one is the classifier.
    transform_input : list of str, default=None
        As in ``Pipeline``.
    memory : str or object with the joblib.Memory interface, default=None
        As in ``Pipeline``.
    verbose : bool, default=False
        As in ``Pipeline``.

    See Also
    --------
    make_pipeline : Without names of steps.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import BagPipeline, PerInstance, WitnessSVC
    >>> bags = [[[0.0], [30.0]], [[1.0]], [[29.0], [2.0]], [[3.0], [1.0]]]
    >>> steps = [("scale", PerInstance(StandardScaler())), ("classify", WitnessSVC())]
    >>> BagPipeline(steps).fit(bags, [1, 0, 1, 0]).key_instances(bags)
    array([1, 0, 0, 0])
    """

    @answers(
        "self", "Fitted.", X=("Bags", "Bags."), y="Their labels.", params="As in scikit-learn."
    )
    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit all steps."""
        forget_calibration(self)
        return super().fit(X, y, **params)


@answers(
    *("pandas.DataFrame", "One row per instance, as the model's own ``explain`` returns."),
    model=(
        "BagClassifier, Pipeline or search",
        "Fitted. A plain scikit-learn ``Pipeline`` may end in a bag classifier, or in a classifier "
        "of what `BagStatistics` computes.",
    ),
    bags="The bags to explain.",
    n_features="Maximum number of features named per instance.",
)
def explain(model: Any, bags: Any, *, n_features: int = N_FEATURES) -> Any:
    """Return the explanation of a model, of a search or of any scikit-learn pipeline.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bagwise import PerInstance, WitnessSVC, explain
    >>> bags = [[[0.0], [30.0]], [[1.0]], [[29.0], [2.0]], [[3.0], [1.0]]]
    >>> model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear"))
    >>> explain(model.fit(bags, [1, 0, 1, 0]), bags)["share"].tolist()
    [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline) and not isinstance(model, BagPipeline):
        model = BagPipeline(model.steps)
    if not hasattr(model, "explain"):
        raise TypeError(
            f"{type(model).__name__} has no explanation of bags: give a fitted bag classifier, or "
            "a pipeline or search that ends in one."
        )
    return model.explain(bags, n_features=n_features)
