"""Trees within bags: refusals, bags without an instance, and minimum spanning trees."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from bagwise import Bags, SpanningTrees, io
from bagwise.bags.without import score_without_each

X = np.arange(7.0)[:, None]
OFFSETS = [0, 4, 7]
PARENTS = [-1, 0, 0, 2, 1, -1, 1]


def bags_with(parents, **more):
    return Bags(X, OFFSETS, ids=["a", "b"], parents=parents, **more)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([-1, 0, 0, 4, 1, -1, 1], r"Bag 0 \(id 'a'\): the parent 4 of its instance 3 is not in"),
        ([-1, 0, 0, 2, 1, -2, 1], r"Bag 1 \(id 'b'\): the parent -2 of its instance 1 .* 0 to 2"),
        ([-1, 0, 0, 2, 1, 2, 1], r"Bag 1 \(id 'b'\): its instance [12] is above itself"),
        ([-1, 0, 2, 2, 1, -1, 1], r"Bag 0 \(id 'a'\): its instance 2 is above itself.*parent -1"),
        ([-1, 0, 0], "parents has 3 entries, there are 7 instances"),
        (np.ones(7), "parents must be integers .* -1 for a root"),
        (np.full((7, 1), -1), "parents must be 1-D"),
    ],
)
def test_what_is_no_tree_is_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        bags_with(parents)


def test_parents_may_be_named_by_ids(tmp_path):
    names = ["r", "s", "t", "u", "r", "s", "t"]
    above = ["", "r", "r", "t", "s", None, "s"]
    bags = bags_with(above, instance_ids=names)
    assert bags.parents.tolist() == PARENTS
    assert not bags.parents.flags.writeable
    frame = bags.replace(parents=None).to_frame().assign(above=above)
    columns = {"instance_ids": "instance", "parents": "above", "features": ["f1"]}
    assert Bags.from_frame(frame, "bag", **columns).parents.tolist() == PARENTS
    named = frame.rename(columns={"above": "instance_parent"}).replace({"": "-1", None: "-1"})
    named.to_csv(tmp_path / "named.csv", index=False)
    assert io.read(tmp_path / "named.csv")[0].parents.tolist() == PARENTS


@pytest.mark.parametrize(
    ("parents", "names", "message"),
    [
        (
            ["", "r", "r", "t", "x", "", "s"],
            list("rsturst"),
            r"'b'\): the parent 'x' .* 'r' is not",
        ),
        (["", "r", "r", "t", "s", "", "s"], list("rsturss"), r"'b'\): two instances .* same id"),
        ([None, 0, 0, 2, 1, None, 1], range(7), "the parent 2 is in a column with others .* -1"),
        (["", "r", "u", "t", "s", "", "s"], list("rsturst"), r"'a'\): its instance [23] is above"),
    ],
)
def test_names_that_are_no_tree_are_refused(parents, names, message):
    with pytest.raises(ValueError, match=message):
        bags_with(parents, instance_ids=names)


def test_long_branches_are_trees_and_long_cycles_are_not():
    size = 1025
    path = np.arange(size) - 1
    assert Bags(np.ones((size, 1)), [0, size], parents=path).parents[-1] == size - 2
    path[0] = size - 1
    with pytest.raises(ValueError, match="is above itself"):
        Bags(np.ones((size, 1)), [0, size], parents=path)


def test_trees_follow_bags(tmp_path):
    bags = bags_with(PARENTS)
    assert bags[1:].parents.tolist() == bags.loc[["b"]].parents.tolist() == [1, -1, 1]
    assert Bags.concat([bags[[1]], bags]).parents.tolist() == [1, -1, 1, *PARENTS]
    assert pickle.loads(pickle.dumps(bags)).parents.tolist() == PARENTS
    io.write_bags(tmp_path / "t.bags", bags, [1, 0])
    assert io.read_bags(tmp_path / "t.bags")[0].parents.tolist() == PARENTS
    both = [tmp_path / "t.bags"] * 2
    assert io.open(both)[0][1:3].parents.tolist() == [1, -1, 1, -1, 0, 0, 2]
    shuffled = Bags.from_groups(
        X[[0, 4, 1, 5, 2, 6, 3]], list("abababa"), parents=[-1, 1, 0, -1, 0, 1, 2]
    )
    assert shuffled.parents.tolist() == PARENTS


def test_a_damaged_store_is_refused(tmp_path):
    io.write_bags(tmp_path / "t.bags", bags_with(PARENTS))
    file = tmp_path / "t.bags" / "parents.npy"
    file.write_bytes(file.read_bytes()[:-8] + np.int64(0).tobytes())
    with pytest.raises(io.CorruptFileError, match=r"parents\.npy"):
        io.read_bags(tmp_path / "t.bags")


def test_children_of_an_instance_left_out_go_to_its_parent():
    seen = []

    def score(some):
        seen.extend(
            (part.ravel().astype(int).tolist(), some[[i]].parents.tolist())
            for i, part in enumerate(some)
        )
        return np.zeros(len(some))

    score_without_each(score, bags_with(PARENTS))
    assert seen == [
        ([1, 2, 3], [-1, -1, 1]),
        ([0, 2, 3], [-1, 0, 1]),
        ([0, 1, 3], [-1, 0, 0]),
        ([0, 1, 2], [-1, 0, 0]),
        ([5, 6], [-1, 0]),
        ([4, 6], [-1, -1]),
        ([4, 5], [1, -1]),
    ]


@pytest.mark.parametrize("kind", ["features", "coords", "sparse", "float32"])
def test_spanning_trees_are_as_short_as_scipys(kind):
    rng, sizes = np.random.default_rng(0), (1, 2, 30, 7)
    points, offsets = rng.normal(size=(40, 2)), np.concatenate([[0], np.cumsum(sizes)])
    points = points.astype(np.float32) if kind == "float32" else points
    features = {"coords": np.ones((40, 3)), "sparse": sp.csr_array(points)}.get(kind, points)
    bags = Bags(features, offsets, coords=points)
    found = SpanningTrees(by="coords" if kind == "coords" else "features").fit_transform(bags)
    for first, last in pairwise(offsets):
        own, parents = points[first:last].astype(float), found.parents[first:last]
        assert np.flatnonzero(parents < 0).tolist() == [0]
        length = np.linalg.norm(own[1:] - own[parents[1:]], axis=1).sum()
        best = minimum_spanning_tree(squareform(pdist(own))).sum() if len(own) > 1 else 0.0
        assert length == pytest.approx(best)


def test_equal_instances_are_connected():
    bags = Bags(np.ones((5, 2)), [0, 5])
    assert SpanningTrees().fit_transform(bags).parents.tolist() == [-1, 0, 0, 0, 0]


def test_bags_without_coordinates_are_refused():
    with pytest.raises(ValueError, match=r"no coordinates.*by='features'"):
        SpanningTrees(by="coords").fit_transform(Bags(X, OFFSETS))
