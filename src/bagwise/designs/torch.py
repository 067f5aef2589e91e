"""Rows on a device of PyTorch: products there, and passes that leave nothing but sums.

Half-precision rows are multiplied on the tensor cores, with float32 accumulation. The other factor
is a float64 vector, split into three float16 parts: v = sum_j 2^(-11 j) scale part_j keeps 33 bits,
so that the products are those of the rows as they are. Vectors of the rows' length never leave the
device in a sweep. Rows come in blocks, of which some may be on their way there
(`bagwise.rowstores.device`); what belongs together is summed up block by block, in their order.
"""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.base import Design, Point
from bagwise.designs.conditioned import Moments, Shift, judge_moments
from bagwise.designs.gram import DualRows, Gram
from bagwise.designs.linear import Dense
from bagwise.kernels import Kernel
from bagwise.rowstores.device import BLOCK_ROWS, DeviceRows, import_torch, send_to
from bagwise.tolerances import rounding_of

SHORT_ROWS = 4096  # per product of a stack: as fast as longer ones, with half a digit more
_ALIGNED = 8  # columns: tensor cores take eight at a time
_PARTS, _SHIFT = 3, 2048.0  # float16 has 11 bits: each part takes up what the one before left


class TorchDense(Dense):
    """Dense rows on a device. Coefficients are those of (x - center) / scale, as on the host."""

    def __init__(self, rows: DeviceRows) -> None:
        super().__init__(rows)
        self.torch, self.tensor = import_torch(), rows.tensor  # which has not all of the rows
        self.each = rows.each_block
        self.center: Any = None
        if rows.tensor.dtype != self.torch.float64:
            self.rounding = rounding_of(np.float32)

    def place(self, coordinates: Any) -> None:
        """Let coefficients be those of other coordinates."""
        super().place(coordinates)
        self.center = self.up(coordinates.center)

    def condition(self) -> TorchDense:
        """Return the rows centered and scaled where that saves digits."""
        needed, center, scale = judge_moments(*self.moments())
        if needed:
            self.place(Shift(center, scale))
        return self

    def moments(self) -> tuple[Array, Array]:
        """Return mean and standard deviation of the features."""
        parts = self.each(lambda _, rows: [_moments_of(part) for part in rows.split(BLOCK_ROWS)])
        found = reduce(Moments.merge, chain.from_iterable(parts))
        spread = self.torch.sqrt(found.square / self.n_rows)
        return found.mean.cpu().numpy(), spread.cpu().numpy()

    def up(self, values: Array) -> Any:
        """Return a host vector as a tensor on the device."""
        return send_to(values, self.tensor.device)

    def transform(self, rows: Any) -> Any:
        """Return rows of a block in the coordinates of the coefficients."""
        if self.center is None:
            return rows
        return (rows.double() - self.center) / self.up(self.scale)

    def _zeros(self, *shape: int) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.tensor.device)

    # Products with a block -----------------------------------------------------------------------

    def scores_of(self, block: Any, coef: Any, *, exact: bool = False) -> Any:
        """Return X w, float64, as a tensor; with ``exact`` the products are float64 too."""
        torch, found = self.torch, []
        for part in block.split(BLOCK_ROWS if exact else 16 * BLOCK_ROWS):
            rows = self.transform(part)
            if exact:
                found.append(rows.double() @ coef)
                continue
            columns, back = self._split(coef[:, None], rows.dtype)
            found.append(back(products(torch, rows, columns).double())[:, 0])
        return torch.cat(found)

    def sums_of(self, block: Any, many: Any, *, exact: bool = False) -> Any:
        """Return the weighted sums of rows, one per row of weights, as float64 tensors."""
        torch, total = self.torch, self._zeros(len(many), self.n_coef)
        whole = 0 if exact or self.center is not None else len(block) // SHORT_ROWS * SHORT_ROWS
        if whole:  # many short products at once: float32 sums stay short
            stack = block[:whole].view(-1, SHORT_ROWS, self.n_coef)
            columns, back = self._split(many[:, :whole].T)
            left = columns.reshape(len(stack), SHORT_ROWS, -1).transpose(1, 2)
            total += back(products(torch, left.contiguous(), stack).double().sum(0).T).T
        for i in range(whole, len(block), BLOCK_ROWS):
            rows, weights = self.transform(block[i : i + BLOCK_ROWS]), many[:, i : i + BLOCK_ROWS]
            if exact:
                total += weights @ rows.double()
                continue
            columns, back = self._split(weights.T, rows.dtype)
            total += back(products(torch, rows.T, columns).double()).T
        return total

    def gram_of(self, block: Any, weights: Any, *, exact: bool) -> Any:
        """Return X'SX; rounded to the rows' precision on the way unless it is to be exact."""
        torch, total = self.torch, self._zeros(self.n_coef, self.n_coef)
        used = torch.nonzero(weights)[:, 0]
        top = float(weights.max()) if len(used) else 1.0
        for part in used.split(BLOCK_ROWS) if len(used) else ():
            rows = self.transform(block[part])
            rows = rows.double() if exact else rows
            rows = rows * torch.sqrt(weights[part] / top).to(rows.dtype)[:, None]
            total += top * products(torch, rows.T, rows).double()
        return total

    def _split(self, right: Any, dtype: Any = None) -> tuple[Any, Any]:
        """Return float64 columns in the rows' precision, halves in parts, and how to add these."""
        torch, dtype = self.torch, dtype or self.tensor.dtype
        if dtype not in (torch.float16, torch.bfloat16):
            return right.to(dtype), lambda product: product
        scale = right.abs().amax(0).clamp(min=1e-300)
        rest, parts = right / scale, []
        for _ in range(_PARTS):
            parts.append(rest.to(dtype))
            rest = (rest - parts[-1].double()) * _SHIFT
        unused = -_PARTS * right.shape[1] % _ALIGNED
        parts.append(torch.zeros((len(right), unused), dtype=dtype, device=right.device))
        shares = _SHIFT ** -torch.arange(_PARTS, dtype=torch.float64, device=right.device)

        def back(product: Any) -> Any:
            used = product[:, : _PARTS * len(scale)].reshape(len(product), _PARTS, -1)
            return (used * shares[:, None]).sum(1) * scale

        return torch.cat(parts, 1), back

    # The contract of a design, with vectors on the host ------------------------------------------

    def scores_of_many(self, coefs: Array) -> Array:
        """Return the scores of several weight vectors in one pass, one per column."""
        given = [self.up(coef) for coef in coefs]
        parts = self.each(
            lambda _, block: self.torch.stack([self.scores_of(block, coef) for coef in given], 1)
        )
        return self.torch.cat(parts).cpu().numpy()

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        return self.scores_of_many(coef[None])[:, 0]

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        many = self.up(weights)[None]
        total: Any = sum(self.each(lambda rows, block: self.sums_of(block, many[:, rows])))
        return total[0].cpu().numpy()

    def adjoint(self, dual: Array) -> Array:
        """Return the coefficients of X' r."""
        return self.scale * (self.scale * self.weighted_sum(dual))

    def weighted_gram(self, weights: Array) -> Array:
        """Return X'SX."""
        given, total = self.up(weights), self._zeros(self.n_coef, self.n_coef)

        def add(rows: slice, block: Any) -> None:
            for sign in (1, -1):
                part = (sign * given[rows]).clamp(min=0)
                total.add_(sign * self.gram_of(block, part, exact=True))

        self.each(add)
        return total.cpu().numpy()

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X'SX."""
        total, shares = self._zeros(self.n_coef), self.up(weights)

        def add(rows: slice, block: Any) -> None:
            for share, part in zip(
                shares[rows].split(BLOCK_ROWS), block.split(BLOCK_ROWS), strict=True
            ):
                total.add_(share @ self.transform(part).double() ** 2)

        self.each(add)
        return total.cpu().numpy()

    def matrix(self, rows: Array) -> Any:
        """Return some rows, on the host; their products are those of the problem."""
        chosen = np.asarray(self.X[rows], dtype=np.float64)
        return chosen if self.center is None else chosen - self.center.cpu().numpy()

    def combine(self, weights: Any) -> Array:
        """Return weights @ X."""
        out, csr = self._zeros(weights.shape[0], self.n_coef), sp.csr_array(weights)

        def add(rows: slice, block: Any) -> None:
            part = csr[:, rows]
            owner = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            for i in range(0, part.nnz, BLOCK_ROWS):
                some = slice(i, i + BLOCK_ROWS)
                used = self.transform(block[self.up(part.indices[some].astype(np.int64))]).double()
                shares = self.up(part.data[some].astype(np.float64))[:, None]
                owners, counts = np.unique(owner[some], return_counts=True)
                lengths = self.up(counts.astype(np.int64))
                out[self.up(owners)] += self.torch.segment_reduce(
                    used * shares, "sum", lengths=lengths
                )

        self.each(add)
        return out.cpu().numpy()

    def subset(self, rows: Array) -> TorchDense:
        """Return the design of some rows, in the same coordinates."""
        part: TorchDense = self.fresh()  # type: ignore[assignment]
        chosen: Any = self.X[rows]
        part.X, part.tensor, part.n_rows = chosen, chosen.tensor, len(chosen)
        part.each = chosen.each_block
        return part


def _moments_of(rows: Any) -> Moments:
    rows = rows.double()
    mean = rows.mean(0)
    return Moments(len(rows), mean, ((rows - mean) ** 2).sum(0))


def products(torch: Any, left: Any, right: Any) -> Any:
    """Multiply matrices, or stacks of them; halves with float32 accumulation."""
    if left.dtype not in (torch.float16, torch.bfloat16):
        return left @ right
    if left.is_cuda:
        multiply = torch.bmm if left.ndim == 3 else torch.mm
        return multiply(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


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
        """Factor the active rows (`bagwise.designs.base.solve_dual`, on the device)."""
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
