"""Molecules as bags of their shapes."""

import json
import os

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rdkit", reason="molecules need RDKit: pip install 'bagwise[molecules]'")

from bagwise.io import FormatError, read_molecules
from bagwise.io.molecules import NAMES, MoleculeWarning, embed, embed_molecules
from command_line import call, done, rows_of

ALKANES = [f"{'C' * n}{end}" for n in range(2, 8) for end in ("O", "N", "C(=O)O", "Cl")]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "molecules"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mols.csv"
    sizes = [len(text) + i % 3 / 10 for i, text in enumerate(ALKANES)]
    names = [f"m{i}" for i in range(len(ALKANES))]
    frame = pd.DataFrame({"molecule": names, "smiles": ALKANES, "pKi": sizes, "logP": 1.0})
    frame.to_csv(path, index=False)
    return path


def test_the_same_seed_gives_the_same_shapes_and_another_others(cache):
    first, _ = embed_molecules(["CCCCCO"], n_conformers=4)
    for file in cache.iterdir():
        file.unlink()
    again, _ = embed_molecules(["CCCCCO"], n_conformers=4)
    other, _ = embed_molecules(["CCCCCO"], n_conformers=4, random_state=1)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert list(first.feature_names) == NAMES


def test_conformers_are_apart_and_a_rigid_molecule_has_one():
    assert embed("c1ccccc1").GetNumConformers() == 1
    flexible = embed("CCCCCCCCO")
    assert flexible.GetNumConformers() > 3
    from rdkit.Chem import RemoveHs
    from rdkit.Chem.AllChem import GetConformerRMS

    heavy = RemoveHs(flexible)
    every = range(heavy.GetNumConformers())
    assert min(GetConformerRMS(heavy, i, j) for i in every for j in every if i < j) > 0.4


def test_descriptors_do_not_depend_on_where_the_molecule_lies():
    from rdkit.Chem import rdMolTransforms as move

    from bagwise.io.molecules import _describe

    molecule = embed("CCOC(=O)CN", 1)
    before, turn = _describe(molecule), np.eye(4)
    angle = 1.1
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    turn[:3, 3] = [5.0, -3.0, 2.0]
    move.TransformConformer(molecule.GetConformer(0), turn)
    np.testing.assert_allclose(_describe(molecule), before, rtol=1e-2, atol=1e-2)


def test_a_second_reading_takes_shapes_from_the_cache(table, cache, monkeypatch):
    first, y = read_molecules(table, "molecule", "pKi", smiles="smiles", n_conformers=2)
    assert len(os.listdir(cache)) == len(ALKANES)
    monkeypatch.setattr("bagwise.io.molecules.embed", None)
    again, _ = read_molecules(table, "molecule", "pKi", smiles="smiles", n_conformers=2)
    np.testing.assert_array_equal(first.X, again.X)
    assert len(y) == len(first) == len(ALKANES)


def test_molecules_without_shapes_are_listed_and_left_out():
    with pytest.warns(MoleculeWarning, match="1 of 2 molecules.*bad: 'C1CC' is no SMILES"):
        bags, failures = embed_molecules(["CCO", "C1CC"], ["good", "bad"], n_conformers=2)
    assert bags.ids.tolist() == ["good"]
    assert list(failures) == ["bad"]
    with pytest.warns(MoleculeWarning), pytest.raises(ValueError, match="column of SMILES"):
        embed_molecules(["aspirin"])


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({}, {"smiles": "SMILES"}, "has no column 'SMILES'"),
        ({"molecule": "twice"}, {}, "has the molecule 'twice' twice"),
        ({"pKi": None}, {"label": "pKi"}, "no value of 'pKi' for the molecule 'm0'"),
    ],
)
def test_bad_tables_are_named(change, options, says, table):
    pd.read_csv(table).head(2).assign(**change).to_csv(table, index=False)
    with pytest.raises(FormatError, match=says):
        read_molecules(table, "molecule", **{"smiles": "smiles", "n_conformers": 1, **options})


def test_the_road_of_molecules(table, tmp_path):
    common = [table, "--smiles", "smiles", "--bag", "molecule", "--label", "pKi"]
    model, out = tmp_path / "m.bagwise", tmp_path / "p.csv"
    found = json.loads(done("info", *common, "--json").stdout)
    assert found["task"] == "numbers"
    assert "--smiles smiles" in found["next"]
    done("convert", *common, tmp_path / "mols.bags")
    done("fit", *common, "--model", "MeanRegressor", "--scale", "--out", model)
    done("predict", model, table, "--out", out)
    assert rows_of(out)[3]["key_instance"].startswith("m3#")
    shown = json.loads(done("explain", model, table, "--only", "m5", "--json").stdout)
    assert shown[0]["instance"].startswith("m5#")
    done("evaluate", model, tmp_path / "mols.bags")
    done("cv", *common, "--model", "MeanRegressor", "--folds", 3, "-j", 1)
    done("report", model, table, "--out", tmp_path / "r.html")
    models = ["--models", "MeanRegressor", "--folds", 2, "--repeats", 1, "-j", 1]
    done("compare", *common, *models)
    refused = call("fit", tmp_path / "mols.bags", "--smiles", "smiles", "--model", "MeanRegressor")
    assert "--smiles does not apply" in refused.output
