"""Small saddle problems over assignments, and their value by a cone program."""

from itertools import product

import clarabel
import numpy as np
import scipy.sparse as sp

from bagwise.losses import MarginBand
from bagwise.solvers.pool import Features
from bagwise.solvers.saddle import Saddle
from reference.program import minimize

BANDS = [MarginBand(0.4, 0.6), MarginBand(0.0, 0.0), MarginBand(0.7, 2.0)]


def assignments(sizes):
    """All ways to choose one instance of each bag, as row numbers."""
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return [first + np.array(choice) for choice in product(*map(range, sizes))]


def chosen_rows(chosen, n_units):
    p = len(chosen)
    return sp.csr_array((np.ones(p), (np.arange(p), chosen)), shape=(p, n_units))


def make(seed, sizes=(2, 3, 2), n_negatives=6, d=4, loss=BANDS[0], lam=5.0, explicit=False):
    """A small problem, given by its kernel or its features, no column yet, and the features."""
    rng = np.random.RandomState(seed)
    n_pos = int(np.sum(sizes))
    X = rng.randn(n_pos + n_negatives, d)
    X[:n_pos:2] += 1.0
    weight = np.concatenate([np.full(len(sizes), lam / len(sizes)), np.full(n_negatives, lam / 3)])
    weight *= rng.uniform(0.5, 1.5, len(weight))
    features, negatives = np.column_stack([X, np.ones(len(X))]), np.arange(n_pos, len(X))
    if not explicit:
        return Saddle(X @ X.T, negatives, weight, loss), features
    return Saddle(None, negatives, weight, loss, Features(features, np.ones(d + 1))), features


def row_features(saddle, features, column):
    return np.concatenate([column.weights @ features, features[saddle.negatives]])


def clarabel_value(saddle, features):
    """Solve max_u min_k D(u, A_k) over the pool as a second-order cone program.

    Variables a, b, d. Each column: 1/2 |F'(sg (a - b))|^2 + quad(a, b) <= lin(a, b) - d, written
    as |[y; s - 1/2]| <= s + 1/2 with 1/2 |y|^2 the left and s the right side.
    """
    loss, n = saddle.loss, len(saddle.weight)
    C = saddle.weight / (1 - loss.theta) ** 2
    linear, curvature, turn = np.full(n, 1 - loss.theta), 1 / np.sqrt(2 * C), np.eye(n)
    if loss.nu > 0:  # otherwise there is no b
        linear = np.concatenate([linear, np.full(n, -1 - loss.theta)])
        curvature = np.concatenate([curvature, 1 / np.sqrt(2 * loss.nu * C)])
        turn = np.hstack([turn, -turn])
    size = len(linear)
    blocks, rights = [-np.eye(size, size + 1)], [np.zeros(size)]
    cones = [clarabel.NonnegativeConeT(size)]
    right_side = np.append(linear, -1.0)
    for column in saddle.columns:
        F = row_features(saddle, features, column) * saddle.sign[:, None]
        y = np.hstack(
            [np.vstack([F.T @ turn, np.diag(curvature)]), np.zeros((F.shape[1] + size, 1))]
        )
        blocks.append(-np.vstack([right_side, y, right_side]))
        rights.append(np.concatenate([[0.5], np.zeros(len(y)), [-0.5]]))
        cones.append(clarabel.SecondOrderConeT(len(y) + 2))
    nothing, cost = sp.csc_matrix((size + 1, size + 1)), np.append(np.zeros(size), -1.0)
    return -minimize(nothing, cost, np.vstack(blocks), np.concatenate(rights), cones).obj_val


def with_columns(saddle, choices):
    for chosen in choices:
        saddle = saddle.with_columns([chosen_rows(chosen, saddle.n_units)])
    return saddle
