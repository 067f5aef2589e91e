"""What pages say about the costs of large data, from committed measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ON_CPU = ("SIL", "MI-SVM", "AW-SVM", "AL-SVM")
ON_GPU = {"SIL": "InstanceSVC", "MI-SVM": "WitnessSVC", "AW-SVM": "AW", "AL-SVM": "AL"}


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def costs() -> str:
    """Return a table of seconds per million instances, on one core and on one GPU."""
    cpu = {x["model"]: x for x in _lines("scale.jsonl") if x.get("rows") == 1_000_000}
    gpu = {x["what"]: x for x in _lines("scale_gpu.jsonl") if "seconds" in x and "rows" in x}
    rows = [
        "| method | one core, 256 features (float32) | one H200, 1,024 features (float16) |",
        "|---|---|---|",
    ]
    for method in ON_CPU:
        here, there = cpu[method]["seconds"], gpu[ON_GPU[method]]
        million = there["seconds"] * 1e6 / there["rows"]
        rows.append(f"| {method} | {here:.0f} s | {million:.2f} s |")
    return "\n".join(rows)
