"""The documentation as a reader sees it: opened from a folder in a real browser, without a network.

`mkdocs build --strict` checks links between pages. The site is built once, or taken from the folder
that the environment variable BAGWISE_SITE names.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import api_pages
import bagwise
import model_pages
from bagwise.catalog import ENTRIES

ROOT = Path(__file__).parents[2]

# What a newcomer types, and the pages that answer it.
SEARCHES = {
    "annealing": {"annealing"},
    "missing values": {"faq"},
    "which instance": {"instances", "faq"},
    "probability": {"faq"},
    "group k-fold": {"faq"},
    "GPU": {"large", "gpu"},
    "CLAM": {"tutorials/slides", "faq"},
    "save model": {"faq", "api/bagwise.save"},
    "imbalanced": {"faq"},
    "multi-class": {"faq"},
    "out of memory": {"large"},
    "cluster": {"large"},
    "AnnData": {"data", "faq"},
    "single cells": {"tutorials/cells", "data"},
    "conformal": {"evidence"},
    "label proportions": {"proportions"},
    "choose C": {"paths", "choose", "faq"},
}
KINDS = ("index", "tutorial", "gallery", "tutorials/slides", "api/bagwise.WitnessSVC", "choose")


@pytest.fixture(scope="session")
def site(tmp_path_factory, pytestconfig) -> Path:
    """Return the folder of the built site."""
    if given := os.environ.get("BAGWISE_SITE"):
        return Path(given)
    if importlib.util.find_spec("material") is None:
        assert "browser" not in pytestconfig.getoption("require"), "mkdocs is not installed"
        pytest.skip('the documentation is not built: pip install ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def show(opened, site):
    """Return a function that opens a page by its name."""
    return lambda name, **options: opened(site / f"{name}.html", **options)


def found(page, site, words):
    """Return the pages of the first three results of the search box."""
    box, items = page.locator("[data-md-component=search-query]"), ".md-search-result__item"
    for text, state in (("", "detached"), (words, "attached")):
        box.fill(text)
        box.press("End")  # it listens to keys
        page.locator(items).first.wait_for(state=state)
    links = [item.locator("a").first for item in page.locator(items).all()[:3]]
    addresses = [link.get_attribute("href").partition(f"{site.name}/")[2] for link in links]
    return [address.partition(".html")[0] for address in addresses]


def test_the_search_leads_to_the_right_pages(show, site):
    page = show("index")
    page.locator("[data-md-component=search-query]").focus()
    results = {words: found(page, site, words) for words in SEARCHES}
    assert {w: r for w, r in results.items() if not SEARCHES[w] & set(r)} == {}
    assert results["annealing"][0] == "annealing"


def test_the_navigation_leads_to_every_part(show):
    page = show("index", viewport={"width": 1400, "height": 900})
    tabs = page.locator(".md-tabs__link").all_inner_texts()
    assert [text.strip() for text in tabs] == [
        "Start here", "Choose a model", "Tutorials", "How-to", "Methods", "Benchmarks", "API",
        "Project",
    ]  # fmt: skip
    for name in ("Choose a model", "API"):
        page.click(f".md-tabs__link:has-text('{name}')")
        assert name.partition(" ")[0] in page.inner_text("h1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_no_serious_barrier(show, violations, name, scheme):
    assert violations(show(name, color_scheme=scheme)) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_phone_shows_the_page_without_scrolling_sideways(show, name):
    page = show(name, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("h1").is_visible()


@pytest.mark.parametrize(("width", "lines"), [(390, 2), (1280, 1)])
def test_names_in_tables_break_at_capitals_on_a_phone_only(show, width, lines):
    page = show("methods", viewport={"width": width, "height": 844})
    name = page.locator("td code", has_text="KeyInstanceSVC").first
    assert name.evaluate("name => name.getClientRects().length") == lines
    assert name.inner_text() == 'KeyInstanceSVC(negatives="instances")'


def test_dark_mode_is_a_click_away_and_code_can_be_copied(show):
    page = show("index", color_scheme="light")
    page.click("label[for=__palette_1]")
    assert page.get_attribute("body", "data-md-color-scheme") == "slate"
    assert page.locator("button.md-clipboard, .md-code__button").count() >= 2
    assert f"bagwise {bagwise.__version__}" in page.inner_text("footer")


def test_a_session_is_copied_without_prompts_and_outputs(show):
    page = show("index")
    listen = "document.addEventListener('copy', () => window.copied = document.activeElement.value)"
    page.evaluate(listen)
    session = page.locator(".highlight:has(.gp)").first
    session.hover()
    session.locator("button[data-md-type=copy], .md-clipboard").first.click()
    copied = page.evaluate("window.copied")
    assert copied.startswith("from bagwise import WitnessSVC\n")
    assert "bags, y = load_digits_bags" in copied
    assert not {">>>", "0.965", "array("} & set(copied.replace("(", "( ").split())


def test_every_estimator_has_formula_cost_and_advice_without_scripts(site):
    pages = {p.stem.rpartition(".")[2]: p.read_text() for p in (site / "api").glob("*.html")}
    for name, guide in model_pages.GUIDES.items():
        (formula,) = re.findall(r'<math [^>]*display="block">.*?</math>', pages[name])
        assert "\\" not in formula, "a command of LaTeX that latex2mathml does not know"
        text = html.unescape(re.sub(r"</?(?:a|code|wbr)\b[^>]*>", "", pages[name]))
        text = text.replace("\N{NO-BREAK SPACE}", " ")  # before %
        for told in (guide[part] for part in ("use", "avoid", "time", "memory")):
            assert f"<td>{told}</td>" in text


class Terms(HTMLParser):
    """Collects what is defined on a page: the code in the terms of definition lists."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside, self.found = False, set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "dt" or (self.inside and tag == "code")

    def handle_data(self, data):
        if self.inside:
            self.found.add(data)


def test_every_parameter_of_every_estimator_is_on_its_page(site):
    for entry in ENTRIES:
        text = (site / "api" / f"bagwise.{entry.class_name}.html").read_text()
        assert set(entry.estimator._get_param_names()) <= Terms(text).found


def test_every_public_name_has_a_page_that_is_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    indexed = {doc["location"] for doc in index["docs"]}
    for path in api_pages.public():
        assert f"api/{path}.html" in indexed


def test_every_file_that_can_be_downloaded_is_there(site):
    for page in (site / "tutorials").glob("*.html"):
        links = re.findall(r'href="([^"]+)"[^>]* download', page.read_text())
        links += re.findall(r'download[^>]* href="([^"]+)"', page.read_text())
        assert sorted({Path(link).suffix for link in links}) == [".ipynb", ".py"]
        assert all((page.parent / link).is_file() for link in links)
