"""Fits to rows of files read them together, with the bits of fits one after the other."""

import os
import warnings

import numpy as np
import pytest

from bagwise import (
    AnnealedWitnessSVC,
    Annealing,
    InstanceSVC,
    MarkovNetworkClassifier,
    io,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import dense, swept
from bagwise.model_selection import compare, cross_validate_bags, search
from bagwise.rowstores import blocks, passes
from bagwise.rowstores.files import FileRows
from bagwise.rowstores.together import side_by_side

NETWORK = MarkovNetworkClassifier(alpha=1.0, init=["instances"], max_iter=2)
CS = [{"C": C} for C in (0.1, 1.0, 10.0)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Treat few rows as many."""
    for name in ("MANY_ROWS", "LARGE_SELECTION", "BYTES_PER_ROW", "MOST_SHARDS"):
        monkeypatch.setattr(blocks, name, 0)
    monkeypatch.setattr(blocks, "available_memory", lambda: 100.0)
    monkeypatch.setattr(swept, "_FEWEST_ROWS", 8)
    monkeypatch.setattr(blocks, "CACHE_BYTES", 1024)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1024)


@pytest.fixture
def taken(monkeypatch):
    """How many passes were taken together, time after time."""
    sizes, walk = [], passes._walk

    def counted(together):
        sizes.append(len(together))
        return walk(together)

    monkeypatch.setattr(passes, "_walk", counted)
    return sizes


def stored(folder, sizes=(5, 30), n_bags=36):
    rng = np.random.default_rng(0)
    sizes = rng.integers(*sizes, n_bags)
    bags, y = make_gaussian_bags(n_bags, 4, bag_size=sizes, shift=2.0, random_state=0)
    io.write(folder / "a.bags", bags.replace(X=bags.X.astype(np.float32)), y)
    return io.open(folder / "a.bags")


def alone(monkeypatch):
    """Let fits come one after the other from now on."""
    monkeypatch.setattr(blocks, "available_memory", lambda: 2.0**40)


FITS = {
    "search": lambda bags, y: search(InstanceSVC(kernel="linear"), CS, bags, y, metric="auc"),
    "folds": lambda bags, y: (
        cross_validate_bags(AnnealedWitnessSVC(kernel="linear"), bags, y, cv=3).folds
    ),
    "classes": lambda bags, y: (
        AnnealedWitnessSVC(kernel="linear").fit(bags, np.arange(36) % 3).coef_.tolist()
    ),
    "networks": lambda bags, y: cross_validate_bags(NETWORK, bags, y, cv=2).folds,
    "compare": lambda bags, y: [
        record["scores"]
        for record in compare(
            bags, y, {"SIL": InstanceSVC(kernel="linear")}, cv=2, inner_cv=2, n_repeats=1
        ).records
    ],
}


@pytest.mark.parametrize("name", FITS)
def test_bits_are_those_of_fits_one_after_the_other(tmp_path, taken, name, monkeypatch):
    bags, y = stored(tmp_path)
    together = FITS[name](bags, y)
    n_times, n_passes = len(taken), sum(taken)
    alone(monkeypatch)
    taken.clear()
    assert together == FITS[name](bags, y)
    assert sum(taken) == len(taken) == n_passes
    assert n_times < 0.7 * n_passes


class Cache:
    """Rows in memory, of which the longest unused ones leave; counts what comes from the file."""

    def __init__(self, size):
        self.size, self.kept, self.read = size, dict[int, None](), 0

    def use(self, rows):
        for row in rows.tolist():
            self.read += row not in self.kept
            self.kept.pop(row, None)
            self.kept[row] = None
            if len(self.kept) > self.size:
                del self.kept[next(iter(self.kept))]


@pytest.mark.parametrize("sizes", [(5, 30), (1, 4)], ids=["runs of rows", "single rows"])
def test_an_eighth_of_the_rows_in_memory_is_enough(tmp_path, taken, monkeypatch, sizes):
    bags, y = stored(tmp_path, sizes, 2000 // sizes[1])
    numbers = np.arange(bags.n_instances, dtype=np.float32)
    X = np.column_stack([numbers / len(numbers), bags.X[:, 1:]]).astype(np.float32)
    io.write(tmp_path / "b.bags", bags.replace(X=X), y)
    bags, y = io.open(tmp_path / "b.bags")
    cache, rows_of = Cache(len(X) // 8), dense.Dense._rows

    def read(self, key):
        rows = rows_of(self, key)
        if blocks.lies_in_files(self.X):
            cache.use(np.round(rows[:, 0] * len(X)).astype(int))
        return rows

    monkeypatch.setattr(dense.Dense, "_rows", read)
    contiguous = np.arange(len(y)) * 3 // len(y)  # folds that lie in other parts of the file
    bags = bags.replace(groups=contiguous)
    search(InstanceSVC(kernel="linear"), CS, bags, y)
    assert cache.read <= (len(taken) + 1) * len(X)
    shared, cache.read = cache.read, 0
    alone(monkeypatch)
    search(InstanceSVC(kernel="linear"), CS, bags, y)
    assert cache.read > 2 * shared


def test_warnings_stay_with_their_folds(tmp_path):
    bags, y = stored(tmp_path)
    model = AnnealedWitnessSVC(kernel="linear", annealing=Annealing(max_inner=1))
    result = cross_validate_bags(model, bags, y, cv=3)
    assert len(result.warned) == 3
    assert all("max_inner=1" in message for message in result.warned)
    filters = list(warnings.filters)
    cross_validate_bags(model, bags, y, cv=3)
    assert warnings.filters == filters


def test_memory_bounds_the_number_of_fits(tmp_path, taken, monkeypatch):
    bags, y = stored(tmp_path)
    search(InstanceSVC(kernel="linear"), CS, bags, y)
    assert max(taken) == 9  # three points, three folds
    taken.clear()
    monkeypatch.setattr(blocks, "BYTES_PER_ROW", 3)
    monkeypatch.setattr(blocks, "available_memory", lambda: 27.0 * bags.n_instances)
    assert blocks.n_side_by_side(bags.X) == 4
    search(InstanceSVC(kernel="linear"), CS, bags, y)
    assert max(taken) == 4
    assert blocks.n_side_by_side(np.array(bags.X)) == 0
    for available, width in ((0.0, 1), (2.0 * bags.X.nbytes, 0)):
        monkeypatch.setattr(blocks, "available_memory", lambda available=available: available)
        assert blocks.n_side_by_side(bags.X) == width


def test_several_fits_share_the_passes_of_a_process(tmp_path, taken):
    bags, _ = stored(tmp_path)
    InstanceSVC(kernel="linear", n_jobs=2).fit(bags, np.arange(36) % 3)
    assert max(taken) == 3
    found = side_by_side(bags.X, [os.getpid] * 7, n_jobs=2)
    assert found == [found[0]] * 4 + [found[-1]] * 3
    assert os.getpid() not in found  # one worker may have been quick enough to do both
    assert side_by_side(bags.X, [os.getpid] * 3, n_jobs=2) == [os.getpid()] * 3


def test_rows_know_their_place_in_the_file(tmp_path):
    bags, _ = stored(tmp_path)
    whole = FileRows.of(bags.X[10:])
    assert whole.place(3) == 13
    part = whole[np.r_[5:100, 200:300]]
    assert [part.place(row) for row in (0, 94, 95, 194)] == [15, 109, 210, 309]
    assert part[96:].place(0) == 211
    picked = whole[np.arange(0, 300, 3)]
    assert [picked[10:].place(row) for row in (0, 5)] == [40, 55]
    np.testing.assert_array_equal(picked[10:20], bags.X[10:310:3][10:20])
