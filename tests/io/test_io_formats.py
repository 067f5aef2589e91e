"""Files as other programs write them, and the promises about memory and engines."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

import bagwise.io.tables as tables
from bagwise import Bags
from bagwise.io import read, read_csv, read_folder, write

pa = pytest.importorskip("pyarrow")
h5py = pytest.importorskip("h5py")

# As WEKA 3.6.14's ArffSaver wrote it.
WEKA = r"""@relation 'atoms of molecules'

@attribute molecule {d1,'d 2'}
@attribute bag relational
@attribute element {br,c,'c l'}
@attribute charge numeric
@end bag
@attribute class {inactive,active}

@data
d1,'c,-0.117\nbr,?\n\'c l\',0.5',active
'd 2','c,0.001',inactive
"""
WEKA_SPARSE = r"""@relation bags

@attribute bag_id {a,b}
@attribute bag relational
@attribute f1 numeric
@attribute f2 numeric
@attribute f3 numeric
@end bag
@attribute class {p,n}

@data
a,'{1 0.785153,2 0.01643}\n{}\n{0 2}',p
b,'{2 0.055374}',n
"""


def test_weka_saved_file(tmp_path):
    (tmp_path / "atoms.arff").write_text(WEKA)
    bags, y = read(tmp_path / "atoms.arff")
    expected = [[0, 1, 0, -0.117], [1, 0, 0, np.nan], [0, 0, 1, 0.5], [0, 1, 0, 0.001]]
    np.testing.assert_array_equal(bags.X, expected)
    assert list(bags.feature_names) == ["element=br", "element=c", "element=c l", "charge"]
    assert bags.ids.tolist() == ["d1", "d 2"]
    assert y.tolist() == ["active", "inactive"]


def test_weka_saved_sparse_file(tmp_path):
    (tmp_path / "b.arff").write_text(WEKA_SPARSE)
    bags, y = read(tmp_path / "b.arff")
    assert sp.issparse(bags.X)
    expected = [[0, 0.785153, 0.01643], [0, 0, 0], [2, 0, 0], [0, 0, 0.055374]]
    np.testing.assert_array_equal(bags.X.toarray(), expected)
    assert y.tolist() == ["p", "n"]


def test_arff_as_in_the_books(tmp_path):
    text = (
        "% comment\n@RELATION musk\n@ATTRIBUTE id {m1}\n@ATTRIBUTE bag RELATIONAL\n"
        "  @ATTRIBUTE f1 REAL % not\n  @ATTRIBUTE 'f 2' integer\n@END bag\n"
        '@ATTRIBUTE class {0,1}\n@DATA\nm1,"1.5, 2\\n3,-4e1" , 1\n'
    )
    (tmp_path / "b.arff").write_text(text)
    bags, y = read(tmp_path / "b.arff")
    np.testing.assert_array_equal(bags.X, [[1.5, 2], [3, -40]])
    assert list(bags.feature_names) == ["f1", "f 2"]
    assert y.tolist() == [1]


def test_sparse_nominal_left_out_is_the_first_value(tmp_path):
    text = WEKA_SPARSE.replace("f2 numeric", "f2 {u,v}").replace("1 0.785153", "1 v")
    (tmp_path / "b.arff").write_text(text)
    bags, _ = read(tmp_path / "b.arff")
    assert list(bags.feature_names) == ["f1", "f2=u", "f2=v", "f3"]
    expected = [[0, 0, 1, 0.01643], [0, 1, 0, 0], [2, 1, 0, 0], [0, 1, 0, 0.055374]]
    np.testing.assert_array_equal(bags.X.toarray(), expected)


def test_musk_c45_files_with_names(tmp_path):
    (tmp_path / "clean1.data").write_text(
        "MUSK-188,188_1+1,42,-198,1.\nMUSK-188,188_1+2,42,-191,1.\nNON-MUSK-11,11_1,-2,3,0.\n"
    )
    (tmp_path / "clean1.names").write_text(
        "| the musk data\n0,1.  | classes\nmolecule_name: MUSK-188, NON-MUSK-11.\n"
        "conformation_name: 188_1+1, 188_1+2, 11_1.\nf1: continuous.\nf2: continuous.\n"
    )
    for name in ("clean1.data", "clean1.names"):
        bags, y = read(tmp_path / name)
        assert bags.ids.tolist() == ["MUSK-188", "NON-MUSK-11"]
        assert bags.instance_ids.tolist() == ["188_1+1", "188_1+2", "11_1"]
        assert list(bags.feature_names) == ["f1", "f2"]
        np.testing.assert_array_equal(bags.X, [[42, -198], [42, -191], [-2, 3]])
        assert y.tolist() == [1, 0]


def test_andrews_triples(tmp_path):
    (tmp_path / "elephant.svm").write_text(
        "# instance:bag:label\n1:1:1 1:2.05 3:-0.5\n2:1:1 2:1e-3\n3:2:-1 3:4\n"
    )
    bags, y = read(tmp_path / "elephant.svm")
    np.testing.assert_array_equal(bags.X.toarray(), [[2.05, 0, -0.5], [0, 1e-3, 0], [0, 0, 4]])
    assert bags.instance_ids.tolist() == [1, 2, 3]
    assert y.tolist() == [1, -1]


def test_andrews_matlab_variables(tmp_path):
    variables = {
        "features": sp.csc_array(np.array([[1.0, 0], [0, 2], [3, 0]])),
        "bag_ids": np.array([[1, 1, 2]]),
        "labels": sp.csc_array(np.array([[1.0, 1, -1]])),
    }
    savemat(tmp_path / "fox.mat", variables)
    bags, y = read(tmp_path / "fox.mat")
    np.testing.assert_array_equal(bags.X.toarray(), [[1, 0], [0, 2], [3, 0]])
    assert (bags.ids.tolist(), y.tolist()) == ([1, 2], [1, -1])


def test_matlab_7_3(tmp_path):
    """The layout that MATLAB documents: HDF5 behind a text header, matrices transposed."""
    path = tmp_path / "b.mat"
    X = np.array([[1.0, 0], [0, 2], [3, 0]])
    for sparse in (False, True):
        with h5py.File(path, "w", userblock_size=512) as file:
            if sparse:
                columns = sp.csc_array(X)
                group = file.create_group("X")
                group.attrs["MATLAB_sparse"] = np.uint64(3)
                group["data"], group["ir"], group["jc"] = (
                    columns.data,
                    columns.indices,
                    columns.indptr,
                )
            else:
                file["X"] = X.T
            file["bag_ids"], file["labels"] = np.array([[1.0, 1, 2]]), np.array([[1.0, 1, -1]])
            file["note"] = np.frombuffer("text".encode("utf-16-le"), np.uint16)
        raw = bytearray(path.read_bytes())
        raw[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
        path.write_bytes(bytes(raw))
        bags, y = read(path)
        np.testing.assert_array_equal(bags.X.toarray() if sparse else bags.X, X)
        assert (bags.ids.tolist(), y.tolist()) == ([1, 2], [1, -1])


def test_pathology_h5_with_coordinates(tmp_path):
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(n, 4)).astype(np.float32) for n in (3, 2)]
    for name, block in zip("ab", features, strict=True):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["features"] = block
            file["coords"] = np.arange(2 * len(block)).reshape(-1, 2)
    (tmp_path / "labels.csv").write_text("file,label,patient\na.h5,tumor,p1\nb.h5,normal,p2\n")
    bags, y = read(tmp_path / "labels.csv", groups="patient", instance_ids="coords")
    assert bags.dtype == np.float32
    np.testing.assert_array_equal(bags.X, np.concatenate(features))
    assert bags.instance_ids[4] == (2, 3)
    write(tmp_path / "b.bags", bags, y)
    assert read(tmp_path / "b.bags")[0].instance_ids[4] == (2, 3)
    assert bags.groups.tolist() == ["p1", "p2"]
    assert (bags.ids.tolist(), y.tolist()) == (["a", "b"], ["tumor", "normal"])


def test_csv_without_header_and_by_position(tmp_path):
    (tmp_path / "b.csv").write_text("1,m1,0.5,2\n1,m1,0.25,3\n0,m2,4,5\n")
    bags, y = read(tmp_path / "b.csv", bag=1, label=0)
    assert bags.ids.tolist() == ["m1", "m2"]
    np.testing.assert_array_equal(bags.X, [[0.5, 2], [0.25, 3], [4, 5]])
    assert y.tolist() == [1, 0]
    assert bags.feature_names is None


def test_chosen_columns_only(tmp_path):
    (tmp_path / "b.csv").write_text("slide;note;y;a;b\ns;hello, you;1;1;2\nt;;0;3;4\n")
    bags, y = read(tmp_path / "b.csv", bag="slide", label="y", features=["b", "a"])
    np.testing.assert_array_equal(bags.X, [[2, 1], [4, 3]])
    assert list(bags.feature_names) == ["b", "a"]
    assert y.tolist() == [1, 0]


def test_ids_that_are_numbers_only_by_sight_stay_texts(tmp_path):
    (tmp_path / "b.csv").write_text("bag,label,f\n007,+1,1\n7,-1,2\n1e3,+1,3\n")
    bags, y = read(tmp_path / "b.csv")
    assert bags.ids.tolist() == ["007", "7", "1e3"]
    assert y.tolist() == [1, -1, 1]


AWKWARD = [
    "bag,label,f1,f2\na,1,+1.5, 2\na,1,1e400,-1e-400\n",
    "bag,label,f1,f2\na,1,NA,\nb,1,inf,-Infinity\n\nc,0,?,nan\n",
    'bag,label,f1,f2\n"a\nb",1,1,2\n"a\nb",1,"3",4\n',
    "\ufeffbag,label,f1,f2\r\na,1,1,2\r\nb,0,.5,6.\r\n",
    "bag\tlabel\tf1\tf2\na\t1\t0.1\t4.9406564584124654e-324\n",
    "bag,label,f1,f2\na,1,0.1234567890123456789,9007199254740993\nb,True,1,2",
]


@pytest.mark.parametrize("text", AWKWARD)
def test_both_engines_read_the_same(text, tmp_path):
    (tmp_path / "b.csv").write_text(text, newline="")
    one, y = read_csv(tmp_path / "b.csv", engine="csv")
    other, z = read_csv(tmp_path / "b.csv", engine="pyarrow")
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(y, z)


def test_small_blocks_change_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(300, 3)), np.arange(0, 301, 10))
    write(tmp_path / "b.csv", bags, np.arange(30) % 2)
    monkeypatch.setattr(tables, "_BLOCK_FIELDS", 17)
    monkeypatch.setattr(tables, "_BLOCK_BYTES", 500)
    for engine in ("csv", "pyarrow"):
        back, y = read_csv(tmp_path / "b.csv", engine=engine)
        np.testing.assert_array_equal(back.X, bags.X)
        assert y.tolist() == (np.arange(30) % 2).tolist()


def test_without_pyarrow_the_csv_engine_reads(tmp_path, monkeypatch):
    (tmp_path / "b.csv").write_text("bag,label,f\na,1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(tables.importlib.util, "find_spec", lambda name: None)
    assert len(read_csv(tmp_path / "b.csv")[0]) == 1
    with pytest.raises(ImportError, match=r"bagwise\[io\]"):
        read(tmp_path / "b.parquet", format="parquet")


def test_parquet_reads_only_the_needed_columns(tmp_path):
    from pyarrow import parquet

    from bagwise.io import _arrowfiles

    table = pa.table({"bag": ["a", "b"], "y": [1, 0], "f": [1.5, 2.5], "text": ["x", "y"]})
    parquet.write_table(table, tmp_path / "b.parquet")
    asked = []
    original = _arrowfiles.ParquetFile._batches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _arrowfiles.ParquetFile,
            "_batches",
            lambda self, columns: asked.append(list(columns)) or original(self, columns),
        )
        bags, y = read(tmp_path / "b.parquet", label="y", features=["f"])
    assert asked == [[2, 1, 0]] or sorted(asked[0]) == [0, 1, 2]
    assert (bags.X.ravel().tolist(), y.tolist()) == ([1.5, 2.5], [1, 0])


def test_list_of_list_parquet_from_elsewhere(tmp_path):
    from pyarrow import parquet

    columns = {"slide": ["s", "t"], "dx": ["no", "yes"], "feats": [[[1, 2], [3, 4]], [[5, 6]]]}
    parquet.write_table(pa.table(columns), tmp_path / "b.parquet")
    bags, y = read(tmp_path / "b.parquet", bag="slide", label="dx")
    np.testing.assert_array_equal(bags.X, [[1, 2], [3, 4], [5, 6]])
    assert (bags.ids.tolist(), y.tolist()) == (["s", "t"], ["no", "yes"])


def test_arrow_stream(tmp_path):
    table = pa.table({"bag": ["a", "a", "b"], "label": [1, 1, 0], "f": [1.0, 2.0, 3.0]})
    with pa.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as writer:
        writer.write_table(table)
    bags, y = read(tmp_path / "b.arrow")
    assert (bags.X.ravel().tolist(), y.tolist()) == ([1, 2, 3], [1, 0])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.svm"])
def test_format_by_content(name, tmp_path):
    bags = Bags.from_list([np.eye(2), np.ones((1, 2))])
    write(tmp_path / name, bags, [1, 0])
    (tmp_path / name).rename(tmp_path / "unnamed")
    back, y = read(tmp_path / "unnamed")
    assert len(back) == 2
    assert y.tolist() == [1, 0]


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


def test_progress_bar_when_asked(tmp_path, capsys):
    (tmp_path / "b.csv").write_text("bag,label,f\na,1,2\n")
    read_csv(tmp_path / "b.csv", progress=True)
    assert "reading b.csv" in capsys.readouterr().err
    read_csv(tmp_path / "b.csv")
    assert capsys.readouterr().err == ""


def test_folder_key_and_instance_ids(tmp_path):
    np.savez(tmp_path / "a.npz", left=np.zeros((2, 1)), right=np.ones((2, 1)))
    (tmp_path / "l.csv").write_text("path,label\na.npz,1\n")
    with pytest.raises(ValueError, match=r"name one with key="):
        read_folder(tmp_path)
    assert read_folder(tmp_path, key="right")[0].X.tolist() == [[1], [1]]
