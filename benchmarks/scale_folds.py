"""Several fits that share their passes over a mapped store, against one after the other.

    python benchmarks/scale_folds.py [--rows 1000000] [--models ...]

The planted bags of benchmarks/scale.py: three values of C (a third of the usual one, the usual one
and three times that) by three folds with `bagwise.model_selection.search`, nine fits and their
held-out scores. Whenever a third of the file is in memory (looked at every 5 ms), it leaves the
page cache, as if memory ended there. The folds of a grid point share their passes. Bytes that came
from the disk (``read_bytes``) are counted in files, CPU seconds are those of all threads, memory is
the largest anonymous memory (RssAnon) above that before the search. Lines go to
docs/results/scale_folds.jsonl.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import scale

LINES = scale.RESULTS / "scale_folds.jsonl"
ALONE = ", one after the other"
MODELS = tuple(f"{model}{how}" for model in ("SIL", "AW-SVM") for how in (ALONE, ""))
SHARE = 3  # the file is so many times larger than what of it stays in memory


class Watched(scale.Cold):
    """A file of which a part stays in memory."""

    def begin(self) -> None:
        """Evict it whenever more is there."""
        self.running, self.before = True, scale.anonymous("RssFile")
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        """Look now and then."""
        while self.running:
            if scale.anonymous("RssFile") - self.before > self.n_bytes / SHARE / 2**20:
                self.evict()
            time.sleep(0.005)


def one(path: Path, name: str) -> dict[str, Any]:
    """Search over grid points and folds, and return what it took."""
    import bagwise
    from bagwise.estimators.rows import RowsClassifier
    from bagwise.io import read
    from bagwise.model_selection import search

    bags, y = read(path)
    model = scale.model_of(name.removesuffix(ALONE), bags.n_instances)
    small = bagwise.Bags(scale.np.array(bags.X[: 60 * scale.BAG]), bags.offsets[:61])
    model.fit(small, y[:60])
    points = [{"C": share * model.C} for share in (1 / 3, 1.0, 3.0)]
    rows = Watched(bags.X)
    if name.endswith(ALONE):
        RowsClassifier._fit_folds = lambda *_: None  # type: ignore[method-assign]
    rows.evict()
    rows.begin()
    before, peak = scale.anonymous(), scale.Peak()
    peak.start()
    disk, cpu, began = scale.from_disk(), time.process_time(), time.perf_counter()
    choices = search(model, points, bags, y, metric="auc")
    rows.running = peak.running = False
    return {
        "rows": bags.n_instances,
        "features": bags.n_features,
        "model": name,
        "data": rows.n_bytes / 2**20,
        "disk passes": (scale.from_disk() - disk) / rows.n_bytes,
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "megabytes": peak.most - before,
        "aucs": [choice.value for choice in choices],
    }


if __name__ == "__main__":
    scale.each_alone(__doc__, MODELS, one, LINES, __file__)
