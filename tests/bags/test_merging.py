"""Slides that become patients and slides again, and the features of two encoders side by side."""

import numpy as np
import pytest
import scipy.sparse as sp

from bag_helpers import assert_same_bags, dense, full_bags
from bagwise import Bags
from bagwise.bags.arrays import PER_INSTANCE


def draw_slides(n_slides, seed=0, store=np.asarray):
    """Return slides of patients in random order, with everything that can belong to them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_slides)
    bags = full_bags(sizes, store)
    patients = rng.integers(0, max(1, n_slides // 3), n_slides)
    names = np.array([f"p{k}" for k in range(n_slides)])
    return bags.replace(
        groups=names[patients],
        sites=np.array(["north", "south"])[patients % 2],
        bag_features=patients[:, None] * 1.0,
        parts=None,
    ), np.array(["no", "yes"])[patients % 3 % 2]


@pytest.mark.parametrize("n_slides", [1, 7, 60])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_merging_agrees_with_brute_force(n_slides, store):
    bags, y = draw_slides(n_slides, store=store)
    merged, labels = bags.merge("groups", y)
    names = list(dict.fromkeys(bags.groups.tolist()))
    assert merged.ids.tolist() == names
    assert merged.groups is None
    for k, name in enumerate(names):
        own = np.flatnonzero(bags.groups == name)
        rows = np.concatenate([np.arange(*bags.offsets[i : i + 2]) for i in own])
        of_bag = slice(*merged.offsets[k : k + 2])
        np.testing.assert_array_equal(dense(merged.X[of_bag]), dense(bags.X[rows]))
        assert merged.parts[of_bag].tolist() == np.repeat(bags.ids[own], bags.sizes[own]).tolist()
        for attribute in {*PER_INSTANCE} - {"parts"}:
            taken = getattr(merged, attribute)[of_bag]
            np.testing.assert_array_equal(taken, getattr(bags, attribute)[rows])
        assert labels[k] == y[own[0]]
        assert merged.sites[k] == bags.sites[own[0]]
        expected = np.average(bags.priors[own], weights=bags.sizes[own])
        assert merged.priors[k] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_merging_and_slicing_commute(seed):
    bags, y = draw_slides(20, seed)
    kept = np.random.default_rng(seed).permutation(np.unique(bags.groups))[:4]
    merged, labels = bags.merge("groups", y)
    chosen = np.flatnonzero(np.isin(bags.groups, kept))
    one = bags[chosen].merge("groups", y[chosen])
    rows = [merged.ids.tolist().index(name) for name in one[0].ids]
    assert_same_bags(one, (merged[rows], labels[rows]))


def test_a_patient_with_one_slide_stays_as_it_is():
    bags = full_bags([2, 1, 3]).replace(groups=["p", "q", "r"], parts=None)
    merged = bags.merge()
    assert merged.ids.tolist() == ["p", "q", "r"]
    again = merged.replace(ids=bags.ids, groups=bags.groups, parts=None)
    assert_same_bags((again, bags.ids), (bags, bags.ids))


def test_splitting_undoes_merging():
    bags, _ = draw_slides(30)
    merged = bags.merge()
    slides = merged.split()
    order = np.argsort([merged.ids.tolist().index(g) for g in bags.groups], kind="stable")
    expected = bags[order].replace(priors=None)
    assert_same_bags((slides.replace(priors=None), slides.ids), (expected, expected.ids))
    again = slides.merge().replace(priors=merged.priors)  # averages of averages, up to rounding
    assert_same_bags((again, again.ids), (merged, merged.ids))


def test_splitting_brings_scattered_parts_together():
    bags = Bags(np.arange(5.0)[:, None], [0, 3, 5], ids=["p", "q"], parts=["a", "b", "a", "a", "c"])
    slides = bags.split()
    assert slides.ids.tolist() == ["a", "b", "a", "c"]
    assert slides.groups.tolist() == ["p", "p", "q", "q"]
    assert [part.ravel().tolist() for part in slides] == [[0.0, 2.0], [1.0], [3.0], [4.0]]


def test_merging_twice_keeps_the_finest_parts():
    bags, _ = draw_slides(12)
    of_sites = bags.replace(bag_features=None).merge().merge(by=bags.merge().sites)
    assert set(of_sites.parts) == set(bags.ids)


def test_labels_of_slides_are_merged_when_asked_for():
    bags = Bags.from_list([[[1.0]], [[2.0]], [[3.0]]], groups=["p", "p", "q"])
    assert bags.merge("groups", ["tumor", "no", "no"], any_of="tumor")[1].tolist() == [
        "tumor",
        "no",
    ]


def _labeled():
    return Bags.from_list(
        [[[float(i)]] for i in range(6)],
        ids=["s1", "s2", "s3", "s4", "s5", "s6"],
        groups=["p", "p", "q", "q", "r", "r"],
        sites=["x", "x", "x", "y", "y", "y"],
    )


@pytest.mark.parametrize(
    ("error", "merge"),
    [
        (
            r"2 groups have bags of different labels: 'p' \('s1' has 'a', 's2' has 'b'\), "
            r"'r' \('s5' has 'b', 's6' has 'a'\)",
            lambda bags: bags.replace(sites=None).merge("groups", [*"abaaba"]),
        ),
        (r"1 group has bags of different sites: 'q' \('s3' has 'x'", lambda bags: bags.merge()),
        ("have no groups", lambda bags: bags.replace(groups=None).merge()),
        ('"groups" or by an array', lambda bags: bags.merge("patient")),
        (r"one value per bag \(6\)", lambda bags: bags.merge("groups", [1, 0])),
        ("No bag has the label 2", lambda bags: bags[:2].merge("groups", [1, 0], any_of=2)),
        ("have no parts", lambda bags: bags.split()),
    ],
)
def test_contradictions_and_bad_input_are_named(error, merge):
    with pytest.raises(ValueError, match=error):
        merge(_labeled())


# Joining ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("by", ["instance_ids", "coords"])
@pytest.mark.parametrize("n_bags", [1, 4, 40])
def test_joining_agrees_with_brute_force(n_bags, by, store):
    rng = np.random.default_rng(n_bags)
    one = full_bags(rng.integers(1, 6, n_bags), store).replace(patch_size=None, feature_names=None)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in zip(*_bounds(one), strict=True)])
    shuffled = one.replace(X=one.X[order] * -1.0, **{by: getattr(one, by)[order]})
    if by == "coords":
        one, shuffled = (bags.replace(instance_ids=None) for bags in (one, shuffled))
    joined = one.join(shuffled[rng.permutation(n_bags)])
    np.testing.assert_array_equal(dense(joined.X), np.hstack([dense(one.X), -dense(one.X)]))
    assert sp.issparse(joined.X) == sp.issparse(one.X)


def _bounds(bags):
    return bags.offsets[:-1], bags.offsets[1:]


def test_patches_get_the_features_of_the_larger_ones_around_them():
    places = np.array([[x, y] for x in range(0, 400, 100) for y in range(0, 200, 100)], float)
    small = Bags(places, [0, 8], ids=["s"], coords=places, patch_size=[100.0])
    corners = np.array([[200.0, 0.0], [0.0, 0.0]])
    large = Bags(corners, [0, 2], ids=["s"], coords=corners, patch_size=[200.0])
    joined = small.join(large).X
    np.testing.assert_array_equal(joined[:, 2], places[:, 0] // 200 * 200)


def test_names_of_features_are_joined():
    one = Bags.from_list([[[1.0]]], instance_ids=["a"], feature_names=["uni"])
    two = one.replace(feature_names=["conch"])
    assert one.join(two).feature_names.tolist() == ["uni", "conch"]
    assert one.join(two.replace(feature_names=None)).feature_names.tolist() == ["uni", "f1"]


ONE = Bags.from_list([[[1.0], [2.0]]], ids=["s"], instance_ids=["a", "b"], feature_names=["f"])
AT = Bags([[1.0], [2.0]], [0, 2], ids=["s"], coords=[[0.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("error", "one", "other"),
    [
        ("nothing to align the instances by", ONE, AT),
        (r"The other bags lack 1 of 1: 's'", ONE, ONE.replace(ids=["t"])),
        ("two bags 's'", ONE, Bags.concat([ONE, ONE])),
        (r"The other bags lack instances of Bag 0 \(id 's'\), 1 of 2: 'b'", ONE,
         ONE.replace(instance_ids=["a", "c"])),
        ("has two instances 'a'", ONE, ONE.replace(instance_ids=["a", "a"])),
        ("Both bags have features named f", ONE, ONE),
        (r"1 of 2 instances where the other bags have none, the first at \[1.0, 0.0\]", AT,
         AT.replace(coords=[[0.0, 0.0], [1.0, 1.0]])),
        (r"has two instances at \[1.0, 0.0\]", AT, AT.replace(coords=[[1.0, 0.0], [1.0, 0.0]])),
        ("coords that are NaN", AT, AT.replace(coords=[[0.0, 0.0], [np.nan, 0.0]])),
        ("One of the bags is sparse", AT, AT.replace(X=sp.csr_array(AT.X))),
    ],
)  # fmt: skip
def test_bags_that_do_not_fit_together_are_named(error, one, other):
    with pytest.raises(ValueError, match=error):
        one.join(other)
