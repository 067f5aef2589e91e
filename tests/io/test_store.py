"""The `.bags` folder: memory maps, ids, and nothing half written."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, InstanceSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.io import FormatError, read, store, write

BAGS = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])


@pytest.mark.parametrize("sparse", [False, True])
def test_opening_a_bags_folder_maps_it(sparse, tmp_path):
    X = np.eye(5000, 40)
    write(tmp_path / "b.bags", Bags(sp.csr_array(X) if sparse else X, [0, 2000, 5000]), [1, 0])
    bags, _ = read(tmp_path / "b.bags")
    for part in (bags.X.data, bags.X.indices) if sparse else (bags.X,):
        assert _is_mapped(np.asarray(part))
        assert not part.flags.writeable
    assert _is_mapped(np.asarray(bags[1:].X.data if sparse else bags[1:].X))


def _is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return isinstance(array, np.memmap)


@pytest.mark.parametrize("model", [InstanceSVC, WitnessSVC])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mapped_bags_train_to_the_same_model(model, dtype, tmp_path):
    bags, y = make_gaussian_bags(40, 5, dtype=dtype)
    write(tmp_path / "b.bags", bags, y)
    mapped, labels = read(tmp_path / "b.bags")
    one = model(kernel="linear").fit(bags, y)
    other = model(kernel="linear").fit(mapped, labels)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.decision_function(bags), other.decision_function(mapped))


def test_bags_folder_keeps_mixed_ids_and_their_absence(tmp_path):
    mixed = np.array(["a", 3, 2.5], dtype=object)
    bags = Bags.from_list([np.eye(2)] * 3, ids=mixed)
    write(tmp_path / "m.bags", bags)
    assert read(tmp_path / "m.bags")[0].ids.tolist() == ["a", 3, 2.5]
    write(tmp_path / "n.bags", Bags.from_list([np.eye(2)] * 3))
    assert not read(tmp_path / "n.bags")[0].has_ids


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    odd = np.empty(2, dtype=object)
    odd[:] = [("a", 1), ("b", 2)]
    with pytest.raises(FormatError, match="is a tuple, expected a text or a number"):
        write(tmp_path / "b.bags", BAGS.replace(ids=odd))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_when_asked(tmp_path):
    path = tmp_path / "b.bags"
    write(path, BAGS, [1, 0])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(path, BAGS, [1, 0])
    write(path, BAGS[:1], [1], overwrite=True)
    assert len(read(path)[0]) == 1
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="exists"):
        write(tmp_path / "mine", BAGS, format="bags", overwrite=True)  # not one of ours


@pytest.mark.parametrize("order", ["C", "F"])
def test_small_blocks_change_nothing(order, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_BLOCK_BYTES", 100)
    bags = BAGS.replace(X=np.asarray(BAGS.X, order=order))
    write(tmp_path / "b.bags", bags)
    back, _ = read(tmp_path / "b.bags")
    np.testing.assert_array_equal(back.X, bags.X)
    assert back.X.flags.f_contiguous == bags.X.flags.f_contiguous
