"""Pack the records of finished benchmarks: ``results.jsonl`` becomes ``results.jsonl.xz``.

    python benchmarks/pack_results.py

Records that were packed before stay in front of new ones; `bagwise bench` and `bagwise table` read
both files and write plain ones. The last record says by which command and at which commit the
results were made. Run it in the checkout that made them. Digits fill the files: seconds, gaps,
objectives and p-hat keep those of `DIGITS`, all else nine; the time on the clock is left out.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from bagwise.bench.run import identify
from options import find_commit

RESULTS = Path(__file__).parents[1] / "docs" / "results"


DIGITS = {"seconds": 2, "fit_seconds": 3, "predict_seconds": 1}
DIGITS |= {"gap": 1, "objective": 3, "p_hat": 4}


def shorten(value: Any, digits: int = 9) -> Any:
    """Return a record with its numbers rounded and its id as short as `identify` takes it."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name != "elapsed"}
        kept |= {"cell": identify(value)} if "cell" in value else {}
        return {name: shorten(each, DIGITS.get(name, 9)) for name, each in kept.items()}
    if isinstance(value, list):
        return [shorten(each) for each in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def pack(path: Path) -> None:
    """Write the records of a file to its packed form, and remove the file."""
    packed, commit = path.with_name(f"{path.name}.xz"), find_commit()
    command = f"bagwise bench {path.parent.name}"
    before = lzma.decompress(packed.read_bytes()) if packed.exists() else b""
    note = json.dumps({"packed": {"command": command, "commit": commit}}).encode() + b"\n"
    lines = (before + path.read_bytes() + note).splitlines()
    lines = [json.dumps(shorten(json.loads(line))) for line in lines]
    kept = [*dict.fromkeys(reversed(lines))][::-1]  # of lines that are in both files, the last
    packed.write_bytes(
        lzma.compress(
            "".join(f"{line}\n" for line in kept).encode(), preset=9 | lzma.PRESET_EXTREME
        )
    )
    path.unlink()
    print(f"{packed.relative_to(RESULTS)}: {packed.stat().st_size / 1e3:.0f} kB, {commit}")


if __name__ == "__main__":
    for path in sorted(RESULTS.glob("*/results.jsonl")):
        if path.with_name("spec.yaml").exists():
            pack(path)
