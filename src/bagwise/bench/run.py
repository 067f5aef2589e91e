"""Run a benchmark: every cell once, resuming an earlier run.

A folder of results holds ``spec.yaml`` (the benchmark as it was run), ``folds/`` (the splits),
``results.jsonl`` (the records) and the tables. Finished cells are never run again; failed ones are
tried again when the run is resumed. Tables need only the folder, not the data.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from bagwise.bench.cell import Cell, judge, shorten
from bagwise.bench.spec import BenchData, Spec, load_data, read_spec
from bagwise.bench.splits import read_splits, store_splits
from bagwise.io._files import writing
from bagwise.io._records import ResultsError
from bagwise.model_selection.runner import Record, Runner, Store, is_failure, read_store

RESULTS, FOLDS, SPEC = "results.jsonl", "folds", "spec.yaml"


@dataclass(frozen=True)
class Plan:
    """A benchmark in a folder: all its cells, in the order they are run."""

    spec: Spec
    folder: Path
    cells: list[Cell]

    def records(self) -> dict[str, Record]:
        """Return the last record of each cell of this plan, by the cell's id."""
        _, found = read_store(self.folder / RESULTS, identify)
        return {cell.id: found[cell.id] for cell in self.cells if cell.id in found}


def identify(record: Record) -> str:
    """Return the id of a record's cell, "" for a record of something else."""
    return shorten(str(record.get("cell", "")))


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the number of cells in all, run now, and failed."""

    total: int
    ran: int
    failed: int


def _plan(spec: Spec, folder: Path, files: dict[str, str]) -> Plan:
    """List the cells round after round, so that an interrupted run leaves whole rounds."""
    cells = []
    for entry in spec.data:
        sha256, splits = read_splits(folder / FOLDS / files[entry.name])
        for model in spec.models:
            most = spec.protocol.repeats
            rounds = min(entry.rounds or most, model.rounds or most)
            nested = min(entry.nested or most, model.nested or most)
            for split in (each for each in splits if each.repeat < rounds):
                draw = split.repeat if spec.protocol.kind == "fresh" else None
                inner = spec.protocol.inner if split.repeat < nested else 0
                for point in model.points(entry):
                    cells.append(Cell(entry, model, point, split, sha256, inner, draw))
    return Plan(spec, folder, sorted(cells, key=lambda cell: cell.split.repeat))


def read_plan(folder: Path) -> Plan:
    """Return the plan of the last run in a folder of results; no data are needed."""
    heads, _ = read_store(folder / RESULTS, identify)
    runs = [record["run"] for record in heads if "run" in record]
    if not runs or not (folder / SPEC).is_file():
        raise ResultsError(f"{folder} holds no results of `bagwise bench`.")
    return _plan(read_spec(folder / SPEC), folder, runs[-1]["folds"])


def run(
    spec: Spec,
    folder: Path,
    *,
    jobs: int = 1,
    note: Callable[[str, int, int], object] = lambda what, done, total: None,
) -> tuple[Plan, Outcome]:
    """Run what is missing of a benchmark, in a folder that may hold results of an earlier run.

    ``jobs`` is the number of worker processes, -1 one per core. ``note`` is called with what was
    written last, and the numbers of finished and of all cells.
    """
    entries = {entry.name: entry for entry in spec.data}

    @cache
    def load(name: str, draw: int | None) -> BenchData:
        return load_data(entries[name], spec.protocol, draw)

    first = 0 if spec.protocol.kind == "fresh" else None
    with Store(folder / RESULTS, identify) as store:
        files = {}
        for name in entries:
            data = load(name, first)
            path = store_splits(folder / FOLDS, name, spec.protocol, data.bags, data.y)
            files[name] = path.name
        plan = _plan(spec, folder, files)
        _write_spec(spec, folder)
        runner = Runner(judge, lambda cell: load(cell.data.name, cell.draw), store, n_jobs=jobs)
        n_done, n_ran = len(runner.recall(plan.cells)), 0
        note(spec.name, n_done, len(plan.cells))
        store.append({"run": {**_versions(), "folds": files}})
        for _, record in runner.run(plan.cells):
            n_ran += 1
            what = f"{record['data']}: {record['model']}"
            note(what, n_done + n_ran, len(plan.cells))
    failed = sum(is_failure(record) for record in plan.records().values())
    return plan, Outcome(len(plan.cells), n_ran, failed)


def _write_spec(spec: Spec, folder: Path) -> None:
    import yaml

    content = json.loads(json.dumps(asdict(spec)))  # YAML has no tuples
    with writing(folder / SPEC) as file:
        file.write(yaml.safe_dump(content, sort_keys=False, width=100).encode())


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("bagwise", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
