"""`save`, `load` and `describe`: the zip file, its description and its checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bagwise.base import BagClassifier
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError
from bagwise.modelfile.allowed import holds_sklearn
from bagwise.modelfile.tree import UnsavableError, decode, encode

__all__ = ["describe", "load", "save"]

Array = NDArray[Any]

_FORMAT = "bagwise model"
_VERSION = 1
_DESCRIPTION, _STATE, _SUMS = "model.json", "state.json", "SHA256SUMS"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def save(model: Any, path: str | Path, *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file that needs no pickle.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline that ends in one
        Fitted. Before it may stand `PerInstance` of scikit-learn's scalers, imputers and maps.
    path : str or Path
        The file; ``.bagwise`` is its usual suffix. A file that is there is replaced.
    notes : dict, default=None
        What else to write into the description: texts, numbers and lists of these.

    See Also
    --------
    load : Reads it again.

    Examples
    --------
    >>> import bagwise
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> model = bagwise.WitnessSVC(kernel="linear").fit(bags, [1, 0, 1])
    >>> path = getfixture("tmp_path") / "model.bagwise"
    >>> bagwise.save(model, path)
    >>> bagwise.load(path).predict(bags)
    array([1, 0, 1])
    """
    classifier = _classifier_of(model)
    check_is_fitted(classifier)
    members: dict[str, bytes] = {}

    def keep(array: Array) -> str:
        name = f"arrays/{len(members)}.npy"
        members[name] = _npy(array)
        return name

    state = encode(model, type(model).__name__, keep)
    description = _description(model, classifier) | {"notes": notes or {}}
    texts = {_DESCRIPTION: _json(description), _STATE: _json(state)}
    _write(Path(path), texts | members)


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote. It predicts the same bits.

    Nothing in the file is run: it names classes of a fixed list and holds numbers. Checksums tell a
    damaged file; they are no signature, so trust predictions as far as you trust the file's origin.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    BagClassifier or Pipeline
        The fitted model.

    See Also
    --------
    save : Writes it.

    Examples
    --------
    >>> import bagwise
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> path = getfixture("tmp_path") / "model.bagwise"
    >>> bagwise.save(bagwise.BagKernelSVC().fit(bags, ["yes", "no", "yes"]), path)
    >>> bagwise.load(path)
    BagKernelSVC()
    """
    path = Path(path)
    members = _read(path)
    description = _checked_description(path, members)
    try:
        model = decode(_parsed(path, members, _STATE), lambda name: _array(path, members, name))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise CorruptFileError(path, f"{_STATE} {error}.") from error
    if not isinstance(model, BagClassifier | Pipeline):
        raise CorruptFileError(path, f"{_STATE} holds a {type(model).__name__}, not a model.")
    if holds_sklearn(members[_STATE].decode()):
        _compare_versions(description)
    return model


def describe(path: str | Path) -> dict[str, Any]:
    """Read the description of a model file: what it is, without the model itself.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict
        "class", "parameters", "classes", "positive_class", "n_features", "feature_names",
        "certificate" (objective, gap, n_iter), "model" (all steps), versions and "notes".

    Examples
    --------
    >>> import bagwise
    >>> from bagwise.modelfile import describe
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> path = getfixture("tmp_path") / "model.bagwise"
    >>> bagwise.save(bagwise.WitnessSVC(C=10.0).fit(bags, ["yes", "no", "yes"]), path)
    >>> description = describe(path)
    >>> description["class"], description["parameters"]["C"], description["classes"]
    ('WitnessSVC', 10.0, ['no', 'yes'])
    """
    path = Path(path)
    return _checked_description(path, _read(path))


# What is written ---------------------------------------------------------------------------------


def _classifier_of(model: Any) -> BagClassifier:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if hasattr(last, "best_estimator_"):
        raise UnsavableError(f"{type(last).__name__} is a search: save its best_estimator_.")
    if not isinstance(last, BagClassifier):
        raise UnsavableError(
            f"{type(last).__name__} is no estimator of bagwise; a model file holds one, or a "
            "Pipeline that ends in one."
        )
    return last


def _description(model: Any, classifier: BagClassifier) -> dict[str, Any]:
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    names = getattr(first, "feature_names_in_", None)
    classes = classifier.classes_.tolist()
    positive = classifier.pos_label if classifier.pos_label is not None else classes[1]
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "bagwise": version("bagwise"),
        "scikit-learn": sklearn.__version__,
        "class": type(classifier).__name__,
        "model": " ".join(repr(model).split()),
        "parameters": {k: _plain(v) for k, v in classifier.get_params(deep=False).items()},
        "classes": classes,
        "positive_class": _plain(positive) if len(classes) == 2 else None,
        "n_features": int(first.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "certificate": {
            name: _plain(getattr(classifier, f"{name}_", None))
            for name in ("objective", "gap", "n_iter")
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False).encode()


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _write(path: Path, members: dict[str, bytes]) -> None:
    """Write all or nothing: a reader never sees half a file."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {n}\n" for n, data in members.items())
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            for name, data in (members | {_SUMS: sums.encode()}).items():
                archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# What is read ------------------------------------------------------------------------------------


def _read(path: Path) -> dict[str, bytes]:
    """Return all members, each as its checksum says."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive)
    except (zipfile.BadZipFile, EOFError) as error:
        raise TruncatedFileError(
            path, f"is no model file, or was cut off ({error}). Expected what bagwise.save wrote."
        ) from error
    sums = _sums(path, members)
    for name, expected in sums.items():
        if hashlib.sha256(members[name]).hexdigest() != expected:
            raise CorruptFileError(
                path, f"{name} was changed after it was written: its checksum is wrong."
            )
    return members


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) != len(entries):
        raise CorruptFileError(path, "holds two members of one name.")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise CorruptFileError(path, "is compressed. Expected the file as bagwise.save wrote it.")
    return {entry.filename: archive.read(entry) for entry in entries}


def _sums(path: Path, members: dict[str, bytes]) -> dict[str, str]:
    if _SUMS not in members:
        raise FormatError(path, f"holds no {_SUMS}: it is no model file of bagwise.")
    lines = members[_SUMS].decode(errors="replace").splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    strays = sums.keys() ^ (members.keys() - {_SUMS})
    if strays or not {_DESCRIPTION, _STATE} <= sums.keys():
        odd = sorted(strays or {_DESCRIPTION, _STATE} - sums.keys())[0]
        raise CorruptFileError(path, f"{odd!r} is not both in the file and in its {_SUMS}.")
    return sums


def _parsed(path: Path, members: dict[str, bytes], name: str) -> Any:
    try:
        return json.loads(members[name])
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(path, f"{name} is not JSON ({error}).") from error


def _checked_description(path: Path, members: dict[str, bytes]) -> dict[str, Any]:
    description = _parsed(path, members, _DESCRIPTION)
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise FormatError(path, f"{_DESCRIPTION} does not describe a model of bagwise.")
    if description.get("version") not in range(1, _VERSION + 1):
        raise FormatError(
            path,
            f"was written by bagwise {description.get('bagwise')} in version "
            f"{description.get('version')} of the format; this bagwise {version('bagwise')} reads "
            f"up to version {_VERSION}. Install a newer bagwise.",
        )
    return description


def _array(path: Path, members: dict[str, bytes], name: str) -> Array:
    if name not in members:
        raise CorruptFileError(path, f"{_STATE} names the array {name!r}, which is not there.")
    try:
        return np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as error:
        raise CorruptFileError(path, f"{name} is no array of numbers ({error}).") from error


def _compare_versions(description: dict[str, Any]) -> None:
    written = description.get("scikit-learn")
    if written != sklearn.__version__:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=description["model"],
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=written,
            ),
            stacklevel=3,
        )
