"""svmlight files: both forms, indices, the number of features."""

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import FormatError, read, read_svmlight, write


def test_andrews_triples(tmp_path):
    (tmp_path / "elephant.svm").write_text(
        "# instance:bag:label\n1:1:1 1:2.05 3:-0.5\n2:1:1 2:1e-3\n3:2:-1 3:4\n"
    )
    bags, y = read(tmp_path / "elephant.svm")
    np.testing.assert_array_equal(bags.X.toarray(), [[2.05, 0, -0.5], [0, 1e-3, 0], [0, 0, 4]])
    assert bags.instance_ids.tolist() == [1, 2, 3]
    assert y.tolist() == [1, -1]


def test_indices_from_zero_and_a_given_width(tmp_path):
    (tmp_path / "b.svm").write_text("1 qid:1 0:5 2:6\n-1 qid:2\n")
    bags, y = read_svmlight(tmp_path / "b.svm", zero_based=True, n_features=4)
    np.testing.assert_array_equal(bags.X.toarray(), [[5, 0, 6, 0], [0, 0, 0, 0]])
    assert y.tolist() == [1, -1]
    with pytest.raises(FormatError, match="an index is 3, but n_features is 2"):
        read_svmlight(tmp_path / "b.svm", zero_based=True, n_features=2)


def test_an_unknown_style_is_refused(tmp_path):
    with pytest.raises(ValueError, match="style must be 'qid' or 'triple', got 'other'"):
        write(tmp_path / "b.svm", Bags.from_list([[[1.0]]]), [1], style="other")


@pytest.mark.parametrize("index", [str(10**30), "9007199254740993", "9007199254740992", "inf"])
def test_indices_that_floats_round_are_refused(index, tmp_path):
    (tmp_path / "a.svm").write_text(f"1 qid:1 1:1\n1 qid:1 {index}:2\n")
    with pytest.raises(FormatError, match=r"line 2: an index is not below 2\^53"):
        read(tmp_path / "a.svm")
    (tmp_path / "a.svm").write_text("1 qid:1 1:1\n1 qid:1 9007199254740990:2\n")
    assert read(tmp_path / "a.svm")[0].n_features == 9007199254740990


@pytest.mark.parametrize("digits", [30, 5000])
def test_a_declared_width_that_no_index_reaches_is_refused(digits, tmp_path):
    (tmp_path / "a.svm").write_text(f"# n_features {'9' * digits}\n1 qid:1 1:1\n")
    with pytest.raises(FormatError, match=r"line 1: n_features is above 2\^53"):
        read(tmp_path / "a.svm")
