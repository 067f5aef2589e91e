"""bagwise demo: a table, a figure, and bad arguments refused before the work."""

import re

import pytest

from bagwise import WitnessSVC
from bagwise.bench.demo import DigitTask, surprise
from command_line import done, printed, refused

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def quick(monkeypatch):
    """Let the demo train one linear model on few bags."""
    few = DigitTask.draw(n_bags=40)
    monkeypatch.setattr(DigitTask, "models", lambda self: [WitnessSVC(kernel="linear")])
    monkeypatch.setattr(DigitTask, "draw", classmethod(lambda cls, seed: few))


def test_demo_finds_the_nines(tmp_path):
    out = tmp_path / "digits.png"
    result = done("demo", "--out", out)
    assert out.read_bytes().startswith(PNG)
    for column in ("accuracy", "AUC", "9 found", "seconds"):
        assert column in result.stdout
    rows = re.findall(r"([\d.]+)% │ ([\d.]+) │ +([\d.]+)% │ +([\d.]+) ", result.stdout)
    assert len(rows) == 5
    accuracy, auc, found = ([float(row[i]) for row in rows] for i in range(3))
    assert max(accuracy) > 90
    assert min(auc) > 0.9
    assert min(found) > 90
    assert str(out) in result.stderr
    said = "Next, with a table of your own (one row per instance): bagwise info FILE"
    assert said in result.stderr


@pytest.mark.usefixtures("quick")
def test_demo_json(tmp_path):
    out = tmp_path / "[bold]x.svg"
    record = printed("demo", "--out", out, "--seed", "3")
    assert record["figure"] == str(out)
    assert (record["seed"], record["train_bags"], record["test_bags"]) == (3, 40, 40)
    assert [entry["model"] for entry in record["models"]] == ["WitnessSVC(kernel='linear')"]
    assert set(record["models"][0]) == {"model", "bag_accuracy", "bag_auc", "found", "seconds"}
    assert "<svg" in out.read_text()


def test_the_seed_reaches_the_draw(monkeypatch):
    def draw(seed):
        raise ValueError(f"seed {seed}")

    monkeypatch.setattr(DigitTask, "draw", draw)
    refused(1, "Error: seed 5", "demo", "--seed", "5")


def test_a_row_that_surprises_is_explained():
    row = {"model": "InstanceSVC()", "bag_accuracy": 0.505, "bag_auc": 0.98}
    assert "ranks bags well (AUC 0.98) and still errs like a coin (50%)" in surprise(row)
    assert surprise(row | {"bag_accuracy": 0.95}) == surprise(row | {"bag_auc": 0.6}) == ""
