"""Covariates: features of the bag itself, such as age and stage, beside what its instances say.

Numbers are a column as they are, texts one column per category of the fit. A missing text is an
error, and a category that the fit has not seen is none of them, with a warning: held-out folds may
have some.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import name_of

_WAYS = {"covariates": True, "bag_features": "bags"}  # how parameters ask for them
Kinds = list[list[str] | None]  # the categories of each bag feature; None of numbers


def learn_kinds(bags: Bags, asked: str) -> Kinds:
    """Return which bag features are numbers, and the categories of the others.

    ``asked`` is the parameter that asks for them.
    """
    columns = _get_features(bags, asked).T
    return [None if _parse(c) is not None else np.unique(c).tolist() for c in columns]


def covariate_columns(bags: Bags, asked: str, kinds: Kinds) -> Array:
    """Return the bag features as numbers; they must be there and of the kinds of the fit."""
    values = _get_features(bags, asked)
    if values.shape[1] != len(kinds):
        raise ValueError(
            f"The bags have {values.shape[1]} bag features, those of fit had {len(kinds)}."
        )
    parts = [_encode(bags, j, values[:, j], kind) for j, kind in enumerate(kinds)]
    return np.hstack([np.empty((len(bags), 0)), *parts])


def _get_features(bags: Bags, asked: str) -> Array:
    if bags.bag_features is None:
        raise ValueError(
            f"{asked} asks for features on the bags, and these have none: pass "
            "Bags(..., bag_features=...), or leave it out."
        )
    for i, j in np.argwhere(bags.bag_features == "")[:1]:
        raise ValueError(f"{name_of(bags.ids, int(i))} has no bag feature {j}: fill it in.")
    return np.asarray(bags.bag_features)


def _parse(texts: Any) -> Array | None:
    """Return texts (or numbers) as numbers, None if some are none."""
    try:
        return np.asarray(texts).astype(float)
    except ValueError:
        return None


def _encode(bags: Bags, j: int, values: Array, categories: list[str] | None) -> Array:
    if categories is not None:
        found = values.astype(str)[:, None] == categories
        for i in np.flatnonzero(~found.any(axis=1))[:1]:
            what = _say(bags, i, values[i], j)
            text = f"{what}, which the model has not seen: it counts as none of {categories}."
            warnings.warn(text, UserWarning, stacklevel=4)
        return 1.0 * found
    numbers = [_parse(value) for value in values]
    for i in [i for i, n in enumerate(numbers) if n is None or not np.isfinite(n)][:1]:
        problem = ", and the model learned numbers" if numbers[i] is None else ": impute it"
        raise ValueError(f"{_say(bags, i, values[i], j)}{problem}.")
    return np.array(numbers, dtype=float)[:, None]


def _say(bags: Bags, i: int, value: Any, j: int) -> str:
    shown = repr(str(value)) if isinstance(value, str) else value
    return f"{name_of(bags.ids, int(i))} has {shown} as bag feature {j}"


def learn_covariates(model: Any, bags: Bags, weight: Array) -> None:
    """Let a model that makes a row of a bag learn what its covariates are, if it has some."""
    if model.covariates:
        train, weight = bags[np.flatnonzero(weight)], weight[weight > 0]
        model.covariate_kinds_ = learn_kinds(train, "covariates=True")
        values = covariate_columns(train, "covariates=True", model.covariate_kinds_)
        model.covariate_center_ = np.average(values, axis=0, weights=weight)
        squares = (values - model.covariate_center_) ** 2
        spread = np.sqrt(np.average(squares, axis=0, weights=weight))
        model.covariate_scale_ = np.where(spread > 0, spread, 1.0)


def append_covariates(model: Any, rows: Any, bags: Bags, of: Any = slice(None)) -> Any:
    """Return rows with the standardized covariates of their bags, which are ``of`` these bags."""
    if not model.covariates:
        return rows
    values = covariate_columns(bags, "covariates=True", model.covariate_kinds_)
    values = ((values - model.covariate_center_) / model.covariate_scale_)[of]
    if sp.issparse(rows):
        return sp.hstack([rows, sp.csr_array(values)], format="csr")
    return np.hstack([rows, values])


def covariate_settings(model: Any) -> dict[str, Any]:
    """Return the parameters with which a model, or one within it, uses covariates; {} if none."""
    given = model.get_params()
    ways = {name: _WAYS.get(name.rpartition("__")[2]) for name in given}
    return {name: way for name, way in ways.items() if way and given[name] in (None, False)}


def uses_covariates(model: Any) -> bool:
    """Return whether a model, or one within it, learns from covariates beside instances."""
    given = {name.rpartition("__")[2]: value for name, value in model.get_params().items()}
    return any(name in given and given[name] == way for name, way in _WAYS.items())
