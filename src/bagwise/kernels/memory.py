"""What fits into memory: matrices are refused by name and size before they are asked for."""

from __future__ import annotations

from bagwise.errors import Argument, Message, Parameter
from bagwise.rowstores.blocks import memory_limit

_SHARE = 0.8  # of the memory for one matrix: data and solver need some, too
_APPROXIMATE = (
    "Use ",
    Parameter("kernel_options__approx", "'nystroem'"),
    " (",
    Parameter("kernel_options__n_components", ""),
    " sets its precision) or ",
    Parameter("kernel", "'linear'"),
    ".",
)


def check_memory(n_rows: int, itemsize: int) -> None:
    """Raise an error if a Gram matrix does not fit into memory, and say what to do instead."""
    check_matrix("The Gram matrix", n_rows, n_rows, max(itemsize, 4), *_APPROXIMATE)


def check_matrix(
    what: str, n_rows: int, n_columns: int, itemsize: int, *remedy: str | Argument
) -> None:
    """Raise an error that names a matrix that does not fit into memory, its size and the remedy."""
    needed, limit = float(n_rows) * n_columns * itemsize, memory_limit()
    if needed > _SHARE * limit:
        size = f"{what} of {n_rows:,} x {n_columns:,} values needs {needed / 2**30:,.1f} GiB"
        here = f"of the {limit / 2**30:,.1f} GiB here one matrix may take {_SHARE:.0%}. "
        raise MemoryError(Message(f"{size}; {here}", *remedy))
