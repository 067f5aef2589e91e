"""Cells of patients: what an AnnData object holds, as instances and their attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.forms import read_columns
from bagwise.errors import suggestion


def read_anndata(
    adata: Any,
    bag: str,
    label: str | None,
    layer: str | None,
    obsm: str | None,
    columns: dict[str, Any],
) -> tuple[Any, Array, Array | None, dict[str, Any]]:
    """Return X, bag ids, labels and other attributes of the cells."""
    if not (hasattr(adata, "obs") and hasattr(adata, "obsm")):
        raise TypeError(f"from_anndata takes an AnnData object, got a {type(adata).__name__}.")
    if layer is not None and obsm is not None:
        raise ValueError("Name the features with layer or with obsm, not with both.")
    X, names = features_of(adata, layer, obsm)
    bag_ids, y, attributes = read_columns(adata.obs, bag, label, columns)
    attributes = {"instance_ids": np.asarray(adata.obs_names, dtype=str), **attributes}
    if "coords" not in attributes and "spatial" in adata.obsm:
        attributes["coords"] = np.asarray(adata.obsm["spatial"])[:, :2]
    return X, bag_ids, y, attributes | {"feature_names": names}


def features_of(adata: Any, layer: str | None, obsm: str | None) -> tuple[Any, list[str]]:
    """Return the matrix that was chosen, and the names of its columns."""
    if obsm is not None:
        values = np.asarray(_known(adata.obsm, obsm, "obsm"))
        return values, [f"{obsm}_{i}" for i in range(values.shape[1])]
    values = adata.X if layer is None else _known(adata.layers, layer, "layers")
    if values is None:
        raise ValueError("adata.X is empty: name the features with layer or obsm.")
    return values, [str(name) for name in adata.var_names]


def _known(stored: Any, name: str, where: str) -> Any:
    if name not in stored:
        raise ValueError(f"adata.{where} has no {name!r}. {suggestion(name, list(stored))}")
    return stored[name]
