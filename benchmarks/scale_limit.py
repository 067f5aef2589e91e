"""Fits to rows three times larger than the memory that they may use.

    python benchmarks/scale_limit.py [--rows 1000000] [--models ...]

The planted bags of benchmarks/scale.py. Before the fit, the process may use a third of the rows'
bytes more than it does: RLIMIT_DATA bounds its anonymous memory, and whenever that and the mapped
pages of the file together come near the bound (looked at every 5 ms), the file leaves the page
cache, as it would under a memory cgroup. No cgroup was set; run the command within one of your own
to have the kernel do all of it. Bytes that came from the disk (``read_bytes``) are counted in
passes, with those that checking and conditioning take; one read is the fastest of three sequential
reads of the file with a cold cache, before the fit. Memory is the largest sum of anonymous and
mapped pages above that before the fit. "No thread" has no thread that reads ahead
(`bagwise.rowstores.ahead`). Lines go to docs/results/scale_limit.jsonl, ``python
benchmarks/scale.py --page`` puts them on the page.
"""

from __future__ import annotations

import json
import resource
import threading
import time
from pathlib import Path
from typing import Any

import scale

LINES = scale.RESULTS / "scale_limit.jsonl"
MODELS = "SIL", "MI-SVM", "AL-SVM", "MIMN", "SIL, no thread", "AL-SVM, no thread"
SHARE = 3  # the rows are so many times larger than the memory


PLAIN = ", no thread"


class Limited(scale.Cold):
    """Rows of which no more stays in memory than a limit leaves."""

    def read_once(self) -> float:
        """Return the seconds of the fastest of three sequential reads from the disk."""
        return min(super(Limited, self).read_once() for _ in range(3))

    def passed(self) -> None:
        """Count a pass."""
        self.passes += 1

    def begin(self) -> None:
        """Limit what this process may use from now on."""
        self.limit, self.most = self.n_bytes / SHARE / 2**20, 0.0
        self.before = scale.anonymous(), scale.anonymous("RssFile")
        allowed = int(scale.anonymous("VmData") * 2**20 + self.n_bytes / SHARE)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
        self.running = True
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        """Evict the file whenever the memory is used up."""
        while self.running:
            now = scale.anonymous(), scale.anonymous("RssFile")
            used = sum(now) - sum(self.before)
            self.most = max(self.most, used)
            if used > 0.9 * self.limit:  # what comes in while it looks has to fit as well
                self.evict()
            time.sleep(0.005)

    def end(self) -> dict[str, float]:
        """Return the limit and what was used."""
        self.running = False
        return {"limit": self.limit, "most": self.most}


def section() -> list[str]:
    """Return the section of the page."""
    if not LINES.exists():
        return []
    text = ["## Rows three times larger than memory", "", *(__doc__ or "").splitlines()[2:], ""]
    text += ["| model | memory allowed, used, MB | passes | read from the disk, in passes | s "]
    text[-1] += "| as many reads, s | ratio |"
    text += ["|---|---|---|---|---|---|---|"]
    for line in map(json.loads, LINES.read_text().splitlines()):
        reads = line["disk passes"] * line["one read"]
        text.append(
            f"| {line['model']}, {line['data']:.0f} MB | {line['limit']:.0f}, {line['most']:.0f} "
            f"| {line['passes']} | {line['disk passes']:.1f} | {line['seconds']:.1f} "
            f"| {reads:.1f} | {line['seconds'] / reads:.2f} |"
        )
    return [*text, ""]


def one(path: Path, name: str) -> dict[str, Any]:
    """Fit one model within the limit."""
    if name.endswith(PLAIN):
        from bagwise.rowstores import ahead

        ahead._FEWEST = 1 << 62  # no rows are as many bytes
    return {**scale.cold(path, name.removesuffix(PLAIN), Limited), "model": name}


if __name__ == "__main__":
    scale.each_alone(__doc__, MODELS, one, LINES, __file__)
