"""What BLAS threads cost and gain on the blocks that fits multiply, and whether bits depend on it.

    python benchmarks/threads.py [--busy N]

A block has 16 MiB, as in `bagwise.designs.dense`. For every shape and number of threads: elapsed
time and CPU time relative to one thread, medians of several runs in one process, and whether all
results have the bits of one thread. ``--busy`` keeps N cores busy with other work meanwhile. The
table is printed; docs/results/threads.md holds the ones quoted in the documentation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cholesky, eigh
from threadpoolctl import threadpool_info, threadpool_limits

BLOCK = 1 << 24
RUNS = 7


def cases() -> dict[str, tuple[float, Callable[[], Any]]]:
    """Return operations by name: floating-point operations, and the work."""
    rng, made = np.random.default_rng(0), {}
    for width in (32, 256, 1024):
        for dtype in (np.float64, np.float32):
            rows = BLOCK // (width * np.dtype(dtype).itemsize)
            X = rng.normal(size=(rows, width)).astype(dtype)
            v, u = rng.normal(size=width).astype(dtype), rng.normal(size=rows).astype(dtype)
            shape = f"{rows:,} x {width} {np.dtype(dtype).name}"
            made[f"X'X, {shape}"] = rows * width**2, lambda X=X: X.T @ X
            made[f"X v, {shape}"] = 2 * rows * width, lambda X=X, v=v: X @ v
            made[f"X'u, {shape}"] = 2 * rows * width, lambda X=X, u=u: u @ X
    for size in (500, 2000):
        K = np.cov(rng.normal(size=(size, 2 * size))) + np.eye(size)
        W = rng.normal(size=(size, size))
        blocks = rng.normal(size=(BLOCK // (8 * size), size))
        made[f"Cholesky, {size}"] = size**3 / 3, lambda K=K: cholesky(K, lower=True)
        made[f"eigenvectors, {size}"] = 9 * size**3, lambda K=K: eigh(K)[0]
        made[f"block times W, {size}"] = 2 * len(blocks) * size**2, lambda b=blocks, W=W: b @ W
    return made


def measured(work: Callable[[], Any], threads: int) -> tuple[float, float, Any]:
    """Return elapsed and CPU seconds (medians), and the result."""
    with threadpool_limits(threads):
        result = work()
        elapsed, used = [], []
        for _ in range(RUNS):
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            elapsed.append(time.perf_counter() - wall)
            used.append(time.process_time() - cpu)
    return float(np.median(elapsed)), float(np.median(used)), result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=0, help="cores that other work keeps busy")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 4, 8, 16])
    arguments = parser.parse_args()
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(arguments.busy)]
    kinds = {
        f"{i['internal_api']} {i['version']}" for i in threadpool_info() if i["user_api"] == "blas"
    }
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores, {arguments.busy} of them busy, {', '.join(sorted(kinds))}\n")
    counts = [n for n in arguments.threads if n <= cores]
    print(
        "| operation | GFLOP | 1 thread, ms |",
        *(f" {n}: time, CPU, bits |" for n in counts),
        sep="",
    )
    print("|---|---|---|" + "---|" * len(counts))
    try:
        for name, (flops, work) in cases().items():
            wall, cpu, one = measured(work, 1)
            line = f"| {name} | {flops / 1e9:.2f} | {1000 * wall:.2f} |"
            for n in counts:
                elapsed, used, many = measured(work, n)
                same = "same" if np.array_equal(one, many) else "other"
                line += f" {elapsed / wall:.2f}, {used / max(cpu, 1e-9):.1f}, {same} |"
            print(line, flush=True)
    finally:
        for other in others:
            other.kill()


if __name__ == "__main__":
    main()
