"""The master problem of the bundle methods: a quadratic over a simplex, in the dual.

    max_alpha  b.alpha - 1/(2 lambda) |A' alpha|^2,   alpha >= 0,  sum alpha <= 1,

the dual of min_w lambda/2 |w|^2 + max(0, max_j a_j.w + b_j), with w = -A' alpha / lambda. Any
feasible alpha bounds the minimum from below, so an inexact solution loses sharpness, never truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["simplex_qp"]

Array = NDArray[Any]


def simplex_qp(gram: Array, heights: Array) -> tuple[Array, float]:
    """Solve the dual by an interior-point method and make the answer feasible.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        A A' / lambda.
    heights : ndarray of shape (k,)
        The constants b of the planes.

    Returns
    -------
    alpha : ndarray of shape (k,)
        Feasible weights of the planes; the rest up to one is the zero plane's.
    value : float
        The dual value at alpha: a lower bound on the master problem's minimum.
    """
    import piqp

    # Scaled to order one: the solver's tolerances are absolute.
    unit = max(float(np.max(np.abs(heights))), float(np.max(np.diag(gram))), 1e-300)
    k = len(heights)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = 1e-10
    solver.settings.eps_rel = 1e-11
    solver.settings.max_iter = 100
    solver.setup(
        gram / unit,
        -heights / unit,
        None,
        None,
        np.ones((1, k)),
        np.array([-np.inf]),
        np.array([1.0]),
        np.zeros(k),
        np.full(k, np.inf),
    )
    status = solver.solve()
    found = np.asarray(solver.result.x)
    if not np.all(np.isfinite(found)):
        raise FloatingPointError(
            f"The bundle's master problem over {k} planes failed ({status}): scale the features, "
            "or raise lambda_."
        )
    alpha = np.maximum(found, 0.0)
    alpha /= max(1.0, alpha.sum())
    return alpha, float(heights @ alpha - 0.5 * alpha @ gram @ alpha)
