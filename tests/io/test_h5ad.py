"""AnnData files: cells as instances."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.bags.arrays import PER_BAG, PER_INSTANCE
from bagwise.io import CorruptFileError, FormatError, LabelError, read, read_h5ad, write, write_h5ad
from bagwise.io.h5ad import read_obs

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")


@pytest.fixture
def cells(tmp_path):
    """Write six cells of two samples of each of two patients, not in order."""
    obs = pd.DataFrame(
        {
            "sample": pd.Categorical(["s2", "s1", "s2", "s1", "s3", "s3"]),
            "patient": ["p1", "p1", "p1", "p1", "p2", "p2"],
            "status": ["ill", "ill", "ill", "ill", "well", "well"],
            "counts": np.arange(6),
        },
        index=[f"cell{i}" for i in range(6)],
    )
    adata = anndata.AnnData(
        np.arange(12, dtype="float32").reshape(6, 2), obs, pd.DataFrame(index=["CD3", "CD34"])
    )
    adata.layers["log"] = sp.csr_matrix(np.log1p(adata.X))
    adata.obsm["X_pca"] = np.ones((6, 3))
    adata.obsm["spatial"] = np.arange(12.0).reshape(6, 2)
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    return path


def test_columns_of_obs_name_bags_labels_and_groups(cells):
    bags, y = read(cells, bag="sample", label="status", groups="patient")
    assert bags.ids.tolist() == ["s2", "s1", "s3"]
    assert (bags.sizes.tolist(), y.tolist()) == ([2, 2, 2], ["ill", "ill", "well"])
    assert bags.groups.tolist() == ["p1", "p1", "p2"]
    assert bags.feature_names.tolist() == ["CD3", "CD34"]
    assert bags.instance_ids[:2].tolist() == ["cell0", "cell2"]
    assert bags.X[:2].tolist() == [[0, 1], [4, 5]]
    assert bags.coords[1].tolist() == [4, 5]


def test_layers_embeddings_and_genes_can_be_chosen(cells):
    assert sp.issparse(read_h5ad(cells, bag="sample", layer="log")[0].X)
    assert read_h5ad(cells, bag="sample", obsm="X_pca")[0].n_features == 3
    assert read_h5ad(cells, bag="sample", features=["CD34"])[0].X[0, 0] == 1
    assert read_h5ad(cells, bag="sample", drop=["CD34"])[0].feature_names.tolist() == ["CD3"]
    assert read_h5ad(cells, bag="sample", features=["CD3*"])[0].n_features == 2


def test_mistakes_are_named(cells, tmp_path):
    with pytest.raises(FormatError, match=r"no column 'bag'; name yours with bag=\.\.\., one"):
        read(cells)
    with pytest.raises(FormatError, match=r"no column 'sampel'\. Did you mean 'sample'"):
        read(cells, bag="sampel")
    with pytest.raises(LabelError, match="bag 's2' has the label 0 and here 2"):
        read(cells, bag="sample", label="counts")
    with pytest.raises(FormatError, match="of the bags and of the labels"):
        read(cells, bag="sample", label="sample")
    with pytest.raises(FormatError, match="no column 'CD4'"):
        read(cells, bag="sample", features=["CD4"])
    obs = anndata.read_h5ad(cells)
    obs.obs["status"] = ["ill", None, "ill", "ill", "well", "well"]
    obs.write_h5ad(tmp_path / "missing.h5ad")
    with pytest.raises(LabelError, match="row 2: the label is missing"):
        read(tmp_path / "missing.h5ad", bag="sample", label="status")


def test_a_file_of_another_kind_is_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "b.h5ad", "w") as file:
        file["features"] = np.ones((2, 2))
    with pytest.raises(CorruptFileError, match="not an AnnData file"):
        read(tmp_path / "b.h5ad", bag="sample")


def test_bags_come_back(tmp_path):
    bags = Bags(
        np.arange(8.0).reshape(4, 2), [0, 1, 4], ids=["a", "b"], groups=[1, 2], priors=[0.5, 0.1],
        instance_labels=[0, 1, 0, 1], known_labels=[np.nan, 1, 0, np.nan], coords=np.ones((4, 2)),
        parts=[*"pqqr"], sites=["x", "y"], patch_size=[2.0, 4.0], bag_features=[[61.0, 0], [47, 1]],
    )  # fmt: skip
    write(tmp_path / "b.h5ad", bags, [1, 0])
    back, y = read(tmp_path / "b.h5ad")
    assert y.tolist() == [1, 0]
    for name in {"X", "offsets", *PER_BAG, *PER_INSTANCE} - {"instance_ids"}:
        np.testing.assert_array_equal(getattr(back, name), getattr(bags, name))
    sparse = bags.replace(X=sp.csr_array(bags.X))
    write_h5ad(tmp_path / "c.h5ad", sparse, [1, 0])
    assert sp.issparse(read_h5ad(tmp_path / "c.h5ad")[0].X)


def test_what_cannot_be_stored_is_said(tmp_path):
    bags = Bags.from_list([[[0.0]], [[1.0]]], ids=np.array(["a", 1], dtype=object))
    with pytest.raises(FormatError, match="cannot be written as AnnData"):
        write_h5ad(tmp_path / "b.h5ad", bags)
    assert not (tmp_path / "b.h5ad").exists()


def test_obs_alone_is_read_for_guesses(cells):
    assert list(read_obs(cells).columns) == ["sample", "patient", "status", "counts"]
