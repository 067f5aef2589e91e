"""What the library says with arguments, the command line says with options."""

import warnings
from functools import partial

import numpy as np
import pytest

from bagwise import Bags, MarkovNetworkClassifier, OptimalMarginSVC, Pool, WitnessSVC
from bagwise.cli.output import reword
from bagwise.crossfit import folds
from bagwise.datasets import make_gaussian_bags
from bagwise.designs.base import factor_in_place
from bagwise.errors import message_of
from bagwise.io import read, write
from bagwise.solvers.mirror_prox import mirror_prox

BAGS = Bags(np.array([[1.0], [2.0], [3.0], [1.0]]), np.arange(5))
MANY = make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)
SADDLE = OptimalMarginSVC(pool=Pool(solver="mirror_prox", max_columns=2), threshold=0.0)
NETWORK = MarkovNetworkClassifier(unit_norm=False, tol=1e-6, max_iter=10000)

# What is patched so that it stops soon.
PATCHES = {
    "memory": ("bagwise.kernels.instance.memory_limit", lambda: 8.0),
    "saddle": ("bagwise.estimators.assigned.mirror_prox", partial(mirror_prox, max_iter=1)),
    "network": ("bagwise.procedures.nrbm.MAX_STEPS", 1),
}


def read_text(folder, text, **options):
    (folder / "data").write_text(text)
    read(folder / "data", **options)


# name: what fails or warns, given a folder; the wordings of Python and of the command line
CASES = {
    "format": (
        lambda folder: read_text(folder, "a\0b\n"),
        "Pass format=... to name it",
        "Pass --format FORMAT to name it",
    ),
    "file": (
        lambda folder: read_text(folder, "bag,label\na,1\n", format="folder"),
        "has no column 'path' of files; name it with file=..., one of bag, label.",
        "has no column 'path' of files; name it with file=... (in Python), one of bag, label.",
    ),
    "pos_label": (
        lambda _: WitnessSVC(pos_label=2).fit(BAGS[:3], [1, 0, 2]),
        "pos_label is for two classes; there are 3.",
        "--positive is for two classes; there are 3.",
    ),
    "calibration_cv": (
        lambda _: WitnessSVC(threshold="calibrated").fit(BAGS, [1, 0, 1, 0]),
        "fewer than the 5 inner folds of calibration_cv. Lower calibration_cv to 2 or",
        "the 5 inner folds of --param calibration_cv. Lower --param calibration_cv to 2 or",
    ),
    "scale for a kernel": (
        lambda _: WitnessSVC(kernel="poly").fit(BAGS.replace(X=1e200 * BAGS.X), [0, 1, 0, 1]),
        "Scale the features with PerInstance(StandardScaler()) in a pipeline, or use float64.",
        "Scale the features with --scale, or use float64.",
    ),
    "memory": (
        lambda _: WitnessSVC().fit(BAGS, [1, 0, 1, 0]),
        "Use kernel_options__approx='nystroem' (kernel_options__n_components sets its precision) "
        "or kernel='linear'.",
        "Use --param kernel_options__approx=nystroem (--param kernel_options__n_components sets "
        "its precision) or --param kernel=linear.",
    ),
    "saddle": (
        lambda _: SADDLE.fit(*MANY),
        ". pool__solver='newton' is exact.",
        ". --param pool__solver=newton is exact.",
    ),
    "network": (
        lambda _: NETWORK.fit(*MANY),
        "or scale the features with unit_norm=True; max_iter would not help.",
        "or scale the features with --param unit_norm=True; max_iter would not help.",
    ),
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


def messages(fails, folder):
    """Return what is said by warnings, and by the error that ends it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fails(folder)
        except (ValueError, OSError, FloatingPointError, MemoryError) as error:
            caught.append(error)
    return [message_of(getattr(each, "message", each)) for each in caught]


@pytest.mark.parametrize("case", CASES)
def test_both_wordings(case, tmp_path, monkeypatch):
    if case in PATCHES:
        monkeypatch.setattr(*PATCHES[case])
    fails, python, terminal = CASES[case]
    found = [said for said in messages(fails, tmp_path) if python in said]
    assert found
    assert terminal in reword(found[-1])
