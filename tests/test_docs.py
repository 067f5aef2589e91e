"""The pages say what is true: commands, the contributor's example, and the list of public names."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import bagwise
from bagwise.benchmark.spec import parse_spec
from bagwise.testing import check_bag_estimator

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
