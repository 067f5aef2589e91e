"""List pages of results that are older than the code they measure.

``python benchmarks/stale_pages.py`` prints for each page of ``docs/results`` the commit at which it
was measured, as the page says (of `bagwise bench`: as its packed records say), and how
many later commits changed its script, models or solvers. Pages that name no command, no commit or
one that cannot be looked up come first, those whose script was removed come last.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bagwise.io._records import read_records

RESULTS = Path("docs/results")
CODE = ["models", "solvers", "procedures", "assumptions", "estimators", "kernels", "designs"]


def count_commits(commit: str, paths: list[str]) -> int | None:
    """Return how many commits after this one changed the paths; None if it cannot be looked up."""
    command = ["git", "rev-list", "--count", f"{commit}..", "--", *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode else int(done.stdout)


def describe(page: Path) -> tuple[int, str]:
    """Return the rank of a page in the list, and its line."""
    text, name = page.read_text(), f"{page.parent.name}/{page.name}".removeprefix("results/")
    if page.name == "tables.md":
        notes = (record.get("packed") for record in read_records(page.with_name("results.jsonl")))
        *_, note = filter(None, notes)
        text = f"{note['command']} at {note['commit']}"
    command = re.search(r"(?:benchmarks|tests/fuzz|docs)/[\w/]+\.py|bagwise bench [\w-]+", text)
    commits = re.findall(r"\b(?:at|commit|at commit) `?([0-9a-f]{7,10})\b", text)
    if not command or not commits:
        return -(10**9), f"{name}: names no {'commit' if command else 'command'}"
    for commit in commits:
        if count_commits(commit, []) is None:
            return -(10**9), f"{name}: {commit} is no commit of this repository"
    script = command[0] if command[0].endswith(".py") else "src/bagwise/bench"
    if not Path(script).exists():
        return 10**9, f"{name}: {commits[0]}, {script} was removed"
    later = count_commits(commits[0], [script, *(f"src/bagwise/{part}" for part in CODE)]) or 0
    return -later, f"{name}: {commits[0]}, {later} later commits, {command[0]}"


if __name__ == "__main__":
    for _, line in sorted(map(describe, RESULTS.rglob("*.md")), key=lambda each: each[0]):
        print(line)
