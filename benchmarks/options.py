"""Options of the benchmarks' command lines, from their default values."""

from __future__ import annotations

import argparse
from typing import Any


def options(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """Parse ``--name value`` for every default; a tuple takes several values, a type needs none."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in defaults.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(default, type):
            parser.add_argument(flag, type=default)
        elif isinstance(default, tuple):
            parser.add_argument(flag, type=type(default[0]), nargs="+", default=default)
        else:
            parser.add_argument(flag, type=type(default), default=default)
    return parser.parse_args()
