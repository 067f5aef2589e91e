"""Leaks that are planted are named, each with its reason; clean data have none."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.bags.leaks import find_leaks, fingerprints, pack_prints, unpack_prints
from bagwise.rowstores import base

N_BAGS, SIZE = 40, 5


def clean(seed=0, n_features=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_BAGS * SIZE, n_features)).round(3)
    return X, np.arange(0, len(X) + 1, SIZE), np.arange(N_BAGS) % 2


def make(values, **known):
    X, offsets, y = clean()
    X[:, 2] = values
    return Bags(X, offsets, feature_names=["a", "b", "leak", "d"], **known), y


RNG = np.random.default_rng(1)
OF_BAG = RNG.normal(size=N_BAGS).repeat(SIZE)
OF_ROW = np.arange(N_BAGS * SIZE)
LABEL = (np.arange(N_BAGS) % 2).repeat(SIZE)
SHUFFLED = RNG.permutation(N_BAGS * SIZE)


@pytest.mark.parametrize(
    ("values", "known", "reason"),
    [
        (OF_BAG, {}, "Constant within every bag"),
        (3.0 - LABEL, {}, "Equal to the labels of bags"),
        (1.0 * (OF_ROW % 7 == 0), {"instance_labels": OF_ROW % 7 == 0}, "Equal to the labels of i"),
        (100.0 - OF_ROW, {}, "Rising or falling with the row number"),
        (2.0 * SHUFFLED, {"instance_ids": SHUFFLED}, "Rising or falling with the instance id"),
        (-OF_BAG, {"ids": OF_BAG[::SIZE]}, "Rising or falling with the bag id"),
        (
            LABEL + 0.1 * RNG.random(len(OF_ROW)),
            {},
            "Alone enough to rank the bags (AUC above 0.99",
        ),
    ],
)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("at_once", [1 << 24, 100 * 8 * 4])  # all, or two of five instances
def test_a_leak_is_named_with_its_reason(values, known, reason, store, at_once, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", at_once)
    bags, y = make(values, **known)
    leaks = [str(leak) for leak in bags.replace(X=store(bags.X)).check(y)]
    assert sum(line.startswith(reason) and line.endswith(": leak") for line in leaks) == 1


@pytest.mark.parametrize("n_features", [4, 400])
@pytest.mark.parametrize("classes", [2, 3])
def test_clean_data_have_none(n_features, classes):
    X, offsets, _ = clean(2, n_features)
    bags = Bags(X, offsets, ids=np.arange(N_BAGS), instance_ids=OF_ROW)
    assert bags.check(np.arange(N_BAGS) % classes) == []
    few = bags[:6]  # with 400 features, some rank six bags by chance
    assert few.check([0, 1] * 3) == []


def test_rare_counts_and_single_instances_are_no_leaks():
    X, offsets, y = clean()
    rare = np.where(X > 2.4, X, 0.0)
    leaks = Bags(sp.csr_array(rare), offsets).check(y)
    assert [leak.features for leak in leaks] == [()]  # empty rows are in all bags
    assert Bags(X, np.arange(len(X) + 1)).check() == []


def test_missing_values_neither_hide_nor_make_leaks():
    bags, y = make(np.where(OF_ROW % SIZE == 1, np.nan, OF_BAG))
    assert [leak.features for leak in bags.check(y)] == [("leak",)]
    bags, y = make(np.full(len(OF_ROW), np.nan))
    assert bags.check(y) == []


def test_copies_in_bags_of_different_labels_are_counted():
    X, offsets, y = clean()
    X[7] = X[12] = X[1]  # bags 0, 1 and 2
    assert find_leaks(Bags(X, offsets), y) == [("3 instances are in bags of different labels", ())]
    X[7] += 1  # bags 0 and 2 have the same label
    assert find_leaks(Bags(X, offsets), y) == []


def test_equal_bags_have_equal_fingerprints_and_others_do_not():
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(3, 2)) for _ in range(50)])
    prints = fingerprints(bags)
    assert len(np.unique(prints)) == 50
    assert np.array_equal(fingerprints(bags[10:20]), prints[10:20])


def test_sparse_bags_are_recognized_too():
    bags = Bags(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])), [0, 1, 2, 3])
    first, second, third = fingerprints(bags)
    assert first == third != second


def test_they_survive_a_model_file():
    prints = np.array([5, 2**32 - 1, 0], dtype=np.uint32)
    assert unpack_prints(pack_prints(prints)).tolist() == [0, 5, 2**32 - 1]
