"""The pages say what is true: commands, the contributor's example, and the list of public names."""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from sklearn import ensemble, feature_selection, inspection, multiclass
from sklearn import model_selection as selection
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 (it adds to selection)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

import bagwise
from bagwise import InstanceSVC, PerInstance, WitnessSVC
from bagwise.benchmark.spec import parse_spec
from bagwise.testing import check_bag_estimator, estimators
from bagwise.testing._problems import planted_bags

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def load_make_pages():
    spec = importlib.util.spec_from_file_location("make_pages", ROOT / "docs" / "make_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_opens_with_the_two_commands():
    blocks = re.findall(r"^```\n(.*?)\n```$", README, re.M | re.S)
    assert blocks[:2] == ["pip install . && bagwise demo", 'pip install ".[test]" && pytest']


def test_the_contributors_example_keeps_the_contract(tmp_path, monkeypatch):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    (tmp_path / "half_svc.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    example = importlib.import_module("half_svc")
    report = check_bag_estimator(example.HalfSVC(kernel="linear"))
    assert {record["status"] for record in report} == {"passed"}


def test_the_api_page_lists_every_public_name():
    make_pages = load_make_pages()
    written = set(re.findall(r"^\| `(\w+)` \|", make_pages.API.read_text(), re.M))
    needed = set(re.findall(r"^\| `(\w+)` \|", make_pages.api_page(), re.M))
    assert written == needed, "run: python docs/make_pages.py"
    assert set(bagwise.__all__) <= needed


def test_the_readme_lists_the_methods():
    make_pages = load_make_pages()
    assert make_pages.readme_page() == README, "run: python docs/make_pages.py"
    assert "| MI-SVM | `WitnessSVC()` | " in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("https://"):
            assert (page.parent / target).is_file(), target


def test_the_version_is_said_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == bagwise.__version__
    assert f"## [{bagwise.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_benchmarks_on_the_page_are_right_and_keep_patients_together():
    page = (ROOT / "docs" / "bench.md").read_text()
    specs = [
        parse_spec(yaml.safe_load(text)) for text in re.findall(r"```yaml\n(.*?)```", page, re.S)
    ]
    grouped = {
        spec.name: (spec.protocol.kind, any("groups" in data.options for data in spec.data))
        for spec in specs
    }
    assert grouped == {"mine": ("kfold", False), "by-patient": ("grouped", True)}


def test_public_modules_are_there_after_import_bagwise_and_loaded_when_asked_for():
    make_pages = load_make_pages()
    names = [name.removeprefix("bagwise.") for name in make_pages.SECTIONS if name != "bagwise"]
    code = f"""
import sys
import bagwise
late = {{"datasets", "metrics", "model_selection", "plot", "testing"}}
assert not {{f"bagwise.{{name}}" for name in late}} & set(sys.modules)
for name in {names}:
    assert name in dir(bagwise)
    assert getattr(bagwise, name) is sys.modules[f"bagwise.{{name}}"]
assert bagwise.datasets.fetch.__name__ == "fetch"
assert not hasattr(bagwise, "data_sets")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# What works with scikit-learn ---------------------------------------------------------------------

ONE, TWO = InstanceSVC(kernel="linear"), WitnessSVC(kernel="linear")
GRID = {"C": [0.1, 1.0]}

WORKS = {
    "train_test_split": lambda bags, y: selection.train_test_split(bags, y),
    "cross_val_score": lambda bags, y: selection.cross_val_score(ONE, bags, y, cv=2),
    "cross_val_predict": lambda bags, y: selection.cross_val_predict(ONE, bags, y, cv=2),
    "cross_validate": lambda bags, y: selection.cross_validate(ONE, bags, y, cv=2),
    "GridSearchCV": selection.GridSearchCV(ONE, GRID, cv=2),
    "RandomizedSearchCV": selection.RandomizedSearchCV(ONE, GRID, n_iter=2, cv=2),
    "HalvingGridSearchCV": selection.HalvingGridSearchCV(ONE, GRID, cv=2),
    "learning_curve": lambda bags, y: selection.learning_curve(
        ONE, bags, y, cv=2, train_sizes=[1.0]
    ),
    "validation_curve": lambda bags, y: selection.validation_curve(
        ONE, bags, y, param_name="C", param_range=[0.1, 1.0], cv=2
    ),
    "permutation_test_score": lambda bags, y: selection.permutation_test_score(
        ONE, bags, y, cv=2, n_permutations=2
    ),
    "Pipeline": Pipeline([("scale", PerInstance(StandardScaler())), ("svc", ONE)]),
    "VotingClassifier": ensemble.VotingClassifier([("a", ONE), ("b", TWO)]),
    "StackingClassifier": ensemble.StackingClassifier([("a", ONE), ("b", TWO)], cv=2),
    "OneVsRestClassifier": multiclass.OneVsRestClassifier(ONE),
    "CalibratedClassifierCV": CalibratedClassifierCV(ONE, cv=2),
    "TunedThresholdClassifierCV": selection.TunedThresholdClassifierCV(ONE, cv=2),
    "FixedThresholdClassifier": selection.FixedThresholdClassifier(ONE, threshold=0.1),
}
RAISES = {
    "BaggingClassifier": ensemble.BaggingClassifier(ONE),
    "AdaBoostClassifier": ensemble.AdaBoostClassifier(ONE),
    "OneVsOneClassifier": multiclass.OneVsOneClassifier(ONE),
    "OutputCodeClassifier": multiclass.OutputCodeClassifier(ONE),
    "SelfTrainingClassifier": SelfTrainingClassifier(ONE),
    "RFE": feature_selection.RFE(ONE),
    "SelectFromModel": feature_selection.SelectFromModel(ONE),
    "SequentialFeatureSelector": feature_selection.SequentialFeatureSelector(ONE, cv=2),
    "permutation_importance": lambda bags, y: inspection.permutation_importance(
        clone(ONE).fit(bags, y), bags, y
    ),
    "partial_dependence": lambda bags, y: inspection.partial_dependence(
        clone(ONE).fit(bags, y), bags, [0]
    ),
}


def run_on_bags(tool):
    bags, y = planted_bags(n_bags=40)
    if not hasattr(tool, "fit"):
        return tool(bags, y)
    fitted = clone(tool).fit(bags, y)
    return fitted.transform(bags) if hasattr(fitted, "transform") else fitted.predict(bags)


@pytest.mark.parametrize("name", WORKS)
def test_what_the_tutorial_says_works_with_bags(name):
    assert run_on_bags(WORKS[name]) is not None


@pytest.mark.parametrize("name", RAISES)
def test_what_the_tutorial_says_raises_on_bags(name):
    with pytest.raises((TypeError, IndexError), match=r"Bags (have no array form|are indexed by)"):
        run_on_bags(RAISES[name])


def test_the_tutorial_lists_what_was_tried():
    page = (ROOT / "docs" / "tutorial.md").read_text()
    for head, tried in (("works", WORKS), ("raises an error", RAISES)):
        (line,) = re.findall(rf"^\| {head} \|(.*)\|$", page, re.M)
        assert set(re.findall(r"`(\w+)`", line)) - {"BagEnsemble"} == set(tried)


def test_the_readme_names_the_models_without_instance_scores():
    without = {model for model in estimators() if not hasattr(model, "key_instances")}
    assert {type(model).__name__ for model in without} == {"BagKernelSVC"}
    assert {model.kernel for model in without} == {"max", "hausdorff", "statistics"}
    no_class_weight = {m for m in estimators() if "class_weight" not in m.get_params()}
    assert {type(model).__name__ for model in no_class_weight} == {"OptimalMarginSVC"}
