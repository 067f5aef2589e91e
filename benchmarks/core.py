"""Time of alternation in units of one scikit-learn fit: CPU time on one thread, in the same run.

    BAGWISE_DATA=... python benchmarks/core.py

Prints the time of whole WitnessSVC and LabelSVC fits on elephant and tiger (C = 1, the same gamma)
in units of one SVC (rbf) or LinearSVC fit; the time of the segment maximum over 1e7 values in units
of np.maximum.reduceat; and the peak memory of a WitnessSVC fit on 1e5 x 2e4 sparse instances.
"""

from __future__ import annotations

import resource
import warnings

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from bagwise import Bags, LabelSVC, WitnessSVC
from bagwise.bags.segments import segment_max
from bagwise.datasets import fetch
from timing import cpu_seconds, one_thread

console = Console()


def against_scikit_learn() -> None:
    table = Table("data", "fit", "kernel", "x one scikit-learn fit", "allowed", "gap")
    for name in ("elephant", "tiger"):
        bags, y = fetch(name)
        labels = np.repeat(y, bags.sizes)
        gamma = WitnessSVC().fit(bags, y).kernel_.gamma
        unit = {
            "rbf": cpu_seconds(SVC(gamma=gamma).fit, bags.X, labels),
            "linear": cpu_seconds(LinearSVC().fit, bags.X, labels),
        }
        for kind, limit in ((WitnessSVC, 8), (LabelSVC, 12)):
            for kernel in ("rbf", "linear"):
                model = kind(kernel=kernel, gamma=gamma)
                ratio = cpu_seconds(model.fit, bags, y) / unit[kernel]
                allowed = str(limit if kernel == "rbf" else 8)
                table.add_row(
                    name, kind.__name__, kernel, f"{ratio:.2f}", allowed, f"{model.gap_[0]:.1e}"
                )
    console.print(table)


def segment_maximum(n: int = 10_000_000, size: int = 10) -> None:
    values = np.random.RandomState(0).rand(n)
    offsets = np.arange(0, n + 1, size)
    ours = cpu_seconds(segment_max, values, offsets)
    numpy = cpu_seconds(np.maximum.reduceat, values, offsets[:-1])
    console.print(f"segment max over {n:.0e} values: {ours / numpy:.2f} x np.maximum.reduceat")


def sparse_memory(n: int = 100_000, d: int = 20_000, density: float = 0.002) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=density, format="csr", rng=rng)
    offsets = np.arange(0, n + 1, 10)
    y = np.arange(len(offsets) - 1) % 2
    witness = np.repeat(y, 10) * (np.arange(n) % 10 == 3)
    X = sp.csr_array(X + sp.csr_array((1.0 * witness, (np.arange(n), witness * 7)), shape=(n, d)))
    bags = Bags(X, offsets)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = WitnessSVC(kernel="linear").fit(bags, y)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stored = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
    console.print(
        f"WitnessSVC(linear) on {n} x {d} sparse instances ({stored:.0f} MiB stored, "
        f"{n * d * 8 / 2**20:.0f} MiB dense): peak memory grew by {(after - before) / 2**10:.0f} "
        f"MiB; {model.n_iter_} outer iterations, gap {model.gap_[0]:.1e}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC's, at its own limit
    with one_thread():
        against_scikit_learn()
        segment_maximum()
        sparse_memory()
