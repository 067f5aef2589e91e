"""`save`, `load` and `describe`: the zip archive, its description and its checksums."""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bagwise._typing import Array
from bagwise.estimators.scoring import BagScores
from bagwise.io._files import open_zip, read_npy, refuse_stream, unzip, writing
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError
from bagwise.persistence.encoding import UnsavableError, decode, encode, holds_sklearn
from bagwise.persistence.validity import check_model

_FORMAT = "bagwise model"
_VERSION = 3  # of the format; version 2 was that of bagwise 0.2, whose parameters were not grouped
_DESCRIPTION, _STATE, _SUMS = "model.json", "state.json", "SHA256SUMS"
_ARRAYS = "arrays/"
_VERSIONS = {"version", "bagwise", "scikit-learn"}
_OF_VERSIONS = {"model", "parameters"}
_MEMBER = re.compile(rf"{_DESCRIPTION}|{_STATE}|{_SUMS}|{_ARRAYS}\d+\.npy")


def save(model: Any, path: str | Path, *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a file, without pickle.

    The ``callback`` of an estimator only reports the progress of ``fit``. It is not written, and is
    None after loading. Other functions, such as callable kernels, are refused.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline that ends in one
        The fitted model. The pipeline may contain `PerInstance` of scikit-learn's scalers, imputers
        and feature maps.
    path : str or Path
        The file; its usual suffix is ``.bagwise``. An existing file is replaced.
    notes : dict, default=None
        Further entries of the description: texts, numbers and lists of these.

    See Also
    --------
    load : Read the file.

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
        name = f"{_ARRAYS}{len(members)}.npy"
        members[name] = _npy(array)
        return name

    state = encode(model, type(model).__name__, keep)
    description = _describe(model, classifier) | {"notes": notes or {}}
    texts = {_DESCRIPTION: _json(description), _STATE: _json(state)}
    _write(Path(path), texts | members)


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote; its predictions have the same bits.

    No code in the file is run: it contains numbers and the names of classes of a fixed list.
    Checksums reveal a damaged file. They are no signature: trust the predictions as far as you
    trust the origin of the file.

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
    save : Write the file.

    Examples
    --------
    >>> import bagwise
    >>> path = getfixture("tmp_path") / "model.bagwise"
    >>> bagwise.save(bagwise.BagKernelSVC().fit([[[0.0], [3.0]], [[0.1]]], ["yes", "no"]), path)
    >>> bagwise.load(path)
    BagKernelSVC()
    """
    path = Path(path)
    members = _read(path)
    description = _check_description(path, members)
    unread = {name for name in members if name.startswith(_ARRAYS)}

    def array(name: str) -> Array:
        unread.discard(name)
        if name not in members:
            raise CorruptFileError(
                path, f"{_STATE} refers to the array {name!r}, which is missing."
            )
        return read_npy(path, name, members[name])

    try:
        model = decode(_parse(path, members, _STATE), array)
        _check_kind(path, model)
        if unread:
            raise CorruptFileError(path, f"{min(unread)} belongs to nothing in {_STATE}.")
        check_model(model)
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        is_older = description["version"] < _VERSION
        remedy = " bagwise 0.2 wrote it: fit the model again and save it." if is_older else ""
        raise CorruptFileError(path, f"{_STATE}: {error}.{remedy}") from error
    _compare(path, description, model)
    if holds_sklearn(members[_STATE].decode()):
        _compare_versions(description)
    return model


def describe(path: str | Path) -> dict[str, Any]:
    """Read the description of a model file, without the model itself.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict
        "class", "parameters", "classes", "positive_class", "n_features", "feature_names",
        "certificate" (objective, gap, n_iter, kernel_error), "model" (all steps), versions and
        "notes".

    Examples
    --------
    >>> import bagwise
    >>> from bagwise.persistence import describe
    >>> path = getfixture("tmp_path") / "model.bagwise"
    >>> model = bagwise.WitnessSVC(C=10.0).fit([[[0.0], [3.0]], [[0.1]]], ["yes", "no"])
    >>> bagwise.save(model, path)
    >>> description = describe(path)
    >>> description["class"], description["parameters"]["C"], description["classes"]
    ('WitnessSVC', 10.0, ['no', 'yes'])
    """
    path = Path(path)
    return _check_description(path, _read(path))


def _check_kind(path: Path, model: Any) -> None:
    steps = getattr(model, "steps", None) if isinstance(model, Pipeline) else [("", model)]
    last = steps[-1][-1] if isinstance(steps, list) and steps else model
    if not isinstance(last, BagScores):
        raise CorruptFileError(path, f"{_STATE} contains a {type(last).__name__}, not a model.")


def _compare(path: Path, stated: dict[str, Any], model: Any) -> None:
    """Refuse a description of another model; texts that depend on versions are not compared."""
    found = json.loads(_json(_describe(model, _classifier_of(model))))
    same = all(stated.get(name) == found[name] for name in _VERSIONS)
    for key in found.keys() - (_VERSIONS | (set() if same else _OF_VERSIONS)):
        if stated.get(key) != found[key]:
            problem = f"{_DESCRIPTION} says {key} = {stated.get(key)!r}, the model {found[key]!r}."
            raise CorruptFileError(path, problem)


# Writing -----------------------------------------------------------------------------------------


def _classifier_of(model: Any) -> Any:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if hasattr(last, "best_estimator_"):
        raise UnsavableError(f"{type(last).__name__} is a search: save its best_estimator_.")
    if not isinstance(last, BagScores):
        remedy = "Save one, or a Pipeline that ends in one; pickle keeps other models."
        raise UnsavableError(f"{type(last).__name__} is not a model of bagwise. {remedy}")
    return last


def _describe(model: Any, classifier: Any) -> dict[str, Any]:
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    callbacks = [name for name in model.get_params() if name.split("__")[-1] == "callback"]
    shown = clone(model).set_params(**dict.fromkeys(callbacks))
    parameters = _classifier_of(shown).get_params(deep=False)
    names = getattr(first, "feature_names_in_", None)
    classes = classifier.classes_.tolist() if hasattr(classifier, "classes_") else []
    positive = getattr(classifier, "pos_label", None)
    positive = classes[1] if positive is None and len(classes) == 2 else positive
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "bagwise": version("bagwise"),
        "scikit-learn": sklearn.__version__,
        "class": type(classifier).__name__,
        "model": " ".join(repr(shown).split()),
        "parameters": {k: _plain(v) for k, v in parameters.items()},
        **({} if classifier.task == "classes" else {"task": classifier.task}),
        "classes": classes,
        "positive_class": _plain(positive),
        "n_features": int(first.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "certificate": {
            name: _plain(getattr(classifier, f"{name}_", None))
            for name in ("objective", "gap", "n_iter", "kernel_error")
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
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {n}\n" for n, data in members.items())
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (members | {_SUMS: sums.encode()}).items():
            archive.writestr(zipfile.ZipInfo(name), data)  # dated 1980: same model, same bytes


# Reading -----------------------------------------------------------------------------------------


def _read(path: Path) -> dict[str, bytes]:
    """Return all members, checked against their checksums."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    refuse_stream(path)
    with open_zip(path, "a model file of bagwise", TruncatedFileError) as archive:
        members = _members(path, archive)
    for name, expected in _sums(path, members).items():
        if hashlib.sha256(members[name]).hexdigest() != expected:
            problem = f"{name} was changed after it was written: its checksum is wrong."
            raise CorruptFileError(path, problem)
    return members


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) != len(entries):
        raise CorruptFileError(path, "contains two members of the same name.")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise CorruptFileError(path, "is compressed. Expected the file as bagwise.save wrote it.")
    for entry in entries:
        if not _MEMBER.fullmatch(entry.filename):
            problem = f"contains {entry.filename!r}, so it is not a model file of bagwise."
            raise CorruptFileError(path, problem)
    return unzip(path, archive)


def _sums(path: Path, members: dict[str, bytes]) -> dict[str, str]:
    if _SUMS not in members:
        raise FormatError(path, f"contains no {_SUMS}: it is not a model file of bagwise.")
    lines = members[_SUMS].decode(errors="replace").splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    strays = sums.keys() ^ (members.keys() - {_SUMS})
    if strays or not {_DESCRIPTION, _STATE} <= sums.keys():
        odd = sorted(strays or {_DESCRIPTION, _STATE} - sums.keys())[0]
        raise CorruptFileError(path, f"{odd!r} must be both in the file and in its {_SUMS}.")
    return sums


def _parse(path: Path, members: dict[str, bytes], name: str) -> Any:
    try:
        return json.loads(members[name])
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(path, f"{name} is not JSON ({error}).") from error


def _check_description(path: Path, members: dict[str, bytes]) -> dict[str, Any]:
    description = _parse(path, members, _DESCRIPTION)
    if not isinstance(description, dict) or description.get("format") != _FORMAT:
        raise FormatError(path, f"{_DESCRIPTION} does not describe a model of bagwise.")
    number = description.get("version")
    if number == 1:
        why = "Parameters have new names since: fit the model again and save it."
        raise FormatError(path, f"was written by bagwise 0.1, whose models are not read. {why}")
    if number not in (_VERSION - 1, _VERSION):
        written = f"was written by bagwise {description.get('bagwise')} in version {number}"
        here = f"this bagwise {version('bagwise')} reads version {_VERSION}"
        raise FormatError(path, f"{written} of the format; {here}. Install a newer bagwise.")
    return description


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
