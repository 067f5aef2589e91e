"""How long `bagwise compare` takes by default, and how many models it gets through.

    python benchmarks/compare_time.py [--page docs/results/compare_time.md]

Three tables are generated with `make_gaussian_bags` (seed 0, shift 3) and written as CSV files: a
wide one of 58 bags, 2,000 instances and 708 features, a long one of 548 bags, 10,232 instances and
38 features, and an uneven one of 150 bags, 33,532 instances and 40 features whose spreads go from
1e-3 to 1e6. The command line reads and compares the first two with its defaults and two worker
processes; nothing is given but the file. Wall seconds include the start of Python, reading, and the
table. CPU seconds are those of all processes: on a busy computer less CPU time is had within the
same limit, and fewer models finish. The uneven table is compared in one process (`--uneven 1`) by a
limit of 60 seconds that counts CPU time, half of what two idle cores have in a minute; its overhead
is the CPU time beside that of folds: smaller fits that tell what a model would need, and tables.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.datasets import make_gaussian_bags
from bagwise.io import read, write
from bagwise.model_selection import compare, runner
from options import options
from timing import one_thread

# Bags, instances, features.
TABLES = {"wide": (58, 2000, 708), "long": (548, 10232, 38)}
UNEVEN = (150, 33532, 40)


def generate(path: Path, n_bags: int, n_instances: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    sizes = 1 + rng.multinomial(n_instances - n_bags, np.full(n_bags, 1 / n_bags))
    bags, y = make_gaussian_bags(n_bags, n_features, bag_size=sizes, shift=3.0, random_state=0)
    assert (len(bags), bags.n_instances, bags.n_features) == (n_bags, n_instances, n_features)
    if path.stem == "uneven":
        bags = bags.replace(X=bags.X * 10.0 ** rng.permutation(np.linspace(-3, 6, n_features)))
    write(path, bags, y)


def timed(path: Path) -> tuple[float, float, dict]:
    """Return wall and CPU seconds, and what was printed."""
    command = [sys.executable, "-m", "bagwise", "compare", str(path), "--jobs", "2", "--json"]
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    wall, now = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return wall, cpu, json.loads(run.stdout)


def count_cpu() -> str:
    """Compare the uneven table in this process, by a clock of CPU seconds; return the line."""
    time.monotonic = time.perf_counter = time.process_time
    one_thread()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "uneven.csv"
        generate(path, *UNEVEN)
        bags, y = read(path)
    run_cell, stopped, began = runner._run_cell, [0.0], time.process_time()

    def count_stopped(*cell: Any) -> Any:
        before = time.process_time()
        ended = run_cell(*cell)
        stopped[0] += (time.process_time() - before) * (ended[1] is None)
        return ended

    runner._run_cell = count_stopped
    found = compare(bags, y, time_limit=60, n_jobs=1)
    spent, fits = time.process_time() - began, sum(r["seconds"] for r in found.records)
    rows = ", ".join(f"{n} ({r.seconds:.2g})" for n, r in found.results.items())
    return (
        f"Uneven: {len(found.results)} rows after {spent:.0f} CPU s, of which judged folds took "
        f"{fits:.1f} and folds that the limit stopped {stopped[0]:.1f}: an overhead of "
        f"{spent / (fits + stopped[0]) - 1:.0%}. CPU seconds per outer fold: {rows}."
    )


def main() -> None:
    args = options(__doc__, page=Path, uneven=bool)
    if args.uneven:
        print(count_cpu())
        return
    lines = [
        "| table | bags | instances | features | wall s | CPU s | models | tied with the best "
        "| load of the computer |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    details = []
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in TABLES.items():
            path = Path(folder) / f"{name}.csv"
            generate(path, *shape)
            wall, cpu, found = timed(path)
            done = [row for row in found["models"] if not row["failure"]]
            size = " | ".join(f"{number:,}" for number in shape)
            load = f"{os.getloadavg()[1]:.1f} on {os.cpu_count()} cores"
            lines.append(
                f"| {name} | {size} | {wall:.0f} | {cpu:.0f} "
                f"| {len(done)} of {len(found['models']) + len(found['unfinished'])} "
                f"| {len(found['groups'][0])} | {load} |"
            )
            rows = ", ".join(
                f"{r['model']} {100 * r['auc']:.1f} ({r['seconds']:.2g})" for r in done
            )
            details.append(f"- {name}, AUC in % (CPU seconds per outer fold): {rows}.")
            print(lines[-1], details[-1], sep="\n", flush=True)
    if args.page:
        head = ["# A default comparison in under three minutes", "", __doc__.strip(), ""]
        args.page.write_text("\n".join([*head, *lines, "", *details, ""]))


if __name__ == "__main__":
    main()
