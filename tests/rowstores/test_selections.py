"""Fits to rows that pass through a device take their blocks from one stream."""

import numpy as np
import pytest

from bagwise import InstanceSVC, MarkovNetworkClassifier, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import search
from bagwise.rowstores import blocks

pytestmark = pytest.mark.torch

CS = [{"C": C} for C in (0.1, 1.0, 10.0)]
NETWORK = MarkovNetworkClassifier(alpha=1.0, init=["instances"], max_iter=2)


@pytest.fixture
def streams(monkeypatch):
    """Blocks of few bags; how often rows passed through the device, and how many of them."""
    from bagwise.designs import torch as products
    from bagwise.rowstores import device
    from bagwise.rowstores.device import DeviceRows

    monkeypatch.setattr(device, "_block_bytes", lambda where: 1 << 11)
    monkeypatch.setattr(products, "SHORT_ROWS", 16)
    lengths, blocks = [], DeviceRows.blocks
    monkeypatch.setattr(
        DeviceRows, "blocks", lambda rows, *cuts: lengths.append(len(rows)) or blocks(rows, *cuts)
    )
    return lengths


def moved(memory=999, classes=2):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(36, 4, bag_size=rng.integers(5, 20, 36), shift=2.0, random_state=0)
    y = y if classes == 2 else np.arange(36) % classes
    return bags.replace(X=bags.X.astype(np.float32)).to("cpu", memory=memory), y


def alone(monkeypatch):
    from bagwise.rowstores.device import DeviceRows

    monkeypatch.setattr(DeviceRows, "n_side_by_side", 0)


@pytest.mark.parametrize("memory", [0, 999])
def test_nine_fits_take_as_many_streams_as_the_longest(streams, monkeypatch, memory):
    bags, y = moved(memory)
    model = InstanceSVC(kernel="linear")
    together = search(model, CS, bags, y, metric="auc")
    n_streams, n_rows = len(streams), sum(streams)
    alone(monkeypatch)
    streams.clear()
    assert search(model, CS, bags, y, metric="auc") == together
    assert n_streams < len(streams) / 5
    assert n_rows < sum(streams) / 3


@pytest.mark.parametrize(
    "model", [InstanceSVC(kernel="linear"), WitnessSVC(kernel="linear")], ids=str
)
def test_classes_have_the_bits_of_fits_one_after_the_other(streams, monkeypatch, model):
    bags, y = moved(classes=3)
    together = model.fit(bags, y).coef_
    n_streams = len(streams)
    alone(monkeypatch)
    streams.clear()
    np.testing.assert_array_equal(model.fit(bags, y).coef_, together)
    assert n_streams <= len(streams) / 2


def test_networks_share_streams(streams, monkeypatch):
    monkeypatch.setattr(blocks, "MANY_ROWS", 0)
    bags, y = moved()
    together = search(NETWORK, [{"alpha": 1.0}], bags, y, metric="auc")
    n_streams = len(streams)
    alone(monkeypatch)
    streams.clear()
    assert search(NETWORK, [{"alpha": 1.0}], bags, y, metric="auc") == together
    assert n_streams < 0.6 * len(streams)  # as many as the longest of three fits


def test_rows_in_another_order_come_by_themselves(streams):
    from bagwise.rowstores.selections import Wanted, serve_blocks

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


def test_a_device_has_room_for_so_many_fits(monkeypatch):
    from bagwise.rowstores import device

    bags, _ = moved(0)
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1000)
    one = 64 * len(bags.X) + 64 * 16 + 1000
    monkeypatch.setattr(device, "available_memory", lambda: 2 * (3.5 * one + 2000))
    assert bags.X.n_side_by_side == 3
    monkeypatch.setattr(device, "available_memory", lambda: 0.0)
    assert bags.X.n_side_by_side == 1
    assert moved(1e9)[0].X.n_side_by_side == 0  # nothing moves
