"""The two-sided problem written out as a quadratic program for a general solver (clarabel).

    min 1/2|w|^2 + sum_{k, terms} weight_k scale xi_k^power,
    xi_k >= margin - direction label_k (x_k.w + b),   and xi_k >= 0 where power = 1,

one slack for every row, label and term of the loss: slow, and independent of everything the
library's own solvers share. Clarabel is a test dependency, imported when used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.losses import Hinge, MarginBand, SquaredHinge

__all__ = ["Reference", "kernel_features", "minimize", "reference_solution"]

Array = NDArray[Any]


class Term(NamedTuple):
    """scale max(0, margin - direction t)^power."""

    margin: float
    direction: float
    scale: float
    power: int


class Reference(NamedTuple):
    """What the general solver found, and its own bounds on the optimal value."""

    coef: Array
    intercept: float
    primal: float
    dual: float


def reference_solution(
    X: Array, positive: Array, negative: Array, loss: Any, margin: Array | None = None
) -> Reference:
    """Solve the two-sided problem over explicit features with clarabel.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows; `kernel_features` makes them of a kernel matrix.
    positive, negative : ndarray of shape (n_rows,)
        The weights of the two labels of each row.
    loss : SquaredHinge, Hinge or MarginBand
        The margin loss.
    margin : ndarray of shape (n_rows,), default=None
        The margin each row asks for instead of 1.

    Returns
    -------
    Reference
        Coefficients, intercept, and the primal and dual values.
    """
    more = np.zeros(len(X)) if margin is None else margin - 1
    program = _program(X, positive, negative, _terms(loss), more)
    # Longer steps get stuck before these tolerances.
    found = minimize(*program, tol=1e-13, max_step_fraction=0.95)
    if str(found.status) != "Solved":
        raise ArithmeticError(f"clarabel ended with {found.status}.")
    x = np.asarray(found.x)
    d = X.shape[1]
    return Reference(x[:d], float(x[d]), found.obj_val, found.obj_val_dual)


def minimize(
    P: Any, q: Array, A: Any, bound: Array, cones: Any = None, *, tol: float = 1e-12, **more: Any
) -> Any:
    """Return what clarabel finds for min 1/2 x'Px + q'x, bound - Ax in cones or Ax <= bound."""
    import clarabel

    settings, cones = clarabel.DefaultSettings(), cones or [clarabel.NonnegativeConeT(len(bound))]
    same = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tol)
    for name, value in {"verbose": False, "max_threads": 1, **same, **more}.items():
        setattr(settings, name, value)
    upper = sp.triu(sp.csc_matrix(P)).tocsc()
    return clarabel.DefaultSolver(upper, q, sp.csc_matrix(A), bound, cones, settings).solve()


def kernel_features(K: Array) -> Array:
    """Return rows whose inner products are the kernel matrix."""
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    return vectors * np.sqrt(np.maximum(values, 0))


def _terms(loss: Any) -> list[Term]:
    if isinstance(loss, SquaredHinge):
        return [Term(1, 1, 1, 2)]
    if isinstance(loss, Hinge):
        return [Term(1, 1, 1, 1)]
    if isinstance(loss, MarginBand):
        low, high = 1 - loss.theta, 1 + loss.theta
        return [Term(low, 1, 1 / low**2, 2), Term(-high, -1, loss.nu / low**2, 2)]
    raise TypeError(f"No reference for {loss!r}.")


def _program(
    X: Array, positive: Array, negative: Array, terms: list[Term], more: Array
) -> tuple[Any, Array, Any, Array]:
    """Return P, q, A, bound of min 1/2 x'Px + q'x, A x <= bound, x = (w, b, slacks)."""
    d = X.shape[1]
    blocks, margins, square, linear = [], [], [np.ones(d), np.zeros(1)], [np.zeros(d + 1)]
    for term in terms:
        for label, weights in ((1.0, positive), (-1.0, negative)):
            used = np.flatnonzero(weights * term.scale)
            cost = term.scale * weights[used]
            blocks.append(-term.direction * label * np.column_stack([X[used], np.ones(len(used))]))
            margins.append(-term.margin - term.direction * more[used])
            square.append(2 * cost * (term.power == 2))
            linear.append(cost * (term.power == 1))
    slack = sp.identity(sum(map(len, margins)), format="csr")
    q = np.concatenate(linear)
    signed = slack[q[d + 1 :] > 0]
    A = sp.block_array([[sp.csr_array(np.vstack(blocks)), -slack], [None, -signed]])
    bound = np.concatenate([*margins, np.zeros(signed.shape[0])])
    return sp.diags(np.concatenate(square)), q, A, bound
