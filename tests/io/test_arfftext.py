"""The syntax of ARFF: fields, quotes, escapes, declarations and inner rows."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.io import FormatError
from bagwise.io._arfftext import Attribute, InnerRows, is_open_quote, quote, split_fields

PATH = Path("a.arff")


@given(texts=st.lists(st.text("ab ,'\"\\%{}\t\n\rü", min_size=1, max_size=5), max_size=4))
def test_quoted_fields_come_back(texts):
    line = ",".join(map(quote, texts))
    assert split_fields(PATH, line, 1) == texts
    assert not is_open_quote(line)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a, b ,c", ["a", "b", "c"]),
        ("1 2\t3", ["1", "2", "3"]),
        ("'a b',\"c,d\"", ["a b", "c,d"]),
        (r"'it\'s', '\u00fc\n'", ["it's", "ü\n"]),
        ("", []),
    ],
)
def test_fields_as_people_write_them(text, fields):
    assert split_fields(PATH, text, 1) == fields


def test_what_cannot_be_split_is_shown():
    with pytest.raises(FormatError, match=r"line 4: cannot be split into fields at '\{b\}'"):
        split_fields(PATH, "a,{b}", 4)


MIXED = [
    Attribute("f", "numeric"),
    Attribute("color", "nominal", ["red", "blue"]),
    Attribute("instance", "string"),
]


def test_sparse_and_dense_bags_become_sparse():
    rows = InnerRows(PATH, MIXED)
    rows.take("{0 4, 2 u}\n{1 blue, 2 v}", 1)
    rows.take("5,?,w", 2)
    X, attributes = rows.finish()
    assert sp.issparse(X)
    np.testing.assert_array_equal(X.toarray(), [[4, 1, 0], [0, 0, 1], [5, np.nan, np.nan]])
    assert attributes["instance_ids"].tolist() == ["u", "v", "w"]
