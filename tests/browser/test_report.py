import re

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedWitnessSVC,
    CoxBag,
    InstanceSVC,
    MeanSVC,
    OrdinalBagClassifier,
    PerInstance,
    WitnessRegressor,
    WitnessSVC,
    make_pipeline,
    report,
    report_comparison,
)
from bagwise.datasets import load_digits_bags, make_gaussian_bags, make_slide_bags
from bagwise.model_selection import compare

NASTY = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


def digits():
    """Make the report of digits with names that look like code, groups, places and pictures."""
    bags, y = load_digits_bags(n_bags=100)
    bags = bags.replace(
        ids=[NASTY, *(f"bag-{i}" for i in range(1, 100))],
        groups=[f"g{i // 4}" for i in range(100)],
        coords=np.arange(2 * bags.n_instances).reshape(-1, 2) % 5,
        patch_size=np.ones(100),
    )
    model = WitnessSVC(kernel="linear", probability="sigmoid").fit(bags[:40], y[:40])
    return report(model, bags, y, images=bags.X.reshape(-1, 8, 8), title=NASTY)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    digits().save(path)
    return path


def birds():
    """Make the report of recordings of sites: text labels, folds, a kernel model in a pipeline."""
    bags, y = make_gaussian_bags(n_bags=60, n_features=4, shift=4.0, random_state=0)
    bags = bags.replace(groups=[f"site {i // 6}" for i in range(60)])
    model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(pos_label="wren"))
    labels = np.where(y == 1, "wren", "no wren")
    return report(model.fit(bags, labels), bags, labels, cv=3, data_name="birds.csv")


def slides():
    """Make the report of slides, by an annealed model, with heat maps."""
    bags, y = make_slide_bags(n_bags=30, bag_size=(20, 60), n_features=8, witness_rate=0.2)
    model = AnnealedWitnessSVC(kernel="linear").fit(bags[:15], y[:15])
    return report(model, bags[15:], y[15:])


def means():
    """Make the report of a model whose instances are scored by leaving them out."""
    bags, y = make_gaussian_bags(n_bags=60, n_features=4, shift=4.0, random_state=0)
    return report(MeanSVC().fit(bags, y), bags, y, cv=3, command="bagwise report m.bagwise d.csv")


def comparison():
    """Make the page of compared models, one of which has a name that looks like code."""
    bags, y = make_gaussian_bags(n_bags=80, shift=3.0, random_state=0)
    models = {"SIL": InstanceSVC(), "mean": MeanSVC(), NASTY: WitnessSVC(kernel="linear")}
    found = compare(bags, y, models, cv=3, n_repeats=1)
    return report_comparison(found, bags, title=NASTY, command="bagwise compare bags.csv")


def numbers():
    """Make the report of numbers of slides, with heat maps."""
    bags, y = make_slide_bags(n_bags=30, bag_size=(20, 60), n_features=8, witness_rate=0.2)
    return report(WitnessRegressor().fit(bags, y + np.arange(30)), bags, y + np.arange(30), cv=3)


def grades():
    """Make the report of grades in words."""
    bags, y = make_gaussian_bags(n_bags=60, n_features=4, shift=4.0, random_state=0)
    y = np.where(np.arange(60) % 3 > 0, np.where(y == 1, "mild", "none"), "severe")
    return report(OrdinalBagClassifier(order=["none", "mild", "severe"]).fit(bags, y), bags, y)


def times():
    """Make the report of times of events."""
    bags, y = make_gaussian_bags(n_bags=60, n_features=4, shift=4.0, random_state=0)
    y = np.column_stack([np.arange(60) % 3 > 0, 2 - y + np.arange(60) / 50])
    return report(CoxBag().fit(bags, y), bags, y, cv=3)


PAGES = [digits, birds, slides, means, numbers, grades, times, comparison]


@pytest.mark.parametrize("made", PAGES)
def test_every_kind_of_report_is_accessible_fits_and_prints(opened, violations, made, tmp_path):
    path = tmp_path / "report.html"
    made().save(path)
    for scheme in ("light", "dark"):
        page = opened(path, color_scheme=scheme, bypass_csp=True)
        assert violations(page) == []
        if made is not comparison:
            page.click("#bag-table tbody tr:nth-child(2) button")
            assert violations(page) == []
    page = opened(path, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert re.match(rb"%PDF", page.pdf())


def test_paper_has_all_bags_and_the_screen_a_page_of_them(opened, page_file):
    page = opened(page_file)
    for event, n_rows in (("beforeprint", 100), ("afterprint", 25)):
        page.evaluate(f"window.dispatchEvent(new Event('{event}'))")
        assert page.locator("#bag-table tbody tr").count() == n_rows


def test_it_opens_and_no_text_becomes_code(opened, page_file):
    page = opened(page_file)
    assert page.inner_text("h1") == NASTY
    assert page.locator("figure svg").count() >= 5
    assert page.inner_text("#count") == "100 of 100 bags"


def test_the_table_sorts_filters_and_is_searched(opened, page_file):
    page = opened(page_file)

    def scores():
        cells = page.locator("#bag-table tbody td:nth-child(3)")
        return [float(text) for text in cells.all_inner_texts()]

    page.click("#bag-table th button[data-key=score]")
    assert scores() == sorted(scores(), reverse=True)
    page.click("#bag-table th button[data-key=score]")
    assert scores() == sorted(scores())
    assert page.get_attribute("#bag-table th:nth-child(3)", "aria-sort") == "ascending"
    page.fill("#search", "bag-17")
    assert page.inner_text("#count") == "1 of 100 bags"
    page.fill("#search", "")
    page.select_option("#filter", "wrong")
    wrong = int(page.inner_text("#count").split()[0])
    missed = int(page.inner_text("#fn")) + int(page.inner_text("#fp"))
    assert wrong == missed
    page.select_option("#filter", "all")
    page.click("#next")
    assert page.inner_text("#page") == "page 2 of 4"


def test_the_slider_moves_the_rates(opened, page_file):
    page = opened(page_file)
    before = page.inner_text("#sensitivity")
    page.focus("#threshold")
    page.keyboard.press("Home")
    assert page.inner_text("#fn") == "0" or page.inner_text("#sensitivity").startswith("9")
    page.keyboard.press("End")
    assert page.inner_text("#sensitivity").startswith("0 %")
    assert page.inner_text("#ppv") == "undefined (no such bag)"
    page.click("#threshold-reset")
    assert page.inner_text("#sensitivity") == before
    assert page.inner_text("#threshold-value") in ("0", "0.00")


def test_a_bag_opens_by_keyboard_and_closes(opened, page_file):
    page = opened(page_file)
    page.focus("#bag-table tbody tr:nth-child(2) button")
    page.keyboard.press("Enter")
    assert page.locator("#bag").is_visible()
    assert page.inner_text("#bag-title") == "Bag bag-1"
    assert page.locator("#bag .thumbs img").count() == 3
    assert page.locator("#bag .strip").is_visible()
    assert page.locator("#bag .map").is_visible()
    reasons = page.inner_text("#bag-body p:last-child").split(", ")
    assert len(reasons) == 5
    assert all(re.fullmatch(r"pixel_\d_\d [+-]0\.\d+", reason) for reason in reasons), reasons
    page.keyboard.press("Escape")
    assert not page.locator("#bag").is_visible()


@pytest.fixture(scope="module")
def comparison_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "comparison.html"
    comparison().save(path)
    return path


def column(page, number):
    cells = page.locator(f"#model-table tbody tr > :nth-child({number})")
    return [text.removesuffix("(recommended)").strip() for text in cells.all_inner_texts()]


def test_a_comparison_opens_and_no_text_becomes_code(opened, comparison_file):
    page = opened(comparison_file)
    assert page.inner_text("h1") == NASTY
    assert page.locator("figure svg").count() == 2
    assert sorted(column(page, 1)) == sorted(["SIL", "mean", NASTY])


def test_the_ranking_sorts_by_numbers_and_by_names(opened, comparison_file):
    page = opened(comparison_file)
    values = [float(text) for text in column(page, 3)]
    assert values == sorted(values, reverse=True)
    page.focus("#model-table th:nth-child(3) button")
    page.keyboard.press("Enter")
    assert [float(text) for text in column(page, 3)] == sorted(values)
    assert page.get_attribute("#model-table th:nth-child(3)", "aria-sort") == "ascending"
    page.click("#model-table th:nth-child(1) button")
    assert column(page, 1)[1:] == ["mean", "SIL"]
    assert page.get_attribute("#model-table th:nth-child(3)", "aria-sort") is None
