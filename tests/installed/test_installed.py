"""Smoke tests of an installed bagwise, from any folder: python -m pytest test_installed.py."""

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import bagwise
from bagwise.datasets import load_digits_bags, make_gaussian_bags


def test_the_package_is_whole():
    assert version("bagwise") == bagwise.__version__
    assert files("bagwise").joinpath("py.typed").is_file()
    assert files("bagwise.bench").joinpath("published.yaml").is_file()
    for name in bagwise.__all__:
        assert getattr(bagwise, name) is not None


def test_a_model_learns_is_saved_and_loaded(tmp_path):
    bags, y = make_gaussian_bags(n_bags=40, shift=5.0)
    model = bagwise.WitnessSVC(kernel="linear").fit(bags, y)
    assert model.score(bags, y) > 0.9
    bagwise.save(model, tmp_path / "model.bagwise")
    loaded = bagwise.load(tmp_path / "model.bagwise")
    assert (loaded.predict(bags) == model.predict(bags)).all()


def test_a_report_is_written(tmp_path):
    bags, y = load_digits_bags(n_bags=40)
    model = bagwise.WitnessSVC(kernel="linear").fit(bags[:20], y[:20])
    bagwise.report(model, bags[20:], y[20:]).save(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_command_line_answers():
    command = [sys.executable, "-m", "bagwise", "models"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "MI-SVM" in done.stdout
