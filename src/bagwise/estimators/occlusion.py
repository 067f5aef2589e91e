"""Instance scores by occlusion: how a bag's score changes when the instance is taken out.

    s_k = f(B) - f(B without x_k),        s_k = f(B) where x_k is the only instance of B.

This holds for anything that scores bags. `decision_without_each` computes f(B without x_k) for all
instances: a `BagClassifier` does it by ``_scores_without_each``, which models overwrite where they
can update a score instead of computing it anew; a pipeline passes on to its last step; for
anything else, every bag is scored without each of its instances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.bags.without import score_without_each
from bagwise.estimators.tags import innermost


def decision_without_each(model: Any, bags: Bags) -> Array:
    """Return the decision value of every bag without each instance, aligned with ``bags.X``.

    The model is a `BagClassifier`, a pipeline or a search. The row of a bag's only instance says
    nothing.
    """
    model, bags = innermost(model, bags)
    if hasattr(model, "_decision_without_each"):
        return model._decision_without_each(bags)
    return score_without_each(_find_scores(model), bags)


def occlusion_scores(model: Any, bags: Bags) -> Array:
    """Return the change of its bag's decision value when each instance is taken out.

    The only instance of a bag has the bag's decision value.
    """
    return occlude(_find_scores(model)(bags), decision_without_each(model, bags), bags)


def _find_scores(model: Any) -> Callable[[Bags], Array]:
    """Return the method that scores bags: of numbers and times, what predicts them."""
    return getattr(model, "decision_function", model.predict)


def occlude(own: Array, without: Array, bags: Bags) -> Array:
    """Return the scores of bags minus those without each instance; of one instance, the score."""
    own = expand(own, bags.offsets)
    alone = expand(bags.sizes == 1, bags.offsets).reshape((-1,) + (1,) * (own.ndim - 1))
    return np.where(alone, own, own - without)
