"""--device and --dask: the same model as in one process, or a reason that a user can act on."""

import numpy as np
import pytest

from bagwise import io, load
from bagwise.datasets import make_gaussian_bags
from bagwise.models.markov import descents
from command_line import done, printed, refused

LINEAR = ["-m", "MI-SVM", "-p", "kernel=linear"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "planted.bags"
    bags, y = make_gaussian_bags(40, 4, bag_size=6, shift=3.0, random_state=0)
    io.write(path, bags, y)
    return path


@pytest.fixture(scope="module")
def scheduler():
    """Two workers that stay for all tests of this module."""
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options, processes=False, protocol="tcp") as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("scale", ["raw", "standard"])
def test_fit_evaluate_and_predict_on_a_cluster(store, scheduler, tmp_path, monkeypatch, scale):
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    here, there = tmp_path / "here.bagwise", tmp_path / "there.bagwise"
    done("fit", store, *LINEAR, "-o", here, "--scale", scale)
    done("fit", store, *LINEAR, "-o", there, "--scale", scale, "--dask", scheduler)
    one, other = (getattr(m, "steps", [[m]])[-1][-1] for m in (load(there), load(here)))
    np.testing.assert_allclose(one.coef_, other.coef_, 0 if scale == "raw" else 1e-10)
    for command in ("evaluate", "predict"):
        alone = printed(command, here, store)
        assert printed(command, there, store, "--dask", scheduler) == alone


@pytest.mark.slow
def test_cv_and_compare_on_a_cluster(store, scheduler, monkeypatch):
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    more = ["--folds", 3, "--jobs", 1]
    here = printed("cv", store, *LINEAR, *more)
    assert printed("cv", store, *LINEAR, *more, "--dask", scheduler) == here
    compared = printed(
        *("compare", store, "--models", "MI-SVM,SIL", "--folds", 3, "--repeats", 1),
        *("--dask", scheduler, "--time", "none"),
    )
    assert {model["model"] for model in compared["models"]} == {"MI-SVM", "SIL"}


def test_processes_on_this_computer(store, tmp_path):
    out = tmp_path / "model.bagwise"
    done("fit", store, *LINEAR, "-o", out, "--dask", "local:1")
    assert load(out).coef_.shape == (1, 4)


def test_the_cpu_is_here(store, tmp_path):
    done("fit", store, *LINEAR, "-o", tmp_path / "model.bagwise", "--device", "cpu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dask", "10.0.0.1"], "give the address of a scheduler"),
        (["--dask", "local:0"], "or local:4 for four processes"),
        (["--device", "gpu"], "--device gpu: give cuda"),
        (["--dask", "tcp://127.0.0.1:1"], "no scheduler answers there"),
        (["--dask", "local", "--scale", "robust"], "--scale robust makes a copy of the features"),
        (["--dask", "local", "--impute", "mean"], "leave --impute away"),
        (["--dask", "local", "-p", "loss=hinge"], "--param loss=squared_hinge"),
    ],
)
def test_mistakes_are_named(store, arguments, said):
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        refused(2, said, "fit", store, *LINEAR, *arguments)


def test_models_that_stay_here_are_refused(store):
    alone, linear = "MILES works in one process only", "Add --param kernel=linear"
    refused(2, alone, "fit", store, "-m", "MILES", "--dask", "local")
    refused(2, linear, "fit", store, "-m", "MI-SVM", "--dask", "local")
    refused(2, alone, "compare", store, "--models", "MILES", "--dask", "local")


def test_tables_have_no_path(cells):
    written = "Write one first: bagwise convert DATA features.bags"
    refused(2, written, "fit", cells, *LINEAR, "--dask", "local")


@pytest.mark.torch
def test_rows_that_do_not_stay_on_the_gpu_are_mentioned(capsys):
    from bagwise.cli.options import Place

    bags, _ = make_gaussian_bags(10, 3, random_state=0)

    class Elsewhere:
        def __init__(self, memory):
            self.memory = memory

        def to(self, where):
            return bags.to("cpu", memory=self.memory)

    for n_bytes, says in ((0, True), (None, False)):
        with Place(device="cuda").move(Elsewhere(n_bytes)) as moved:
            assert moved.n_instances == bags.n_instances
        assert ("pass through it whenever rows are read." in capsys.readouterr().err) == says
