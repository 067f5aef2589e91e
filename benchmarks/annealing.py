"""Time of annealing in units of one scikit-learn fit: CPU time on one thread, in the same run.

    BAGWISE_DATA=... python benchmarks/annealing.py [musk2] [path] [linear] [scaling]

musk2    peak memory, and time relative to the Gram matrix plus one Cholesky factorization
path     a whole exact AL-SVM path (rbf, float64, C = 1) relative to one SVC fit
linear   a path on 5e5 x 100 instances relative to one LinearSVC fit
scaling  time of a path on 1e4 to 1e6 instances (20 features), and its exponent
"""

from __future__ import annotations

import resource
import sys

import numpy as np
from scipy.linalg import cho_factor
from sklearn.svm import SVC, LinearSVC

from bagwise import AnnealedLabelSVC, Annealing, LabelSVC, WitnessSVC
from bagwise.datasets import fetch, make_gaussian_bags
from bagwise.kernels import Kernel, settle_gamma
from timing import cpu_seconds, one_thread


def instances(bags, y):
    return bags.X, np.repeat(y, bags.sizes)


def counted(model):
    history = model.history_
    total = {k: sum(r[k] for r in history) for k in ("alternations", "factorizations")}
    return f"{len(history)} temperatures, {total['alternations']} alternations, " + (
        f"{total['factorizations']} factorizations, gap {model.gap_[0]:.0e}"
    )


def path() -> None:
    for name in ("tiger", "elephant", "fox"):
        bags, y = fetch(name)
        gamma = AnnealedLabelSVC().fit(bags, y).kernel_.gamma
        unit = cpu_seconds(SVC(gamma=gamma).fit, *instances(bags, y))
        single = bags.replace(X=bags.X.astype(np.float32))
        for label, model, data in (
            ("AL-SVM", AnnealedLabelSVC(), bags),
            (
                "AL-SVM, one Newton step",
                AnnealedLabelSVC(annealing=Annealing(newton_steps=1)),
                bags,
            ),
            (
                "AL-SVM, float32, one Newton step",
                AnnealedLabelSVC(annealing=Annealing(newton_steps=1)),
                single,
            ),
        ):
            ratio = cpu_seconds(model.fit, data, y) / unit
            print(f"path {name} {label}: {ratio:.1f} x one SVC fit ({counted(model)})")
        for model in (LabelSVC(), WitnessSVC()):
            ratio = cpu_seconds(model.fit, bags, y) / unit
            print(f"path {name} {type(model).__name__}: {ratio:.1f} x one SVC fit")


def linear(n: int = 500_000, d: int = 100) -> None:
    bags, y = make_gaussian_bags(n_bags=n // 10, bag_size=10, n_features=d, random_state=0)
    unit = cpu_seconds(LinearSVC().fit, *instances(bags, y), repeats=1)
    model = AnnealedLabelSVC(kernel="linear")
    ratio = cpu_seconds(model.fit, bags, y, repeats=1) / unit
    print(f"linear {n} x {d}: {ratio:.1f} x one LinearSVC fit ({counted(model)})")


def scaling() -> None:
    sizes, times = (10_000, 100_000, 1_000_000), []
    for n in sizes:
        bags, y = make_gaussian_bags(n_bags=n // 10, bag_size=10, n_features=20, random_state=0)
        times.append(cpu_seconds(AnnealedLabelSVC(kernel="linear").fit, bags, y, repeats=1))
        print(f"scaling n = {n}: {times[-1]:.2f} s CPU")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"scaling slope: time ~ n^{slope:.2f}")


def musk2() -> None:
    bags, y = fetch("musk2")
    rows = np.ones(bags.n_instances)
    gamma = settle_gamma("median", bags.X, rows, np.random.RandomState(0))
    unit = cpu_seconds(Kernel("rbf", gamma).gram, bags.X, repeats=1)
    K = Kernel("rbf", gamma).gram(bags.X)
    K *= 2
    K.flat[:: len(K) + 1] += 1
    unit += cpu_seconds(cho_factor, K, True, True, False, repeats=1)
    del K
    model = AnnealedLabelSVC(gamma=gamma)
    ratio = cpu_seconds(model.fit, bags, y, repeats=1) / unit
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"musk2: {ratio:.1f} x (Gram + one Cholesky), peak memory {peak:.2f} GiB")
    print(f"musk2: {counted(model)}")


if __name__ == "__main__":
    parts = (musk2, path, linear, scaling)  # the first one's memory is its own
    wanted = sys.argv[1:] or [part.__name__ for part in parts]
    AnnealedLabelSVC().fit([[[0.0], [1.0]], [[0.0]]], [1, 0])  # compile
    with one_thread():
        for part in parts:
            if part.__name__ in wanted:
                part()
