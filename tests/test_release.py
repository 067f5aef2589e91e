"""The conda recipe, the constraints and the workflows agree with pyproject.toml."""

import json
import re
import tomllib
from pathlib import Path

import jinja2
import pytest
import yaml

import bagwise

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}  # where they differ
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def recipe():
    """Render the recipe with what conda-build provides."""

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (ROOT / "conda" / load_file).read_text())

    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
        (ROOT / "conda" / "meta.yaml").read_text()
    )
    return yaml.safe_load(template.render(load_file_regex=load_file_regex, PYTHON="python"))


def versions(requirements):
    return {name: version for name, _, version in (r.partition(" >=") for r in requirements)}


def test_the_conda_recipe_needs_what_the_wheel_needs():
    built = recipe()
    assert built["package"] == {"name": PROJECT["name"], "version": bagwise.__version__}
    needed = versions(r.replace(">=", " >=") for r in PROJECT["dependencies"])
    needed = {CONDA_NAMES.get(name, name): version for name, version in needed.items()}
    needed["python"] = PROJECT["requires-python"].removeprefix(">=")
    assert versions(built["requirements"]["run"]) == needed
    scripts = [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]
    assert built["build"]["entry_points"] == scripts
    assert built["about"]["license"] == PROJECT["license"]


def test_all_files_that_cite_name_the_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    archived = json.loads((ROOT / ".zenodo.json").read_text())
    assert cited["version"] == archived["version"] == bagwise.__version__
    assert cited["title"] == archived["title"]
    assert cited["license"] == archived["license"] == PROJECT["license"]
    assert f"## [{bagwise.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_oldest_versions_are_those_that_are_declared():
    lines = (ROOT / "constraints" / "oldest.txt").read_text().splitlines()[1:]
    oldest = dict(line.split("==") for line in lines)
    declared = versions(r.replace(">=", " >=") for r in PROJECT["dependencies"])
    for name, version in oldest.items():
        assert version.startswith(f"{declared[name]}."), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_is_in_the_tree(path):
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    for command in (step["run"] for step in steps if "run" in step):
        for name in re.findall(r"(?:^|\s)(\.ci/\w+|constraints/[\w.]+)", command):
            assert (ROOT / name).is_file(), name


def test_every_supported_python_is_tested_on_every_system():
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["pytest"]
    matrix = matrix["strategy"]["matrix"]
    label = "Programming Language :: Python :: 3."
    listed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith(label)]
    assert matrix["python"] == listed
    assert {os.partition("-")[0] for os in matrix["os"]} == {"ubuntu", "macos", "windows"}
