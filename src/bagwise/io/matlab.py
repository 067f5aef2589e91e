"""MATLAB .mat files: instances, the bag of every instance, labels.

Looked for, in this order: the instances as ``X``, ``features`` or ``data``; the bags as ``bag``,
``bag_ids``, ``bag_id`` or ``bags``; the labels, one a bag or one an instance, as ``y``, ``labels``
or ``label``. This covers the files of Andrews, Tsochantaridis & Hofmann (2002). Dense or sparse.
"""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.io._assemble import Labelled, assemble, coded
from bagwise.io._flatten import checked_labels
from bagwise.io._source import require
from bagwise.io.errors import CorruptFileError, FormatError, LabelError
from bagwise.segments import bag_index

__all__ = ["read_mat", "write_mat"]

Array = NDArray[Any]

_USUAL = {
    "X": ("X", "features", "data"),
    "bag": ("bag", "bag_ids", "bag_id", "bags"),
    "label": ("y", "labels", "label"),
}
_ATTRIBUTES = ("groups", "priors", "bag_features", "instance_labels", "instance_ids")


def read_mat(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    X: str | None = None,
    regroup: bool = False,
) -> Labelled:
    """Read bags from a MATLAB file (any version; 7.3 needs h5py and holds numbers only).

    Parameters
    ----------
    path : str or Path
        The file.
    bag, label, X : str, default=None
        The variables with the bag of every instance, the labels (one a bag or one an instance) and
        the instances; None: those with the usual names.
    regroup : bool, default=False
        Accept a file whose bags are scattered over it.

    Returns
    -------
    bags : Bags
        The bags, sparse where the variable is.
    y : ndarray of shape (n_bags,) or None
        Their labels.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_mat, write_mat
    >>> path = getfixture("tmp_path") / "bags.mat"
    >>> write_mat(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> read_mat(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array([1, 0]))
    """
    path = Path(path)
    variables = _load(path)
    instances = _find(path, variables, "X", X)
    if not sp.issparse(instances) and instances.dtype.kind not in "fiub":
        raise FormatError(path, f"holds {instances.dtype}, expected numbers.", column=X or "X")
    bag_of_row = _vector(_find(path, variables, "bag", bag))
    if len(bag_of_row) != instances.shape[0]:
        raise FormatError(
            path, f"{len(bag_of_row)} bag ids for {instances.shape[0]} instances (rows)."
        )
    labels = _find(path, variables, "label", label, required=label is not None)
    made, y = _assembled(path, instances, bag_of_row, labels, regroup)
    attributes = {n: _attribute(variables[n], n) for n in _ATTRIBUTES if n in variables}
    if "ids" in variables:
        attributes["ids"] = _vector(variables["ids"])
    if "feature_names" in variables:
        attributes["feature_names"] = _vector(variables["feature_names"])
    return made.replace(**attributes), y


def _load(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # duplicate names: the last one counts
            return loadmat(path)
    except NotImplementedError:  # version 7.3 is HDF5
        return _load_hdf5(path)
    except (MatReadError, ValueError, TypeError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise CorruptFileError(path, f"is cut short or no MATLAB file ({error}).") from error


def _load_hdf5(path: Path) -> dict[str, Any]:
    """Return the numeric variables of a version 7.3 file, which stores matrices transposed."""
    require("h5py", "io")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return {n: v for n, item in file.items() if (v := _hdf5_variable(item)) is not None}
    except OSError as error:
        raise CorruptFileError(path, f"is cut short or no MATLAB 7.3 file ({error}).") from error


def _hdf5_variable(item: Any) -> Any:
    if "MATLAB_sparse" in item.attrs:
        parts = [item[name][()] if name in item else [] for name in ("data", "ir", "jc")]
        shape = (int(item.attrs["MATLAB_sparse"]), len(parts[2]) - 1)
        return sp.csc_array(tuple(parts), shape=shape)
    is_numeric = getattr(item, "dtype", None) is not None and item.dtype.kind in "fiu"
    return item[()].T if is_numeric and item.dtype != "uint16" else None  # uint16 holds texts


def _find(
    path: Path, variables: dict[str, Any], role: str, named: str | None, required: bool = True
) -> Any:
    for name in _USUAL[role] if named is None else (named,):
        if name in variables:
            return variables[name]
    if not required:
        return None
    there = [name for name in variables if not name.startswith("__")]
    wanted = named or f"any of {', '.join(_USUAL[role])}"
    raise FormatError(path, f"has no variable {wanted}; it has {there}. Name yours with {role}=...")


def _vector(values: Any) -> Array:
    flat = np.asarray(values.todense() if sp.issparse(values) else values).ravel()
    if flat.dtype.kind == "U":  # MATLAB pads texts of a char matrix
        return np.char.rstrip(flat)
    if flat.dtype.kind == "O":  # a cell array of texts; an empty text is an empty matrix
        cells = [str(cell[0]) if np.size(cell) else "" for cell in flat]
        return np.array(cells)
    whole = flat.dtype.kind == "f" and np.all(flat == np.floor(flat))
    return flat.astype(np.int64) if whole else flat


def _attribute(values: Any, name: str) -> Array:
    if name == "bag_features":
        return np.asarray(values, dtype=np.float64)
    return np.asarray(values).ravel() if name == "priors" else _vector(values)


def _assembled(path: Path, X: Any, bag: Array, labels: Any, regroup: bool) -> Labelled:
    columns: dict[str, Any] = {"bag": coded(bag)}
    y = None if labels is None else _vector(labels)
    per_row = y is not None and len(y) == len(bag)
    if per_row:
        columns["label"] = coded(y)
    X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
    bags, read = assemble(path, X, columns, None, lambda row: f"row {row + 1}", regroup=regroup)
    if y is None or per_row:
        return bags, read
    if len(y) != len(bags):
        raise LabelError(
            path, f"{len(y)} labels for {len(bags)} bags of {len(bag)} instances: expected either."
        )
    return bags, y


def write_mat(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write a MATLAB 5 file with X, bag (1, 2, ... an instance), ids and y (one a bag).

    Parameters
    ----------
    path : str or Path
        The file to write.
    bags : Bags
        The bags, dense or sparse; MATLAB has no float16.
    y : array-like of shape (n_bags,), default=None
        Their labels.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_mat, write_mat
    >>> path = getfixture("tmp_path") / "bags.mat"
    >>> write_mat(path, Bags.from_list([[[0.1]], [[0.3]]], ids=["a", "b"]), ["yes", "no"])
    >>> read_mat(path)[1]
    array(['yes', 'no'], dtype='<U3')
    """
    from scipy.io import savemat

    path = Path(path)
    if bags.dtype == np.float16:
        raise FormatError(path, "MATLAB has no float16: convert X with .astype('float32') first.")
    y = checked_labels(bags, y)
    variables = {
        "X": sp.csc_array(bags.X) if sp.issparse(bags.X) else np.asarray(bags.X),
        "bag": (bag_index(bags.offsets) + 1)[:, None],
        "ids": _column(bags.ids),
    }
    if y is not None:
        variables["y"] = _column(y)
    for name in (*_ATTRIBUTES, "feature_names"):
        values = getattr(bags, name)
        if values is not None:
            variables[name] = values if name == "bag_features" else _column(np.asarray(values))
    savemat(path, variables, do_compression=True)


def _column(values: Array) -> Array:
    """Return a column vector; texts become a cell array, which keeps their length."""
    return (values.astype(object) if values.dtype.kind in "UO" else values).reshape(-1, 1)
