"""Rows that pass through a device in blocks give the bits of rows that stay there."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import bagwise
from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    Bags,
    InstanceSVC,
    WitnessSVC,
    io,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import torch as products
from bagwise.estimators import input
from bagwise.io import _files
from bagwise.reports import report
from bagwise.rowstores import RowStore, base, device
from bagwise.rowstores.device import DeviceRows
from bagwise.rowstores.files import FileRows

pytestmark = pytest.mark.torch

FITTED = ("coef_", "intercept_", "objective_", "gap_", "instance_weights_")
MODELS = [
    InstanceSVC(kernel="linear"),
    WitnessSVC(kernel="linear"),
    AnnealedLabelSVC(kernel="linear", C=0.5),
    AnnealedWitnessSVC(kernel="linear", n_witnesses=2),
    AnnealedProportionSVC(
        kernel="linear", positive_fraction="bags", annealing=Annealing(T0=0.5, cooling=8.0)
    ),
]


@pytest.fixture
def small(monkeypatch):
    """Make blocks of few bags, and pieces of few rows."""
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1 << 12)
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 9)
    monkeypatch.setattr(products, "SHORT_ROWS", 16)


def planted(dtype=np.float32, offset=0.0):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(60, 4, bag_size=rng.integers(1, 30, 60), shift=2.0, random_state=0)
    return bags.replace(X=(bags.X + offset).astype(dtype), priors=rng.uniform(0.2, 0.6, 60)), y


def same_bits(model, one, other, y):
    first = model.fit(one, y)
    kept = {name: getattr(first, name) for name in FITTED}
    scores = first.decision_function(one)
    again = model.fit(other, y)
    for name in FITTED:
        np.testing.assert_array_equal(getattr(again, name), kept[name])
    np.testing.assert_array_equal(again.decision_function(other), scores)


def models_and_types():
    """Yield every model with a type of its own; the other types are slow."""
    types = [np.float16, np.float32, np.float64]
    for turn, model in enumerate(MODELS):
        for i, dtype in enumerate(types):
            marks = [] if i == turn % len(types) else [pytest.mark.slow]
            yield pytest.param(model, dtype, id=f"{model}-{dtype.__name__}", marks=marks)


@pytest.mark.parametrize(("model", "dtype"), models_and_types())
def test_streamed_rows_give_the_bits_of_resident_ones(small, model, dtype):
    bags, y = planted(dtype, offset=100.0 if dtype == np.float64 else 0.0)
    resident = bags.to("cpu")
    assert len(resident.X.cuts()) > 2
    for share in (0, 0.4):
        same_bits(model, resident, bags.to("cpu", memory=share * bags.X.nbytes), y)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_blocks_are_the_rows(small, share, dtype):
    bags, _ = planted(dtype)
    moved = bags.to("cpu", memory=share * bags.X.nbytes)
    assert isinstance(moved.X, RowStore)
    assert moved.dtype == dtype
    np.testing.assert_array_equal(moved.to("host").X, bags.X)
    selections = (slice(None), slice(20, 55), [7, 3, 50], np.arange(59, -1, -1), slice(0, 3))
    for key in selections:
        part, expected = moved[key].X, bags[key].X
        for rows, block in part.blocks():
            np.testing.assert_array_equal(block.numpy(), expected[rows])
        np.testing.assert_array_equal(np.asarray(part), expected)
        np.testing.assert_array_equal(np.asarray(part[3:9][::2]), expected[3:9][::2])


def test_it_says_what_stays(small, caplog):
    bags, _ = planted()
    n, width = bags.X.shape[0], bags.X[:1].nbytes
    with caplog.at_level(logging.INFO, "bagwise"):
        moved = bags.to("cpu", memory=100 * width)
    assert moved.X.n_resident == len(moved.X.tensor) == 100
    assert moved.X.where.startswith(f"100 of {n} rows")
    assert "pass through it" in moved.X.where
    assert caplog.messages == [moved.X.where]
    assert moved[::-1].X.n_resident == 100
    assert bags.to("cpu").X.where == f"{n} of {n} rows ({n * width / 1e9:.3g} GB) stay on cpu"


@pytest.mark.parametrize(("where", "memory"), [("cpu", -1), ("cpu", np.nan), ("host", 1000)])
def test_memory_is_a_number_of_bytes_on_a_device(where, memory):
    with pytest.raises(ValueError, match=rf"memory={memory!r} with '{where}': .* bytes, 0 or more"):
        planted()[0].to(where, memory=memory)


def test_rows_from_files(small, tmp_path, store_spans):
    bags, y = planted()
    io.write(tmp_path / "a.bags", bags, y)
    stored, _ = io.open(tmp_path / "a.bags")
    spans = store_spans(np.split(bags.X, [200, 500]))
    for X in (stored.X, FileRows(spans, is_finite=True)):
        moved = bags.replace(X=X).to("cpu", memory=bags.X.nbytes // 3)
        assert moved.X.is_finite
        same_bits(AnnealedWitnessSVC(kernel="linear"), bags.to("cpu"), moved, y)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernel_matrices_of_streamed_rows(small, kernel):
    bags, y = planted(np.float64)
    model = WitnessSVC(kernel=kernel)
    here = model.fit(bags.to("cpu"), y).objective_
    np.testing.assert_array_equal(model.fit(bags.to("cpu", memory=999), y).objective_, here)


def test_reports_take_rows_in_blocks(small, monkeypatch):
    for limits in (base, _files):
        monkeypatch.setattr(limits, "BLOCK_BYTES", 1 << 11)
    monkeypatch.setattr(input, "MEDIAN_SAMPLE", 64)
    bags, y = planted()
    moved = bags.to("cpu", memory=bags.X.nbytes // 2)
    model = InstanceSVC(kernel="linear").fit(moved, y)
    brought, array = [], DeviceRows.__array__

    def counted(rows, *args, **options):
        brought.append(len(rows))
        return array(rows, *args, **options)

    monkeypatch.setattr(DeviceRows, "__array__", counted)
    model.decision_function(moved), model.instance_decision_function(moved)
    assert not brought
    report(model, moved, y, cv=2)
    assert max(brought) <= 64 + bags.sizes.max()


def test_nan_among_streamed_rows_is_named(small):
    bags, y = planted()
    X = bags.X.copy()
    X[-1, 2] = np.nan
    moved = bags.replace(X=X).to("cpu", memory=999)
    with pytest.raises(ValueError, match=r"Bag 59.*contains NaN.*feature 2"):
        InstanceSVC(kernel="linear").fit(moved, y)


def test_an_error_while_reading_reaches_the_fit(small):
    class Broken(np.ndarray):
        def __getitem__(self, key):
            if isinstance(key, slice) and (key.start or 0) > 100:
                raise OSError("the disk is gone")
            return super().__getitem__(key)

    moved = Bags(np.ones((300, 2)), [0, 100, 300]).to("cpu", memory=0)
    moved.X.rest = np.ones((300, 2)).view(Broken)
    with pytest.raises(OSError, match="the disk is gone"):
        list(moved.X.blocks())


def test_scores_of_all_classes_take_one_pass(small, monkeypatch):
    bags, y = planted()
    labels = np.where(y == 1, np.arange(len(y)) % 2, 2)
    model = InstanceSVC(kernel="linear").fit(bags, labels)
    moved, passes, blocks = bags.to("cpu", memory=999), [], DeviceRows.blocks
    monkeypatch.setattr(DeviceRows, "blocks", lambda *a: passes.append(1) or blocks(*a))
    scores = model.instance_decision_function(moved)
    assert len(passes) == 1
    np.testing.assert_allclose(scores, model.instance_decision_function(bags), atol=1e-5)


def test_room_on_a_gpu_leaves_space_for_a_fit(monkeypatch):
    import torch

    gib = 2.0**30
    monkeypatch.setattr(device, "_block_bytes", lambda where: int(gib))
    gpu = SimpleNamespace(
        mem_get_info=lambda where: (20 * gib, 32 * gib),
        memory_reserved=lambda where: 2 * gib,
        memory_allocated=lambda where: gib,
    )
    fake = SimpleNamespace(cuda=gpu, device=torch.device)

    def room(n_rows):
        X = np.broadcast_to(np.float16(0), (n_rows, 1024))
        return device._room(fake, "cuda", X)

    free = 21 * gib - 2 * gib - 8 * 1024 * (8 * 1024 + 3 * device.BLOCK_ROWS)
    assert room(1 << 20) == free - 64 * 2**20  # all 2 GiB fit
    assert room(1 << 24) == free - 64 * 2**24 - 2 * gib  # 32 GiB do not: two blocks pass
    assert device._room(fake, "cpu", np.zeros((1, 1))) == np.inf


def test_bfloat16_becomes_float32_where_it_leaves():
    import torch

    rows = DeviceRows(torch.ones(2, 2, dtype=torch.bfloat16))
    assert rows.dtype == np.float32
    assert np.asarray(rows).dtype == np.float32


def test_places_are_named():
    import torch

    bags = planted()[0]
    with pytest.raises(ValueError, match="Unknown place 'gpu'"):
        bags.to("gpu")
    with pytest.raises(ValueError, match="Sparse instances cannot be moved"):
        bags.replace(X=sp.csr_array(bags.X)).to("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="sees no GPU"):
            bags.to("cuda")


@pytest.mark.parametrize("name", ["CitationKNN", "MeanSVC", "SemiProximalSVC", "StatisticsForest"])
def test_other_estimators_bring_the_rows_back(name):
    bags, y = planted()
    model = getattr(bagwise, name)().fit(bags, y)
    scores = model.decision_function(bags)
    np.testing.assert_array_equal(
        model.fit(bags.to("cpu"), y).decision_function(bags.to("cpu")), scores
    )
