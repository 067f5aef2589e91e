"""AnnData files (.h5ad): cells are instances, columns of ``obs`` name their bags and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

import numpy as np

from bagwise.bags import Bags
from bagwise.bags.forms import features_of
from bagwise.bags.frames import long_columns
from bagwise.io import _assemble as rows
from bagwise.io._bagarrays import check_sizes, open_h5
from bagwise.io._columns import Column, Columns, LabeledBags, reads, writes
from bagwise.io._files import name_damage, replacing, require
from bagwise.io._flatten import name_features
from bagwise.io.errors import FormatError

_SPATIAL = "spatial"  # where scanpy and squidpy keep coordinates


@reads(
    ".h5ad",
    path="The .h5ad file.",
    features='Genes, by name or pattern such as "MT-*"; None: all.',
    drop="Genes to leave out, given in the same way.",
    regroup="Cells of a bag may be anywhere: this changes nothing.",
    layer="Features from ``layers[layer]``; ``X`` when this and ``obsm`` are None.",
    obsm='Features from ``obsm[obsm]``, such as "X_pca".',
)
def read_h5ad(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    layer: str | None = None,
    obsm: str | None = None,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read an AnnData file, whose columns are those of ``obs``; cells may be in any order."""
    path = Path(path)
    adata = _load(path)
    X, names = features_of(adata, layer, obsm)
    named: dict[str, Any] = {"regroup": True, **columns, "bag": bag, "label": label}
    features, drop, _ = (named.pop(name, None) for name in ("features", "drop", "regroup"))
    found = list(adata.obs.columns)
    roles = rows.find_roles(path, found, named, rows.ROLES)
    rows.require_bag(path, found, roles)
    read = {
        role: rows.take_column(path, role, np.asarray(adata.obs[found[j]]))
        for role, j in roles.items()
    }
    cells = np.asarray(adata.obs_names, dtype=str)
    if not np.array_equal(cells, np.arange(len(cells)).astype(str)):  # numbers are no names
        read.setdefault("instance_ids", cells)
    read |= {n: np.asarray(adata.obs[n]) for n in found if n.startswith(rows.BAG_FEATURE)}
    if _SPATIAL in adata.obsm:
        read["coords"] = np.asarray(adata.obsm[_SPATIAL])[:, :2]
    if features is not None or drop is not None:
        left = rows.match(path, names, drop or [])
        chosen = [g for g in rows.match(path, names, features or names) if g not in left]
        X = X[:, [rows.position_of(path, names, gene) for gene in chosen]]
        names = [str(gene) for gene in chosen]
    return rows.assemble(path, X, read, names, regroup=True)


def read_obs(path: Path) -> Any:
    """Return the columns that describe cells, as a data frame."""
    obs = _load(path, backed="r").obs
    return obs.astype(dict.fromkeys(obs.select_dtypes("category"), object))


def _load(path: Path, **options: Any) -> Any:
    require("anndata", "cells")
    import anndata

    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    items: dict[str, Any] = {}
    with open_h5(path) as file:
        file.visititems(items.__setitem__)
        left = ("X", "raw") if options else ()  # which stay in the file
        check_sizes(path, {n: d for n, d in items.items() if n.split("/")[0] not in left})
    with name_damage(path, "an AnnData file"):
        return anndata.read_h5ad(path, **options)


@writes(".h5ad", path="The .h5ad file to write.", bags="The bags; sparse ones stay sparse.")
def write_h5ad(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write an AnnData file with one row per instance."""
    require("anndata", "cells")
    import pandas as pd
    from anndata import AnnData

    path = Path(path)
    columns = long_columns(bags, y)
    ids = [str(name) for name in columns.pop("instance", range(bags.n_instances))]
    names = pd.Index(ids, dtype=object)  # anndata 0.12 writes no arrays of strings of pandas 3
    obs = {name: column for name, column in columns.items() if name not in rows.COORDS}
    genes = pd.Index(name_features(path, bags, ()), dtype=object)
    try:
        frame = pd.DataFrame(obs).set_index(names)
        adata = AnnData(bags.X, obs=frame, var=pd.DataFrame(index=genes))
        if bags.coords is not None:
            adata.obsm[_SPATIAL] = np.asarray(bags.coords)
        with replacing(path) as partial:
            adata.write_h5ad(partial)
    except TypeError as error:  # ids of several types
        raise FormatError(path, f"these bags cannot be written as AnnData: {error}.") from error
