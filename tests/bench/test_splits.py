"""Splits: every kind does what it says, a seed gives one file, and files are checked."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bagwise import Bags
from bagwise.bench.splits import FoldsError, Protocol, read_splits, store_splits

Y = np.array([0, 1] * 15)


def bags_of(n: int, **attributes) -> Bags:
    return Bags(np.arange(2.0 * n)[:, None], np.arange(0, 2 * n + 1, 2), **attributes)


def test_kfold_holds_out_every_bag_once_a_round_and_is_stratified():
    splits = Protocol("kfold", folds=5, repeats=2).splits(bags_of(30), Y)
    assert len(splits) == 10
    for repeat in (0, 1):
        tests = [split.test for split in splits if split.repeat == repeat]
        assert sorted(np.concatenate(tests)) == list(range(30))
        assert all(Y[list(test)].sum() == 3 for test in tests)
    assert splits[0].test != splits[5].test
    assert sorted([*splits[0].train(30), *splits[0].test]) == list(range(30))


def test_folds_keep_patients_together():
    groups = np.repeat([f"patient {i}" for i in range(10)], 3)
    y = np.repeat([0, 1] * 5, 3)
    for split in Protocol("kfold", folds=5, repeats=2).splits(bags_of(30, groups=groups), y):
        assert not set(groups[list(split.test)]) & set(groups[split.train(30)])


@pytest.mark.parametrize(("kind", "n_test"), [("half", [15]), ("ratio", [24, 15])])
def test_shares_of_the_bags_train(kind, n_test):
    ratios = (0.2, 0.5) if kind == "ratio" else ()
    splits = Protocol(kind, repeats=3, ratios=ratios).splits(bags_of(30), Y)
    assert [len(split.test) for split in splits] == [n for n in n_test for _ in range(3)]
    assert {split.condition for split in splits} == ({"0.2", "0.5"} if ratios else {""})
    assert [split.repeat for split in splits] == [0, 1, 2] * len(n_test)


def test_fresh_draws():
    fresh = Protocol("fresh", train=10, test=20, repeats=2).splits(bags_of(30), Y)
    assert [list(split.train(30)) for split in fresh] == [list(range(10))] * 2


def test_the_same_seed_writes_the_same_file_and_another_seed_another(tmp_path):
    protocol, bags = Protocol(folds=3), bags_of(30)
    paths = [store_splits(tmp_path / name, "d", protocol, bags, Y) for name in "ab"]
    assert paths[0].name == paths[1].name
    assert paths[0].read_text() == paths[1].read_text()
    assert store_splits(tmp_path / "a", "d", replace(protocol, inner=0), bags, Y) == paths[0]
    assert read_splits(paths[0])[1] == protocol.splits(bags, Y)
    other = store_splits(tmp_path / "a", "d", replace(protocol, seed=1), bags, Y)
    assert read_splits(other)[1] != read_splits(paths[0])[1]


def test_the_hash_of_the_bags_knows_labels_and_rows_but_no_protocol(tmp_path):
    bags = bags_of(30)

    def hash_of(bags=bags, y=Y, **protocol):
        return read_splits(store_splits(tmp_path, "d", Protocol(**protocol), bags, y))[0]

    assert hash_of(folds=3) == hash_of(folds=5, repeats=2, seed=1)
    assert len({hash_of(), hash_of(y=1 - Y), hash_of(bags.replace(X=bags.X + 1))}) == 3


@pytest.mark.parametrize("kind", ["kfold", "half", "ratio", "fresh"])
def test_more_rounds_begin_with_the_same_splits(kind):
    protocol = Protocol(kind, folds=3, ratios=(0.2,), train=10, test=20)
    once, thrice = (replace(protocol, repeats=n).splits(bags_of(30), Y) for n in (1, 3))
    assert [split for split in thrice if split.repeat == 0] == once


def _change_a_test_bag(text):
    content = json.loads(text)
    content["splits"][0]["test"][0] += 1
    return json.dumps(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_change_a_test_bag, "does not match its own hash"),
        (lambda text: text[:100], "is not a file of splits"),
        (lambda text: "[]", "is not a file of splits"),
    ],
)
def test_a_changed_file_is_refused(tmp_path, change, message):
    path = store_splits(tmp_path, "d", Protocol(folds=3), bags_of(30), Y)
    path.write_text(change(path.read_text()))
    with pytest.raises(FoldsError, match=message):
        read_splits(path)
    with pytest.raises(FoldsError, match=message):
        store_splits(tmp_path, "d", Protocol(folds=3), bags_of(30), Y)
