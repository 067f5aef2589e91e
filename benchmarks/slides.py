"""From a folder of slide features to heat maps and a report, in three commands.

    python benchmarks/slides.py                       # writes docs/results/slides.md
    python benchmarks/slides.py --slides 40 --folder slides

Slides are synthetic (`datasets.make_slide_bags`): 500 to 3,000 patches of 1,024 half-precision
features, a connected tumor of 8 to 15 % of the patches in every second slide, and thumbnails. They
lie in a folder as CLAM writes it. One half trains the model, the other half is judged. Each command
runs in a terminal of its own (a pseudo-terminal): measured are wall and CPU time, the time until
the first sign on the screen and the longest time without one after it, and the peak of the memory
that is the process's alone (RssAnon) beyond that of the same command on slides of 20 patches,
which loads the same libraries. What exists already in the folder is not drawn again. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import os
import pty
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bagwise import io, load
from bagwise.datasets import make_slide_bags

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "results" / "slides.md", ROOT / "docs" / "images" / "slides"
N_FEATURES = 1024
SHIFT = 6.0  # of tumor patches, the generator's default; two patches of one tissue are 45 apart
TOP = 0.05  # of the patches of a slide, whose precision is measured
THUMBNAIL = 32  # pixels of the slide per pixel of its thumbnail
TISSUE, TUMOR = np.array([232, 178, 205]), np.array([150, 92, 160])  # as of eosin, hematoxylin
MODEL = ["--model", "MI-SVM", "--param", "kernel=linear", "--param", "C=0.01"]
MODEL += ["--param", "probability=sigmoid"]


# The folder ---------------------------------------------------------------------------------------


def draw(folder: Path, n_slides: int, bag_size: tuple[int, int], shift: float) -> None:
    """Write features, thumbnails, two listings and the truth, if they are not there."""
    if (folder / "truth.npz").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    bags, y = make_slide_bags(
        n_slides, N_FEATURES, bag_size=bag_size, witness_rate=(0.08, 0.15), shift=shift
    )
    tumor = bags.instance_labels == 1
    cases = [f"case-{i // 2:03d}" for i in range(n_slides)]
    labels = np.where(y == 1, "tumor", "normal")
    io.write_slides(folder / "clam", bags.replace(instance_labels=None, groups=cases), labels)
    rows = [*zip(bags.ids.tolist(), cases, labels.tolist(), strict=True)]
    for name, part in (("train", rows[: n_slides // 2]), ("test", rows[n_slides // 2 :])):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("slide_id", "case_id", "label"), *part])
    (folder / "thumbnails").mkdir()
    rng = np.random.default_rng(0)
    for i, name in enumerate(bags.ids.tolist()):
        rows_of = slice(bags.offsets[i], bags.offsets[i + 1])
        image = thumbnail(bags.coords[rows_of], tumor[rows_of], rng)
        save_image(image, folder / "thumbnails" / f"{name}.png")
    np.savez(folder / "truth.npz", tumor=tumor, offsets=bags.offsets)


def thumbnail(corners: np.ndarray, tumor: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return tissue on glass; tumor is darker, and speckles hide where exactly it ends."""
    side = 256 // THUMBNAIL
    wide, tall = corners.max(axis=0) // THUMBNAIL + side
    image = np.full((tall, wide, 3), 245.0)
    for (x, y), is_tumor in zip(corners // THUMBNAIL, tumor, strict=True):
        speckles = rng.normal(scale=18, size=(side, side, 1))
        image[y : y + side, x : x + side] = (TUMOR if is_tumor else TISSUE) + speckles
    return np.clip(image, 0, 255).astype(np.uint8)


def save_image(image: np.ndarray, path: Path) -> None:
    from PIL import Image

    Image.fromarray(image).save(path)


# A command ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What a command took."""

    wall: float
    cpu: float
    first: float  # time until the first sign on the screen
    still: float  # longest time without one after it
    memory: int  # peak of RssAnon, in bytes


def anonymous(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:  # it has ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if "RssAnon" in line)


def measure(arguments: list[str], folder: Path) -> Measured:
    """Run a command of bagwise in a terminal of its own."""
    terminal, inside = pty.openpty()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "bagwise", *arguments]
    process = subprocess.Popen(words, cwd=folder, stdout=inside, stderr=inside, close_fds=True)
    os.close(inside)
    peak = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], anonymous(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    first, still, last, screen = 0.0, 0.0, began, b""
    while process.poll() is None:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                screen += os.read(terminal, 1 << 16)
            except OSError:  # the terminal closes with the process
                break
            now = time.perf_counter()
            if first:
                still = max(still, now - last)
            first, last = first or now - began, now
    process.wait()
    done.set()
    watcher.join()
    os.close(terminal)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {screen.decode(errors='replace')[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(time.perf_counter() - began, cpu, first, still, peak[0])


# What is true of the maps -------------------------------------------------------------------------


def precisions(folder: Path) -> list[float]:
    """Return, per tumor slide, how many of its highest patches are of the planted tumor."""
    with warnings.catch_warnings(action="ignore"):  # the other half has no row
        bags, labels = io.read_slides(folder / "clam", labels=folder / "test.csv")
    truth = np.load(folder / "truth.npz")
    tumor = truth["tumor"][-bags.n_instances :]
    scores = load(folder / "model.bagwise").instance_decision_function(bags)
    found = []
    for i in np.flatnonzero(labels == "tumor"):
        rows = slice(bags.offsets[i], bags.offsets[i + 1])
        highest = np.argsort(-scores[rows], kind="stable")[: round(TOP * bags.sizes[i])]
        found.append(float(tumor[rows][highest].mean()))
    return found


def photograph(folder: Path) -> None:
    """Keep small pictures of a map and of the report."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    with (folder / "test.csv").open() as file:
        name = next(row["slide_id"] for row in csv.DictReader(file) if row["label"] == "tumor")
    shutil.copy(folder / "maps" / f"{name}.png", IMAGES / "map.png")
    with sync_playwright() as playwright:
        binary = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.goto((folder / "report.html").resolve().as_uri())
        page.screenshot(path=IMAGES / "report.png")
        page.fill("#search", name)
        page.click("#bag-table tbody button")
        page.screenshot(path=IMAGES / "bag.png")
        browser.close()
    for path in IMAGES.glob("*.png"):
        image = Image.open(path).convert("RGB")
        image.thumbnail((560, 560))
        image.quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


# The page -----------------------------------------------------------------------------------------


TEXT = """# Slides: from features to heat maps

`python benchmarks/slides.py`: {n_slides} synthetic slides in a folder as CLAM writes it, 500 to 3,000 patches of {n_features:,}
half-precision features ({size:.0f} MB), a planted tumor of 8 to 15 % of the patches, as far from other tissue as the generator's default
has it. One half trains, the other half is judged.

| command | wall, s | CPU, s | first sign, s | then still, s | memory, MB | share, % |
|---|---|---|---|---|---|---|
{rows}

One BLAS thread, on two cores which about ten other busy processes shared: CPU seconds count, and without them a command takes little
longer than these. First sign is the time until something is on the screen, mostly that of loading Python's
libraries; then still is the longest time without a change of the screen after it, where a progress bar or a clock moves otherwise. Memory
is the peak that belongs to the process alone (RssAnon), beyond that of the same command on slides of 20 patches: the share is that of
the {half:.0f} MB of features which the command works on. They stay in their files and are read in blocks, by the folds of the calibration too.

Of the highest {top:.0f} % of the patches of a held-out tumor slide, {mean:.2f} % lie in the planted tumor (mean of {n_tumor} slides; the
worst has {worst:.0f} %).

![A heat map over its thumbnail](../images/slides/map.png)
![The report](../images/slides/report.png)
![A slide in the report](../images/slides/bag.png)
"""  # noqa: E501


def write_page(
    folder: Path, n_slides: int, found: dict[str, Measured], idle: list[int], hits: list[float]
) -> None:
    """Write what was measured."""
    size = sum(f.stat().st_size for f in (folder / "clam" / "h5_files").iterdir()) / 1e6
    rows = [
        f"| `bagwise {words}` | {m.wall:.0f} | {m.cpu:.0f} | {m.first:.1f} | {m.still:.1f} "
        f"| {(m.memory - base) / 1e6:.0f} | {100 * (m.memory - base) / 1e6 / (size / 2):.0f} |"
        for (words, m), base in zip(found.items(), idle, strict=True)
    ]
    worst, mean = 100 * min(hits), 100 * np.mean(hits)
    numbers = {"n_slides": n_slides, "n_features": N_FEATURES, "size": size, "half": size / 2}
    numbers |= {"top": 100 * TOP, "mean": mean, "worst": worst, "n_tumor": len(hits)}
    PAGE.write_text(TEXT.format(rows="\n".join(rows), **numbers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slides", type=int, default=200)
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "bagwise-slides"
    )
    parser.add_argument("--no-page", action="store_true", help="print, and write no page")
    options = parser.parse_args()
    folder, small = options.folder / "slides", options.folder / "small"
    draw(folder, options.slides, (500, 3000), SHIFT)
    draw(small, 60, (20, 20), 10 * SHIFT)  # plain enough for a calibration
    test = ["--labels", "test.csv"]
    commands = [
        ["fit", "clam", "--labels", "train.csv", "--positive", "tumor", *MODEL],
        ["heatmap", "model.bagwise", "clam", *test, "--image", "thumbnails", "--out", "maps"],
        ["report", "model.bagwise", "clam", *test, "--images", "thumbnails"],
    ]
    idle = [measure(words, small).memory for words in commands]
    found = {" ".join(words): measure(words, folder) for words in commands}
    hits = precisions(folder)
    for words, measured in found.items():
        print(words, measured)
    print("small", idle, "precision", np.mean(hits), min(hits))
    if not options.no_page:
        photograph(folder)
        write_page(folder, options.slides, found, idle, hits)


if __name__ == "__main__":
    main()
