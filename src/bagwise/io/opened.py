"""`open`: one store or several as one, without reading the instances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.forms import PER_BAG, PER_INSTANCE
from bagwise.bags.segments import offsets_of
from bagwise.io._assemble import LabeledBags, reads
from bagwise.io.dispatch import read
from bagwise.io.errors import FormatError
from bagwise.io.store import MANIFEST, read_bags
from bagwise.rowstores.files import FileRows


@reads(
    path="A ``.bags`` folder, a list of them, or a folder that contains some (in the order of "
    "their names). They must have the same features. All else goes to `read`, which also leaves "
    "features of slides in their files where they lie there in one piece.",
)
def open(path: str | Path | Sequence[str | Path]) -> LabeledBags:
    """Open stores of bags, several of them as one; instances are read when a fit passes over them.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> folder = getfixture("tmp_path")
    >>> io.write_bags(folder / "a.bags", Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> io.write_bags(folder / "b.bags", Bags.from_list([[[0.4]]]), [1])
    >>> io.open(folder)
    (Bags(3 bags, 4 instances, 1 features, 1-2 instances per bag, float64), array([1, 0, 1]))
    """
    if isinstance(path, str | Path):
        path = Path(path)
        stores = sorted(path.glob("*.bags")) if path.is_dir() else []
        if not stores or (path / MANIFEST).is_file():
            return read(path)
    else:
        stores = [Path(each) for each in path]
        if not stores:
            raise ValueError("There are no stores: the list of paths is empty.")
    return _joined(stores, [read_bags(store) for store in stores])


def _joined(stores: list[Path], opened: list[LabeledBags]) -> LabeledBags:
    parts = [bags for bags, _ in opened]
    for store, bags in zip(stores, parts, strict=True):
        _check_alike(stores[0], parts[0], store, bags)
    offsets = offsets_of(np.concatenate([bags.sizes for bags in parts]))
    shared: dict[str, Any] = {
        name: _together(stores, parts, name) for name in (*PER_BAG, *PER_INSTANCE)
    }
    X = FileRows([bags.X for bags in parts])
    bags = Bags(X, offsets, feature_names=parts[0].feature_names, **shared)
    labels = [y for _, y in opened]
    return bags, _concatenated(stores, labels, "labels")


def _check_alike(first: Path, one: Bags, store: Path, other: Bags) -> None:
    if sp.issparse(other.X):
        raise FormatError(store, "holds sparse instances, which several stores cannot share.")
    names = [None if b.feature_names is None else list(b.feature_names) for b in (one, other)]
    for what, mine, its in (
        ("features", one.n_features, other.n_features),
        ("data type", one.dtype, other.dtype),
        ("feature names", *names),
    ):
        if mine != its:
            shown = f"{mine} and {its}" if what != "feature names" else "other ones"
            raise FormatError(store, f"differs from {first} in its {what}: {shown}.")


def _together(stores: list[Path], parts: list[Bags], name: str) -> Array | None:
    generated = f"has_{name}"
    if any(not getattr(bags, generated, True) for bags in parts):  # 0, 1, ... of each store
        return None
    return _concatenated(stores, [getattr(bags, name) for bags in parts], name)


def _concatenated(stores: list[Path], values: list[Any], name: str) -> Array | None:
    missing = [value is None for value in values]
    if all(missing):
        return None
    if any(missing):
        have, lack = stores[missing.index(False)], stores[missing.index(True)]
        raise FormatError(lack, f"has no {name}, but {have} has: write all stores alike.")
    return np.concatenate(values)
