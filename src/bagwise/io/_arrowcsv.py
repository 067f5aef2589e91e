"""The pyarrow engine of `read_csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bagwise.io import _limits as limits
from bagwise.io._assemble import Layout
from bagwise.io._grow import GrowingRows, TextColumn
from bagwise.io._source import open_source
from bagwise.io._tabletext import MISSING, TableText


class Refused(Exception):
    """Pyarrow does not read the file; the csv engine decides."""


def parse_with_arrow(
    path: Path, text: TableText, layout: Layout, dtype: np.dtype, progress: bool | None
) -> tuple[Any, dict[str, TextColumn]]:
    """Read block by block into one growing matrix."""
    import pyarrow as pa

    rows = GrowingRows(path, len(layout.features), dtype)
    keys = {key: TextColumn() for key in layout.keys}
    with open_source(path, progress) as source:
        try:
            for batch in _open(source.stream, text, layout):
                room = rows.reserve(batch.num_rows, source.advance())
                for k, j in enumerate(layout.features):
                    room[:, k] = batch.column(str(j)).to_numpy(zero_copy_only=False)
                for key, j in layout.keys.items():
                    coded = batch.column(str(j)).dictionary_encode()
                    keys[key].extend_coded(coded.indices.to_numpy(), coded.dictionary.to_pylist())
        except pa.ArrowException as error:
            raise Refused from error
    return rows.finish(), keys


def _open(stream: Any, text: TableText, layout: Layout) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    names = [str(j) for j in range(len(text.names))]
    types = {str(j): pa.float64() for j in layout.features}
    types |= {str(j): pa.string() for j in layout.keys.values()}
    return csv.open_csv(
        stream,
        csv.ReadOptions(
            column_names=names,
            skip_rows=text.header_lines,
            block_size=limits.BLOCK_BYTES,
            use_threads=False,
        ),
        csv.ParseOptions(delimiter=text.delimiter, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(MISSING),
            strings_can_be_null=False,
            decimal_point=layout.decimal,
        ),
    )
