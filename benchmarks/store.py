"""What the checks of a ``.bags`` folder cost: CPU time of a first pass with and without them.

    python benchmarks/store.py --megabytes 500

A pass is what every fit begins with: it looks for NaN in all instances and multiplies them by two
vectors (scores, then a gradient). The bare pass maps the same files with NumPy and does this; the
checked one opens the folder with `read_bags`, which verifies checksums and indices as it reads. The
second pass over bags that are verified is compared with a bare one over arrays that are mapped.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise import Bags, check_bags, io

ROWS_PER_BAG = 100
REPEATS = 9  # the fastest counts: CPU time grows where others use the memory
BLOCK = 1 << 22  # values at a time, as in check_finite
# Name: data type, features, fraction of entries that are not zero.
LAYOUTS = {
    "dense float64": ("f8", 200, 1.0),
    "dense float32": ("f4", 512, 1.0),
    "dense float16": ("f2", 512, 1.0),
    "sparse float64": ("f8", 2000, 0.05),
    "sparse float32": ("f4", 50_000, 0.002),
}


def write(path: Path, megabytes: int, dtype: str, n_features: int, density: float) -> None:
    rng = np.random.default_rng(0)
    width = np.dtype(dtype).itemsize + (4 if density < 1 else 0)
    n_rows = max(1000, int(megabytes * 2**20 / (width * n_features * density)))
    if density < 1:
        per_row = round(density * n_features)
        # One column out of each stretch of the row: sorted without sorting.
        start = np.arange(per_row) * (n_features // per_row)
        columns = start + rng.integers(0, n_features // per_row, (n_rows, per_row))
        values = rng.normal(size=n_rows * per_row).astype(dtype)
        pointers = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
        X: Any = sp.csr_array((values, columns.astype(np.int32).ravel(), pointers))
    else:
        X = rng.random((n_rows, n_features), dtype=np.float32).astype(dtype)
    offsets = np.append(np.arange(0, n_rows, ROWS_PER_BAG), n_rows)
    io.write_bags(path, Bags(X, offsets))


def mapped(path: Path) -> Any:
    """Return the instances as NumPy maps them."""
    names = ("X",) if (path / "X.npy").exists() else ("X_data", "X_indices", "X_indptr")
    parts = [np.load(path / f"{name}.npy", mmap_mode="r") for name in names]
    if len(parts) == 1:
        return parts[0]
    rows = sp.csr_array((len(parts[2]) - 1, N_FEATURES[path.stem]), dtype=parts[0].dtype)
    rows.data, rows.indices, rows.indptr = parts
    return rows


N_FEATURES = {name: n for name, (_, n, _) in LAYOUTS.items()}


def products(X: Any) -> None:
    """Compute scores and a gradient, in blocks: half precision is converted."""
    step = max(1, BLOCK // X.shape[1])
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        block = block.astype(np.float32) if block.dtype == np.float16 else block
        block.T @ (block @ np.ones(X.shape[1], block.dtype))


def bare_pass(path: Path) -> Any:
    X = mapped(path)
    values = X.data if sp.issparse(X) else X.reshape(-1)
    for start in range(0, len(values), BLOCK):
        assert np.isfinite(values[start : start + BLOCK].sum(dtype=np.float64))
    products(X)
    return X


def checked_pass(path: Path) -> Any:
    bags = check_bags(io.read_bags(path)[0])
    products(bags.X)
    return bags


def seconds(job: Callable[[Any], Any], argument: Any) -> float:
    gc.collect()
    start = time.process_time()
    kept = job(argument)
    spent = time.process_time() - start
    del kept
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    megabytes = parser.parse_args().megabytes
    print("| layout | bare first pass, s | checks | second pass |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, layout in LAYOUTS.items():
            path = Path(folder, f"{name}.bags")
            write(path, megabytes, *layout)
            jobs = ((bare_pass, path), (checked_pass, path))
            bare, checked = np.min([[seconds(*job) for job in jobs] for _ in range(REPEATS)], 0)
            bags, X = checked_pass(path), bare_pass(path)
            again = ((products, bags.X), (products, X))
            ours, plain = np.min([[seconds(*job) for job in again] for _ in range(REPEATS)], 0)
            print(f"| {name} | {bare:.3f} | {checked / bare - 1:+.0%} | {ours / plain - 1:+.0%} |")


if __name__ == "__main__":
    main()
