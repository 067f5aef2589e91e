"""Numba's compiler, with a cache on disk where there is a place for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """Compile a function; without a writable folder for the cache, compile it in every process.

    Numba looks for a folder when it decorates: beside the source, then in the user's home. Where
    both are read-only (a container, a shared installation) it raises RuntimeError.
    """

    def compiled(function: Any) -> Any:
        if cache:
            try:
                return numba.njit(cache=True, **options)(function)
            except RuntimeError as error:
                if "cannot cache" not in str(error):
                    raise
        return numba.njit(**options)(function)

    return compiled
