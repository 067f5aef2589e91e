"""Names: numbering them, keeping their types, and values that are constant within a bag."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bagwise.bags.ids import (
    as_names,
    check_hashable,
    constant_within,
    factorize,
    file_names,
    first_difference,
    first_missing,
    is_missing,
    name_of,
    resolve_names,
)

NAMES = st.integers(-3, 3) | st.sampled_from(["a", "b"]) | st.tuples(st.integers(0, 1))


@given(names=st.lists(NAMES, max_size=12))
def test_ids_are_numbered_by_first_appearance(names):
    codes, distinct = factorize(names)
    assert list(distinct) == list(dict.fromkeys(names))
    assert [distinct[code] for code in codes] == names
    assert codes.dtype == np.int64


def test_names_keep_what_numpy_would_change():
    assert as_names(["a", "b"]).dtype.kind == "U"
    assert as_names([1, 2]).dtype.kind == "i"
    assert as_names([0.5, 1.5]).dtype.kind == "f"
    assert list(as_names([("a", 1), ("b", 2)])) == [("a", 1), ("b", 2)]
    assert list(as_names([1, "1"])) == [1, "1"]
    assert list(as_names([2**70])) == [2**70]
    assert list(as_names(["a\0", "a"])) == ["a\0", "a"]


def test_what_cannot_be_hashed_is_refused_by_position():
    check_hashable(["a", 1, (2,)])
    with pytest.raises(ValueError, match="position 1 is a list, which cannot be hashed"):
        check_hashable(["a", [1]])


def test_a_bag_is_called_by_number_and_id():
    assert name_of(None, 2) == "Bag 2"
    assert name_of(np.array(["x", "y"]), 1) == "Bag 1 (id 'y')"
    assert name_of(np.array([7, 8]), 1) == "Bag 1 (id 8)"
    assert name_of(["x"], 3) == "Bag 3"


@pytest.mark.parametrize("value", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_values_of_every_kind(value):
    assert is_missing(value)
    assert first_missing(["a", value]) == 1


def test_the_first_missing_entry_of_typed_arrays():
    assert first_missing(np.array([1, 2])) is None
    assert first_missing(np.array([1.0, np.nan])) == 1
    assert first_missing(np.array(["2020", "NaT"], dtype="M8[Y]")) == 1


OFFSETS = np.array([0, 2, 5])


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([1, 1, 2, 2, 2], None),
        ([1, 1, 2, 2, 3], 4),
        ([1, 0, 2, 3, 2], 1),
        ([np.nan, np.nan, 1, 1, 1], None),
        ([np.nan, 1, 2, 2, 2], 1),
        ([[1, 2], [1, 2], [3, 4], [3, 5], [3, 4]], 3),
        (np.array(["a", "a", "b", ("b",), "b"], dtype=object), 3),
    ],
)
def test_the_first_row_that_differs_from_its_bag(values, row):
    assert first_difference(np.asarray(values), OFFSETS) == row


def test_constant_values_are_taken_once_per_bag():
    np.testing.assert_array_equal(
        constant_within(np.array([1, 1, 2, 2, 2]), OFFSETS, np.array(["a", "b"]), "y"), [1, 2]
    )
    with pytest.raises(ValueError, match=r"Bag 1 \(id 'b'\) has two values of y: 2 and 3"):
        constant_within(np.array([1, 1, 2, 3, 2]), OFFSETS, np.array(["a", "b"]), "y")


def test_names_begin_ids_before_a_dot_and_all_problems_are_listed():
    known = ["T-01.aa", "T-02", "T-02.bb", "T-03.cc", "T-03.dd", "T-04-1"]
    assert resolve_names(["T-01", "T-02", "T-02.bb"], known) == {"T-01.aa", "T-02", "T-02.bb"}
    with pytest.raises(ValueError, match=r"'T-03' begins T-03\.cc, T-03\.dd") as caught:
        resolve_names(["T-03", "T-04", "T-0", "T-01"], known)
    assert "There are no bags 'T-04', 'T-0'." in str(caught.value)


def test_names_of_files_differ_are_short_and_stay_in_their_folder(tmp_path):
    odd = ["a/b", "a_b", "A_B", "/etc/passwd", "../up", "x" * 300, "x" * 301, "é" * 100, "", "."]
    odd += ["..", ".hidden", "con", "NUL.1", "end.", "a\nb", "a\0b", "\ud800", "C:\\x", "a_b"]
    odd += [7, "7", "é", "e\u0301"]
    fine = ["TCGA-01.1f3a", "slide 7 (2)", "s_1"]
    names = file_names([*odd, *fine])
    assert names[-3:] == fine
    assert names[1] == "a_b"
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        file = tmp_path / f"{name}.png"
        file.touch()
        assert file.parent.resolve() == tmp_path.resolve()
        assert len(name.encode()) < 150
    assert len(list(tmp_path.iterdir())) == len(names)
    assert file_names([*odd, *fine]) == names


def test_a_made_name_is_never_that_of_another_id():
    made = file_names(["a/b"])[0]
    assert file_names(["a/b", made]) == [f"{made}-2", made]
