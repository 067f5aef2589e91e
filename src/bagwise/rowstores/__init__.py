"""Where instances are when they are not an array in this process."""

from bagwise.rowstores.base import RowStore, here, place_rows

__all__ = ["RowStore", "here", "place_rows"]
