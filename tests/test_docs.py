"""The pages say what is true: commands, the contributor's example, and the list of public names."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn import (
    ensemble,
    feature_selection,
    inspection,
    model_selection as selection,
    multiclass,
)
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 (it adds to selection)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

import bagwise
import make_pages
import model_pages
import page_of_errors
import site_hooks
from bagwise import BagKernelSVC, InstanceSVC, PerInstance, WitnessSVC, _removed, io
from bagwise.catalog import ENTRIES, METHODS
from bagwise.datasets import make_gaussian_bags
from bagwise.models.statistics import StatisticsClassifier
from bagwise.testing import check_bag_estimator, estimators
from bagwise.testing._problems import planted_bags
from test_architecture import LAYERS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_readme_opens_with_the_two_commands():
    blocks = re.findall(r"^```\n(.*?)\n```$", README, re.M | re.S)
    assert blocks[:2] == ["pip install . && bagwise demo", 'pip install ".[test]" && pytest']


def test_the_contributors_example_keeps_the_contract(tmp_path, monkeypatch):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    (tmp_path / "near_best.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    model = importlib.import_module("near_best").NearBestSVC(kernel="linear")
    assert "margin : float, default=0.5\n    Difference from the best score" in model.__doc__
    check_bag_estimator(model)


@pytest.mark.torch
def test_the_contributors_rule_runs_in_memory_on_disk_on_a_device_and_on_dask(
    tmp_path, monkeypatch
):
    from distributed import Client

    text = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    rule = re.search(r"^class NearBest.*?(?=^class )", code, re.M | re.S)[0]
    assert len(rule.strip().splitlines()) <= 15
    (tmp_path / "near_best.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    model = importlib.import_module("near_best").NearBestSVC(kernel="linear")
    bags, y = make_gaussian_bags(40, 3, shift=2.0, random_state=0)
    here = model.fit(bags, y).objective_
    io.write(tmp_path / "rows.bags", bags, y)
    stored, y = io.read(tmp_path / "rows.bags")
    np.testing.assert_array_equal(model.fit(stored, y).objective_, here)
    np.testing.assert_allclose(model.fit(bags.to("cpu"), y).objective_, here, rtol=1e-9)
    with Client(n_workers=1, processes=False, dashboard_address=None):
        np.testing.assert_array_equal(model.fit(stored.to("dask"), y).objective_, here)


def equation_rows():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    _, _, table = text.partition("| paper | equation |")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def function_source(path, name):
    """Return the lines of a function, or of a method named Class.method."""
    node = ast.parse(path.read_text())
    for part in name.split("."):
        node = next(child for child in node.body if getattr(child, "name", None) == part)
    return "\n".join(path.read_text().splitlines()[node.lineno - 1 : node.end_lineno])


def equations_in(source):
    """Return the numbers after `Eq.` and `Eqs.`, with ranges such as 9-12 written out."""
    found = set()
    for text in re.findall(r"Eqs?\. (\d+(?:(?:-|, | and | or )\d+)*)", source):
        for part in re.split(r", | and | or ", text):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_twelve_equations_of_five_papers_are_mapped():
    rows = equation_rows()
    assert (len(rows), len({row[0] for row in rows})) == (12, 5)


@pytest.mark.parametrize("row", equation_rows(), ids=lambda row: f"{row[0]} Eq. {row[1]}")
def test_an_equation_is_where_the_table_says(row):
    paper, equation, _, method, files, function = row
    listed = next(m for m in METHODS if m.name == method)
    assert listed.paper.short == paper
    package_root = Path(bagwise.__file__).parent  # the one imported, installed or not
    route = [package_root / name for name in re.findall(r"`([^`]+)`", files)]
    assert len(route) <= 3
    assert Path(inspect.getfile(listed.estimator)) == route[0]
    for here, after in pairwise(route):  # each file names the package of the next one
        package = ".".join(after.relative_to(package_root.parent).parts[:-1])
        assert re.search(rf"\b{package}\b", here.read_text()), f"{here.name} -> {after.name}"
    source = function_source(route[-1], function.strip("`"))
    assert int(equation) in equations_in(source)


def test_the_api_page_lists_every_public_name():
    written = set(re.findall(r"^\| `(\w+)` \|", make_pages.API.read_text(), re.M))
    needed = set(re.findall(r"^\| `(\w+)` \|", make_pages.api_page(), re.M))
    assert written == needed, "run: python docs/make_pages.py"
    assert set(bagwise.__all__) <= needed


def test_the_page_of_methods_lists_all():
    page = make_pages.METHODS.read_text()
    assert page == make_pages.methods_page(), "run: python docs/make_pages.py"
    assert "| MI-SVM | `WitnessSVC()` | " in page


def test_the_roads_of_the_readme_are_those_of_their_pages():
    """What the README types and prints stands on pages whose commands are run."""
    shown = (ROOT / "docs" / "first-model.md").read_text().replace(" \\\n   ", "")
    for page in ("data.md", "results/slides.md"):
        shown += (ROOT / "docs" / page).read_text()
    for session in re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S):
        for line in session.splitlines():
            assert line.removeprefix("$ ") in shown


def public_estimators():
    modules = (bagwise, bagwise.model_selection, bagwise.preprocessing)
    things = (getattr(module, name) for module in modules for name in module.__all__)
    return {thing.__name__ for thing in things if isinstance(thing, type) and hasattr(thing, "fit")}


def test_every_estimator_has_a_guide_that_says_all_a_reader_decides_by():
    guides = model_pages.GUIDES
    assert set(guides) == public_estimators() >= {entry.class_name for entry in ENTRIES}
    for guide in guides.values():
        assert set(guide) == {"objective", "time", "memory", "use", "avoid"}
        assert min(map(len, guide.values())) > 3
        assert not any("|" in text for part, text in guide.items() if part != "objective")
        assert guide["objective"].count("{") == guide["objective"].count("}")
    advice = " ".join(guide["avoid"] for guide in guides.values())
    named = set(re.findall(r"\b[A-Z]\w+(?:SVC|CV|SVM|Forest|Density)\b|\bMILES\b", advice))
    assert "WitnessSVC" in named
    assert named <= set(guides)


def test_the_migration_page_lists_all_that_was_removed(monkeypatch):
    monkeypatch.setitem(_removed.OPTIONS, "--never-there", "Use --always | --there.")
    page = site_hooks.fill_in((ROOT / "docs" / "migration.md").read_text())
    rows = dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", page, re.M))
    assert rows["--never-there"] == r"Use --always \| --there."
    removed = [*_removed.CLASSES, *_removed.OPTIONS, *_removed.MEMBERS]
    removed += [f"{cls}({name})" for cls, name in _removed.PARAMETERS]
    removed += [f"{cls}({name}={word!r})" for cls, name, word in _removed.VALUES]
    assert {*removed, *(f"{cls}.{name}" for cls, name in _removed.METHODS)} == set(rows)


@pytest.mark.slow
def test_the_index_of_errors_has_every_kind():
    """Quote each kind of error and warning that bagwise defines at least once."""
    homes = (bagwise.errors, bagwise.io, bagwise.datasets, bagwise.catalog)
    kinds = {n for home in homes for n in dir(home) if n.endswith(("Error", "Warning"))}
    assert len(kinds) > 10
    quoted = set(re.findall(r"`(\w+(?:Error|Warning))`", page_of_errors.page()))
    assert kinds - quoted == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    made = site_hooks.made() if page.parent.name == "docs" else {}
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("https://"):
            assert target in made or (page.parent / target).is_file(), target


def test_the_architecture_page_lists_the_layers():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("| layer | modules |")[2].partition("\n\n")[0]
    listed = [set(re.findall(r"`(\w+)`", line)) for line in table.splitlines()[2:]]
    inner = {"_typing", "_documented", "_removed", "_jit", "__main__"}  # details
    needed = [{"bagwise" if n == "__init__" else n for n in layer - inner} for layer in LAYERS]
    assert listed == needed[::-1]


def test_the_architecture_page_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    names = re.findall(r"`(\w+(?:/\w+)*(?:\.py|/))`", page)
    assert len(names) > 30
    missing = [n for n in names if not any((ROOT / at / n).exists() for at in ("src/bagwise", ""))]
    assert missing == []


def test_the_version_is_said_once():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/bagwise/__init__.py"
    assert f"## [{bagwise.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_public_modules_are_there_after_import_bagwise_and_loaded_when_asked_for():
    names = [name.removeprefix("bagwise.") for name in make_pages.SECTIONS if name != "bagwise"]
    code = f"""
import sys
import bagwise
late = {{"datasets", "inspection", "metrics", "model_selection", "plot", "testing"}}
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
    "OutputCodeClassifier": multiclass.OutputCodeClassifier(ONE, random_state=2),
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
    with pytest.raises((TypeError, IndexError), match=r"Bags (cannot be converted|are indexed by)"):
        run_on_bags(RAISES[name])


def test_the_tutorial_lists_what_was_tried():
    page = (ROOT / "docs" / "tutorial.md").read_text()
    for head, tried in (("works", WORKS), ("raises an error", RAISES)):
        (line,) = re.findall(rf"^\| {head} \|(.*)\|$", page, re.M)
        assert set(re.findall(r"`(\w+)`", line)) - {"BagEnsemble"} == set(tried)


def test_the_readme_names_the_models_that_score_whole_bags():
    assert all(hasattr(model, "key_instances") for model in estimators())
    without = {model for model in estimators() if not hasattr(model, "predict_instances")}
    kinds = {type(model) for model in without if not isinstance(model, StatisticsClassifier)}
    expected = {"AutoBagClassifier", "BagKernelSVC", "CompositionLogistic", "DDSVM", "MeanSVC"}
    assert {kind.__name__ for kind in kinds} == expected | {"ContentLinkSVC", "PartClassifier"}
    kernels = {model.bag_kernel for model in without if isinstance(model, BagKernelSVC)}
    assert kernels == {"statistics", "distribution"}
    no_class_weight = {m for m in estimators() if "class_weight" not in m.get_params()}
    assert {type(model).__name__ for model in no_class_weight} == {"OptimalMarginSVC"}
