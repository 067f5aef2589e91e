"""What benchmarks share: options from default values, and the commit for pages."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
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


def find_commit() -> str:
    """Return the short hash of the commit that is checked out in the benchmark's repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
