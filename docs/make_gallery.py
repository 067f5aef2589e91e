"""Draw the figures of docs/reports.md, and photograph a report in Chromium.

python docs/make_gallery.py
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedLabelSVC,
    AnnealedWitnessSVC,
    PerInstance,
    WitnessSVC,
    make_pipeline,
    plot,
    report,
    report_comparison,
)
from bagwise.datasets import fetch, load_digits_bags, make_gaussian_bags, make_slide_bags
from bagwise.model_selection import compare
from bagwise.reports import Report

IMAGES = Path(__file__).parent / "images" / "gallery"
DPI = 64  # small files; the page shows them at half of its width


def draw() -> None:
    """Draw one figure of each kind."""
    bags, y = load_digits_bags(n_bags=160)
    train, test = slice(0, 80), slice(80, 160)
    model = WitnessSVC(kernel="linear", probability="sigmoid").fit(bags[train], y[train])
    held_out, labels = bags[test], y[test]
    figures = {
        "roc": plot.roc(model, held_out, labels),
        "precision-recall": plot.precision_recall(model, held_out, labels),
        "instance-scores": plot.score_histogram(model, held_out, labels),
        "bag-sizes": plot.score_by_size(model, held_out, labels),
        "importance": plot.importance(model, held_out, labels, top=8),
        "annealing": plot.annealing_path(
            AnnealedLabelSVC(kernel="linear").fit(bags[train], y[train])
        ),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=DPI)


def photograph() -> None:
    """Draw a heat map, and photograph reports of slides and of a comparison."""
    bags, y = make_slide_bags(n_bags=80, bag_size=(200, 500), witness_rate=0.1)
    labels = np.where(y == 1, "tumor", "normal")
    model = AnnealedWitnessSVC(kernel="linear", pos_label="tumor").fit(bags[:40], labels[:40])
    p = model.calibrate_instances(bags[:40], labels[:40]).instance_pvalues(bags)
    i = int(np.flatnonzero(y[40:])[0]) + 40
    promise = model.discovery_guarantee(words=("normal slide", "outline"))
    options = {"level": 0.1, "note": promise, "microns_per_pixel": 0.5}
    plot.heatmap(bags, p, i, **options).savefig(IMAGES / "heatmap.png", dpi=DPI)
    with opened(report(model, bags[40:], labels[40:], title="Tumor or not: 40 slides")) as page:
        page.screenshot(path=IMAGES / "report.png")
        page.locator("#bag-table").scroll_into_view_if_needed()
        page.click(f"#bag-table tbody tr:nth-child({i - 40 + 1}) button")
        page.screenshot(path=IMAGES / "report-bag.png")
    digits, y = load_digits_bags(n_bags=100)
    names = ("SIL", "SimpleMI", "MI-SVM", "MI-Kernel", "StatisticsSVC", "Citation kNN")
    found = compare(digits, y, list(names), n_repeats=1, n_jobs=1)
    with opened(report_comparison(found, digits, data_name="digits")) as page:
        page.screenshot(path=IMAGES / "comparison.png")


def photograph_kinds() -> None:
    """Photograph reports of molecules, of digits and of recordings: light, dark, on a phone."""
    musk, y = fetch("musk1")
    scaled = make_pipeline(PerInstance(StandardScaler()), WitnessSVC()).fit(musk, y)
    with opened(report(scaled, musk, y, cv=5, data_name="musk1"), color_scheme="dark") as page:
        keep(page, "musk1-dark")
    bags, y = load_digits_bags(n_bags=160)
    model = WitnessSVC(kernel="linear", probability="sigmoid").fit(bags[:80], y[:80])
    images = bags[80:].X.reshape(-1, 8, 8)
    shown = report(model, bags[80:], y[80:], images=images, title="Is there a 9?")
    with opened(shown, viewport={"width": 390, "height": 844}) as page:
        page.click("#bag-table tbody tr:nth-child(3) button")
        keep(page, "digits-phone")
    calls, y = make_gaussian_bags(n_bags=120, n_features=12, shift=3.0, random_state=1)
    calls = calls.replace(groups=[f"site {i // 6:02d}" for i in range(120)])
    species = np.where(y == 1, "wren", "no wren")
    wrens = WitnessSVC(kernel="linear", pos_label="wren").fit(calls, species)
    with opened(report(wrens, calls, species, cv=5, data_name="birds.csv")) as page:
        page.locator("#threshold").scroll_into_view_if_needed()
        keep(page, "birds")


def keep(page: Any, name: str) -> None:
    """Write a small picture of what is on the screen."""
    from PIL import Image

    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


@contextmanager
def opened(shown: Report, **options: Any) -> Iterator[Any]:
    """Open a report in Chromium."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        shown.save(path)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(**{"viewport": {"width": 900, "height": 760}, **options})
        page.goto(path.as_uri())
        yield page
        browser.close()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw()
    photograph()
    photograph_kinds()
