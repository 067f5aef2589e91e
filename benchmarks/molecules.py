"""Activities of molecules: bags of 3-D shapes against fingerprints, on official splits.

    python benchmarks/molecules.py [--peer PYTHON] > table.md

The sets are three of MoleculeACE (van Tilborg and others 2022), with their official split, from the
folder ``moleculeace`` of BAGWISE_DATA. All models of shapes see the same conformers and descriptors
(`bagwise.io.read_molecules`). Morgan fingerprints (radius 2, 2,048 bits) with a random forest of
500 trees see the 2-D structure. The automatic model is that of kernels and witnesses on
standardized features; trees of all its folds would take minutes. PYTHON is an interpreter with
mikit-learn, whose regressors are fitted at their defaults to features scaled as in its
documentation.

Planted: the number of a molecule is the largest inertial shape factor, radius of gyration and
asphericity, summed after scaling, of its conformers, plus noise of .1. The key rate is the share of
test molecules with two conformers or more whose key instance is the one that decides.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SETS = {"CHEMBL1862 (ABL1)": "CHEMBL1862_Ki", "CHEMBL2835 (JAK1)": "CHEMBL2835_Ki"}
SETS |= {"CHEMBL4203 (CLK4)": "CHEMBL4203_Ki"}
DECIDES = ("InertialShapeFactor", "RadiusOfGyration", "Asphericity")
PEERS = ("BagWrapperMLPNetworkRegressor", "InstanceWrapperMLPNetworkRegressor")
PEERS += ("AdditiveAttentionNetworkRegressor", "DynamicPoolingNetworkRegressor")
TRIED = ("MeanRegressor", "BagKernelRegressor", "DistributionRegressor", "WitnessRegressor")


def rmse(y, predicted):
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def predict_peers(file):
    """Print the error of every peer on bags of an npz file, in an environment that has them."""
    from milearn.network import regressor
    from milearn.preprocessing import BagMinMaxScaler

    data = np.load(file)
    parts = [np.split(data[f"X_{k}"], data[f"cuts_{k}"]) for k in ("train", "test")]
    scaler = BagMinMaxScaler()
    scaler.fit(parts[0])
    train, test = (scaler.transform(part) for part in parts)
    for name in PEERS:
        model = getattr(regressor, name)()
        model.fit(train, data["y_train"])
        print(name, rmse(data["y_test"], np.asarray(model.predict(test)).ravel()), flush=True)


def ask_peers(python, train, test):
    """Return the errors of peers by name."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        arrays = {}
        for name, (bags, y) in (("train", train), ("test", test)):
            arrays |= {f"X_{name}": bags.X, f"cuts_{name}": bags.offsets[1:-1], f"y_{name}": y}
        np.savez(file.name, **arrays)
        words = [python, __file__, "--child", file.name]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/tmp")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(PEERS)]
    return {f"mikit-learn, `{name}`": float(error) for name, error in rows}


def fingerprints(smiles):
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=2, fpSize=2048)
    return np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(s)) for s in smiles])


def measure(name, peer):
    """Return the errors of models on the test molecules, and key rates on planted numbers."""
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.preprocessing import StandardScaler

    from bagwise import (
        AutoBagRegressor,
        BagKernelRegressor,
        MeanRegressor,
        PerInstance,
        StatisticsForestRegressor,
        WitnessRegressor,
        make_pipeline,
    )
    from bagwise.io import read_molecules

    path = Path(os.environ["BAGWISE_DATA"]) / "moleculeace" / f"{name}.csv"
    bags, y = read_molecules(path, "molecule", "pKi", smiles="smiles")
    table = pd.read_csv(path).set_index("molecule").loc[bags.ids]
    train, test = (np.flatnonzero(table["split"] == part) for part in ("train", "test"))

    def scaled(model):
        return make_pipeline(PerInstance(StandardScaler()), model)

    models = {
        "`MeanRegressor`": scaled(MeanRegressor(C=10.0)),
        "`BagKernelRegressor`": scaled(BagKernelRegressor(C=30.0)),
        "`WitnessRegressor`": scaled(WitnessRegressor(C=3.0)),
        "`StatisticsForestRegressor`": StatisticsForestRegressor(n_estimators=100),
        "`AutoBagRegressor` of kernels": AutoBagRegressor(
            models=[*TRIED], scale="standard", time_limit=None
        ),
    }
    found = {"mean of the training set": rmse(y[test], y[train].mean())}
    for title, model in models.items():
        found[title] = rmse(y[test], model.fit(bags[train], y[train]).predict(bags[test]))
        print(name, title, found[title], file=sys.stderr, flush=True)
    if peer:
        found |= ask_peers(peer, (bags[train], y[train]), (bags[test], y[test]))
    forest = RandomForestRegressor(500, random_state=0)
    rows = fingerprints(table["smiles"])
    forest.fit(rows[train], y[train])
    found["random forest on Morgan fingerprints"] = rmse(y[test], forest.predict(rows[test]))
    return found | find_keys(bags, train, test, scaled(WitnessRegressor(kernel="linear")))


def find_keys(bags, train, test, model):
    """Return how often the deciding conformer is found, and how often by chance."""
    columns = [list(bags.feature_names).index(name) for name in DECIDES]
    X = bags.X[:, columns]
    value = ((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)
    of_bags = np.split(value, bags.offsets[1:-1])
    noise = 0.1 * np.random.default_rng(0).normal(size=len(bags))
    y, truth = np.array([v.max() for v in of_bags]) + noise, [int(v.argmax()) for v in of_bags]
    several = test[bags.sizes[test] > 1]
    keys = model.fit(bags[train], y[train]).key_instances(bags[several])
    rate = float(np.mean([key == truth[i] for key, i in zip(keys, several, strict=True)]))
    return {"key rate": rate, "key rate by chance": float(np.mean(1 / bags.sizes[several]))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        predict_peers(options.child)
        return
    found = {title: measure(name, options.peer) for title, name in SETS.items()}
    print(f"| | {' | '.join(found)} |", "|---|" + "---|" * len(found), sep="\n")
    for row in next(iter(found.values())):
        print(f"| {row} | {' | '.join(f'{of[row]:.2f}' for of in found.values())} |")


if __name__ == "__main__":
    main()
