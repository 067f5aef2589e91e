"""Readers and writers for all common file formats of multiple-instance data."""

from bagwise.io.annotations import read_annotations
from bagwise.io.arff import read_arff, write_arff
from bagwise.io.bagfiles import read_folder, write_folder
from bagwise.io.c45 import read_c45, write_c45
from bagwise.io.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from bagwise.io.dispatch import open, read, write
from bagwise.io.errors import (
    CorruptFileError,
    DuplicateColumnError,
    FormatError,
    LabelError,
    MixedTypeError,
    ShuffledBagError,
    TruncatedFileError,
)
from bagwise.io.excel import read_excel, write_excel
from bagwise.io.geojson import write_geojson
from bagwise.io.h5ad import read_h5ad, write_h5ad
from bagwise.io.matlab import read_mat, write_mat
from bagwise.io.molecules import read_molecules
from bagwise.io.slides import read_slides, write_slides
from bagwise.io.store import read_bags, verify_store, write_bags
from bagwise.io.svmlight import read_svmlight, write_svmlight
from bagwise.io.tables import read_csv, write_csv

__all__ = [
    "CorruptFileError",
    "DuplicateColumnError",
    "FormatError",
    "LabelError",
    "MixedTypeError",
    "ShuffledBagError",
    "TruncatedFileError",
    "open",
    "read",
    "read_annotations",
    "read_arff",
    "read_arrow",
    "read_bags",
    "read_c45",
    "read_csv",
    "read_excel",
    "read_folder",
    "read_h5ad",
    "read_mat",
    "read_molecules",
    "read_parquet",
    "read_slides",
    "read_svmlight",
    "verify_store",
    "write",
    "write_arff",
    "write_arrow",
    "write_bags",
    "write_c45",
    "write_csv",
    "write_excel",
    "write_folder",
    "write_geojson",
    "write_h5ad",
    "write_mat",
    "write_parquet",
    "write_slides",
    "write_svmlight",
]
