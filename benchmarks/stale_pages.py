"""List pages of results that are older than the code they measure.

``python benchmarks/stale_pages.py`` prints for each page of ``docs/results`` the commit at which it
was measured, as the page says (of `bagwise bench`: as its packed records say), and how
many later commits changed its script, models or solvers. Pages that name no command or no commit
come first, those whose script was removed come last.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bagwise.io._records import read_records

RESULTS = Path("docs/results")
CODE = ["models", "solvers", "procedures", "assumptions", "estimators", "kernels", "designs"]


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def describe(page: Path) -> tuple[int, str]:
    """Return the rank of a page in the list, and its line."""
    text, name = page.read_text(), str(page.relative_to(RESULTS))
    if page.name == "tables.md":
        notes = (record.get("packed") for record in read_records(page.with_name("results.jsonl")))
        *_, note = filter(None, notes)
        text = f"{note['command']} at {note['commit']}"
    command = re.search(r"(?:benchmarks|tests/fuzz|docs)/[\w/]+\.py|bagwise bench [\w-]+", text)
    commit = re.search(r"\b(?:at|commit|at commit) `?([0-9a-f]{7,10})\b", text)
    if not command or not commit:
        return -(10**9), f"{name}: names no {'commit' if command else 'command'}"
    script = command[0] if command[0].endswith(".py") else "src/bagwise/bench"
    if not Path(script).exists():
        return 10**9, f"{name}: {commit[1]}, {script} was removed"
    code = [f"src/bagwise/{part}" for part in CODE]
    later = len(git("log", "--oneline", f"{commit[1]}..", "--", script, *code).splitlines())
    return -later, f"{name}: {commit[1]}, {later} later commits, {command[0]}"


if __name__ == "__main__":
    for _, line in sorted(map(describe, RESULTS.rglob("*.md")), key=lambda each: each[0]):
        print(line)
