"""Where instances are when they are not an array in this process."""

from bagwise.rowstores import backend  # noqa: F401  (which registers itself)
from bagwise.rowstores.base import RowStore, here, place_rows

__all__ = ["RowStore", "here", "place_rows"]
