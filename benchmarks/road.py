"""The main road on messy data: `bagwise info`, then every command that is printed, to the report.

    python benchmarks/road.py [NAME ...] [--quick]

Every data set is drawn with a defect that real tables and folders have. The words of each printed
command are run as they stand. The last model then predicts bags that were drawn with the others and
kept aside: it must rank them, decide about them and give probabilities better than frequencies.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score, r2_score

from bagwise.datasets import make_slide_bags
from bagwise.times import check_times, concordance

Run = Callable[[list[str]], tuple[int, str]]
N_NEW = 24  # bags kept aside


class Data(NamedTuple):
    """A data set: what to look at first, bags kept aside, and how many classes there are."""

    first: list[str]
    new: Path
    truth: dict[str, Any]  # the label of each bag kept aside
    task: str = "classes"


class Step(NamedTuple):
    """A command that was run."""

    words: list[str]
    status: int
    output: str
    seconds: float


# Tables ------------------------------------------------------------------------------------------


def draw_cells(
    n_bags: int = 60, *, classes: tuple[Any, ...] = ("normal", "tumor"), share: float = 0.0
) -> pd.DataFrame:
    """Draw a row per cell; a bag of any class but the first has cells of that class's own kind."""
    rng = np.random.default_rng(0)
    n_all = n_bags + N_NEW
    code = np.arange(n_all) % len(classes)
    if share:
        code = (np.arange(n_all) % round(1 / share) == 0).astype(int)
    sizes = rng.integers(6, 14, n_all)
    bag = np.repeat(np.arange(n_all), sizes)
    X = rng.normal(size=(len(bag), 6))
    odd = (rng.random(len(bag)) < 0.3) | (np.diff(bag, prepend=-1) > 0)  # at least the first
    kinds = 4.0 * rng.normal(size=(len(classes), 6)) / np.sqrt(2)
    kinds[0] = 0.0
    X[odd] += kinds[code[bag[odd]]]
    table = pd.DataFrame({"slide": [f"s{i:03}" for i in bag]})
    table["diagnosis"] = np.array(classes, dtype=object)[code[bag]]
    for j in range(6):
        table[f"f{j}"] = X[:, j]
    return table


def split(table: pd.DataFrame, folder: Path, truth: Any = None, **options: Any) -> Data:
    """Write the last bags to new.csv without labels, the others to cells.csv."""
    names = table["slide"].unique()
    new = table["slide"].isin(names[-N_NEW:])
    labels = table[new].groupby("slide")["diagnosis"].first() if truth is None else truth
    table[~new].to_csv(folder / "cells.csv", index=False, **options)
    table[new].drop(columns="diagnosis").to_csv(folder / "new.csv", index=False, **options)
    return Data(["info", str(folder / "cells.csv")], folder / "new.csv", labels.to_dict())


def missing(folder: Path) -> Data:
    """Draw one value in ten missing."""
    table = draw_cells()
    X = table.loc[:, "f0":]
    table.loc[:, "f0":] = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    return split(table, folder)


def with_column(name: str, make: Callable[[pd.DataFrame], Any]) -> Callable[[Path], Data]:
    """Return what draws a table with one column more."""

    def draw(folder: Path) -> Data:
        table = draw_cells()
        table.insert(2, name, make(table))
        return split(table, folder)

    return draw


def number(table: pd.DataFrame) -> Any:
    """Return the number of each row's bag."""
    return table["slide"].str[1:].astype(int)


def spreads(folder: Path) -> Data:
    """Draw features with spreads from 1e-3 to 1e6."""
    table = draw_cells()
    table.loc[:, "f0":] *= 10.0 ** np.linspace(-3, 6, 6)
    return split(table, folder)


def classes(*names: Any, n_bags: int = 60, share: float = 0.0) -> Callable[[Path], Data]:
    """Return what draws a table with these labels."""
    return lambda folder: split(draw_cells(n_bags, classes=names, share=share), folder)


def draw_number(table: pd.DataFrame) -> Any:
    """Return a number per bag, higher where there are cells of the second kind."""
    noise = np.random.default_rng(2).normal(size=number(table).max() + 1)[number(table)]
    return (50 + 20 * (table["diagnosis"] == "tumor") + 5 * noise).round(2)


def numeric(folder: Path) -> Data:
    """Draw a number as the target of every bag."""
    table = draw_cells()
    table["diagnosis"] = draw_number(table)
    return split(table, folder)._replace(task="numbers")


def cut(folder: Path) -> Data:
    """Draw a number as the target, of which the user makes two classes."""
    table = draw_cells()
    table["diagnosis"] = draw_number(table)
    above = table.groupby("slide")["diagnosis"].first().iloc[-N_NEW:] >= 60
    data = split(table, folder, above.map({True: "yes", False: "no"}))
    return data._replace(first=[*data.first, "--cut", "60"])


def grades(folder: Path) -> Data:
    """Draw grades, one of which is rare."""
    table = draw_cells(90)
    code = (table["diagnosis"] == "tumor") * (1 + (number(table) % 5 == 0))
    table.loc[code == 2, "f0":] *= 2.0
    table["diagnosis"] = np.array(["mild", "moderate", "severe"])[code]
    data = split(table, folder)
    return data._replace(first=[*data.first, "--order", "mild,moderate,severe"], task="grades")


def times(folder: Path) -> Data:
    """Draw times of events, a third of them censored."""
    table, rng = draw_cells(90), np.random.default_rng(3)
    drawn = rng.exponential(size=(2, number(table).max() + 1))[:, number(table)]
    when = drawn[0] * np.where(table["diagnosis"] == "tumor", 2.0, 20.0)
    until = 20 * drawn[1]
    table["months"], table["died"] = np.minimum(when, until).round(3), (when <= until).astype(int)
    table = table.drop(columns="diagnosis").assign(diagnosis=0)
    labels = table.groupby("slide")[["died", "months"]].first().iloc[-N_NEW:]
    truth = pd.Series([*map(tuple, labels.to_numpy())], labels.index)
    data = split(table, folder, truth)
    roles = ["--duration", "months", "--event", "died", "--drop", "diagnosis"]
    return data._replace(first=[*data.first, *roles], task="times")


def commas(folder: Path) -> Data:
    """Draw a table as spreadsheets of half of Europe write it."""
    return split(draw_cells(), folder, sep=";", decimal=",")


def shuffled(folder: Path) -> Data:
    """Draw a table whose rows are in no order."""
    return split(draw_cells().sample(frac=1.0, random_state=0), folder)


# Folders -----------------------------------------------------------------------------------------


def draw_slides(
    folder: Path, name: Callable[[int], str], *, inside: str = "h5_files", **options: Any
) -> tuple[Any, Any]:
    """Write features and coordinates per slide, the last ones apart."""
    bags, y = make_slide_bags(40 + N_NEW, 16, bag_size=(30, 60), witness_rate=0.2, **options)
    bags = bags.replace(X=bags.X.astype(np.float32))
    for i in range(len(bags)):
        place = folder / ("new" if i >= 40 else "slides") / inside
        place.mkdir(parents=True, exist_ok=True)
        rows = slice(bags.offsets[i], bags.offsets[i + 1])
        with h5py.File(place / f"{name(i)}.h5", "w") as file:
            file["features"] = bags.X[rows]
            file["coords"] = bags.coords[rows]
            file["coords"].attrs["patch_size"] = 256
    return bags, y


def as_data(folder: Path, y: Any, name: Callable[[int], str], *more: str) -> Data:
    """Write the labels, and return the data set."""
    labels = np.where(y == 1, "tumor", "normal")
    names = [name(i) for i in range(len(y))]
    rows = pd.DataFrame({"slide_id": names[:40], "label": labels[:40]})
    rows.to_csv(folder / "slides" / "labels.csv", index=False)
    truth = dict(zip(names[40:], labels[40:], strict=True))
    return Data(["info", str(folder / "slides"), *more], folder / "new", truth)


def tcga(folder: Path) -> Data:
    """Draw files with a unique ending, and labels by what comes before it."""
    name = "TCGA-{:02d}".format
    _, y = draw_slides(folder, lambda i: f"{name(i)}.0f1e-{i * 7919 % 4096:03x}")
    return as_data(folder, y, name)


def mixed(folder: Path) -> Data:
    """Draw a folder of CLAM in which some files are float16."""
    _, y = draw_slides(folder, "slide-{:03d}".format)
    for file in sorted((folder / "slides" / "h5_files").iterdir())[::3]:
        with h5py.File(file, "a") as opened:
            features = opened["features"][()]
            del opened["features"]
            opened["features"] = features.astype(np.float16)
    return as_data(folder, y, "slide-{:03d}".format)


def trident(folder: Path) -> Data:
    """Draw the folder that TRIDENT writes, of which the user gives the top."""
    inside = "20x_256px_0px_overlap/features_uni_v1"
    _, y = draw_slides(folder, "slide-{:03d}".format, inside=inside)
    return as_data(folder, y, "slide-{:03d}".format)


def uneven(folder: Path, largest: int = 20_000) -> Data:
    """Draw a slide of one patch beside one of many."""
    bags, y = draw_slides(folder, "slide-{:03d}".format)
    rng = np.random.default_rng(0)
    for i, n in ((int(np.flatnonzero(y == 0)[0]), largest), (int(np.flatnonzero(y == 0)[1]), 1)):
        normal = bags.X[bags.offsets[i] : bags.offsets[i + 1]]
        with h5py.File(folder / "slides" / "h5_files" / f"slide-{i:03d}.h5", "w") as file:
            file["features"] = rng.permutation(np.resize(normal, (n, 16))) + rng.normal(
                scale=0.1, size=(n, 16)
            ).astype(np.float32)
            file["coords"] = 256 * np.column_stack([np.arange(n) % 150, np.arange(n) // 150])
            file["coords"].attrs["patch_size"] = 256
    return as_data(folder, y, "slide-{:03d}".format)


DATA: dict[str, Callable[[Path], Data]] = {
    "missing values": missing,
    "three sites": with_column("site", lambda table: number(table) % 7 % 3),
    "spreads of 1e-3 to 1e6": spreads,
    "text labels": classes("wildtype", "mutant"),
    "imbalance of 1:8": classes("no", "yes", n_bags=90, share=1 / 9),
    "three classes": classes("benign", "grade 1", "grade 2", n_bags=90),
    "ten classes": classes(*"abcdefghij", n_bags=80),
    "a number as target": numeric,
    "a number, cut": cut,
    "grades": grades,
    "times": times,
    "a leaking column": with_column("stage", lambda t: (t["diagnosis"] == "tumor") + 1.0),
    "ids of instances": with_column("cell", lambda t: [f"c{i:05}" for i in range(len(t))]),
    "dates": with_column("taken", lambda t: [f"2024-{1 + n % 12:02}-17" for n in number(t)]),
    "patients": with_column("patient", lambda t: [f"p{n // 2}" for n in number(t)]),
    "decimal commas": commas,
    "shuffled rows": shuffled,
    "names of TCGA": tcga,
    "mixed precision (CLAM)": mixed,
    "top folder of TRIDENT": trident,
    "1 and 20,000 patches": uneven,
}


# The road ----------------------------------------------------------------------------------------


def follow(data: Data, run: Run, quick: bool = False) -> list[Step]:
    """Run the first command and every command that is printed, until none is printed."""
    steps, words = [], data.first
    while words:
        models = "MeanRegressor,WitnessRegressor" if data.task == "numbers" else "SimpleMI,MI-SVM"
        extra = ["--models", models, "--time", "none", "--jobs", "1", "--repeats", "1"]
        extra += ["--folds", "3"]
        began = time.perf_counter()
        status, output = run(words + extra * (quick and words[0] == "compare"))
        steps.append(Step(words, status, output, time.perf_counter() - began))
        if status:
            break
        lines = [line for line in output.splitlines() if line.startswith("Next: bagwise ")]
        words = shlex.split(lines[0])[2:] if lines else []
    return steps


def judge(data: Data, predictions: list[dict[str, Any]], positive: Any) -> dict[str, float]:
    """Return balanced accuracy and log loss of the new bags, and the loss of frequencies alone.

    Of numbers R2, of grades the quadratic kappa, of times the C-index.
    """
    if data.task != "classes":
        return {"score": _score(data, predictions)}
    truth = np.array([str(data.truth[str(row["bag"]).partition(".")[0]]) for row in predictions])
    right = np.array([str(row["label"]) for row in predictions]) == truth
    names, counts = np.unique(truth, return_counts=True)
    shares = counts / len(truth)
    chances = [_chance(row, of, positive) for row, of in zip(predictions, truth, strict=True)]
    return {
        "balanced accuracy": float(np.mean([right[truth == name].mean() for name in names])),
        "log loss": float(-np.log(np.maximum(chances, 1e-6)).mean()),
        "of frequencies": float(-shares @ np.log(shares)),
    }


def _score(data: Data, predictions: list[dict[str, Any]]) -> float:
    name = {"numbers": "number", "grades": "label", "times": "risk"}[data.task]
    truth = [data.truth[str(row["bag"])] for row in predictions]
    predicted = [row[name] for row in predictions]
    if data.task == "times":
        return concordance(check_times(truth), np.array(predicted))[0]
    if data.task == "numbers":
        return float(r2_score(truth, predicted))
    number = {grade: k for k, grade in enumerate(("mild", "moderate", "severe"))}
    codes = [np.array([number[grade] for grade in of]) for of in (truth, predicted)]
    return float(cohen_kappa_score(*codes, weights="quadratic"))


def _chance(row: dict[str, Any], label: str, positive: Any) -> float:
    """Return the probability that was given to a label."""
    if positive is None:
        return float(row[f"probability_{label}"])
    return float(row["probability"] if label == str(positive) else 1 - row["probability"])


def run_alone(words: list[str]) -> tuple[int, str]:
    """Run a command in a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "bagwise", *words], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr + done.stdout


def run_here(words: list[str]) -> tuple[int, str]:
    """Run a command in this process, without the time that starting takes."""
    from typer.testing import CliRunner

    from bagwise.cli import app

    ended = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    return ended.exit_code, ended.stderr + ended.stdout


def walk(name: str, folder: Path, run: Run, quick: bool = False) -> tuple[list[Step], Any]:
    """Follow the road of a data set; return its steps and how the model does on new bags."""
    from bagwise.persistence import describe

    data = uneven(folder, 500) if quick and DATA[name] is uneven else DATA[name](folder)
    steps = follow(data, run, quick)
    if steps[-1].status or not (folder / "model.bagwise").exists():
        return steps, None
    model = folder / "model.bagwise"
    status, output = run(["predict", str(model), str(data.new), "--json"])
    assert not status, output
    predictions = json.loads(output[output.index("[\n") :])
    return steps, judge(data, predictions, describe(model)["positive_class"])


def main() -> None:
    """Walk the roads, and print the table of docs/results/road.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*DATA])
    parser.add_argument("--quick", action="store_true", help="two models, in this process")
    options = parser.parse_args()
    print("| data | commands | seconds | balanced accuracy | log loss | of frequencies |")
    for name in options.names:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run = run_here if options.quick else run_alone
            steps, found = walk(name, Path(folder), run, options.quick)
        words = " → ".join(step.words[0] for step in steps)
        times = " + ".join(f"{step.seconds:.0f}" for step in steps)
        numbers = " | ".join(f"{value:.2f}" for value in (found or {}).values())
        print(f"| {name} | {words} | {times} | {numbers} |", flush=True)
        if steps[-1].status:
            print(shlex.join(steps[-1].words), steps[-1].output, sep="\n")


if __name__ == "__main__":
    main()
