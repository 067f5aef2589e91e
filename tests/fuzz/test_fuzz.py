"""A short run of both fuzzers with a fixed seed, and proof that they find what is planted."""

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_files
import fuzz_fits
import harness
from harness import CRASH, HANG, NAMED, OK, SILENT, UNCLEAR, Progress, Result

from bagwise import Bags, InstanceSVC, io

SEED = 14
# Seconds each on one core; three times as many cases with --full.
SHORT = {"files": 400, "fits": len(fuzz_fits._LIST)}


@pytest.mark.parametrize("name", SHORT)
def test_short_run(name, pytestconfig):
    """In a process of its own: threads that other tests started must not be forked."""
    count = (3 if pytestconfig.getoption("full") else 1) * SHORT[name]
    script = Path(__file__).with_name(f"fuzz_{name}.py")
    words = map(str, [sys.executable, script, "--count", count, "--seed", SEED])
    run = subprocess.run([*words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert sum(map(int, re.findall(r"(\d+) (?:ok|named error|[A-Z]+)\b", run.stdout))) == count


@pytest.fixture(scope="module")
def originals():
    return fuzz_files.originals()


# What is planted must be found -------------------------------------------------------------------


class Planted:
    """A case that does something bad at numbers 3 and 7."""

    def __init__(self, deed):
        self.deed = deed

    def kind(self, number):
        return "planted"

    def __call__(self, rng, number, folder):
        if number in (3, 7):
            self.deed()
        return Result("planted", OK)


@pytest.mark.parametrize(
    ("deed", "outcome"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), CRASH),
        (lambda: os._exit(3), CRASH),
        (lambda: time.sleep(60), HANG),
        (lambda: next(i for i in itertools.count() if i < 0), HANG),
    ],
)
def test_a_crash_or_a_hang_costs_one_case(deed, outcome, monkeypatch):
    monkeypatch.setattr(harness, "_PATIENCE", 4)
    progress = Progress(0)
    harness.run_batch(Planted(deed), progress, 12, limit=0.1)
    assert progress.counts["planted"][outcome] == 2
    assert progress.counts["planted"][OK] == 10
    (found,) = progress.findings.values()
    assert found["cases"] == [3, 7]


def test_a_victim_is_told_from_the_case_that_damaged_the_memory(tmp_path):
    def die_once():
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGSEGV)

    progress = Progress(0)
    harness.run_batch(Planted(die_once), progress, 12)
    assert progress.counts["planted"][OK] == 12
    assert progress.counts["?"][CRASH] == 1


def run_part(first, count, out):
    """Run cases, of which 3 and 7 divide by zero, as the command does."""
    words = ["--first", first, "--count", count, "--out", out]
    options = harness.parser("", count=12, batch=5).parse_args([*map(str, words)])
    with pytest.raises(SystemExit):
        harness.finish(Planted(lambda: os._exit(3)), options)


def test_parts_of_a_run_add_up_to_it(tmp_path, capsys):
    for first, count, place in [(0, 5, "parts"), (5, 12, "parts"), (0, 12, "whole")]:
        run_part(first, count, tmp_path / place)
    whole, merged = (harness.merge(tmp_path / place) for place in ("whole", "parts"))
    assert merged == whole
    assert "| planted | 12 | 10 | 0 | 0 | 0 | 2 | 0 |" in harness.table(merged)


def test_a_missing_part_is_not_passed_over(tmp_path, capsys):
    for first, count in [(0, 5), (8, 12)]:
        run_part(first, count, tmp_path)
    with pytest.raises(SystemExit, match="no case 5"):
        harness.merge(tmp_path)


def test_same_case_same_damage(originals):
    files = originals.files[0]
    one, other = (fuzz_files.damaged(files, fuzz_files.random.Random("0:1"), [b"x"]) for _ in "ab")
    assert one == other != files


def test_undamaged_files_are_ok_and_changed_ones_are_not(originals, tmp_path):
    for number, (kind, name, _, _) in enumerate(fuzz_files.FORMS):
        place = tmp_path / str(number)
        for inner, data in originals.files[number].items():
            (place / inner).parent.mkdir(parents=True, exist_ok=True)
            (place / inner).write_bytes(data)
        content = originals.contents[number]
        assert fuzz_files.judge(kind, place / name, content).outcome == OK
        if kind in fuzz_files.EXACT:
            other = [*content[:-1], "other"]
            assert fuzz_files.judge(kind, place / name, other).outcome == SILENT


@pytest.mark.parametrize(
    "error",
    [
        lambda path: io.FormatError(path, "is odd."),  # not raised by bagwise
        lambda path: KeyError("feature_names"),
        lambda path: ValueError(str(path)),
    ],
)
def test_foreign_errors_are_unclear(error, tmp_path, monkeypatch):
    def fail(kind, path):
        raise error(path)

    monkeypatch.setattr(fuzz_files, "content", fail)
    assert fuzz_files.judge("csv", tmp_path / "b.csv", None).outcome == UNCLEAR


def test_an_error_of_bagwise_is_named(tmp_path):
    (tmp_path / "b.csv").write_text("bag,f\na,x\n")
    assert fuzz_files.judge("csv", tmp_path / "b.csv", None).outcome == NAMED


class Nan(InstanceSVC):
    def decision_function(self, bags):
        return np.nan * super().decision_function(bags)


class AboveZero(InstanceSVC):
    def _keep(self, bags, fits):
        super()._keep(bags, fits)
        self.objective_ = self.C * bags.n_instances * np.array([1.01])


class Divides(InstanceSVC):
    def _fit_classes(self, bags, codes, weight):
        raise ZeroDivisionError("division by zero")


class Restless(InstanceSVC):
    def _bag_scores(self, bags):
        return super()._bag_scores(bags) + np.random.default_rng().normal()


AboveZero.__name__ = "InstanceSVC"  # whose objective at zero is known
BAGS = Bags(np.arange(6.0)[:, None], [0, 1, 2, 4, 6])


@pytest.mark.parametrize(
    ("model", "y", "outcome"),
    [
        (InstanceSVC(), [0, 1, 0, 1], OK),
        (InstanceSVC(), [1, 1, 1, 1], NAMED),
        (Nan(), [0, 1, 0, 1], SILENT),
        (AboveZero(), [0, 1, 0, 1], SILENT),
        (Restless(), [0, 1, 0, 1], SILENT),
        (Divides(), [0, 1, 0, 1], UNCLEAR),
    ],
)
def test_fits_are_judged(model, y, outcome):
    assert fuzz_fits.Case().judged(model, BAGS, np.array(y), []).outcome == outcome
