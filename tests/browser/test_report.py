import re

import numpy as np
import pytest

from bagwise import WitnessSVC, report
from bagwise.datasets import load_digits_bags

NASTY = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    bags, y = load_digits_bags(n_bags=100)
    bags = bags.replace(
        ids=[NASTY, *(f"bag-{i}" for i in range(1, 100))],
        groups=[f"g{i // 4}" for i in range(100)],
        coords=np.arange(2 * bags.n_instances).reshape(-1, 2) % 5,
        patch_size=np.ones(100),
    )
    model = WitnessSVC(kernel="linear", probability="sigmoid").fit(bags[:40], y[:40])
    held_out, images = bags, bags.X.reshape(-1, 8, 8)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report(model, held_out, y, images=images, title=NASTY).save(path)
    return path


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
    assert page.locator("#bag table tr").count() == 6
    page.keyboard.press("Escape")
    assert not page.locator("#bag").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_of_accessibility(opened, violations, page_file, scheme):
    page = opened(page_file, color_scheme=scheme, bypass_csp=True)
    assert violations(page) == []
    page.click("#bag-table tbody tr:nth-child(2) button")
    assert violations(page) == []


def test_it_fits_a_phone_and_prints(opened, page_file):
    page = opened(page_file, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert re.match(rb"%PDF", page.pdf())


def test_five_thousand_bags_stay_usable(opened, page_file, tmp_path):
    text = page_file.read_text()
    start = text.index('id="rows">') + len('id="rows">')
    stop = text.index("</script>", start)
    content = text[start:stop]
    rows = content[content.index("[") : content.rindex("]") + 1]
    many = content.replace(rows, "[" + ",".join([rows[1:-1]] * 50) + "]")
    path = tmp_path / "many.html"
    path.write_text(text[:start] + many + text[stop:])
    page = opened(path)
    page.click("#bag-table th button[data-key=score]")
    page.fill("#search", "bag-17")
    assert page.inner_text("#count") == "50 of 5000 bags"
    assert page.locator("#bag-table tbody tr").count() == 25
