"""Problems with a penalized intercept by clarabel, on rows turned and scaled beforehand.

    min 1/2|w|^2 + 1/2 b^2 + sum_k c_k l_k(x_k.w + b)

for the margin band of MI-ODM and KI-SVM, and for the losses of mi-SPSVM. The features may have any
scale and any offset: the rows (x, 1) are turned by the QR decomposition of their mean.
"""

import numpy as np
import scipy.sparse as sp

from reference.program import minimize

PRECISION = 1e-9  # of the largest weight: what clarabel leaves of an objective
_TOLERANCE = 1e-10


def turned(X):
    """Return rows Z and scale: the scores are Z y, and |w|^2 + b^2 = sum (y / scale)^2.

    w = w' + t e, with w' orthogonal to the direction e of the mean. In t and the score s of the
    mean, b = s - |mean| t, and t^2 + b^2 is a sum of two squares.
    """
    unit = 2.0 ** np.floor(np.log2(np.maximum(np.ptp(X, axis=0).max(), 1e-300)))
    mean = X.mean(axis=0)
    for _ in range(2):  # the mean of large numbers, to its last digits
        mean = mean + (X - mean).mean(axis=0)
    away, length = (X - mean) / unit, np.linalg.norm(mean / unit)
    direction = mean / unit / length
    basis = np.linalg.qr(np.column_stack([direction, np.eye(len(mean))]))[0][:, 1:]
    along, rho = away @ direction, np.hypot(length, 1 / unit)
    # t^2 + (s - m t)^2 = (rho t - m s / rho)^2 + s^2 / rho^2 in units: y = t - m s / rho^2.
    height = 1 + along * (length / rho) / rho
    return np.column_stack([away @ basis, along, height]), np.r_[
        np.full(len(mean) - 1, unit), 1 / rho, unit * rho
    ]


def band_optimum(X, sign, weight, loss):
    """Return the optimal objective with losses weight x band(sign x score); -inf if it fails."""
    low, high = 1 - loss.theta, 1 + loss.theta
    terms = [(low, sign, 2 * weight / low**2, 0 * weight)]
    if loss.nu > 0:
        terms.append((-high, -sign, 2 * loss.nu * weight / low**2, 0 * weight))
    return _optimum(X, weight.max(), terms)


def semiproximal_optimum(X, positive, weight):
    """Return the optimal objective of mi-SPSVM's Eq. 3; -inf if it fails."""
    flat, hinge = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    one = np.ones(len(X))
    # (1 - f)^2 is max(0, 1 - f)^2 + max(0, f - 1)^2.
    terms = [(1.0, one, flat, 0 * flat), (-1.0, -one, flat, 0 * flat), (1.0, -one, 0 * flat, hinge)]
    return _optimum(X, weight.max(), terms)


def _optimum(X, largest, terms):
    """Minimize with slacks xi >= max(0, margin - direction f), cost 1/2 square xi^2 + linear xi."""
    rows, scale = turned(X)
    shrink = np.minimum(1.0, np.sqrt(largest) * scale)
    rows, cost = rows * shrink, [(shrink / scale / np.sqrt(largest)) ** 2]
    blocks, bounds, linear = [], [], [np.zeros(len(scale))]
    for margin, direction, square, slope in terms:
        used = (square > 0) | (slope > 0)
        blocks.append(-direction[used, None] * rows[used])
        bounds.append(np.full(used.sum(), -margin))
        cost.append(square[used] / largest)
        linear.append(slope[used] / largest)
    n = sum(map(len, bounds))
    slack = sp.eye_array(n)
    constraints = sp.block_array([[sp.csc_array(np.vstack(blocks)), -slack], [None, -slack]])
    bounds = np.concatenate([*bounds, np.zeros(n)])
    costs = sp.diags_array(np.concatenate(cost)), np.concatenate(linear)
    found = minimize(*costs, constraints, bounds, tol=_TOLERANCE)
    return largest * found.obj_val if str(found.status) == "Solved" else -np.inf
