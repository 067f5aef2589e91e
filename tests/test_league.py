"""The league (benchmarks/league), with a toy system."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

LEAGUE = Path(__file__).parents[1] / "benchmarks" / "league"
TOY = """
import numpy as np

PACKAGES, RANDOM = ("scikit-learn",), {"by chance"}


def by_maximum(bags, y, seed, budget):
    cut = np.mean([b[:, 0].max() for b in bags])

    def predict(new):
        score = np.array([b[:, 0].max() for b in new]) - cut
        instances = lambda: [b[:, 0] - cut for b in new]
        return {"score": score, "label": score > 0, "instances": instances}

    return predict


def by_chance(bags, y, seed, budget):
    rng = np.random.default_rng(seed)
    return lambda new: {"score": (p := rng.random(len(new))), "label": p > 0.5, "probability": p}


def broken(bags, y, seed, budget):
    raise RuntimeError("it does not converge")


def endless(bags, y, seed, budget):
    while True:
        pass


SYSTEMS = {"by maximum": by_maximum, "by chance": by_chance, "broken": broken, "endless": endless}
"""


def load(name):
    spec = importlib.util.spec_from_file_location(f"league_{name}", LEAGUE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a toy system and a set of ten bags in two folds."""
    rng, y = np.random.default_rng(0), np.arange(10) % 2
    X, labels = rng.normal(size=(30, 2)), np.zeros(30, dtype=int)
    labels[3 * np.flatnonzero(y)] = 1
    X[labels == 1, 0] += 9
    arrays = {"X": X, "offsets": np.arange(0, 31, 3), "y": y, "fold": np.arange(10) // 5}
    np.savez(tmp_path / "nine_away.npz", **arrays, instance_labels=labels)
    (tmp_path / "toy.py").write_text(TOY)
    return tmp_path


def test_a_toy_system_is_run_once_judged_and_resumed(folder, monkeypatch):
    run, out = load("run"), folder / "toy.jsonl"
    monkeypatch.setattr(run, "BUDGET", 1.0)
    monkeypatch.setattr(run, "GRACE", 0.0)
    toy = run.load_system(str(folder / "toy.py"))
    run.run(toy, folder, out, ["nine away"], ["by maximum", "by chance", "broken"])
    run.run(toy, folder, out, ["nine away"], ["by maximum", "endless"], 1)
    with out.open("a") as file:
        file.write('{"cell": ["torn"')
    run.run(toy, folder, out, ["nine away"], [])
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert next(r for r in records if "versions" in r)["versions"]["scikit-learn"]
    cells = {tuple(r["cell"]): r for r in records if "cell" in r}
    assert len(cells) == len([r for r in records if "cell" in r]) == 2 + 6 + 2 + 2
    best = cells["by maximum", "nine away", 1, 0]
    assert [best[name] for name in ("auc", "accuracy", "key_rate", "instance_auc")] == [1, 1, 1, 1]
    assert "log_loss" in cells["by chance", "nine away", 0, 2]
    assert cells["broken", "nine away", 0, 0]["failure"] == "RuntimeError: it does not converge"
    assert "out of budget" in cells["endless", "nine away", 0, 0]["failure"]


def test_measures_are_those_of_scikit_learn():
    run, rng = load("run"), np.random.default_rng(0)
    truth, chance = rng.integers(2, size=50), rng.random(50).round(1)
    found = run.judge(truth, {"score": chance, "label": chance > 0.5, "probability": chance})
    assert found["auc"] == pytest.approx(roc_auc_score(truth, chance))
    assert found["log_loss"] == pytest.approx(log_loss(truth, np.clip(chance, 1e-6, 1 - 1e-6)))


def test_the_page_shows_results_failures_and_what_is_missing(folder):
    run, page = load("run"), load("page")
    toy = run.load_system(str(folder / "toy.py"))
    toy.SYSTEMS |= dict.fromkeys(("again", "in part"), toy.SYSTEMS["by maximum"])
    (folder / "planted_pairs.npz").write_bytes((folder / "nine_away.npz").read_bytes())
    (folder / "musk1.npz").write_bytes((folder / "nine_away.npz").read_bytes())
    out = folder / "results" / "toy.jsonl"
    shown = ["by maximum", "by chance", "broken", "again", "in part"]
    run.run(toy, folder, out, ["planted pairs", "musk1"], shown)
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(n for n in lines if '["in part", "musk1", 1' not in n))
    page.pack(out.parent)
    assert not out.exists()
    made = page.make_page(out.parent)
    assert "| planted pairs |" in made
    assert "| broken | 4 of 4 | RuntimeError: it does not converge |" in made
    assert "| set | again | by chance | by maximum | in part |" in made  # and not what always fails
    assert "- in part: 1 of 18 sets run (planted pairs)" in made  # half a set does not count
    assert "three seeds: by chance on 2 sets" in made
    assert "- by maximum: 2 of 18 sets run (musk1, planted pairs)" in made
    assert "| by maximum | 100.0 | 1.5 |" in made
    assert (out.parent / "ranks.png").stat().st_size > 1000


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_quantiles(k, q):
    assert load("ranks").find_critical(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / 84), 1e-3)


@pytest.mark.parametrize(
    ("ranks", "critical", "runs"),
    [
        ([1.0, 2.0, 3.0], 0.5, []),
        ([1.0, 2.0, 3.0], 1.0, [(0, 1), (1, 2)]),
        ([1.0, 2.0, 3.0], 2.0, [(0, 2)]),
        ([1.0, 1.1, 1.2, 3.0], 1.9, [(0, 2), (1, 3)]),
    ],
)
def test_bars_join_the_longest_runs(ranks, critical, runs):
    assert load("ranks").find_runs(ranks, critical) == runs


def test_ties_share_their_ranks():
    ranked = load("ranks").rank(list("abc"), [[1.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    assert ranked == [("c", 1.25), ("b", 1.75), ("a", 3.0)]
