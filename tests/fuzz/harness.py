"""What both fuzzers share: batches in child processes, and outcomes.

Case ``i`` of seed ``s`` is always the same case. A batch of cases runs in a child process with a
limit of memory and a timer per case, so that a segmentation fault, a hang or a memory bomb ends the
child only; the parent knows by the results which case it was, and goes on after it.

Outcomes: OK, NAMED (a clear error), and what may not happen: UNCLEAR (an error without file and
place, or parameter and remedy), SILENT (content that changed without a word, or is no valid
result), CRASH (the process died) and HANG (more than `SECONDS` of computing, or of waiting for
`_PATIENCE` times as long: on a busy machine a case may wait without being at fault).
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

OK, NAMED, UNCLEAR, SILENT, CRASH, HANG = "ok", "named error", "UNCLEAR", "SILENT", "CRASH", "HANG"
OUTCOMES = (OK, NAMED, UNCLEAR, SILENT, CRASH, HANG)
BAD = OUTCOMES[2:]
SECONDS = 30  # of CPU time per case (four fits or so): nothing so small may take longer
_PATIENCE = 30  # times as many seconds on the clock: a deadlock computes nothing
_MEMORY = 6 << 30  # bytes of address space that a batch may add: more is a bomb, not a small file

_FAST = Path("/dev/shm")  # a folder in memory, where there is one


class Case(Protocol):
    """One case, by its random numbers, its number and a folder for its files."""

    def __call__(self, rng: random.Random, number: int, folder: Path) -> Result:
        """Run it."""

    def kind(self, number: int) -> str:
        """Return the name under which a case is counted."""


@dataclass
class Result:
    """How one case ended: of which kind it was, and a line about it."""

    kind: str
    outcome: str
    detail: str = ""


@dataclass
class Progress:
    """Counts by kind and outcome, the findings, and the next case.

    Findings with the same kind, outcome and place are one, with their cases.
    """

    seed: int
    next: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    findings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, case: int, result: Result) -> None:
        """Count one result."""
        kind = self.counts.setdefault(result.kind, dict.fromkeys(OUTCOMES, 0))
        kind[result.outcome] += 1
        self.next = case + 1
        if result.outcome in BAD:
            key = f"{result.outcome} {result.kind}: {result.detail.split(': ')[0].split(' (')[0]}"
            found = self.findings.setdefault(key, {"cases": [], "detail": result.detail})
            found["cases"].append(case)

    @property
    def bad(self) -> int:
        return sum(kind[outcome] for kind in self.counts.values() for outcome in BAD)


def last_place(error: BaseException) -> str:
    """Return the type of an error, where it was raised and the first line of its message."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/bagwise/" in frame.filename]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:300]}"


# Running -----------------------------------------------------------------------------------------


def run_batch(case: Case, progress: Progress, stop: int, limit: float = SECONDS) -> None:
    """Run the cases from ``progress.next`` to ``stop``, a child after the other."""
    while progress.next < stop:
        results, code, place = _run_child(case, progress.seed, progress.next, stop, limit)
        for result in results:
            progress.add(progress.next, result)
        died = progress.next
        if died == stop:
            return
        outcome = HANG if code in (-signal.SIGPROF, -signal.SIGALRM) else CRASH
        if results:  # it may be the victim of an earlier case: it is run again, alone
            alone, code, place_alone = _run_child(case, progress.seed, died, died + 1, limit)
            if alone:  # alive: a busy machine, or damaged memory
                progress.add(died, alone[0])
                if outcome == CRASH:
                    since = f"not alone, in a child with {len(results)} cases before it"
                    progress.add(died, Result("?", CRASH, f"{place} in {alone[0].kind}: {since}"))
                continue
            place = place_alone
        said = f"{place}: the process ended with {code}"
        progress.add(died, Result(case.kind(died), outcome, said))


def _run_child(
    case: Case, seed: int, start: int, stop: int, limit: float
) -> tuple[list[Result], int | None, str]:
    """Run cases in a child; return the results until it died, its exit code and the place."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(dir=_FAST if _FAST.is_dir() else None) as folder:
        stack = Path(folder) / "stack"
        arguments = (case, seed, range(start, stop), limit, theirs, stack)
        child = context.Process(target=_run_cases, args=arguments)
        child.start()
        theirs.close()
        with contextlib.suppress(EOFError):  # it ended
            while True:
                results.append(ours.recv())
        child.join()
        return results, child.exitcode, _place_in(stack.read_text() if stack.exists() else "")


def _place_in(stack: str) -> str:
    """Return the innermost line of bagwise in a stack that faulthandler wrote."""
    lines = re.findall(r'File "(.*)", line (\d+) in (.*)', stack)
    ours = [f"{Path(file).name}:{line}" for file, line, _ in lines if "/bagwise/" in file]
    return f"{lines[0][2]} from {ours[0]}" if ours else "?"


def _run_cases(case: Case, seed: int, numbers: range, limit: float, pipe: Any, stack: Path) -> None:
    _confine(stack)
    for number in numbers:
        _set_timers(limit)
        result = case(random.Random(f"{seed}:{number}"), number, stack.with_name("files"))
        _set_timers(0)
        pipe.send(result)
    pipe.close()
    os._exit(0)  # no destructors of libraries that a damaged file confused


def _set_timers(limit: float) -> None:
    """Start the timers of a case: their default action ends the child, in C code too."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE * limit)


def _confine(stack: Path) -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C libraries print there before they die
    file = open(stack, "w")  # noqa: SIM115 - open as long as the process lives
    faulthandler.enable(file, all_threads=False)
    for timer in (signal.SIGPROF, signal.SIGALRM):
        faulthandler.register(timer, file, all_threads=False, chain=True)
    warnings.simplefilter("ignore")


# The command -------------------------------------------------------------------------------------


def parser(text: str, count: int, batch: int) -> argparse.ArgumentParser:
    """Return the arguments that both commands take."""
    arguments = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--first", type=int, default=0, help="the case to begin with")
    arguments.add_argument("--count", type=int, default=count, help="the case to end before")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--batch", type=int, default=batch, help="cases per child process")
    arguments.add_argument("--case", type=int, help="run this case only, in this process")
    arguments.add_argument("--out", type=Path, help="folder for the counts of these cases")
    arguments.add_argument("--merge", type=Path, help="folder whose counts are added up")
    return arguments


def finish(case: Case, options: argparse.Namespace) -> None:
    """Run or merge the cases; print the counts, and exit with 1 for findings."""
    if options.merge is not None:
        progress = merge(options.merge)
        print(table(progress))
    else:
        progress = Progress(options.seed, next=options.first)
        while progress.next < options.count:
            run_batch(case, progress, min(options.count, progress.next + options.batch))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        name = f"cases_{options.first:08d}.json"
        (options.out / name).write_text(json.dumps({"first": options.first, **asdict(progress)}))
    for kind, counts in sorted(progress.counts.items()):
        print(f"{kind}: {', '.join(f'{n} {outcome}' for outcome, n in counts.items())}")
    for key, found in sorted(progress.findings.items()):
        print(f"{key} | {len(found['cases'])} cases: {found['cases']} | {found['detail']}")
    raise SystemExit(bool(progress.bad))


def merge(folder: Path) -> Progress:
    """Return the sum of the counts in a folder, which must follow each other without a gap."""
    parts = [json.loads(path.read_text()) for path in sorted(folder.glob("cases_*.json"))]
    total = Progress(parts[0]["seed"], next=parts[0]["first"])
    for part in parts:
        if (part["seed"], part["first"]) != (total.seed, total.next):
            raise SystemExit(f"{folder} has no case {total.next} of seed {total.seed}")
        total.next = part["next"]
        for kind, counts in part["counts"].items():
            sums = total.counts.setdefault(kind, dict.fromkeys(OUTCOMES, 0))
            for outcome, n in counts.items():
                sums[outcome] += n
        for key, found in part["findings"].items():
            known = total.findings.setdefault(key, {"cases": [], "detail": found["detail"]})
            known["cases"] += found["cases"]
    return total


def table(progress: Progress) -> str:
    """Return the table of robustness.md: one row per kind, and their sum."""
    rows = dict(sorted(progress.counts.items()))
    rows["**all**"] = {o: sum(counts[o] for counts in rows.values()) for o in OUTCOMES}
    head = f"| kind | cases | {' | '.join(OUTCOMES)} |\n| --- |{' ---: |' * (1 + len(OUTCOMES))}"
    cells = (
        f"| {kind} | {sum(n.values()):,} | {' | '.join(f'{n[o]:,}' for o in OUTCOMES)} |"
        for kind, n in rows.items()
    )
    return "\n".join([head, *cells])


def run_one(case: Case, options: argparse.Namespace, folder: Path) -> Result:
    """Run one case here, so that its files and its traceback can be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    return case(random.Random(f"{options.seed}:{options.case}"), options.case, folder)


def apart(function: Callable[[], Any]) -> Any:
    """Return what a function gives in a child: threads that it starts must not be forked."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(function()))
    child.start()
    theirs.close()
    found = ours.recv()
    child.join()
    return found
