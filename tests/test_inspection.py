import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, WitnessSVC, inspection, io
from bagwise.inspection import key_stability, permutation_importance
from bagwise.rowstores import base
from bagwise.rowstores.files import Replaced
from bagwise.testing._problems import planted_bags


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = Bags.from_list([rng.normal(size=(4, 3)) + [0, 4 * label, 0] for label in y])
    return WitnessSVC(kernel="linear").fit(bags, y), bags, y


def test_shuffling_what_matters_costs_and_the_rest_does_not(fitted):
    model, bags, y = fitted
    found = permutation_importance(*fitted)
    assert found.importances_mean[1] > 0.2
    assert np.abs(found.importances_mean[[0, 2]]).max() < 0.1
    sparse = permutation_importance(model, bags.replace(X=sp.csr_array(bags.X)), y)
    assert np.array_equal(sparse.importances, found.importances)
    with pytest.raises(ValueError, match="auc is not defined"):
        permutation_importance(model, bags[y == 1], y[y == 1])


def test_rows_of_files_are_read_in_blocks(fitted, tmp_path, monkeypatch):
    model, bags, y = fitted
    expected = permutation_importance(model, bags, y, n_repeats=2).importances
    brought, array = [], Replaced.__array__
    monkeypatch.setattr(
        Replaced,
        "__array__",
        lambda rows, *a, **k: brought.append(len(rows)) or array(rows, *a, **k),
    )
    monkeypatch.setattr(base, "BLOCK_BYTES", 480)  # 20 rows
    for name, part in (("a", slice(0, 20)), ("b", slice(20, 40))):
        io.write(tmp_path / f"{name}.bags", bags[part], y[part])
    io.write(tmp_path / "whole" / "c.bags", bags, y)
    for path in (tmp_path, tmp_path / "whole"):
        found = permutation_importance(model, io.open(path)[0], y, n_repeats=2)
        np.testing.assert_array_equal(found.importances, expected)
    assert max(brought) == 20
    assert len(brought) == 2 * 3 * 2 * 8  # stores, features, repeats, blocks


@pytest.mark.torch
def test_rows_on_a_device_are_not_copied_in_silence(fitted):
    model, bags, y = fitted
    with pytest.raises(ValueError, match=r"as they were before bags\.to"):
        permutation_importance(model, bags.to("cpu"), y)


def test_key_stability_is_high_where_witnesses_are_clear_and_low_where_there_are_none():
    clear, y = planted_bags(n_bags=24, shift=6.0)
    model = WitnessSVC(kernel="linear").fit(clear, y)
    found = key_stability(model, clear, y, n_bootstrap=6)
    assert found.key_instances.shape == (6, 24)
    assert found.stability[y == 1].mean() > 0.9
    rng = np.random.default_rng(0)
    noise = clear.replace(X=rng.normal(size=clear.X.shape))
    vague = key_stability(WitnessSVC(kernel="linear").fit(noise, y), noise, y, n_bootstrap=6)
    assert vague.stability.mean() < found.stability[y == 1].mean() - 0.2
    again = key_stability(model, clear, y, n_bootstrap=6)
    assert np.array_equal(again.key_instances, found.key_instances)


def test_draws_keep_groups_together_and_every_class():
    bags, y = planted_bags(n_bags=12)
    groups, rng = np.arange(12) // 2, np.random.RandomState(0)
    for _ in range(4):
        weight = inspection._draw_weights(bags.replace(groups=groups), y, rng)
        np.testing.assert_array_equal(weight[::2], weight[1::2])
        assert weight.sum() == 12
        assert set(y[weight > 0]) == {0, 1}
