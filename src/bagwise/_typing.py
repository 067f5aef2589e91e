"""Types that every module shares."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["Array"]

Array = NDArray[Any]  # of any dtype
