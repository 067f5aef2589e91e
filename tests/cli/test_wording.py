"""What the library says with arguments, the command line says with options."""

import re
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise import Bags, MarkovNetworkClassifier, OptimalMarginSVC, Pool, WitnessSVC
from bagwise.cli.output import reword
from bagwise.crossfit import folds
from bagwise.designs.base import factor_in_place
from bagwise.errors import message_of
from bagwise.io import read, write
from bagwise.solvers.mirror_prox import mirror_prox
from command_line import done, refused

FIT = ["fit", "-m", "MI-SVM", "-o", "m.bagwise"]
TWO = "bag,label,f\na,1,1\nb,0,2\nc,1,3\nd,0,1\n"


def table(text, name="data.csv"):
    def make(folder):
        (folder / name).write_text(text)
        return folder / name

    return make


# name: how to make the file, options of read, options of `bagwise fit`, both wordings
READING = {
    "format": (
        table("a\0b\n", "data"), {}, [],
        "Pass format=... to name it",
        "Pass --format FORMAT to name it",
    ),
    "file": (
        table("bag,label\na,1\n"), {"format": "folder"}, ["--format", "folder"],
        "has no column 'path' of files; name it with file=..., one of bag, label.",
        "has no column 'path' of files; name it with file=... (in Python), one of bag, label.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READING)
def test_errors_of_reading(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    make, options, flags, python, terminal = READING[case]
    path = make(tmp_path)
    with pytest.raises(ValueError, match=re.escape(python)):
        read(path, **options)
    refused(1, terminal, *FIT, path, *flags)


HUGE = "bag,label,f\na,0,1e200\nb,1,2e200\nc,0,3e200\nd,1,1e200\n"
BAGS = Bags(np.array([[1.0], [2.0], [3.0], [1.0]]), np.arange(5))
THREE = "bag,label,f\na,1,1\nb,0,2\nc,2,3\n"

# name: what fails in Python, the table and the options of `bagwise fit`, both wordings
FITTING = {
    "pos_label": (
        lambda: WitnessSVC(pos_label=2).fit(BAGS[:3], [1, 0, 2]),
        THREE, ["--positive", "2"],
        "pos_label is for two classes; there are 3.",
        "--positive is for two classes; there are 3.",
    ),
    "calibration_cv": (
        lambda: WitnessSVC(threshold="calibrated").fit(BAGS, [1, 0, 1, 0]),
        TWO, ["-p", "threshold=calibrated"],
        "fewer than the 5 inner folds of calibration_cv. Lower calibration_cv to 2 or",
        "the 5 inner folds of --param calibration_cv. Lower --param calibration_cv to 2 or",
    ),
    "scale for a kernel": (
        lambda: WitnessSVC(kernel="poly").fit(BAGS.replace(X=1e200 * BAGS.X), [0, 1, 0, 1]),
        HUGE, ["-p", "kernel=poly"],
        "Scale the features with PerInstance(StandardScaler()) in a pipeline, or use float64.",
        "Scale the features with --scale, or use float64.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FITTING)
@pytest.mark.filterwarnings("ignore")
def test_errors_of_fitting(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    fails, text, flags, python, terminal = FITTING[case]
    with pytest.raises((ValueError, FloatingPointError), match=re.escape(python)):
        fails()
    refused(1, terminal, *FIT, table(text)(tmp_path), *flags)


def test_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bagwise.kernels.instance.memory_limit", lambda: 8.0)
    size = r"The Gram matrix of 4 x 4 values needs 0.0 GiB"
    remedy = (
        "Use kernel_options__approx='nystroem' (kernel_options__n_components sets its precision) "
        "or kernel='linear'."
    )
    with pytest.raises(MemoryError, match=f"{size}.*{re.escape(remedy)}"):
        WitnessSVC().fit(BAGS, [1, 0, 1, 0])
    message = (
        "Use --param kernel_options__approx=nystroem (--param kernel_options__n_components sets "
        "its precision) or --param kernel=linear."
    )
    refused(1, message, *FIT, table(TWO)(tmp_path))


MIRROR_PROX = ["-p", "pool__solver=mirror_prox", "-p", "pool__max_columns=2"]

# name: what to patch so that it stops soon, the estimator, its options here, both wordings
STOPPING = {
    "saddle": (
        ("bagwise.estimators.assigned.mirror_prox", partial(mirror_prox, max_iter=1)),
        OptimalMarginSVC(pool=Pool(solver="mirror_prox", max_columns=2), threshold=0.0),
        ["-m", "MI-ODM", *MIRROR_PROX, "-p", "threshold=0.0"],
        ". pool__solver='newton' is exact.",
        ". --param pool__solver=newton is exact.",
    ),
    "network": (
        ("bagwise.procedures.nrbm.MAX_STEPS", 1),
        MarkovNetworkClassifier(unit_norm=False, tol=1e-6, max_iter=10000),
        ["-m", "MIMN", "-p", "unit_norm=False", "-p", "tol=1e-6", "-p", "max_iter=10000"],
        "or scale the features with unit_norm=True; max_iter would not help.",
        "or scale the features with --param unit_norm=True; max_iter would not help.",
    ),
}


@pytest.mark.parametrize("case", STOPPING)
@pytest.mark.filterwarnings("always")
def test_warnings(cells, tmp_path, monkeypatch, case):
    patch, model, flags, python, terminal = STOPPING[case]
    monkeypatch.setattr(*patch)
    with pytest.warns(ConvergenceWarning, match=re.escape(python)):
        model.fit(*read(cells))
    said = done("fit", cells, *flags, "-o", tmp_path / "m.bagwise").stderr
    assert f"Warning: {type(model).__name__} " in said
    assert terminal in said


# Errors that the command line cannot provoke, or refuses before: worded all the same.
ELSEWHERE = {
    "a folder that exists": (
        lambda folder: [write(folder / "data.bags", BAGS) for _ in range(2)],
        "Pass overwrite=True to replace a .bags folder.",
        "Pass --force to replace a .bags folder.",
    ),
    "a fold without a class": (
        lambda _: folds(BAGS, np.array([0, 0, 1, 1]), [([0, 1], [2, 3]), ([2, 3], [0, 1])], 0),
        "Lower cv, or bring more groups",
        "Lower --param cv, or bring more groups",
    ),
    "an indefinite system": (
        lambda _: factor_in_place(-np.eye(2)),
        "scale the features with PerInstance(StandardScaler()) in a pipeline, lower C, or use",
        "scale the features with --scale, lower C, or use float64.",
    ),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_errors_of_python_alone(tmp_path, case):
    fails, python, terminal = ELSEWHERE[case]
    with pytest.raises((ValueError, OSError), match=re.escape(python)) as caught:
        fails(tmp_path)
    assert terminal in reword(message_of(caught.value))
