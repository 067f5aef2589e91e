"""The `.bags` folder: memory maps, ids, and nothing half written."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, check_bags
from bagwise.io import CorruptFileError, FormatError, read, store, verify_store, write

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


# Damage and forgery -------------------------------------------------------------------------------


def forge(path, **changes):
    """Change the manifest as one who knows about its checksum would; ... removes an entry."""
    file = path / "bags.json"
    manifest = {**json.loads(file.read_text()), **changes}
    manifest = {k: v for k, v in manifest.items() if v is not ... and k != "checksum"}
    file.write_text(json.dumps({**manifest, "checksum": store._checksum(manifest)}))


def flip(file, position, mask=1):
    content = bytearray(file.read_bytes())
    content[position] ^= mask
    file.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_bags": 3}, r"offsets is of size \(2,\), bags.json says \(3,\)"),
        ({"n_instances": 6}, r"X is of size \(5, 2\), bags.json says \(6, 2\)"),
        ({"n_features": 10**12}, "X is of size"),
        ({"n_bags": "2"}, "offsets is of size"),
        ({"layout": []}, "contradicts itself: TypeError"),
        ({"arrays": {"X": {"bytes": 1}}}, "X.npy: has 208 bytes, bags.json says 1"),
        ({"arrays": ...}, "contradicts itself: KeyError.*arrays"),
        ({"arrays": {"X": 3}}, "contradicts itself"),
        ({"lists": {"y": [1, 0, 1]}}, r"y is of size \(3,\), bags.json says \(2,\)"),
        ({"lists": {"ids": ["a"]}}, "contradicts itself.*ids has 1 entries"),
        ({"feature_names": ["a"]}, "contradicts itself.*feature_names has shape"),
    ],
)
def test_a_forged_manifest_is_a_named_error(changes, message, tmp_path):
    path = tmp_path / "b.bags"
    write(path, BAGS.replace(feature_names=["u", "v"]), [1, 0])
    forge(path, **changes)
    with pytest.raises(CorruptFileError, match=message):
        read(path)


def test_every_flipped_bit_of_a_store_is_found(tmp_path):
    path = tmp_path / "b.bags"
    write(path, BAGS.replace(X=sp.csr_array(BAGS.X), groups=["p", "q"]), [1, 0])
    verify_store(path)
    rng = np.random.default_rng(0)
    for file in sorted(path.iterdir()):
        good = file.read_bytes()
        json_space = {i for i, byte in enumerate(good) if chr(byte).isspace()}
        for position in rng.permutation(len(good))[:15].tolist():
            if file.suffix == ".json" and position in json_space:
                continue  # a space that becomes a tab changes nothing
            flip(file, position, 1 << int(rng.integers(8)))
            with pytest.raises(FormatError):
                verify_store(path)
            file.write_bytes(good)
    verify_store(path)


@pytest.mark.parametrize("part", ["X_indices", "X_indptr"])
def test_damaged_indices_are_found_at_opening(part, tmp_path):
    path = tmp_path / "b.bags"
    write(path, Bags(sp.csr_array(np.eye(9, 4)), [0, 9]), [1])
    flip(path / f"{part}.npy", -1, 64)
    with pytest.raises(CorruptFileError, match=f"{part}.npy: was changed"):
        read(path)


def test_damaged_values_are_found_when_they_are_used_not_when_opened(tmp_path):
    path, part = tmp_path / "b.bags", "X_data"
    write(path, Bags(sp.csr_array(np.eye(9, 4)), [0, 9]), [1])
    flip(path / f"{part}.npy", -1, 64)
    bags, _ = read(path)
    assert bags.shape == (1, 4)
    for use in (lambda: bags[0], lambda: check_bags(bags), lambda: write(tmp_path / "c.csv", bags)):
        with pytest.raises(CorruptFileError, match=f"{part}.npy: was changed"):
            use()
    assert not (tmp_path / "c.csv").exists()
    with pytest.raises(TypeError, match="read_bags has no parameter 'mmap' since"):
        read(path, mmap=False)


@pytest.mark.parametrize(("part", "value"), [("X_indices", 10**8), ("X_indptr", 10**8)])
def test_forged_sparse_rows_are_refused(part, value, tmp_path):
    path = tmp_path / "b.bags"
    write(path, Bags(sp.csr_array(np.eye(9, 4)), [0, 9]), [1])
    values = np.load(path / f"{part}.npy")
    values[1] = value
    entry = store._save(path / f"{part}.npy", values)
    forge(path, arrays={**json.loads((path / "bags.json").read_text())["arrays"], part: entry})
    with pytest.raises(CorruptFileError, match="The sparse matrix is damaged"):
        read(path)


def test_a_header_that_contradicts_the_manifest_is_refused(tmp_path):
    path = tmp_path / "b.bags"
    write(path, BAGS, [1, 0])
    content = (path / "X.npy").read_bytes()
    for old, new in ((b"(5, 2)", b"(2, 5)"), (b"<f8", b"<i8"), (b"False", b"True ")):
        (path / "X.npy").write_bytes(content.replace(old, new))
        with pytest.raises(CorruptFileError, match=r"X.npy: its (shape|dtype|by_columns) is"):
            read(path)


def test_sparse_rows_without_entries_are_stored(tmp_path):
    write(tmp_path / "b.bags", Bags(sp.csr_array((3, 2)), [0, 3]), [1])
    assert read(tmp_path / "b.bags")[0].X.nnz == 0
    verify_store(tmp_path / "b.bags")


def test_a_store_with_parents_opens_with_a_note():
    path = Path(__file__).parent / "files" / "parents.bags"  # written by 0.2 (be8192e)
    with pytest.warns(UserWarning, match=r"parents of instances .* are ignored since version 0.3"):
        bags, y = read(path)
    assert (bags.ids.tolist(), bags.sizes.tolist(), y.tolist()) == (["a", "b"], [2, 1], [1, 0])
    verify_store(path)


# What happens while a store is open ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["instance_ids", "coords", "instance_labels"])
def test_damage_beside_the_instances_is_found_at_opening(name, tmp_path):
    more = {"instance_ids": list("vwxyz"), "coords": np.ones((5, 2)), "instance_labels": [1] * 5}
    write(tmp_path / "b.bags", BAGS.replace(**more))
    flip(tmp_path / "b.bags" / f"{name}.npy", -3)
    with pytest.raises(CorruptFileError, match=rf"{name}\.npy: was changed"):
        read(tmp_path / "b.bags")


def test_a_file_truncated_while_it_is_open_is_an_error(tmp_path):
    write(tmp_path / "b.bags", Bags(np.ones((5000, 40)), [0, 2000, 5000]))
    bags, _ = read(tmp_path / "b.bags")
    assert bags[0][0, 0] == 1
    os.truncate(tmp_path / "b.bags" / "X.npy", 4096)
    for use in (lambda: bags[0], lambda: check_bags(bags)):
        with pytest.raises(CorruptFileError, match="was truncated while it was open"):
            use()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_store_replaced_while_it_is_opened_is_opened_again(when, tmp_path, monkeypatch):
    path, other, load = tmp_path / "b.bags", BAGS.replace(X=BAGS.X + 1), store._load
    write(path, BAGS)
    waits = ["X"]

    def replace(folder, manifest, name):
        now = waits.pop() if name in waits else None
        if now and when == "before":
            write(path, other, overwrite=True)
        loaded = load(folder, manifest, name)
        if now and when == "after":
            write(path, other, overwrite=True)
        return loaded

    monkeypatch.setattr(store, "_load", replace)
    bags, _ = read(path)
    np.testing.assert_array_equal(np.asarray(check_bags(bags).X), other.X)
