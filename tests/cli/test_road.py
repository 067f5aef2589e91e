"""The main road: on messy data, every command that is printed runs, to a calibrated result."""

from __future__ import annotations

import pytest
from benchmarks.road import DATA, run_here, walk


def check(name, folder, quick):
    steps, found = walk(name, folder, run_here, quick)
    assert steps[-1].status == 0, f"{steps[-1].words}\n{steps[-1].output}"
    assert steps[-1].words[0] in ("report", "heatmap")
    if "score" in found:  # R2, kappa or C-index
        assert found["score"] > 0.55
        return
    assert found["balanced accuracy"] > 0.7
    assert found["log loss"] < 0.8 * found["of frequencies"]


# Seconds each; other sets take the same commands.
LONG = {
    *("1 and 20,000 patches", "times", "names of TCGA", "top folder of TRIDENT", "ten classes"),
    "imbalance of 1:8",
}


def short_ones():
    assert set(DATA) >= LONG
    return [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in DATA]


@pytest.mark.parametrize("name", short_ones())
def test_printed_commands_lead_to_a_calibrated_model(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(name, tmp_path, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
def test_so_they_do_with_all_models(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(name, tmp_path, quick=False)
