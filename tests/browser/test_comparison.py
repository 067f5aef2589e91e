import re

import pytest

from bagwise import InstanceSVC, MeanSVC, WitnessSVC, report_comparison
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import compare

NASTY = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    bags, y = make_gaussian_bags(n_bags=80, shift=3.0, random_state=0)
    models = {"SIL": InstanceSVC(), "mean": MeanSVC(), NASTY: WitnessSVC(kernel="linear")}
    found = compare(bags, y, models, cv=3, n_repeats=1)
    path = tmp_path_factory.mktemp("report") / "comparison.html"
    report_comparison(found, bags, title=NASTY, command="bagwise compare bags.csv").save(path)
    return path


def column(page, number):
    cells = page.locator(f"#model-table tbody tr > :nth-child({number})")
    return [text.removesuffix("(recommended)").strip() for text in cells.all_inner_texts()]


def test_it_opens_and_no_text_becomes_code(opened, page_file):
    page = opened(page_file)
    assert page.inner_text("h1") == NASTY
    assert page.locator("figure svg").count() == 2
    assert sorted(column(page, 1)) == sorted(["SIL", "mean", NASTY])


def test_the_ranking_sorts_by_numbers_and_by_names(opened, page_file):
    page = opened(page_file)
    values = [float(text) for text in column(page, 3)]
    assert values == sorted(values, reverse=True)
    page.focus("#model-table th:nth-child(3) button")
    page.keyboard.press("Enter")
    assert [float(text) for text in column(page, 3)] == sorted(values)
    assert page.get_attribute("#model-table th:nth-child(3)", "aria-sort") == "ascending"
    page.click("#model-table th:nth-child(1) button")
    assert column(page, 1)[1:] == ["mean", "SIL"]
    assert page.get_attribute("#model-table th:nth-child(3)", "aria-sort") is None


def test_it_is_accessible_fits_a_phone_and_prints(opened, violations, page_file):
    for scheme in ("light", "dark"):
        assert violations(opened(page_file, color_scheme=scheme, bypass_csp=True)) == []
    page = opened(page_file, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert re.match(rb"%PDF", page.pdf())
