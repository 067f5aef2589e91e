"""Rows on a device of PyTorch: a GPU, or the CPU where a test wants to know."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.rowstores.base import RowStore

_BLOCK_BYTES = 1 << 28  # 256 MiB cross to the device at a time


def import_torch() -> Any:
    """Return PyTorch, or raise an error that says how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("Rows on a device need PyTorch: pip install 'bagwise[torch]'.") from error
    return torch


class DeviceRows(RowStore):
    """Rows as a tensor; bfloat16 becomes float32 where it leaves the device."""

    def __init__(self, tensor: Any, is_finite: bool = False) -> None:
        torch = import_torch()
        self.tensor, self.shape, self.is_finite = tensor, tuple(tensor.shape), is_finite
        kinds = {torch.float16: np.float16, torch.float64: np.float64}
        self.dtype = np.dtype(kinds.get(tensor.dtype, np.float32))

    @classmethod
    def of(cls, X: Array, device: str) -> DeviceRows:
        """Copy rows to a device in blocks, and look whether all are finite there."""
        torch = import_torch()
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise RuntimeError(
                f"PyTorch {torch.__version__} sees no GPU: install a build with CUDA on a machine "
                'with a GPU, or leave the bags where they are. bags.to("cpu") brings them back.'
            )
        kind = {np.float16: torch.float16, np.float64: torch.float64}
        dtype = kind.get(X.dtype.type, torch.float32)
        tensor = torch.empty(X.shape, dtype=dtype, device=device)
        step = max(1, _BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize))
        finite = True
        for i in range(0, len(X), step):
            block = torch.as_tensor(np.array(X[i : i + step]))  # memory maps are read-only
            tensor[i : i + step] = block.to(device)
            finite &= bool(torch.isfinite(tensor[i : i + step].sum(dtype=torch.float64)))
        return cls(tensor, finite)

    def __getitem__(self, rows: Any) -> DeviceRows:
        if isinstance(rows, slice) and (rows.step or 1) == 1:
            return DeviceRows(self.tensor[rows], self.is_finite)
        numbers = np.arange(len(self))[rows]
        index = import_torch().as_tensor(numbers, device=self.tensor.device)
        return DeviceRows(self.tensor[index], self.is_finite)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        torch = import_torch()
        tensor = self.tensor.float() if self.tensor.dtype == torch.bfloat16 else self.tensor
        rows = tensor.cpu().numpy()
        return rows if dtype is None else rows.astype(dtype, copy=False)
