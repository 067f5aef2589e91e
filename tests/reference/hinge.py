"""Labeled rows and hinge problems for tests of their solvers."""

import numpy as np

from bagwise.designs import matrix_design
from bagwise.losses import Hinge
from bagwise.problems import Problem


def data(seed=0, n=200, d=6, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X + offset, X[:, 0] + 0.5 * rng.normal(size=n) > 0.3


def problem(X, y, C=1.0, design=matrix_design):
    return Problem(design(X), C * y, C * (1.0 - y), Hinge())
