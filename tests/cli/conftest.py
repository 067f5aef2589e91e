"""Tables as a user has them, and a model that was fitted to one of them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from bagwise.datasets import make_gaussian_bags
from command_line import COLUMNS, done


def write_slides(path: Path, n_bags: int, *, labels: bool = True, seed: int = 0) -> None:
    """Write bags with column names of their own, an id per row and a patient per bag."""
    bags, y = make_gaussian_bags(n_bags=n_bags, shift=4.0, random_state=seed)
    names = np.array(["normal", "tumor"])[y]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        head = ["slide", "patient", "instance", *(f"f{j}" for j in range(bags.n_features))]
        writer.writerow(["diagnosis", *head] if labels else head)
        for i in range(len(bags)):
            for k, x in enumerate(bags[i].tolist()):
                row = [f"s{i}", f"p{i // 2}", f"s{i}-{k}", *x]
                writer.writerow([names[i], *row] if labels else row)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return a folder with train.csv, test.csv, new.csv (test.csv without labels) and a model."""
    folder = tmp_path_factory.mktemp("slides")
    write_slides(folder / "train.csv", 30)
    write_slides(folder / "new.csv", 12, labels=False, seed=1)
    write_slides(folder / "test.csv", 12, seed=1)
    model = ["-m", "MI-SVM", "-p", "kernel=linear", "--no-calibration"]
    model += ["-o", folder / "model.bagwise"]
    done("fit", folder / "train.csv", *COLUMNS, *model, "--positive", "tumor")
    return folder


@pytest.fixture
def fit(folder, tmp_path):
    """Return a function that fits MI-SVM to train.csv and returns what it printed, and the file."""

    def run(*more):
        out = tmp_path / "fitted.bagwise"
        base = ["-m", "MI-SVM"] if "-m" not in more else []
        base += [] if "--threshold" in more else ["--no-calibration"]
        named = [] if "--positive" in more else ["--positive", "tumor"]
        return done(
            "fit", folder / "train.csv", *COLUMNS, *base, *named, "-o", out, "--force", *more
        ), out

    return run


@pytest.fixture(scope="session")
def cells(tmp_path_factory):
    """Return a CSV with the usual column names, and groups."""
    from bagwise import Bags
    from bagwise.io import write

    path = tmp_path_factory.mktemp("cells") / "cells.csv"
    bags, y = make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)
    bags = Bags(bags.X, bags.offsets, groups=np.arange(len(bags)) // 2)
    write(path, bags, np.array(["absent", "present"])[y])
    return path
