"""Small problems for the checks, and how the outputs of two models are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.estimators.tags import BagTags, bag_tags

Check = Callable[[Any], None]

_FEATURES = 3  # one direction per further class, and one more


def planted_bags(
    n_classes: int = 2, n_bags: int = 24, seed: int = 0, shift: float = 2.0
) -> tuple[Bags, Array]:
    """Draw bags in which class k > 0 plants a witness in direction k; the classes overlap."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_bags) % n_classes)
    sizes = rng.integers(1, 5, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(size=(offsets[-1], _FEATURES)).astype(np.float32).astype(np.float64)
    witness = offsets[:-1] + rng.integers(sizes)
    X[witness[y > 0], y[y > 0] - 1] += shift
    return Bags(X, offsets, ids=[f"b{i}" for i in range(n_bags)]), y


def with_fixed_width(estimator: Any) -> Any:
    """Return a copy whose kernel width does not depend on the data."""
    model = clone(estimator)
    has_width = isinstance(model.get_params().get("gamma"), str)
    return model.set_params(gamma=0.25) if has_width else model


def needs(*facts: str) -> Callable[[Check], Check]:
    """Mark a check as one for estimators with all of these tags and parameters."""

    def mark(check: Check) -> Check:
        check.needs = facts  # type: ignore[attr-defined]
        return check

    return mark


def facts_of(estimator: Any) -> set[str]:
    """Return what `needs` may ask for: the tags that hold and the parameters that exist."""
    tags, of_sklearn = bag_tags(estimator), estimator.__sklearn_tags__()
    held = {name for name in BagTags.__dataclass_fields__ if getattr(tags, name)}
    held |= {tags.instance_scores, estimator.task}
    held |= {f"parameter {name}" for name in estimator.get_params()}
    held |= {"sparse"} if of_sklearn.input_tags.sparse else set()
    of_classes = of_sklearn.classifier_tags
    return held | ({"multi_class"} if of_classes and of_classes.multi_class else set())


def score_bags(model: Any, bags: Any) -> Array:
    """Return the decision values of a classifier, or what it is that other models predict."""
    names = {"classes": "decision_function", "grades": "predict_proba"}
    return getattr(model, names.get(model.task, "predict"))(bags)


def outputs(model: Any, bags: Any) -> dict[str, Array]:
    """Return everything that a fitted model predicts for bags."""
    names = ["decision_function", "predict"] if model.task == "classes" else ["predict"]
    if bag_tags(model).instance_scores:
        names += ["instance_decision_function", "key_instances"]
        names += ["predict_instances"] if hasattr(model, "predict_instances") else []
    return {name: getattr(model, name)(bags) for name in names}


def assert_same_bits(one: dict[str, Array], other: dict[str, Array], what: str) -> None:
    """Compare the outputs of two models that must not differ in a bit."""
    for name, values in one.items():
        np.testing.assert_array_equal(other[name], values, err_msg=f"{name}: {what}")


def assert_close(one: Array, other: Array, tolerance: float, what: str) -> None:
    """Compare scores relative to the largest of them."""
    scale = max(1e-12, float(np.abs(one).max()))
    np.testing.assert_allclose(other, one, rtol=0, atol=tolerance * scale, err_msg=what)
