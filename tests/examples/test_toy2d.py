"""The toy experiment runs, and its clearest claims hold on a few draws."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "toy2d.py"


@pytest.fixture
def toy2d(monkeypatch):
    spec = importlib.util.spec_from_file_location("toy2d", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FRACTIONS", np.array([0.2, 1.0]))
    return module


def test_few_positives_want_annealing_and_many_do_not(toy2d, tmp_path):
    values = np.stack([toy2d.one_run(seed, "disc") for seed in range(3)])
    names = list(toy2d.METHODS)
    hot, cold = names.index("AL-SVM, T = 10C"), names.index("AL-SVM, T = 0")
    (few_bags, few_patterns, few_objective), (_, many_patterns, _) = np.moveaxis(
        values.mean(axis=0), 1, 2
    )
    assert few_bags[hot] < few_bags[cold] - 0.1
    assert few_patterns[hot] < few_patterns[cold] - 0.1
    assert few_objective[hot] < 0.5 * few_objective[cold]
    assert many_patterns[cold] < many_patterns[hot]
    assert toy2d.table(values).count("\n") == 3
    toy2d.draw(values, "disc").savefig(tmp_path / "toy.png")
    assert (tmp_path / "toy.png").stat().st_size > 20_000
