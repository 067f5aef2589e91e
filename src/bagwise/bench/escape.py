"""Names that come from files, made harmless in Markdown and spreadsheets."""

from __future__ import annotations

import re
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FORMULA = ("=", "+", "-", "@")  # how a cell begins that spreadsheets compute
_MARKDOWN = re.compile(r"([\\|*`\[\]<>#~$]|(?<!\w)_|_(?!\w))")  # within a word, _ is plain


def one_line(text: str) -> str:
    """Return a text without line breaks and other control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def for_markdown(text: str) -> str:
    r"""Return a text that Markdown prints as it is, in a cell of a table too.

    Examples
    --------
    >>> print(for_markdown("a|b\n# c"))
    a\|b \# c
    """
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def for_spreadsheet(cell: Any) -> Any:
    """Return a cell of a CSV file that no spreadsheet takes for a formula.

    A text that begins like a formula gets an apostrophe, unless it is a number. Control characters
    become visible. What is not text stays as it is.

    Examples
    --------
    >>> [for_spreadsheet(cell) for cell in ("=1+1", "-3.5", -3.5, "slide 7", "a\\x00b")]
    ["'=1+1", '-3.5', -3.5, 'slide 7', 'a\\\\x00b']
    """
    if not isinstance(cell, str):
        return cell
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", cell)
    from bagwise.io.tables import is_number  # which bagwise --help does not need

    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not is_number(text) else text
