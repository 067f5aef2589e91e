"""How soon the program starts: CPU seconds of commands, and what Numba compiles in a first fit.

    python benchmarks/startup.py [--tree CHECKOUT]
    python benchmarks/startup.py --compile 1

CPU time is user plus system time of a new process, the smallest of three. A command's ``--help`` is
all that runs before the command's own work: its module is imported and its options are read. With
``--compile 1`` every model of the catalog is fitted once on bags of digits with an empty cache; one
row per model that compiles anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numba
from numba.core.event import Listener, register

from bagwise import cli
from bagwise.catalog import METHODS, by_paper_name
from bagwise.datasets import load_digits_bags
from options import options

COMMANDS = ("", *cli.COMMANDS)
PARTS = ("import bagwise", "import sklearn.base", "import pandas")
REPEATS = 3


def cpu_seconds(words: list[str], tree: Path) -> float:
    """Return the smallest CPU time of several runs of a program."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    times = []
    for _ in range(REPEATS):
        child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        assert status == 0, words
        times.append(used.ru_utime + used.ru_stime)
    return min(times)


def show_starts(tree: Path) -> None:
    print("| what runs | CPU s |\n|---|---|")
    for part in PARTS:
        print(f"| `{part}` | {cpu_seconds([sys.executable, '-c', part], tree):.2f} |")
    for command in COMMANDS:
        words = [sys.executable, "-m", "bagwise", *filter(None, [command]), "--help"]
        print(f"| `{' '.join(words[2:])}` | {cpu_seconds(words, tree):.2f} |", flush=True)


def show_compilations() -> None:
    with tempfile.TemporaryDirectory() as cache:
        numba.config.CACHE_DIR = cache
        listener = _Pauses()
        register("numba:compile", listener)
        warnings.simplefilter("ignore")
        bags, y = load_digits_bags(n_bags=60, random_state=0)[:2]
        print("| model | longest pause, CPU s | all pauses, CPU s | compiled |\n|---|---|---|---|")
        for method in METHODS:
            listener.pauses = []
            by_paper_name(method.name).fit(bags, y)
            if found := listener.pauses:
                seconds = [pause for _, pause in found]
                names = ", ".join(f"`{name}`" for name, _ in found)
                print(f"| {method.name} | {max(seconds):.2f} | {sum(seconds):.2f} | {names} |")


class _Pauses(Listener):
    """CPU seconds of compilations that the program itself asked for."""

    def __init__(self) -> None:
        self.pauses: list[tuple[str, float]] = []
        self._began: list[float] = []

    def on_start(self, found: object) -> None:
        self._began.append(time.process_time())

    def on_end(self, found: object) -> None:
        seconds = time.process_time() - self._began.pop()
        if not self._began:
            self.pauses.append((found.data["dispatcher"].py_func.__name__, seconds))


if __name__ == "__main__":
    given = options(__doc__, tree=Path(__file__).parent.parent, compile=0)
    show_compilations() if given.compile else show_starts(given.tree.resolve())
