"""Rows on a device of PyTorch: products there, and passes that leave nothing but sums.

Half-precision rows are multiplied on the tensor cores, with float32 accumulation. The other factor
is a float64 vector, split into three float16 parts: v = sum_j 2^(-11 j) scale part_j keeps 33 bits,
so that the products are those of the rows as they are. Vectors of the rows' length never leave the
device in a sweep. The Hessian stays there too, with the Newton step that it is for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Rule
from bagwise.designs._torch_rules import Segments, decided, device_step
from bagwise.designs.base import rounding_of
from bagwise.designs.dense import Dense
from bagwise.designs.swept import DIGITS_KEPT, LAZY, UPDATES_BEFORE_REFRESH, Labels, Sums
from bagwise.rowstores.device import DeviceRows, import_torch

_BLOCK_ROWS = 1 << 16  # float32 sums of more rows would lose digits
_SHORT = 4096  # rows per product of a stack: as fast as longer ones, with half a digit more
_ALIGNED = 8  # columns: tensor cores take eight at a time
_PARTS, _SHIFT = 3, 2048.0  # float16 has 11 bits: each part takes up what the one before left
_OFFSET, _UNEVEN = 30.0, 1e3  # as in `bagwise.designs.conditioned`


class TorchDense(Dense):
    """Dense rows on a device. Coefficients are those of (x - center) / scale, as on the host."""

    elsewhere = True

    def __init__(self, rows: DeviceRows) -> None:
        super().__init__(rows)  # type: ignore[arg-type]
        self.torch, self.tensor = import_torch(), rows.tensor
        self.center: Any = None
        if rows.tensor.dtype != self.torch.float64:
            self.rounding = rounding_of(np.float32)

    def conditioned(self) -> TorchDense:
        """Return the rows centered and scaled where that saves digits."""
        torch = self.torch
        mean, spread = self._moments()
        scale = torch.exp2(torch.round(torch.log2(torch.where(spread > 0, spread, 1.0))))
        high, low = float(scale.max()), float(scale.min())
        even = high <= _UNEVEN * low and 1 / _UNEVEN <= high <= _UNEVEN
        if not even or bool((mean.abs() > _OFFSET * spread).any()):
            self.center, self.scale = mean, scale.cpu().numpy()
            self.metric = self.scale**-2.0
        return self

    def _moments(self) -> tuple[Any, Any]:
        torch, n = self.torch, self.n_rows
        mean = sum(self.tensor[i : i + _BLOCK_ROWS].double().sum(0) for i in self._starts()) / n
        square = sum(
            ((self.tensor[i : i + _BLOCK_ROWS].double() - mean) ** 2).sum(0) for i in self._starts()
        )
        return mean, torch.sqrt(square / n)

    def _starts(self) -> range:
        return range(0, self.n_rows, _BLOCK_ROWS)

    def up(self, values: Array) -> Any:
        """Return a host vector as a tensor on the device."""
        return self.torch.as_tensor(np.ascontiguousarray(values)).to(self.tensor.device)

    def block(self, key: Any) -> Any:
        """Return rows on the device, in the coordinates of the coefficients."""
        rows = self.tensor[key]
        if self.center is None:
            return rows
        return (rows.double() - self.center) / self.up(self.scale)

    # Products on the device ----------------------------------------------------------------------

    def scores(self, coef: Any, *, exact: bool = False) -> Any:
        """Return X w, float64, as a tensor; with ``exact`` the products are float64 too."""
        torch = self.torch
        if exact:
            return torch.cat([self._doubles(i) @ coef for i in self._starts()])
        out = torch.empty(self.n_rows, dtype=torch.float64, device=self.tensor.device)
        for i in range(0, self.n_rows, 16 * _BLOCK_ROWS):
            rows = self.block(slice(i, i + 16 * _BLOCK_ROWS))
            columns, back = self._split(coef[:, None], rows.dtype)
            out[i : i + 16 * _BLOCK_ROWS] = back(_products(torch, rows, columns).double())[:, 0]
        return out

    def _doubles(self, start: int) -> Any:
        return self.block(slice(start, start + _BLOCK_ROWS)).double()

    def sums(self, many: Any, *, exact: bool = False) -> Any:
        """Return the weighted sums of rows, one per row of weights, as float64 tensors."""
        torch, device = self.torch, self.tensor.device
        total = torch.zeros((len(many), self.n_coef), dtype=torch.float64, device=device)
        if exact:
            for i in self._starts():
                total += many[:, i : i + _BLOCK_ROWS] @ self._doubles(i)
            return total
        whole = 0 if self.center is not None else self.n_rows // _SHORT * _SHORT
        if whole:  # many short products at once: float32 sums stay short
            rows = self.tensor[:whole].view(-1, _SHORT, self.n_coef)
            columns, back = self._split(many[:, :whole].T)
            left = columns.reshape(len(rows), _SHORT, -1).transpose(1, 2)
            total += back(_products(torch, left.contiguous(), rows).double().sum(0).T).T
        for i in range(whole, self.n_rows, _BLOCK_ROWS):
            rows = self.block(slice(i, i + _BLOCK_ROWS))
            columns, back = self._split(many[:, i : i + _BLOCK_ROWS].T, rows.dtype)
            total += back(_products(torch, rows.T, columns).double()).T
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

    def gram(self, weights: Any, *, exact: bool) -> Any:
        """Return X'SX; rounded to the rows' precision on the way unless it is to be exact."""
        torch, device = self.torch, self.tensor.device
        total = torch.zeros((self.n_coef, self.n_coef), dtype=torch.float64, device=device)
        used = torch.nonzero(weights)[:, 0]
        top = float(weights.max()) if len(used) else 1.0
        for i in range(0, len(used), _BLOCK_ROWS):
            part = used[i : i + _BLOCK_ROWS]
            rows = self.block(part)
            rows = rows.double() if exact else rows
            rows = rows * torch.sqrt(weights[part] / top).to(rows.dtype)[:, None]
            total += top * _products(torch, rows.T, rows).double()
        return total

    # The contract of a design, with vectors on the host ------------------------------------------

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        return self.scores(self.up(coef)).cpu().numpy()

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        return self.sums(self.up(weights)[None])[0].cpu().numpy()

    def adjoint(self, dual: Array) -> Array:
        """Return the coefficients of X' r."""
        return self.weighted_sum(dual) / self.metric

    def weighted_gram(self, weights: Array) -> Array:
        """Return X'SX."""
        signs = [self.up(np.maximum(sign * weights, 0)) for sign in (1, -1)]
        return (self.gram(signs[0], exact=True) - self.gram(signs[1], exact=True)).cpu().numpy()

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X'SX."""
        total, shares = 0.0, self.up(weights)
        for i in self._starts():
            rows = self.block(slice(i, i + _BLOCK_ROWS)).double()
            total = total + shares[i : i + _BLOCK_ROWS] @ rows**2
        return total.cpu().numpy()  # type: ignore[attr-defined]

    def matrix(self, rows: Array) -> Any:
        """Return some rows, on the host; their products are those of the problem."""
        return self.block(self.up(rows)).double().cpu().numpy() * self.scale

    def combine(self, weights: Any) -> Array:
        """Return weights @ X."""
        csr = sp.csr_array(weights)
        owner = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        device = self.tensor.device
        out = self.torch.zeros((csr.shape[0], self.n_coef), dtype=self.torch.float64, device=device)
        for i in range(0, csr.nnz, _BLOCK_ROWS):
            part = slice(i, i + _BLOCK_ROWS)
            rows = self.block(self.up(csr.indices[part].astype(np.int64))).double()
            shares = self.up(csr.data[part].astype(np.float64))[:, None]
            owners, counts = np.unique(owner[part], return_counts=True)
            lengths = self.up(counts.astype(np.int64))
            out[self.up(owners)] += self.torch.segment_reduce(rows * shares, "sum", lengths=lengths)
        return out.cpu().numpy()

    def subset(self, rows: Array) -> TorchDense:
        """Return the design of some rows, in the same coordinates."""
        part: TorchDense = self.fresh()  # type: ignore[assignment]
        chosen: Any = self.X[rows]
        part.X, part.tensor, part.n_rows = chosen, chosen.tensor, len(chosen)
        return part

    def labeled(self, labels: Labels) -> TorchSwept:
        """Return the rows with labels, to be swept on the device."""
        return TorchSwept(self, labels)

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the rows as they were given."""
        if self.center is None:
            return coef, intercept
        w = coef / self.scale
        return w, intercept - float(self.center.cpu().numpy() @ w)


def _products(torch: Any, left: Any, right: Any) -> Any:
    """Multiply matrices, or stacks of them; halves with float32 accumulation."""
    if left.dtype not in (torch.float16, torch.bfloat16):
        return left @ right
    if left.is_cuda:
        multiply = torch.bmm if left.ndim == 3 else torch.mm
        return multiply(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


class TorchSums(Sums):
    """Sums whose Hessian is a tensor, and stays where it is."""

    def add(self, other: Sums) -> None:
        """Add the sums of other rows, from the host or the device."""
        mine: Any = self.hessian
        total = mine + import_torch().as_tensor(other.hessian).to(mine.device)
        self.hessian = np.zeros((0, 0))
        super().add(replace(other, hessian=self.hessian))
        self.hessian = total

    def step(self, coef: Array, metric: Any) -> tuple[Array, float, float]:
        """Return the Newton step, solved on the device."""
        hessian: Any = self.hessian
        torch = import_torch()
        if self.mass > 0:
            mean = self.mean_sum / self.mass
            residual = self.rise - self.fall - metric * coef
            shift = self.rises - self.falls
            at, right = (hessian.new_tensor(v) for v in (mean, residual - shift * mean))
            system = hessian - torch.outer(self.mass * at, at)
            system.diagonal().add_(hessian.new_tensor(np.broadcast_to(metric, mean.shape)))
            factor, failed = torch.linalg.cholesky_ex(system)
            if not int(failed):
                step = torch.cholesky_solve(right[:, None], factor)[:, 0].cpu().numpy()
                rise = float(shift / self.mass - mean @ step)
                return step, rise, 0.5 * float(step @ residual + rise * shift)
        return Sums(**{**vars(self), "hessian": hessian.cpu().numpy()}).step(coef, metric)


class TorchSwept:
    """Labeled rows on a device, with their assignment and curvatures there."""

    def __init__(self, rows: TorchDense, labels: Labels) -> None:
        self.rows, self.labels, self.passes = rows, labels, 0
        self.metric, self.rounding, self.n_coef = rows.metric, rows.rounding, rows.n_coef
        self.torch = torch = rows.torch
        sizes = rows.up(np.diff(labels.offsets))
        self.weight = torch.repeat_interleave(rows.up(labels.weight), sizes)
        inside = torch.repeat_interleave(rows.up(labels.positive), sizes)
        self.inside = torch.nonzero(inside)[:, 0]
        self.segments = Segments(torch, sizes[rows.up(labels.positive)])
        self.bag_weight = rows.up(labels.weight[labels.positive] / labels.C)
        self.p = torch.zeros(len(self.inside), dtype=torch.float64, device=sizes.device)
        self.entered, self.lazy, self.exact = self.p.clone(), LAZY, False
        self._forget()

    def _forget(self) -> None:
        torch, d, device = self.torch, self.n_coef, self.p.device
        self.last = torch.zeros(self.rows.n_rows, dtype=torch.float32, device=device)
        self.hessian = torch.zeros((d, d), dtype=torch.float64, device=device)
        self.mean_sum = torch.zeros(d, dtype=torch.float64, device=device)
        self.mass, self.age, self.peak = 0.0, 0, self.mean_sum.clone()

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""
        self.lazy = 0.0
        self._forget()

    def refine(self) -> bool:
        """Multiply in float64 from now on; return whether that is news."""
        news = self.rows.tensor.dtype != self.torch.float64 and not self.exact
        self.exact, self.rounding = True, rounding_of(np.float64)
        return news

    def revert(self) -> None:
        """Take back the assignment that the last entering rule replaced."""
        self.p = self.entered.clone()

    @property
    def assignment(self) -> Array:
        """The assignment of the instances of positive bags, on the host."""
        return self.p.cpu().numpy()

    @assignment.setter
    def assignment(self, p: Array) -> None:
        self.p = self.rows.up(np.asarray(p, dtype=np.float64))

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> TorchSums:
        """Return the sums of all rows at a point; the rule changes the assignment first."""
        torch, rows = self.torch, self.rows
        self.passes += 1
        # 1) Scores, and the assignment that they make.
        z = rows.scores(rows.up(coef), exact=self.exact) + intercept
        if rule.enters:
            self.entered = self.p.clone()
        self.p, tally = device_step(
            rule, z[self.inside], self.segments, self.p, self.entered, self.bag_weight
        )
        # 2) Weights of the two labels, duals, risks.
        p, weight = decided(torch, self.p), self.weight[self.inside]
        up, down = torch.zeros_like(z), self.weight.clone()
        up[self.inside] = weight * p
        down[self.inside] = weight * (1 - p) if self.labels.rest_is_negative else 0.0
        above, below = (1 - z).clamp(min=0), (1 + z).clamp(min=0)
        beta = torch.stack([2 * up * above, 2 * down * below])
        risks = float(up @ above**2), float(down @ below**2)
        # 3) Curvatures that changed enroll anew.
        change = self._changed((2 * (up * (above > 0) + down * (below > 0))).float())
        sums = rows.sums(torch.cat([beta, change[None]]), exact=self.exact)
        self._enroll(change, sums[2])
        gradients, totals = sums[:2].cpu().numpy(), beta.sum(1).cpu().numpy()
        return TorchSums(
            self.hessian.clone(),
            self.mean_sum.clone().cpu().numpy(),  # whoever adds sums changes them
            self.mass,
            gradients[0],
            gradients[1],
            float(totals[0]),
            float(totals[1]),
            *risks,
            tally,
        )

    def _changed(self, curvature: Any) -> Any:
        """Return the changes of curvature that are large enough to count, and count them."""
        worn = bool((self.hessian.diagonal() < DIGITS_KEPT * self.peak).any())
        if self.age >= UPDATES_BEFORE_REFRESH or worn:
            self._forget()
        self.age += 1
        change = curvature - self.last
        moved = change.abs() > self.lazy * self.torch.maximum(curvature, self.last)
        self.last = self.torch.where(moved, curvature, self.last)
        return self.torch.where(moved, change, 0.0).double()

    def _enroll(self, change: Any, of_means: Any) -> None:
        for sign in (1, -1):
            part = (sign * change).clamp(min=0)
            self.hessian += sign * self.rows.gram(part, exact=self.lazy == 0)
        self.mean_sum += of_means
        self.mass += float(change.sum())
        self.peak = self.torch.maximum(self.peak, self.hessian.diagonal())
