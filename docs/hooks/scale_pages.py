"""What pages say about the costs of large data, from committed measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ON_CPU = ("SIL", "MI-SVM", "AW-SVM", "AL-SVM")
ON_GPU = {"SIL": "InstanceSVC", "MI-SVM": "WitnessSVC", "AW-SVM": "AW", "AL-SVM": "AL"}
STREAMED = {"SIL": "InstanceSVC", "AW-SVM": "AnnealedWitnessSVC", "AL-SVM": "AnnealedLabelSVC"}
MILLIONS = 4.002817  # instances of benchmarks/scale_stream.py


def _lines(name: str) -> list[dict[str, Any]]:
    path = RESULTS / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def costs() -> str:
    """Return a table of seconds per million instances, on one core and on one GPU.

    Rows that pass through the GPU come from the host's memory in every pass.
    """
    cpu = {x["model"]: x for x in _lines("scale.jsonl") if x.get("rows") == 1_000_000}
    gpu = {x["what"]: x for x in _lines("scale_gpu.jsonl") if "seconds" in x and "rows" in x}
    streamed = {
        x["what"]: x
        for x in _lines("scale_stream.jsonl")
        if x["place"] == "all in the host's memory"
    }
    rows = [
        "| method | one core, 256 features (float32) | one H200, 1,024 features (float16) "
        "| the same, passing through it |",
        "|---|---|---|---|",
    ]
    for method in ON_CPU:
        here, there = cpu.get(method), gpu.get(ON_GPU[method])
        slow = "not measured" if here is None else f"{here['seconds']:.0f} s"
        fast = "not measured"
        if there is not None:
            fast = f"{there['seconds'] * 1e6 / there['rows']:.2f} s"
        passing = streamed.get(STREAMED.get(method))
        moved = "not measured" if passing is None else f"{passing['seconds'] / MILLIONS:.1f} s"
        rows.append(f"| {method} | {slow} | {fast} | {moved} |")
    return "\n".join(rows)
