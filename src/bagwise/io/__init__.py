"""Readers and writers of every form that multiple-instance data comes in."""

from bagwise.io.tables import read_csv, write_csv

__all__ = ["read_csv", "write_csv"]
