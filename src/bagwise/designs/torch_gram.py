"""Kernel matrices on a device of PyTorch: exact ridge problems by float64 Cholesky there."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.base import Design, Point, rounding_of
from bagwise.designs.gram import DualRows, Gram
from bagwise.designs.torch import SHORT_ROWS
from bagwise.kernels import Kernel
from bagwise.rowstores.device import DeviceRows, import_torch


class TorchGram(DualRows):
    """A kernel matrix as a tensor; coefficients are dual, as with `bagwise.designs.Gram`."""

    def __init__(self, K: Any) -> None:
        self.K, self.torch = K, import_torch()
        self.n_rows = self.n_coef = K.shape[0]
        self.rounding = rounding_of(np.float64)

    def _up(self, values: Array) -> Any:
        return self.torch.as_tensor(np.ascontiguousarray(values)).to(self.K.device)

    def products(self, rows: Array | None = None) -> Array:
        """Return K, or its block of some rows, on the host."""
        return (self if rows is None else self.subset(rows)).K.cpu().numpy()

    def __matmul__(self, coef: Array) -> Array:
        """Return K coef."""
        return (self.K @ self._up(coef)).cpu().numpy()

    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Factor the active rows (`bagwise.designs.ridge.solve_dual`, on the device)."""
        active = np.flatnonzero(curvature)
        if len(active) == 0:
            return Point(np.zeros(self.n_coef), current.intercept, np.zeros(self.n_rows))
        torch, rows = self.torch, self._up(active)
        root, wanted = torch.sqrt(self._up(curvature[active])), self._up(target[active])
        system = self.K if len(active) == self.n_rows else self.K[rows][:, rows]
        system = root[:, None] * system * root
        system.diagonal().add_(1)
        factor = torch.linalg.cholesky(system.clone())
        right = torch.stack([root * wanted, root], 1)
        both = torch.cholesky_solve(right, factor)
        both = both + torch.cholesky_solve(right - system @ both, factor)
        u, v = both.T
        intercept = float(root @ u / (root @ v))
        coef = np.zeros(self.n_coef)
        coef[active] = (root * (u - intercept * v)).cpu().numpy()
        return Point(coef, intercept, self @ coef)

    def aggregate(self, weights: Any) -> Design:
        """Return the kernel between combinations of rows."""
        return Gram(weights @ (weights @ self.K.cpu().numpy()).T)

    def subset(self, rows: Array) -> TorchGram:
        """Return the design of some rows."""
        index = self._up(rows)
        return TorchGram(self.K[index][:, index])


def device_gram(kernel: Kernel, rows: DeviceRows) -> TorchGram:
    """Return the kernel matrix of rows on their device, in float64."""
    torch = import_torch()
    n, device = len(rows), rows.tensor.device
    X = torch.cat([block.to(torch.float64, copy=True) for _, block in rows.blocks()])
    X = X - X.mean(0) if kernel.name == "rbf" else X  # distances keep more digits around 0
    squares = (X * X).sum(1)
    K = torch.empty((n, n), dtype=torch.float64, device=device)
    for i in range(0, n, SHORT_ROWS):
        panel = X[i : i + SHORT_ROWS] @ X.T
        if kernel.name == "rbf":
            panel = (squares[i : i + SHORT_ROWS, None] - 2 * panel + squares).clamp_(min=0)
            panel = torch.exp_(panel.mul_(-kernel.gamma))
        elif kernel.name == "poly":
            panel = (kernel.gamma * panel + kernel.coef0) ** kernel.degree
        K[i : i + SHORT_ROWS] = panel
    K.diagonal().fill_(1.0) if kernel.name == "rbf" else None
    return TorchGram(K)
