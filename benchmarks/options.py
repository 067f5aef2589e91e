"""What benchmarks share: options from default values, the commit for pages, rows that are kept."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed


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


def kept(path: Path, cells: Iterable[Any], work: Callable[..., str], n_jobs: int) -> Iterator[str]:
    """Yield a line per cell, in order; lines that the file holds already are not made again."""
    wanted = [list(cell) for cell in cells]
    lines = path.read_text().splitlines() if path.exists() else []
    done = {json.dumps(cell): line for cell, line in map(json.loads, lines)}
    new = [cell for cell in wanted if json.dumps(cell) not in done]

    def made(cell: list[Any]) -> tuple[list[Any], str]:
        return cell, work(*cell)

    found = Parallel(n_jobs, return_as="generator_unordered")(delayed(made)(c) for c in new)
    with path.open("a") as stream:
        for cell, line in found:
            done[json.dumps(cell)] = line
            stream.write(json.dumps([cell, line]) + "\n")
            stream.flush()
    yield from (done[json.dumps(cell)] for cell in wanted)
