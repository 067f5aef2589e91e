"""Fits on a cluster of two worker processes against the same fits in one process, bit by bit."""

import os
import signal

import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    Bags,
    InstanceSVC,
    MarkovNetworkClassifier,
    WitnessSVC,
    io,
    make_pipeline,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.models.markov import descents
from bagwise.rows import Rows, host
from bagwise.rows.cluster import RowsOnCluster
from bagwise.rowstores import base

# The other annealed SVMs are in the tests of folders and selections. Few temperatures: every look
# is a round through the cluster.
FEW = Annealing(T0=0.5, cooling=8.0)
MODELS = [
    InstanceSVC(),
    WitnessSVC(),
    AnnealedProportionSVC(positive_fraction="bags", annealing=FEW),
]
LEARNED = ("coef_", "intercept_", "objective_", "gap_", "instance_weights_")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(host, "_FEWEST_ROWS", 8)
    monkeypatch.setattr(host, "BLOCK_BYTES", 512)
    monkeypatch.setattr(base, "BLOCK_BYTES", 2048)


def stored(folder, n_classes=2, offset=0.0, dtype=np.float32):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(60, 4, bag_size=rng.integers(1, 12, 60), shift=2.0, random_state=0)
    X = (bags.X + offset).astype(dtype)
    y = y if n_classes == 2 else np.arange(60) % n_classes
    bags = bags.replace(X=X, priors=rng.uniform(0.2, 0.6, 60))
    io.write(folder / "planted.bags", bags, y)
    return io.read(folder / "planted.bags")


def same_bits(model, bags, y, some=slice(None)):
    """Fit here and on the cluster; everything learned has to be the same."""
    there, bags, y = bags.to("dask")[some], bags[some], y[some]
    here = {name: getattr(model.fit(bags, y), name) for name in LEARNED}
    scores = model.decision_function(bags)
    model.fit(there, y)
    for name, value in here.items():
        np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
    np.testing.assert_array_equal(model.decision_function(there), scores)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bits_are_those_of_one_process(client, tmp_path, model, offset):
    bags, y = stored(tmp_path, offset=offset)
    assert len(Rows(bags.X, bags.offsets).shards) > 8
    same_bits(model.set_params(kernel="linear", C=0.5), bags, y)
    assert [path.name for path in tmp_path.iterdir()] == ["planted.bags"]


@pytest.mark.parametrize("rule", ["any", pytest.param("learned", marks=pytest.mark.slow)])
def test_networks_have_the_same_bits(client, tmp_path, monkeypatch, rule):
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    bags, y = stored(tmp_path)
    model = MarkovNetworkClassifier(cardinality=rule, alpha=0.1, fit_intercept=True)
    here = model.fit(bags, y).decision_function(bags)
    np.testing.assert_array_equal(model.fit(bags.to("dask"), y).decision_function(bags), here)


KNOWING = [*MODELS, MarkovNetworkClassifier(cardinality="ratio", positive_fraction=0.2)]


@pytest.mark.parametrize("model", KNOWING, ids=str)
def test_known_instances_have_the_same_bits(client, tmp_path, monkeypatch, model):
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    bags, y = stored(tmp_path)
    shown = np.random.default_rng(0).random(bags.n_instances) < 0.2
    known = np.where(shown, np.load(tmp_path / "planted.bags" / "instance_labels.npy"), np.nan)
    options = {} if "cardinality" in model.get_params() else {"kernel": "linear", "C": 0.5}
    same_bits(clone(model).set_params(**options), bags.replace(known_labels=known), y)


def test_selections_have_the_same_bits(client, tmp_path):
    bags, y = stored(tmp_path)
    same_bits(AnnealedLabelSVC(kernel="linear"), bags, y, np.random.default_rng(1).permutation(40))


def test_several_stores_have_the_bits_of_one_process(client, tmp_path):
    bags, y = stored(tmp_path)
    for name, part in (("one", slice(0, 25)), ("two", slice(25, 60))):
        io.write(tmp_path / "parts" / f"{name}.bags", bags[part], y[part])
    both, y = io.open(tmp_path / "parts")
    same_bits(AnnealedWitnessSVC(kernel="linear"), both, y)


class Killer:
    """Kill one of the workers after four temperatures, while a model is fitted."""

    def __init__(self, client):
        self.client, self.records = client, 0

    def __call__(self, record):
        self.records += 1
        if self.records == 4:
            pids = sorted(self.client.run(os.getpid).items())
            os.kill(pids[0][1], signal.SIGKILL)


def test_a_killed_worker_changes_no_bit(client, tmp_path):
    bags, y = stored(tmp_path)
    here = AnnealedLabelSVC(kernel="linear").fit(bags, y)
    there = AnnealedLabelSVC(kernel="linear", callback=Killer(client))
    there.fit(bags.to("dask"), y)
    for name in LEARNED:
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), err_msg=name)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize(("n_classes", "options"), [(3, {}), (2, {"threshold": "calibrated"})])
def test_classes_and_folds_share_their_passes(client, tmp_path, monkeypatch, n_classes, options):
    counts, one = [], RowsOnCluster.run_pass
    monkeypatch.setattr(
        RowsOnCluster, "run_pass", lambda self, looks: counts.append(len(looks)) or one(self, looks)
    )
    bags, y = stored(tmp_path, n_classes=n_classes)
    model = AnnealedWitnessSVC(kernel="linear", calibration_cv=3, annealing=FEW, **options)
    same_bits(model, bags, y)
    assert max(counts) == 3
    assert not options or model.threshold_ == model.fit(bags, y).threshold_


@pytest.mark.torch
def test_workers_may_keep_their_rows_on_a_device(client, tmp_path):
    bags, y = stored(tmp_path, offset=100.0)
    annealed = AnnealedLabelSVC(kernel="linear", annealing=FEW)
    for model in (InstanceSVC(kernel="linear"), annealed):
        here = model.fit(bags, y).objective_
        there = model.fit(bags.to("dask", device="cpu"), y)
        np.testing.assert_allclose(there.objective_, here, rtol=1e-6)
    with Client(n_workers=1, processes=False, dashboard_address=None):
        alone = clone(annealed).fit(bags.to("dask", device="cpu"), y)
    np.testing.assert_array_equal(alone.coef_, there.coef_)


@pytest.mark.parametrize("where", [None, pytest.param("cpu", marks=pytest.mark.torch)])
def test_workers_standardize(client, tmp_path, where):
    bags, y = stored(tmp_path, offset=100.0, dtype=np.float64)
    model = make_pipeline(StandardScaler(), WitnessSVC(kernel="linear"))
    expected = model.fit(bags.to("host"), y).decision_function(bags)
    for there in (bags.to("dask", device=where), bags):
        np.testing.assert_allclose(model.fit(there, y).decision_function(there), expected, 1e-10)
    scaled = model[:-1].transform(bags).to("dask", device=where)
    assert scaled.X.home == "cluster"
    np.testing.assert_allclose(model[-1].fit(scaled, y).decision_function(scaled), expected, 1e-10)


def test_kernels_and_hinges_are_fitted_here(client, tmp_path):
    bags, y = stored(tmp_path, dtype=np.float64)
    for options in ({"kernel": "rbf"}, {"kernel": "linear", "loss": "hinge"}):
        here = InstanceSVC(**options).fit(bags, y).decision_function(bags)
        there = InstanceSVC(**options).fit(bags.to("dask"), y)
        np.testing.assert_allclose(there.decision_function(bags.to("dask")), here, rtol=1e-12)


def test_errors_of_workers_reach_the_user(client, tmp_path):
    bags, y = stored(tmp_path)
    there = bags.to("dask")
    X = np.load(tmp_path / "planted.bags" / "X.npy")
    X[7, 2] = np.nan
    io.write(tmp_path / "planted.bags", Bags(X, bags.offsets), y, overwrite=True)
    with pytest.raises(ValueError, match="was changed, or is another file"):
        InstanceSVC(kernel="linear").fit(there, y)
    bags, y = io.read(tmp_path / "planted.bags")
    with pytest.raises(ValueError, match=r"contains NaN in its instance .*, feature 2"):
        InstanceSVC(kernel="linear").fit(bags.to("dask"), y)
