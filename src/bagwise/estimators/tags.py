"""What a bag estimator can and cannot do, and which one is inside of searches and pipelines.

scikit-learn's own tags say whether sparse instances or more than two classes are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class BagTags:
    """Facts about a bag estimator, returned by its ``__bag_tags__`` method."""

    # What ``instance_decision_function`` and ``key_instances`` are made of: scores that the model
    # gives to instances ("exact"), or the change of the bag's score when the instance is taken out
    # ("occlusion"), or sums of both ("mixed", of ensembles). ``predict_instances`` exists only for
    # "exact" ones. Nothing of this exists for "".
    instance_scores: str = "exact"
    # Takes the instance scores of one bag and returns the score of the bag; None where the bag's
    # score is not made of its instances' scores.
    bag_score: Callable[[Any], Any] | None = np.max
    objective: bool = True  # there are ``objective_``, ``n_iter_`` and ``history_``
    gap: bool = True  # there is ``gap_``, a proven bound
    instance_weights: bool = True  # ``instance_weights_``, one per training instance, in [0, 1]
    # ``predict_instances`` is the sign of the instance scores (two classes) or the class of the
    # highest one; False where labels are inferred otherwise.
    signs_are_labels: bool = True
    # Instance scores are shifted with the bag's score, where this is made of them.
    threshold_on_instances: bool = True
    weight_is_repetition: bool = True  # weight 2 is the bag twice, and weight 0 is no bag
    # How well, relative to the largest, the scores of two equal problems agree that were written in
    # different order.
    tolerance: float = 1e-6
    # What makes a bag positive where ``bag_score`` is None (see ``assumption``): "collective",
    # "other" or "standard".
    whole_bag: str = "collective"

    @property
    def assumption(self) -> str:
        """What makes a bag positive: "standard", "collective" or "other".

        "standard" where adding an instance can only raise the bag's score; "collective" where all
        instances of a bag decide together; "other" for what is neither.
        """
        if self.bag_score is None:
            return self.whole_bag
        return "standard" if _can_only_rise(self.bag_score) else "collective"

    @property
    def exact_instance_scores(self) -> bool:
        """Whether the model itself scores instances."""
        return self.instance_scores == "exact"

    @property
    def one_decides(self) -> bool:
        """Whether a bag's score is about that of its best instance, however many there are."""
        if not self.exact_instance_scores or self.bag_score is None:
            return False
        one_of_four = np.array([-9.0, -9.0, -9.0, 1.0])
        return (
            abs(float(self.bag_score(one_of_four)) - 1.0) < 0.01
        )  # noisy-or is close to the maximum

    @property
    def threshold_shifts_instances(self) -> bool:
        """Whether the bag's score is a maximum or mean that moves with its instances' scores."""
        return self.bag_score is not None and self.threshold_on_instances


def _can_only_rise(bag_score: Callable[[Any], Any]) -> bool:
    """Return whether instances of low scores leave the score of a bag alone, or raise it."""
    scores = np.array([1.0, 0.0, -1.0, -9.0, -9.0, -9.0])
    parts = [float(bag_score(scores[:n])) for n in range(1, len(scores) + 1)]
    return bool(np.all(np.diff(parts) >= 0))


# Of models that say nothing about what they minimize; bags are scored as a whole.
OPAQUE = BagTags(bag_score=None, objective=False, gap=False, instance_weights=False)


def bag_tags(estimator: Any) -> BagTags:
    """Return an estimator's tags; the defaults where it has none of its own."""
    method = getattr(estimator, "__bag_tags__", None)
    return BagTags() if method is None else method()


def innermost(
    model: Any,
    bags: Any,
    passes: Callable[[Any], bool] = lambda step: getattr(step, "transforms_each_instance", False),
) -> tuple[Any, Any]:
    """Return the classifier inside searches and pipelines, and the bags as it sees them.

    Steps of a pipeline are passed only if all of them may be: by default, if they transform every
    instance on its own.
    """
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, Pipeline):
        return model, bags
    steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
    if not all(map(passes, steps)):
        return model, bags
    for step in steps:
        bags = step.transform(bags)
    return innermost(model.steps[-1][1], bags, passes)


def last_step(model: Any) -> Any:
    """Return the classifier inside searches and pipelines, fitted or not."""
    if hasattr(model, "best_estimator_"):
        return last_step(model.best_estimator_)
    if isinstance(model, Pipeline):
        return last_step(model.steps[-1][1]) if model.steps else model
    is_search = hasattr(model, "cv") and hasattr(model, "estimator")
    return last_step(model.estimator) if is_search else model


def configure(model: Any, **settings: Any) -> Any:
    """Set those of the parameters that a model, or the last step of a pipeline, has."""
    last = last_step(model)
    known = last.get_params(deep=False)
    last.set_params(**{name: value for name, value in settings.items() if name in known})
    return model
