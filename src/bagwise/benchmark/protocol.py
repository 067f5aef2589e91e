"""How bags are split: seeded, hashed, and written out, so that numbers compare line by line.

Every split is told by its test bags; the others train. A set of splits has a SHA-256 over what it
was made from and over every test bag in it. A file of splits that is already there is used as it
is, after its hash was checked: who copies it measures on the same folds, whatever the version of
scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit

from bagwise._factorize import factorize
from bagwise.bags import Bags

__all__ = [
    "KINDS",
    "FoldsError",
    "Protocol",
    "Split",
    "digest",
    "fingerprint",
    "read_splits",
    "stored_splits",
]

Array = NDArray[Any]


class FoldsError(ValueError):
    """Splits cannot be made, or a stored file of them is not what it says."""


@dataclass(frozen=True)
class Split:
    """One division into training and test bags.

    Parameters
    ----------
    name : str
        Its name among the splits of a data set, such as "r0f3".
    repeat : int
        The round it belongs to; standard errors are taken over rounds.
    condition : str
        What tells its column from others of the same data set: the training ratio, or nothing.
    test : tuple of int
        The test bags; all others train.
    """

    name: str
    repeat: int
    condition: str
    test: tuple[int, ...]

    def train(self, n_bags: int) -> Array:
        """Return the numbers of the training bags."""
        return np.setdiff1d(np.arange(n_bags), self.test)


@dataclass(frozen=True)
class Protocol:
    """What is trained on what, and how often.

    Parameters
    ----------
    kind : {"kfold", "grouped", "half", "ratio", "leave_one_out", "fresh"}
        Stratified k-fold; the same with groups kept together; stratified halves; stratified
        training ratios; one bag at a time; bags drawn anew in every round, the first ``train`` of
        them for training.
    folds : int
        For "kfold" and "grouped".
    repeats : int
        Rounds, each with splits of its own.
    ratios : tuple of float
        Shares of the bags that train, for "ratio".
    train, test : int
        Numbers of bags drawn, for "fresh".
    inner : int
        Folds within the training bags, for nested selection, thresholds and probabilities; 0 does
        without.
    seed : int
        Of all splits.
    """

    kind: str = "kfold"
    folds: int = 10
    repeats: int = 1
    ratios: tuple[float, ...] = ()
    train: int = 0
    test: int = 0
    inner: int = 5
    seed: int = 0

    @property
    def label(self) -> str:
        """The protocol in words."""
        rounds = f", {self.repeats} rounds" if self.repeats > 1 else ", one round"
        text = {
            "kfold": f"stratified {self.folds}-fold cross-validation",
            "grouped": f"stratified {self.folds}-fold cross-validation, groups kept together",
            "half": "stratified half splits",
            "ratio": f"training ratios {', '.join(f'{ratio:g}' for ratio in self.ratios)}",
            "leave_one_out": "leave one bag out",
            "fresh": f"{self.train} training and {self.test} test bags drawn anew",
        }[self.kind]
        inner = f"; {self.inner} inner folds" if self.inner else "; no inner folds"
        return text + ("" if self.kind == "leave_one_out" else rounds) + inner

    def splits(self, y: Array, groups: Array | None = None) -> list[Split]:
        """Make the splits of bags with these labels (and groups)."""
        return list(KINDS[self.kind](self, y, groups))


def _kfold(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    _check_members(y, np.arange(len(y)), protocol.folds, "bags")
    for repeat in range(protocol.repeats):
        cutter = StratifiedKFold(protocol.folds, shuffle=True, random_state=protocol.seed + repeat)
        yield from _numbered(repeat, cutter.split(y, y))


def _grouped(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    if groups is None:
        raise FoldsError(
            "protocol.kind: 'grouped' keeps groups together, and these bags have none: name the "
            "column of the patients (groups) in the data's options."
        )
    numbers = factorize(groups)[0]
    _check_members(y, numbers, protocol.folds, "groups")
    for repeat in range(protocol.repeats):
        seed = protocol.seed + repeat
        cutter = StratifiedGroupKFold(protocol.folds, shuffle=True, random_state=seed)
        yield from _numbered(repeat, cutter.split(y, y, numbers))


def _check_members(y: Array, unit: Array, folds: int, what: str) -> None:
    for label in np.unique(y).tolist():
        members = len(np.unique(unit[y == label]))
        if members < folds:
            raise FoldsError(
                f"Class {label!r} has {members} {what}, fewer than the {folds} folds: lower "
                "protocol.folds."
            )


def _numbered(repeat: int, parts: Iterator[tuple[Array, Array]]) -> Iterator[Split]:
    for fold, (_, test) in enumerate(parts):
        yield Split(f"r{repeat}f{fold}", repeat, "", tuple(test.tolist()))


def _half(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    yield from _shares(protocol, y, 0.5, "h", "")


def _ratio(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    for ratio in protocol.ratios:
        yield from _shares(protocol, y, ratio, f"t{ratio:g}r", f"{ratio:g}")


def _shares(
    protocol: Protocol, y: Array, ratio: float, prefix: str, condition: str
) -> Iterator[Split]:
    train, n_classes = round(ratio * len(y)), len(np.unique(y))
    if not n_classes <= train <= len(y) - n_classes:
        raise FoldsError(
            f"A training ratio of {ratio:g} leaves {train} of {len(y)} bags for training: both "
            f"sides need the {n_classes} classes."
        )
    cutter = StratifiedShuffleSplit(protocol.repeats, train_size=train, random_state=protocol.seed)
    for repeat, (_, test) in enumerate(cutter.split(y, y)):
        yield Split(f"{prefix}{repeat}", repeat, condition, tuple(np.sort(test).tolist()))


def _leave_one_out(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    for bag in range(len(y)):
        yield Split(f"b{bag}", 0, "", (bag,))


def _fresh(protocol: Protocol, y: Array, groups: Array | None) -> Iterator[Split]:
    test = tuple(range(protocol.train, protocol.train + protocol.test))
    for repeat in range(protocol.repeats):
        yield Split(f"d{repeat}", repeat, "", test)


KINDS: dict[str, Callable[[Protocol, Array, Array | None], Iterator[Split]]] = {
    "kfold": _kfold,
    "grouped": _grouped,
    "half": _half,
    "ratio": _ratio,
    "leave_one_out": _leave_one_out,
    "fresh": _fresh,
}


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's JSON form, keys sorted."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(bags: Bags) -> str:
    """Return the SHA-256 of all instances, and of where the bags start."""
    X = bags.X
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    sha = hashlib.sha256()
    for part in (bags.offsets, *parts):
        sha.update(np.ascontiguousarray(part).tobytes())
    return sha.hexdigest()


def stored_splits(folder: Path, name: str, protocol: Protocol, bags: Bags, y: Array) -> Path:
    """Return the file with the splits of a data set; it is written where it is not there.

    Parameters
    ----------
    folder : Path
        Where the files of splits lie, one a data set and protocol.
    name : str
        Name of the data set.
    protocol : Protocol
        How to split.
    bags : Bags
        The bags; those with groups are split by "grouped" alone.
    y : ndarray of shape (n_bags,)
        Their labels.

    Returns
    -------
    Path
        For `read_splits`.
    """
    groups = bags.groups
    if groups is not None and protocol.kind != "grouped":
        raise FoldsError(
            f"protocol.kind: {protocol.kind!r} does not keep groups together, and these bags have "
            "groups, such as patients, that would train and be tested at once: give kind "
            "'grouped', or leave the groups' column out of the data."
        )
    made_from = {
        "data": name,
        "bags": fingerprint(bags),
        "labels": digest(y.tolist()),
        "groups": None if groups is None else digest(factorize(groups)[0].tolist()),
        "protocol": {**asdict(protocol), "inner": None},
    }
    slug = re.sub(r"[^\w.-]+", "_", name)
    path = folder / f"{slug}-{digest(made_from)[:8]}.json"
    if not path.is_file():
        _write(path, made_from, protocol.splits(y, groups))
    content = _content(path)
    if content["made_from"] != json.loads(json.dumps(made_from)):
        raise FoldsError(f"{path} was made from other bags or another protocol: remove it.")
    if any(max(split["test"]) >= len(y) for split in content["splits"]):
        raise FoldsError(f"{path} names bags beyond the {len(y)} there are: remove it.")
    return path


def read_splits(path: Path) -> tuple[str, list[Split]]:
    """Return the hash of a file of splits, which is checked, and the splits."""
    content = _content(path)
    splits = [Split(**{**split, "test": tuple(split["test"])}) for split in content["splits"]]
    return content["sha256"], splits


def _write(path: Path, made_from: dict[str, Any], splits: list[Split]) -> None:
    listed = [asdict(split) for split in splits]
    sha256 = digest({"made_from": made_from, "splits": listed})
    lines = ",\n  ".join(json.dumps(split) for split in listed)
    text = f'{{"sha256": "{sha256}",\n "made_from": {json.dumps(made_from)},\n'
    text += f' "splits": [\n  {lines}\n ]\n}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")  # a killed run leaves no half file under the name
    partial.write_text(text)
    partial.replace(path)


def _content(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FoldsError(f"The file of splits {path} is missing: copy it back, or run again.")
    try:
        content = json.loads(path.read_text())
        parts = {name: content[name] for name in ("made_from", "splits")}
        told = content["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise FoldsError(f"{path} is no file of splits: remove it.") from error
    if told != digest(parts):
        raise FoldsError(f"{path} does not have the hash it says: it was changed. Remove it.")
    return content
