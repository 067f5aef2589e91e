"""Excel workbooks (.xlsx) with one row per instance, through openpyxl."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Unpack

from bagwise.bags import Bags
from bagwise.io._assemble import lay_out
from bagwise.io._columns import Column, Columns, LabeledBags, reads, writes
from bagwise.io._files import name_damage, open_zip, require, unzip, writing
from bagwise.io._flatten import refuse_special
from bagwise.io.errors import FormatError
from bagwise.io.tables import Row, read_rows

_AS_THEY_ARE: dict[str, Any] = {  # a label "NA" is a text: only empty cells are missing
    **{"header": None, "dtype": object, "na_filter": False}
}
_SPECIAL = re.compile(r"^$|^=|[\x00-\x08\x0b\x0c\x0e-\x1f]")  # empty, a formula, not in XML


@reads(".xlsx", path="The .xlsx file.", sheet="The sheet, by name or position.")
def read_excel(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    sheet: str | int = 0,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read an Excel workbook whose first row contains names."""
    path = Path(path)
    (_, names), *table = _rows(path, sheet)
    layout = lay_out(path, names, bag=bag, label=label, **columns)
    return read_rows(path, lambda *_: iter(table), layout)


def _rows(path: Path, sheet: str | int) -> list[Row]:
    """Return the lines of a sheet as texts, which are read like those of a CSV."""
    require("openpyxl", "io")
    import pandas as pd

    with open_zip(path, "an Excel workbook") as archive:
        unzip(path, archive)  # sizes and checksums of all parts are compared
    with name_damage(path, "an Excel workbook with this sheet"):
        cells = pd.read_excel(path, sheet_name=sheet, engine="openpyxl", **_AS_THEY_ARE)
    if not len(cells):
        raise FormatError(path, "is empty. Expected names and one row per instance.")
    rows = cells.itertuples(index=False)
    return [(line, list(map(str, row))) for line, row in enumerate(rows, start=1)]


@writes(".xlsx", path="The .xlsx file to write.")
def write_excel(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write an Excel workbook with one row per instance."""
    require("openpyxl", "io")
    frame = bags.to_frame(y)
    texts = {name: c.to_numpy() for name, c in frame.items() if c.dtype.kind not in "iufb"}
    texts["column"] = frame.columns.to_numpy()
    refuse_special(Path(path), texts, _SPECIAL, "in Excel")
    content = io.BytesIO()  # a full disk must not meet zipfile, which complains when it is deleted
    frame.to_excel(content, index=False, engine="openpyxl")
    with writing(Path(path)) as file:
        file.write(content.getbuffer())
