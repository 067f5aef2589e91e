"""Standardizing as part of the passes: as in memory, without a copy of rows that are elsewhere."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedLabelSVC,
    Bags,
    InstanceSVC,
    MarkovNetworkClassifier,
    PerInstance,
    WitnessSVC,
    io,
    load,
    make_pipeline,
    save,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.models.markov import descents
from bagwise.rows import host
from bagwise.rowstores import base, device

MODELS = [
    WitnessSVC(kernel="linear", threshold="calibrated", calibration_cv=3),
    AnnealedLabelSVC(kernel="linear"),
    MarkovNetworkClassifier(cardinality="any", alpha=0.1),
    InstanceSVC(kernel="rbf"),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(host, "_FEWEST_ROWS", 8)
    monkeypatch.setattr(host, "BLOCK_BYTES", 512)
    monkeypatch.setattr(base, "BLOCK_BYTES", 2048)
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1 << 12)
    monkeypatch.setattr(device, "BLOCK_ROWS", 16)


def uneven(dtype=np.float64, n_bags=60):
    """Return bags whose features have other offsets and spreads; the last one is constant."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, n_bags)
    bags, y = make_gaussian_bags(n_bags, 4, bag_size=sizes, shift=2.0, random_state=0)
    X = bags.X * [1, 30, 0.1, 0] + [3, 0, -1, 7]
    return bags.replace(X=X.astype(dtype)), y


def open_stores(folder, bags, y, n_stores=1):
    for i, part in enumerate(np.array_split(np.arange(len(bags)), n_stores)):
        io.write(folder / f"{i}.bags", bags[part], y[part])
    return io.open(folder)[0] if n_stores > 1 else io.read(folder / "0.bags")[0]


def assert_same_model(scale, model, here, there, y, **tolerance):
    """Fit the pipeline to the same bags in two places; whatever it says has to be the same."""
    pipeline = make_pipeline(scale, model)
    first = pipeline.fit(here, y)
    expected = first.decision_function(here), first.instance_decision_function(here)
    fitted = pipeline.fit(there, y)
    found = fitted.decision_function(there), fitted.instance_decision_function(there)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.parametrize("n_stores", [1, 2])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_stores_are_scaled_when_they_are_read(tmp_path, model, n_stores):
    bags, y = uneven(np.float32)
    there = open_stores(tmp_path, bags, y, n_stores)
    assert_same_model(StandardScaler(), model, bags, there, y, rtol=1e-5, atol=1e-6)
    scaled = PerInstance(StandardScaler()).fit(there).transform(there)
    in_memory = StandardScaler().fit_transform(bags.X)
    np.testing.assert_allclose(np.asarray(scaled.X), in_memory, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(
        scaled[[7, 3]][0], np.asarray(scaled.X)[slice(*bags.offsets[7:9])]
    )
    assert not isinstance(scaled.X, np.ndarray)


def test_nothing_is_copied(tmp_path, monkeypatch):
    bags, y = uneven()
    there, largest = open_stores(tmp_path, bags, y), []
    one = StandardScaler.transform
    monkeypatch.setattr(
        StandardScaler,
        "transform",
        lambda self, X, **kw: largest.append(len(X)) or one(self, X, **kw),
    )
    make_pipeline(StandardScaler(), WitnessSVC(kernel="linear")).fit(there, y)
    assert max(largest) < bags.n_instances / 4


@pytest.mark.torch
@pytest.mark.parametrize("memory", [None, 1000])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_devices_scale_what_they_read(model, memory):
    bags, y = uneven()
    there = bags.to("cpu", memory=memory)
    assert_same_model(StandardScaler(), model, bags, there, y, rtol=1e-9, atol=1e-10)
    for scaler in (StandardScaler(with_mean=False), StandardScaler()):
        scaled = PerInstance(scaler).fit(there).transform(there)[[5, 2, 3]]
        expected = bags.replace(X=scaler.fit_transform(bags.X))[[5, 2, 3]]
        assert scaled.X.home == "device"
        np.testing.assert_allclose(np.asarray(scaled.X), expected.X, rtol=1e-12, atol=1e-12)


@pytest.mark.torch
def test_scaling_twice_and_model_files(tmp_path):
    bags, y = uneven()
    there = bags.to("cpu")
    twice = make_pipeline(StandardScaler(with_mean=False), StandardScaler(), MODELS[1])
    expected = twice.fit(bags, y).decision_function(bags)
    save(twice.fit(there, y), tmp_path / "m.bagwise")
    for each in (there, bags, open_stores(tmp_path, bags, y)):
        found = load(tmp_path / "m.bagwise").decision_function(each)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.torch
def test_weights_of_bags_and_single_instances():
    bags, _ = uneven(n_bags=8)
    weight = np.arange(1.0, 9.0)
    expected = PerInstance(StandardScaler()).fit(bags, sample_weight=weight).transformer_
    found = PerInstance(StandardScaler()).fit(bags.to("cpu"), sample_weight=weight).transformer_
    np.testing.assert_array_equal(found.scale_, expected.scale_)
    alone = Bags.from_list([[[3.0, 4.0]]]).to("cpu")
    np.testing.assert_array_equal(PerInstance(StandardScaler()).fit_transform(alone).X, [[0, 0]])


def test_weights_of_bags_of_a_store(tmp_path):
    bags, y = uneven()
    weight = np.linspace(0.5, 2.0, len(bags))
    expected = PerInstance(StandardScaler()).fit(bags, sample_weight=weight).transformer_
    there = open_stores(tmp_path, bags, y)
    found = PerInstance(StandardScaler()).fit(there, sample_weight=weight).transformer_
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-12)
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-12)


def test_missing_values_of_a_store_may_be_imputed_later(tmp_path):
    bags, y = uneven()
    X = bags.X.copy()
    X[9, 2] = np.nan
    holed = bags.replace(X=X)
    there = open_stores(tmp_path, holed, y)
    filled = make_pipeline(StandardScaler(), SimpleImputer(), WitnessSVC(kernel="linear"))
    expected = filled.fit(holed, y).decision_function(holed)
    np.testing.assert_allclose(filled.fit(there, y).decision_function(there), expected, 1e-9)


@pytest.mark.torch
def test_missing_values_are_named_where_rows_are_elsewhere():
    bags, _ = uneven()
    X = bags.X.copy()
    X[9, 2] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN in its instance \d+, feature 2"):
        PerInstance(StandardScaler()).fit(bags.replace(X=X).to("cpu"))
