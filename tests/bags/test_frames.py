"""Data frames, the display in notebooks, and selection by id."""

import numpy as np
import pytest
import scipy.sparse as sp

from bag_helpers import assert_is_selection, full_bags
from bagwise import Bags

BAGS = full_bags([2, 1, 3])


def test_a_frame_has_all_that_from_frame_takes():
    frame = BAGS.to_frame(["x", "y", "x"])
    assert len(frame) == 6
    more = {"groups": "group", "priors": "prior", "instance_labels": "instance_label"}
    more |= {"patch_size": "patch_size", "known_labels": "known_label"}
    more |= {"sites": "site", "parts": "part"}
    wide = {"coords": ["coord_x", "coord_y"], "instance_ids": "instance"}
    wide["bag_features"] = ["bag_feature_1", "bag_feature_2", "bag_feature_3"]
    back, y = Bags.from_frame(frame, "bag", "label", features=["f", "g"], **more, **wide)
    assert_is_selection(back, BAGS, [0, 1, 2])
    assert y.tolist() == ["x", "y", "x"]


def test_labels_are_one_per_bag():
    with pytest.raises(ValueError, match=r"Expected one label per bag \(3\), got shape \(2,\)"):
        BAGS.to_frame([1, 0])


def test_sparse_instances_and_missing_names_become_columns():
    frame = Bags(sp.csr_array(np.eye(2)), [0, 1, 2]).to_frame()
    assert [*frame.columns] == ["bag", "f1", "f2"]
    np.testing.assert_array_equal(frame[["f1", "f2"]], np.eye(2))


def test_bags_by_id():
    np.testing.assert_array_equal(BAGS.loc["bag1"], BAGS[1])
    assert_is_selection(BAGS.loc[["bag2", "bag0"]], BAGS, [2, 0])
    with pytest.raises(KeyError, match=r"There is no bag 'bga1'\. Did you mean 'bag1'"):
        BAGS.loc["bga1"]
    assert len(Bags(np.eye(3), [0, 1, 2, 3]).loc[1]) == 1  # numbers count from 0


def test_the_display_shows_counts_bags_and_features_and_escapes_names():
    many = Bags(np.ones((90, 20)), np.arange(91), ids=[f"<b>{i}" for i in range(90)])
    text = many._repr_html_()
    assert "90 bags, 90 instances, 20 features" in text
    assert "<td>&lt;b&gt;4</td>" in text
    assert "<b>" not in text
    assert "&lt;b&gt;50" not in text  # a long table is cut
    assert "f15, ... (20 in all)" in text
    assert "<th>group</th>" in BAGS._repr_html_()
