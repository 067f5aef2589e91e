"""How large reports are, how long they take to make, and how fast a browser works with them.

    python benchmarks/reports.py                       # writes docs/results/reports.md

Bags of digits with pictures of their three highest instances, judged by a model that was trained on
60 of them. Sorting and searching are timed in Chromium, from the event to the finished table.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from bagwise import WitnessSVC, report
from bagwise.datasets import load_digits_bags

PAGE = Path(__file__).parents[1] / "docs" / "results" / "reports.md"
SIZES = (1000, 5000)
TIMED = (
    """(work) => { const start = performance.now(); work(); return performance.now() - start; }"""
)
SORT = "document.querySelector('#bag-table th button[data-key=score]').click()"
SEARCH = (
    "const field = document.getElementById('search'); field.value = '17'; "
    "field.dispatchEvent(new Event('input'))"
)


def in_browser(path: Path) -> tuple[float, float, float]:
    """Return seconds to open the page, and milliseconds to sort and to search its table."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        binary = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri())
        opened = time.perf_counter() - start
        sort, search = (page.evaluate(f"({TIMED})(() => {{ {work} }})") for work in (SORT, SEARCH))
        browser.close()
    return opened, sort, search


def row(n_bags: int, path: Path) -> str:
    """Make a report and return a line of the table."""
    bags, y = load_digits_bags(n_bags=n_bags)
    model = WitnessSVC(kernel="linear", probability="sigmoid").fit(bags[:60], y[:60])
    start = time.process_time()
    report(model, bags, y, images=bags.X.reshape(-1, 8, 8)).save(path)
    seconds = time.process_time() - start
    opened, sort, search = in_browser(path)
    size = path.stat().st_size / 1e6
    return f"| {n_bags:,} | {seconds:.0f} | {size:.1f} | {opened:.1f} | {sort:.0f} | {search:.0f} |"


def main() -> None:
    """Measure, and write the page."""
    lines = [
        "# Reports of many bags",
        "",
        *(__doc__ or "").split("\n\n")[2].strip().split("\n"),
        "",
    ]
    lines += ["| bags | made in, CPU s | MB | opened in, s | sorted in, ms | searched in, ms |"]
    lines += ["|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        lines += [row(n_bags, Path(folder) / "report.html") for n_bags in SIZES]
    lines += [
        "",
        "`python benchmarks/reports.py`, one BLAS thread, on two cores that others use too.",
    ]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
