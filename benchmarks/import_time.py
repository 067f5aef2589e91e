"""How long `import bagwise` takes, as a ratio to `import sklearn.svm`.

Every import runs in a fresh interpreter. The two alternate, so that a busy computer slows both, and
CPU time is printed beside wall time for the same reason.

    python benchmarks/import_time.py [repeats]
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median

MODULES = ("sklearn.svm", "bagwise")
ALLOWED = 1.2


def import_seconds(module: str) -> tuple[float, float]:
    """Return wall and CPU seconds of one import in a fresh interpreter."""
    code = (
        "from time import perf_counter as wall, process_time as cpu; a, b = wall(), cpu(); "
        f"import {module}; print(wall() - a, cpu() - b)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wall, cpu = map(float, run.stdout.split())
    return wall, cpu


def main(repeats: int = 9) -> None:
    for module in MODULES:
        import_seconds(module)  # fills the file cache
    rounds = [[import_seconds(module) for module in MODULES] for _ in range(repeats)]
    for clock, name in enumerate(("wall", "CPU")):
        seconds = [median(times[i][clock] for times in rounds) for i in range(len(MODULES))]
        ratio = median(times[1][clock] / times[0][clock] for times in rounds)
        told = ", ".join(f"{m} {s:.3f} s" for m, s in zip(MODULES, seconds, strict=True))
        print(f"{name}: {told}, median ratio {ratio:.2f} (allowed {ALLOWED}), {repeats} rounds")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
