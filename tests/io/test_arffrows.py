"""The instances inside a relational ARFF value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.io import FormatError, MixedTypeError
from bagwise.io._arffrows import InnerRows
from bagwise.io._arfftext import Attribute

PATH = Path("a.arff")
NUMBERS = [Attribute("f", "numeric"), Attribute("g", "numeric")]
MIXED = [
    Attribute("f", "numeric"),
    Attribute("color", "nominal", ["red", "blue"]),
    Attribute("instance", "string"),
]


def test_plain_numbers_and_gaps():
    rows = InnerRows(PATH, NUMBERS)
    assert [rows.take("1,2\n\n3,-0.0", 1), rows.take("?,5", 2)] == [2, 1]
    X, attributes = rows.finish()
    np.testing.assert_array_equal(X, [[1, 2], [3, 0], [np.nan, 5]])
    assert np.signbit(X[1, 1])
    assert attributes == {"feature_names": ["f", "g"]}


def test_nominal_values_and_instance_ids():
    rows = InnerRows(PATH, MIXED)
    rows.take("1,blue,u\n2,?,v", 1)
    X, attributes = rows.finish()
    np.testing.assert_array_equal(X, [[1, 0, 1], [2, np.nan, np.nan]])
    assert attributes["feature_names"] == ["f", "color=red", "color=blue"]
    assert attributes["instance_ids"].tolist() == ["u", "v"]


def test_sparse_and_dense_bags_become_sparse():
    rows = InnerRows(PATH, MIXED)
    rows.take("{0 4, 2 u}\n{1 blue, 2 v}", 1)
    rows.take("5,red,w", 2)
    X, attributes = rows.finish()
    assert sp.issparse(X)
    np.testing.assert_array_equal(X.toarray(), [[4, 1, 0], [0, 0, 1], [5, 1, 0]])
    assert attributes["instance_ids"].tolist() == ["u", "v", "w"]


def test_a_nominal_value_that_looks_like_a_number_is_no_number():
    rows = InnerRows(PATH, [Attribute("f", "nominal", ["5"])])
    rows.take("5", 1)
    assert rows.finish()[0].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (" \n", FormatError, "line 3: the bag has no instances"),
        ("1,red,u\n1,red", FormatError, "line 3: instance 2: 2 values, expected 3 as declared"),
        ("x,red,u", MixedTypeError, "line 3, column 'f': instance 1: 'x' is not a number"),
        ("1,green,u", MixedTypeError, "column 'color'.*'green' is not among .* red, blue"),
        ("{0 1}\n1,red,u", FormatError, r"instance 2: expected a sparse row"),
        ("{0 1,1}", FormatError, "an index has no value"),
        ("{3 1}", FormatError, "index '3', expected 0 to 2"),
    ],
)
def test_bad_rows_are_named(text, error, message):
    with pytest.raises(error, match=message):
        InnerRows(PATH, MIXED).take(text, 3)


def test_bad_declarations_are_named():
    with pytest.raises(FormatError, match="declares no features"):
        InnerRows(PATH, [])
    with pytest.raises(MixedTypeError, match="column 'note': has type string inside the bag"):
        InnerRows(PATH, [*NUMBERS, Attribute("note", "string")])
