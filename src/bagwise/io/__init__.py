"""Readers and writers of every form that multiple-instance data comes in."""

from bagwise.io.arff import read_arff, write_arff
from bagwise.io.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from bagwise.io.tables import read_csv, write_csv

__all__ = [
    "read_arff",
    "read_arrow",
    "read_csv",
    "read_parquet",
    "write_arff",
    "write_arrow",
    "write_csv",
    "write_parquet",
]
