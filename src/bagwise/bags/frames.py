"""Bags for people: data frames, an HTML display for notebooks, and selection by id."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import feature_names, verify_bags
from bagwise.bags.segments import expand
from bagwise.errors import list_names, suggestion

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags

BAG_FEATURE = "bag_feature_"
COORDS = ("coord_x", "coord_y")


def check_labels(bags: Bags, y: Any, *, times: bool = False) -> Any:
    """Verify bags to be written; return one label per bag as an array, or None."""
    verify_bags(bags)
    y = None if y is None else np.asarray(y)
    if y is not None and y.shape != (len(bags),):
        raise ValueError(f"Expected one label per bag ({len(bags)}), got shape {y.shape}.")
    if y is not None and y.dtype.names and not times:
        raise ValueError("Only .bags folders keep events and times: write one, or leave them out.")
    return y


def bag_columns(bags: Bags, y: Any) -> dict[str, Array]:
    """Return the attributes of the bags, and their labels, by column name."""
    columns = {"bag": bags.ids, "label": check_labels(bags, y)}
    columns |= {"group": bags.groups, "site": bags.sites, "prior": bags.priors}
    columns["patch_size"] = bags.patch_size
    if bags.bag_features is not None:
        columns |= {f"{BAG_FEATURE}{k + 1}": c for k, c in enumerate(bags.bag_features.T)}
    return {name: values for name, values in columns.items() if values is not None}


def instance_columns(bags: Bags) -> dict[str, Array]:
    """Return the attributes of the instances by column name, without ids 0, 1, 2, ..."""
    columns = {"instance_label": bags.instance_labels, "known_label": bags.known_labels}
    if not np.array_equal(bags.instance_ids, np.arange(bags.n_instances)):
        columns["instance"] = bags.instance_ids
    columns["part"] = bags.parts
    if bags.coords is not None:
        columns |= dict(zip(COORDS, bags.coords.T, strict=True))
    return {name: values for name, values in columns.items() if values is not None}


def long_columns(bags: Bags, y: Any) -> dict[str, Array]:
    """Return everything that is not a feature, with one value per instance."""
    of_bags = {k: expand(v, bags.offsets) for k, v in bag_columns(bags, y).items()}
    return {**of_bags, **instance_columns(bags)}


def as_frame(bags: Bags, y: Any) -> Any:
    """Return a pandas data frame with one row per instance."""
    import pandas as pd

    X = bags.X.toarray() if sp.issparse(bags.X) else np.asarray(bags.X)
    keys = pd.DataFrame(long_columns(bags, y))
    return pd.concat([keys, pd.DataFrame(X, columns=feature_names(bags))], axis=1)


class ById:
    """Select bags by their ids: ``bags.loc["s1"]`` is an array, ``bags.loc[["s1", "s2"]]`` bags."""

    def __init__(self, bags: Bags) -> None:
        self._bags = bags

    def __getitem__(self, key: Any) -> Any:
        wanted = list(key) if isinstance(key, list | np.ndarray) else [key]
        numbers: dict[Any, int] = {}
        for i, name in enumerate(self._bags.ids.tolist()):
            numbers.setdefault(name, i)
        missing = next((name for name in wanted if name not in numbers), None)
        if missing is not None:
            raise KeyError(f"There is no bag {missing!r}. {suggestion(str(missing), numbers)}")
        rows = [numbers[name] for name in wanted]
        return self._bags[rows] if isinstance(key, list | np.ndarray) else self._bags[rows[0]]


def as_html(bags: Bags) -> str:
    """Return what a notebook shows: the counts, the first and last bags, and the features."""
    import pandas as pd

    columns = {"id": bags.ids, "group": bags.groups, "instances": bags.sizes}
    table = pd.DataFrame({name: v for name, v in columns.items() if v is not None})
    names = escape(list_names(map(str, feature_names(bags))))
    return f"<div><p>{escape(repr(bags))}</p>{table._repr_html_()}<p>features: {names}</p></div>"
