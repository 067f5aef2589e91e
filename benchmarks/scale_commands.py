"""Memory of the command line on a mapped store of a million instances.

    python benchmarks/scale_commands.py [--rows 60000 1000000]

``bagwise fit``, ``report`` (five folds, because the model has seen the bags) and ``compare`` (two
minutes, two models in a worker process) on the planted bags of benchmarks/scale.py. Memory is the
peak of anonymous pages (RssAnon) of the command and its workers together, with Python's libraries
in each; the mapped file does not count. The store of 60,000 rows has 59 MB, that of a million 977:
folds of up to 64 MiB are copied, larger ones stay in the file. Lines go to
docs/results/scale_commands.jsonl, ``python benchmarks/scale.py --page`` puts them on the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import scale

LINES = scale.RESULTS / "scale_commands.jsonl"
COMMANDS = {
    "fit": "fit {data} --model SIL --param kernel=linear --param C=0.003 --out {folder}/m.bagwise",
    "report": "report {folder}/m.bagwise {data} --out {folder}/r.html",
    "compare": "compare {data} --models SIL,MI-SVM --jobs 1 --time 2m --out {folder}/compared",
}


def family(pid: int) -> list[int]:
    """Return a process and those that it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += family(int(child))
    return found


def peak_of(command: list[str]) -> tuple[float, float]:
    """Return the peak of a command's anonymous memory in megabytes, and its seconds."""
    began, most = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            pages = [Path(f"/proc/{pid}/status").read_text() for pid in family(process.pid)]
        except (FileNotFoundError, ProcessLookupError):  # one has just ended
            continue
        kinds = [line.split() for text in pages for line in text.splitlines() if "RssAnon" in line]
        most = max(most, sum(int(size) for _, size, _ in kinds) / 1024)
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}.")
    return most, time.monotonic() - began


def measure(n_rows: int) -> None:
    """Run every command on a store of so many rows."""
    with tempfile.TemporaryDirectory() as folder:
        data = scale.written(scale.STORES or Path(folder), n_rows)
        for what, text in COMMANDS.items():
            words = text.format(data=data, folder=folder).split()
            most, seconds = peak_of(["bagwise", *words])
            line = {"command": what, "rows": n_rows, "megabytes": most, "seconds": seconds}
            with LINES.open("a") as stream:
                stream.write(json.dumps(line) + "\n")


def section() -> list[str]:
    """Return the section of the page."""
    text = ["## The command line", "", *(__doc__ or "").splitlines()[2:], ""]
    text += ["| command | rows | s | MB |", "|---|---|---|---|"]
    for line in map(json.loads, LINES.read_text().splitlines()):
        numbers = f"{line['rows']:,} | {line['seconds']:.0f} | {line['megabytes']:.0f}"
        text.append(f"| `bagwise {line['command']}` | {numbers} |")
    return [*text, ""]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[60_000, 1_000_000])
    done = {json.loads(line)["rows"] for line in LINES.read_text().splitlines()}
    for rows in set(parser.parse_args().rows) - done:
        measure(rows)
