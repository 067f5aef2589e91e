"""Points of designs, and which design a matrix gets."""

import numpy as np
import scipy.sparse as sp

from bagwise.designs import Dense, Point, Sparse, matrix_design
from reference.ridge import rows


def test_matrix_design_chooses_by_the_matrix():
    X = rows()
    assert isinstance(matrix_design(X), Dense)
    assert isinstance(matrix_design(sp.csr_array(X)), Sparse)
    assert isinstance(matrix_design(sp.csr_matrix(X)), Sparse)


def test_points_between_points():
    a, b = Point(np.zeros(2), 0.0, np.zeros(3)), Point(np.ones(2), 4.0, np.full(3, 2.0))
    middle = a.toward(b, 0.25)
    assert middle.coef.tolist() == [0.25, 0.25]
    assert middle.intercept == 1.0
    assert middle.scores.tolist() == [0.5, 0.5, 0.5]
    assert a.toward(b, 1.0) is b
