"""Write the data of the league: every set with its folds in one file that needs NumPy alone.

    python benchmarks/league/sets.py FOLDER [NAME ...]

A file holds instances, offsets of bags, labels 0 and 1, the fold of each bag (5 folds, stratified,
groups kept together; -1 is in no test part), and groups and labels of instances where there are
such.
``sets.json`` beside this script has the SHA-256 of each; a file that differs is an error.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from auto_tasks import load, slides
from bagwise import Bags
from bagwise.crossfit import folds
from bagwise.testing import ASSUMPTION_TESTS, make_assumption_test

CHECKSUMS = Path(__file__).with_name("sets.json")
REAL = ("musk1", "musk2", "elephant", "fox", "tiger", "newsgroups", "dogs", "protein")
REAL += ("diabetes_13", "spam_12", "spam_23", "digits")
N_BAGS, N_FEATURES, AWAY = 100, 8, 3.0


def draw_bags(choose: Any, seed: int = 0) -> tuple[Bags, np.ndarray]:
    """Draw bags of 20 instances; ``choose(positive, rng)`` gives kinds, -1 is background."""
    rng, y = np.random.default_rng(seed), np.arange(N_BAGS) % 2
    kinds = [np.asarray(choose(bool(label), rng)) for label in y]
    parts = []
    for own in kinds:
        X = rng.normal(size=(len(own), N_FEATURES))
        X[np.flatnonzero(own >= 0), own[own >= 0]] += AWAY
        parts.append(X)
    return Bags.from_list(parts), y


def choose_pair(positive: bool, rng: np.random.Generator) -> list[int]:
    """Positive bags have two kinds together, negative ones twice as many of one of them."""
    present = [0, 0, 1, 1] if positive else [int(rng.integers(2))] * 4
    return present + [-1] * 16


def choose_composition(positive: bool, rng: np.random.Generator) -> np.ndarray:
    """All bags have both kinds; what differs is how many of each."""
    return (rng.random(20) < (0.6 if positive else 0.4)).astype(int)


def load_set(name: str) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Return bags, labels and the fold of each bag."""
    if name in ASSUMPTION_TESTS:
        bags, y, new, truth = make_assumption_test(name)
        parts = [bags.X[a:b] for a, b in zip(bags.offsets, bags.offsets[1:], strict=False)]
        parts += [new.X[a:b] for a, b in zip(new.offsets, new.offsets[1:], strict=False)]
        fold = np.repeat([-1, 0], [len(bags), len(new)])
        return Bags.from_list(parts), np.concatenate([y, truth]), fold
    planted = {"planted pairs": choose_pair, "planted composition": choose_composition}
    if name in planted:
        bags, y = draw_bags(planted[name])
    else:
        bags, y = slides() if name == "planted slides" else load(name)
    fold = np.empty(len(bags), dtype=int)
    for number, (_, test) in enumerate(folds(bags, np.asarray(y), 5, 0)):
        fold[test] = number
    return bags, np.asarray(y).astype(int), fold


NAMES = (*REAL, "planted slides", "planted pairs", "planted composition", *ASSUMPTION_TESTS)


def pack_set(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a set's file."""
    bags, y, fold = load_set(name)
    X = bags.X.toarray() if hasattr(bags.X, "toarray") else np.asarray(bags.X)
    arrays = {"X": X.astype(np.float32), "offsets": bags.offsets, "y": y, "fold": fold}
    if bags.instance_labels is not None:
        arrays["instance_labels"] = np.asarray(bags.instance_labels).astype(int)
    if bags.groups is not None:
        arrays["groups"] = np.unique(bags.groups, return_inverse=True)[1]
    return arrays


def checksum(arrays: dict[str, np.ndarray]) -> str:
    """Return a hash of arrays that does not depend on how they are stored."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + str(arrays[name].shape).encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def write_sets(folder: Path, names: tuple[str, ...] = NAMES) -> None:
    """Write all sets that are not there; refuse those whose checksum is not the committed one."""
    folder.mkdir(parents=True, exist_ok=True)
    known = json.loads(CHECKSUMS.read_text()) if CHECKSUMS.exists() else {}
    for name in names:
        arrays = pack_set(name)
        if known.setdefault(name, checksum(arrays)) != checksum(arrays):
            raise SystemExit(f"{name} differs from the set of the league: its checksum is wrong.")
        np.savez_compressed(folder / f"{name.replace(' ', '_')}.npz", **arrays)
        print(name, arrays["X"].shape, known[name][:12], flush=True)
    CHECKSUMS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    write_sets(Path(sys.argv[1]), tuple(sys.argv[2:]) or NAMES)
