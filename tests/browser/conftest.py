"""A real browser: conftest.py gives tests that use it the mark `browser`."""

from __future__ import annotations

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def chromium():
    """Return a running Chromium without a network."""
    from playwright.sync_api import sync_playwright

    binary = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium):
    """Return a function that opens a file; errors and requests fail the test at its end."""
    troubles: list[str] = []
    pages = []

    def open_(path, **options):
        page = chromium.new_page(**options)
        page.set_default_timeout(120_000)  # milliseconds; the computer may be busy
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda r: troubles.append(r.url) if r.url.startswith("http") else None)
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.close()
    assert troubles == []


@pytest.fixture
def violations():
    """Return a function that lists serious violations of accessibility, by axe-core."""
    axe_module = pytest.importorskip("axe_playwright_python.sync_playwright")

    def check(page):
        # The page forbids scripts from elsewhere, so that axe-core is handed over as text.
        # Style sheets of pages that were opened from a folder cannot be fetched again (preload).
        found = axe_module.Axe().run(page, options={"preload": False}).response["violations"]
        return [v["id"] for v in found if v["impact"] in ("serious", "critical")]

    return check
