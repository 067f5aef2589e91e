"""Fits to rows that pass through a device take their blocks from one stream."""

import numpy as np
import pytest

from bagwise import InstanceSVC, MarkovNetworkClassifier, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import torch as products
from bagwise.model_selection import search
from bagwise.rowstores import blocks, device
from bagwise.rowstores.device import DeviceRows
from bagwise.rowstores.selections import Wanted, serve_blocks

pytestmark = pytest.mark.torch

CS = [{"C": C} for C in (0.1, 1.0, 10.0)]
LINEAR = InstanceSVC(kernel="linear")
NETWORK = MarkovNetworkClassifier(alpha=1.0, init=["instances"], max_iter=2)


@pytest.fixture
def streams(monkeypatch):
    """Blocks of few bags; how often rows passed through the device, and how many of them."""
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1 << 11)
    monkeypatch.setattr(products, "SHORT_ROWS", 16)
    lengths, read = [], DeviceRows.blocks
    monkeypatch.setattr(
        DeviceRows, "blocks", lambda rows, *cuts: lengths.append(len(rows)) or read(rows, *cuts)
    )
    return lengths


def moved(memory=999):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(36, 4, bag_size=rng.integers(5, 20, 36), shift=2.0, random_state=0)
    return bags.replace(X=bags.X.astype(np.float32)).to("cpu", memory=memory), y


def classes(model):
    return lambda bags, y: model.fit(bags, np.arange(36) % 3).coef_.tolist()


# How to fit, and the share of the readings that is left.
FITS = {
    "points and folds": (lambda bags, y: search(LINEAR, CS, bags, y, metric="auc"), 1 / 5),
    "classes": (classes(LINEAR), 1 / 2),
    "witnesses of classes": (classes(WitnessSVC(kernel="linear")), 1 / 2),
    "networks": (lambda bags, y: search(NETWORK, [{"alpha": 1.0}], bags, y, metric="auc"), 0.6),
}


@pytest.mark.parametrize("memory", [0, 999])
@pytest.mark.parametrize("name", FITS)
def test_bits_are_those_of_fits_one_after_the_other(streams, monkeypatch, name, memory):
    monkeypatch.setattr(blocks, "MANY_ROWS", 0)
    (fit, share), (bags, y) = FITS[name], moved(memory)
    together = fit(bags, y)
    n_streams, n_rows = len(streams), sum(streams)
    monkeypatch.setattr(DeviceRows, "n_side_by_side", 0)
    streams.clear()
    assert fit(bags, y) == together
    assert n_streams <= share * len(streams)
    assert n_rows < 0.7 * sum(streams)


def test_rows_in_another_order_come_by_themselves(streams):
    bags, _ = moved()
    X, host = bags.X, np.asarray(bags.X)
    orders = [np.arange(0, len(X), 2), np.arange(len(X)), np.arange(len(X))[::-1], None]
    wanted = []
    for order in orders:
        rows = X if order is None else X[order]
        wanted.append(Wanted(rows, rows.cuts(), lambda _, block: block.clone().numpy()))
    streams.clear()
    for order, found in zip(orders, serve_blocks(wanted), strict=True):
        np.testing.assert_array_equal(np.concatenate(found), host if order is None else host[order])
    assert len(streams) == 2
