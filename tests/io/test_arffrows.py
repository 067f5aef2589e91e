"""The instances inside a relational ARFF value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

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
