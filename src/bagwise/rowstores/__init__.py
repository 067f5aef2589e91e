"""Where instances are when they are not an array in this process."""

from bagwise.rowstores.base import RowStore
from bagwise.rowstores.places import placed

__all__ = ["RowStore", "placed"]
