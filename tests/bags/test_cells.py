import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from anndata import AnnData

from bagwise import Bags


@pytest.fixture
def adata():
    obs = pd.DataFrame(
        {
            "patient": pd.Categorical(["q", "p", "q", "p", "r"]),
            "status": ["ill", "well", "ill", "well", "ill"],
            "site": ["a", "b", "a", "b", "a"],
            "kind": ["T", "B", "B", "T", "T"],
        },
        index=[f"cell{i}" for i in range(5)],
    )
    data = AnnData(sp.csr_matrix(np.arange(10.0).reshape(5, 2)), obs)
    data.var_names = ["CD3", "CD19"]
    data.obsm["X_pca"] = np.arange(15.0).reshape(5, 3)
    data.layers["counts"] = np.ones((5, 2), dtype=np.float32)
    return data


def test_the_cells_of_a_patient_are_a_bag(adata):
    bags, y = Bags.from_anndata(
        adata, bag="patient", label="status", groups="site", instance_labels="kind"
    )
    assert bags.ids.tolist() == ["q", "p", "r"]
    assert y.tolist() == ["ill", "well", "ill"]
    assert bags.groups.tolist() == ["a", "b", "a"]
    assert bags.instance_ids.tolist() == ["cell0", "cell2", "cell1", "cell3", "cell4"]
    assert bags.instance_labels.tolist() == ["T", "B", "B", "T", "T"]
    assert bags.feature_names.tolist() == ["CD3", "CD19"]
    assert sp.issparse(bags.X)
    assert bags.X.toarray()[1].tolist() == [4.0, 5.0]


def test_features_from_obsm_and_layers_and_positions_from_spatial(adata):
    adata.obsm["spatial"] = np.arange(10.0).reshape(5, 2)
    bags = Bags.from_anndata(adata, bag="patient", obsm="X_pca")
    assert bags.feature_names.tolist() == ["X_pca_0", "X_pca_1", "X_pca_2"]
    assert bags.coords[1].tolist() == [4.0, 5.0]
    assert Bags.from_anndata(adata, bag="patient", layer="counts").X.dtype == np.float32


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"bag": "patiant"}, ValueError, "no column 'patiant'.*Did you mean 'patient'"),
        ({"bag": "patient", "obsm": "X_pcs"}, ValueError, "adata.obsm has no 'X_pcs'.*X_pca"),
        ({"bag": "patient", "layer": "raw"}, ValueError, "adata.layers has no 'raw'"),
        ({"bag": "patient", "layer": "a", "obsm": "b"}, ValueError, "not with both"),
        ({"bag": "patient", "label": "patient"}, ValueError, "bags and the labels"),
        ({"bag": "patient", "label": "kind"}, ValueError, "two values of the label"),
    ],
)
def test_mistakes_are_named(adata, options, error, match):
    with pytest.raises(error, match=match):
        Bags.from_anndata(adata, **options)


def test_a_frame_is_no_anndata(adata):
    with pytest.raises(TypeError, match="takes an AnnData object, got a DataFrame"):
        Bags.from_anndata(adata.obs, bag="patient")
