"""Peak memory of reading a long CSV and of training on a memory-mapped ``.bags`` folder.

    python benchmarks/memory.py csv --megabytes 1000
    python benchmarks/memory.py train --megabytes 200
    python benchmarks/memory.py all --megabytes 50        # a quick look

Every measurement runs in a fresh process. Anonymous memory is counted, that is memory of the
process alone: pages of a mapped file, which the system may drop at any time, do not count. Beside
the data, training needs a few dozen numbers per instance and blocks of 16 MB. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

MEGABYTE = 1 << 20
N_FEATURES = 64
ROWS_PER_BAG = 100


def anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no RssAnon: this benchmark needs Linux.")


class PeakMemory:
    """Watches the anonymous memory of this process, from a thread."""

    def __enter__(self) -> PeakMemory:
        self.start = self.peak = anonymous_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._clock = time.perf_counter()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.peak = max(self.peak, anonymous_bytes())

    def __exit__(self, *exception: object) -> None:
        self.seconds = time.perf_counter() - self._clock
        self.peak = max(self.peak, anonymous_bytes())
        self._done.set()
        self._thread.join()


def write_csv_of_size(path: Path, megabytes: int) -> None:
    """Write a long CSV quickly: the features of one block are repeated under new bag ids."""
    rng = np.random.default_rng(0)
    lines = [
        ",".join(map(repr, row)) + "\n" for row in rng.normal(size=(5000, N_FEATURES)).tolist()
    ]
    written, row = 0, 0
    with path.open("w") as file:
        written += file.write("bag,label," + ",".join(f"f{j}" for j in range(N_FEATURES)) + "\n")
        while written < megabytes * MEGABYTE:
            bag = row // ROWS_PER_BAG
            written += file.write(f"slide {bag},{bag % 2}," + lines[row % len(lines)])
            row += 1


def read_csv_peak(path: Path, engine: str) -> dict[str, object]:
    from bagwise.io import read_csv

    if engine == "pyarrow":
        import pyarrow.csv  # noqa: F401 - its import is not what is measured
    with PeakMemory() as memory:
        bags, _ = read_csv(path, engine=engine, progress=False)
    array = bags.X.nbytes
    return {
        "engine": engine,
        "file_mb": path.stat().st_size / MEGABYTE,
        "array_mb": array / MEGABYTE,
        "peak_mb": (memory.peak - memory.start) / MEGABYTE,
        "peak_over_array": (memory.peak - memory.start) / array,
        "seconds": memory.seconds,
    }


def write_bags_of_size(path: Path, megabytes: int, dtype: str, n_features: int) -> None:
    from bagwise.datasets import make_gaussian_bags
    from bagwise.io import write_bags

    n_rows = megabytes * MEGABYTE // (n_features * np.dtype(dtype).itemsize)
    n_bags = max(2, n_rows // ROWS_PER_BAG)
    bags, y = make_gaussian_bags(n_bags, n_features, bag_size=ROWS_PER_BAG, dtype=dtype)
    write_bags(path, bags, y)


def train_peak(path: Path, name: str) -> dict[str, object]:
    import bagwise
    from bagwise.datasets import make_gaussian_bags
    from bagwise.io import read_bags

    make = getattr(bagwise, name)
    small, labels = make_gaussian_bags(20)
    make(kernel="linear").fit(small, labels)  # compiles what is compiled on first use
    with PeakMemory() as opening:
        bags, y = read_bags(path)
    with PeakMemory() as training:
        model = make(kernel="linear").fit(bags, y)
    size = bags.X.nbytes
    return {
        "model": name,
        "dtype": str(bags.dtype),
        "folder_mb": size / MEGABYTE,
        "open_mb": (opening.peak - opening.start) / MEGABYTE,
        "train_mb": (training.peak - training.start) / MEGABYTE,
        "train_over_folder": (training.peak - training.start) / size,
        "seconds": training.seconds,
        "accuracy": float(model.score(bags, y)),
    }


def in_fresh_process(*arguments: str) -> dict[str, object]:
    command = [sys.executable, __file__, "--measure", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def show(result: dict[str, object]) -> None:
    shown = (f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in result.items())
    print("  ".join(shown), flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        what, path, option = sys.argv[2:]
        measure = {"csv": read_csv_peak, "train": train_peak}[what]
        print(json.dumps(measure(Path(path), option)))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["csv", "train", "all"])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--features", type=int, default=N_FEATURES, help="of the .bags folder")
    parser.add_argument("--models", nargs="*", default=["InstanceSVC", "WitnessSVC"])
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.what in ("csv", "all"):
            path = Path(folder) / "long.csv"
            write_csv_of_size(path, options.megabytes)
            for engine in ("pyarrow", "csv"):
                show(in_fresh_process("csv", str(path), engine))
            path.unlink()
        if options.what in ("train", "all"):
            for dtype in options.dtypes:
                path = Path(folder) / f"{dtype}.bags"
                write_bags_of_size(path, options.megabytes, dtype, options.features)
                for name in options.models:
                    show(in_fresh_process("train", str(path), name))


if __name__ == "__main__":
    main()
