"""Excel workbooks (.xlsx) with one row per instance, through openpyxl."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.bags.ids import factorize, first_missing
from bagwise.errors import Message
from bagwise.io._assemble import (
    Coded,
    Column,
    LabeledBags,
    assemble,
    by_role,
    lay_out,
    reads,
    round_trip,
    writes,
)
from bagwise.io._atomic import writing
from bagwise.io._claims import ZIP_ERRORS, unzipped
from bagwise.io._flatten import checked_labels, refuse_special
from bagwise.io._source import require
from bagwise.io._tabletext import ENCODE, MISSING
from bagwise.io.errors import CorruptFileError, FormatError, MixedTypeError, missing_value

_CODED = ("bag", "label", "groups")
_AS_THEY_ARE: dict[str, Any] = {  # a label "NA" is a text: only empty cells are missing
    **{"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
}
_SPECIAL = re.compile(r"^$|^=|[\x00-\x08\x0b\x0c\x0e-\x1f]")  # empty, a formula, not in XML
# What openpyxl raises for archives that are something else.
_NOT_A_WORKBOOK = (
    ValueError,
    KeyError,
    SyntaxError,
    TypeError,
    AttributeError,
    IndexError,
    OSError,
)


@round_trip(".xlsx")
@reads(path="The .xlsx file.", sheet="The sheet, by name or position.")
def read_excel(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    sheet: str | int = 0,
    instance_labels: Column | None = None,
    groups: Column | None = None,
    priors: Column | None = None,
    instance_ids: Column | None = None,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
) -> LabeledBags:
    """Read an Excel workbook whose first row contains names."""
    path = Path(path)
    frame = _frame(path, sheet)
    named = by_role(bag, label, instance_labels, groups, priors, instance_ids)
    layout = lay_out(path, list(map(str, frame.columns)), named, features, drop=drop)
    if not len(frame):
        raise FormatError(path, "holds no rows. Expected one row per instance.")
    X = np.column_stack([_numbers(path, frame, j) for j in layout.features])
    columns = {key: _column(path, frame, key, j) for key, j in layout.keys.items()}
    return assemble(path, X, columns, layout.feature_names, lambda row: row + 2, regroup=regroup)


def _frame(path: Path, sheet: str | int) -> Any:
    """Return a sheet with the names of its first row, repeated ones as they are."""
    require("openpyxl", "io")
    import pandas as pd

    _refuse_damage(path)
    try:
        cells = pd.read_excel(path, sheet_name=sheet, engine="openpyxl", **_AS_THEY_ARE)
    except _NOT_A_WORKBOOK as error:
        problem = f"has no such sheet, or is not an Excel workbook ({error})."
        raise CorruptFileError(path, problem) from error
    if not len(cells):
        raise FormatError(path, "is empty. Expected names and one row per instance.")
    return cells[1:].infer_objects().set_axis(list(map(str, cells.iloc[0])), axis=1)


def _refuse_damage(path: Path) -> None:
    """Read all parts of the archive: their sizes and checksums are compared."""
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                unzipped(path, archive, entry)
    except (FormatError, FileNotFoundError):
        raise
    except ZIP_ERRORS as error:
        raise CorruptFileError(path, f"is not an Excel workbook ({error}).") from error


def _numbers(path: Path, frame: Any, j: int) -> Any:
    values = frame.iloc[:, j]
    if values.dtype.kind in "iufb":
        return values.to_numpy(dtype=np.float64)
    numbers = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        if isinstance(value, str) and value.strip() in MISSING:
            value = np.nan
        if isinstance(value, bool | int | float):
            numbers[row] = value
        else:
            problem = Message(f"{value!r} is not a number. ", *ENCODE)
            raise MixedTypeError(path, problem, row + 2, str(frame.columns[j]))
    return numbers


def _column(path: Path, frame: Any, key: str, j: int) -> Any:
    values = frame.iloc[:, j].to_numpy()
    missing = first_missing(values)
    if missing is not None:
        raise missing_value(path, key, missing + 2)
    if key in _CODED:
        return Coded(*factorize(values))
    return values if values.dtype.kind != "O" else np.array(values.tolist())


@writes(path="The .xlsx file to write.")
def write_excel(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write an Excel workbook with one row per instance.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> path = getfixture("tmp_path") / "bags.xlsx"
    >>> io.write_excel(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]))
    >>> io.read_excel(path)[0].ids
    array(['a', 'b'], dtype='<U1')
    """
    require("openpyxl", "io")
    frame = bags.to_frame(checked_labels(bags, y))
    texts = {name: c.to_numpy() for name, c in frame.items() if c.dtype.kind not in "iufb"}
    texts["column"] = frame.columns.to_numpy()
    refuse_special(Path(path), texts, _SPECIAL, "in Excel")
    content = io.BytesIO()  # a full disk must not meet zipfile, which complains when it is deleted
    frame.to_excel(content, index=False, engine="openpyxl")
    with writing(Path(path)) as file:
        file.write(content.getbuffer())
