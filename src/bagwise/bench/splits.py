"""How bags are split: seeded, hashed, and written out, so that numbers compare line by line.

A split is known by its test bags; the others train. A set of splits has a SHA-256 over what it was
made from and over every test bag in it. A stored file of splits is used as it is, after its hash
was checked: whoever copies it measures on the same folds, with any version of scikit-learn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedShuffleSplit

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import factorize
from bagwise.crossfit import folds
from bagwise.io._files import writing


class FoldsError(ValueError):
    """Splits cannot be made, or a stored file of them is not what it says."""


@dataclass(frozen=True)
class Split:
    """One division into training and test bags."""

    name: str  # among the splits of a data set, such as "r0f3"
    repeat: int  # the round it belongs to; standard errors are taken over rounds
    condition: str  # tells columns of one data set apart: the training ratio, or nothing
    test: tuple[int, ...]  # the test bags; all others train

    def train(self, n_bags: int) -> Array:
        """Return the numbers of the training bags."""
        return np.setdiff1d(np.arange(n_bags), self.test)


@dataclass(frozen=True)
class Protocol:
    """What is trained on what, and how often.

    Kinds: "kfold" (stratified, groups kept together), "half" (stratified halves), "ratio"
    (stratified training ratios), and "fresh" (bags are drawn anew in every round, the first
    ``train`` of them for training).
    """

    kind: str = "kfold"
    folds: int = 10  # for "kfold"
    repeats: int = 1  # rounds, each with its own splits
    ratios: Sequence[float] = field(
        default_factory=list
    )  # fractions of the bags that train, for "ratio"
    train: int = 0  # number of bags drawn, for "fresh"
    test: int = 0
    inner: int = 5  # folds within the training bags, for nested selection and calibration; 0: none
    seed: int = 0

    @property
    def label(self) -> str:
        """The protocol in words."""
        text = {
            "kfold": f"stratified {self.folds}-fold cross-validation",
            "half": "stratified half splits",
            "ratio": f"training ratios {', '.join(f'{ratio:g}' for ratio in self.ratios)}",
            "fresh": f"{self.train} training and {self.test} test bags drawn anew",
        }[self.kind]
        rounds = f", {self.repeats} rounds" if self.repeats > 1 else ", one round"
        inner = f"; {self.inner} inner folds" if self.inner else "; no inner folds"
        return text + rounds + inner

    def splits(self, bags: Bags, y: Array) -> list[Split]:
        """Make the splits of labeled bags."""
        return list(KINDS[self.kind](self, bags, y))


def _kfold(protocol: Protocol, bags: Bags, y: Array) -> Iterator[Split]:
    for repeat in range(protocol.repeats):
        parts = folds(bags, y, protocol.folds, protocol.seed + repeat)
        for fold, (_, test) in enumerate(parts):
            yield Split(f"r{repeat}f{fold}", repeat, "", tuple(test.tolist()))


def _cut(protocol: Protocol, bags: Bags, y: Array) -> Iterator[Split]:
    """Yield stratified divisions, in halves or at each of the protocol's ratios."""
    parts = [(ratio, f"t{ratio:g}r", f"{ratio:g}") for ratio in protocol.ratios]
    for ratio, prefix, condition in [(0.5, "h", "")] if protocol.kind == "half" else parts:
        size, seed = round(ratio * len(y)), protocol.seed
        cutter = StratifiedShuffleSplit(protocol.repeats, train_size=size, random_state=seed)
        for repeat, (_, test) in enumerate(cutter.split(y, y)):
            yield Split(f"{prefix}{repeat}", repeat, condition, tuple(np.sort(test).tolist()))


def _fresh(protocol: Protocol, bags: Bags, y: Array) -> Iterator[Split]:
    test = tuple(range(protocol.train, protocol.train + protocol.test))
    for repeat in range(protocol.repeats):
        yield Split(f"d{repeat}", repeat, "", test)


KINDS: dict[str, Callable[[Protocol, Bags, Array], Iterator[Split]]] = {
    "kfold": _kfold,
    "half": _cut,
    "ratio": _cut,
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


def store_splits(folder: Path, name: str, protocol: Protocol, bags: Bags, y: Array) -> Path:
    """Return the file with the splits of a data set in a folder; it is written if missing."""
    groups = bags.groups
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
        _write(path, made_from, protocol.splits(bags, y))
    if _content(path)["made_from"] != json.loads(json.dumps(made_from)):
        raise FoldsError(f"{path} was made from other bags or another protocol: remove it.")
    return path


def read_splits(path: Path) -> tuple[str, list[Split]]:
    """Return a hash of the labeled bags that a file of splits divides, and the splits.

    The file's own hash is checked. That of the bags does not depend on the protocol: more rounds
    keep the results of the first ones.
    """
    content = _content(path)
    splits = [Split(**{**split, "test": tuple(split["test"])}) for split in content["splits"]]
    divided = {key: value for key, value in content["made_from"].items() if key != "protocol"}
    return digest(divided), splits


def _write(path: Path, made_from: dict[str, Any], splits: list[Split]) -> None:
    listed = [asdict(split) for split in splits]
    sha256 = digest({"made_from": made_from, "splits": listed})
    lines = ",\n  ".join(json.dumps(split) for split in listed)
    text = f'{{"sha256": "{sha256}",\n "made_from": {json.dumps(made_from)},\n'
    text += f' "splits": [\n  {lines}\n ]\n}}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(text.encode())


def _content(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FoldsError(f"The file of splits {path} is missing: copy it back, or run again.")
    try:
        content = json.loads(path.read_text())
        parts = {name: content[name] for name in ("made_from", "splits")}
        stated = content["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise FoldsError(f"{path} is not a file of splits: remove it.") from error
    if stated != digest(parts):
        raise FoldsError(f"{path} does not match its own hash: it was changed. Remove it.")
    return content
