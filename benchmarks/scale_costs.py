"""A cost model of fits that pass over the rows, and what it says of all public slide features.

    python benchmarks/scale_costs.py

A fit takes P passes over n rows of d features. A pass multiplies every value three times (scores,
and two sums of rows); G times in a fit all rows enter the d x d Hessian; a positive instance is
assigned anew in A of the passes:

    processor:  P n d value + G n d^2 product + A n/2 assign + 2 n d look
    disk:       P n d bytes / bandwidth, at the same time: the longer of the two counts
    network:    P (round + workers x 8 d^2 / bandwidth): the sums of every worker

The rates are those of one core of an AMD EPYC (one BLAS thread) and of one NVIDIA H200. They were
chosen with the lines of 256 and of 1,024 features in view: there the table says how well one set of
rates describes all fits. The lines of 128 features were measured afterwards, and are predictions.
Passes are those of each fit (on the GPU its Newton steps and five more), Hessians and assignments
those of the fits on 100,000 rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "docs" / "results"
WITHIN = 0.25


@dataclass(frozen=True)
class Machine:
    """Seconds per unit of work of one worker, and what connects it."""

    value: float  # a value in a pass: three multiplications and additions
    product: float  # a product of two values, for the Hessian
    assign: float  # an instance of a positive bag, assigned anew
    look: float  # a value that is checked, or whose mean is taken
    start: float = 0.0  # a fit, before its first pass
    disk: float = float("inf")  # bytes per second
    network: float = float("inf")  # bytes per second
    round: float = 0.0  # a pass with nothing in it
    workers: int = 1


@dataclass(frozen=True)
class Method:
    """How often a fit does what."""

    passes: int
    hessians: float  # rows that entered H, in units of all rows
    assignments: int


@dataclass(frozen=True)
class Data:
    """The shape of the rows."""

    rows: float
    features: int
    bytes: int  # per value


# A float16 value is converted to float32 by the processor, which takes longer than multiplying it.
CORE = Machine(value=7.5e-10, product=1.1e-11, assign=1.0e-7, look=2.6e-9, start=0.15)
HALF_CORE = replace(CORE, value=2.5e-9)
H200 = Machine(value=3.8e-12, product=4e-15, assign=4.0e-9, look=0.0, start=0.15)
METHODS = {
    "SIL": Method(2, 1, 0),
    "MI-SVM": Method(54, 1.6, 0),
    "AW-SVM": Method(35, 2.9, 14),
    "AL-SVM": Method(60, 2, 55),
}


def seconds(machine: Machine, method: Method, data: Data) -> float:
    """Return the predicted seconds of a fit, reading and network included."""
    rows, values = data.rows / machine.workers, data.rows * data.features / machine.workers
    work = method.passes * values * machine.value
    work += method.hessians * rows * data.features**2 * machine.product
    work += method.assignments * rows / 2 * machine.assign
    work += 2 * values * machine.look
    reading = (method.passes + 2) * values * data.bytes / machine.disk
    traffic = machine.workers * 8 * data.features**2 / machine.network
    return machine.start + max(work, reading) + method.passes * (machine.round + traffic)


def points() -> list[tuple[str, float, float]]:
    """Return what was measured: name, seconds, predicted seconds."""
    found = []
    for line in map(json.loads, (RESULTS / "scale.jsonl").read_text().splitlines()):
        method = METHODS.get(line["model"])
        if method is None:
            continue
        method = replace(method, passes=line["passes"])
        data = Data(line["rows"], line["features"], 4)
        name = f"{line['model']}, {line['rows']:,} x {line['features']} float32, one core"
        found.append((name, line["seconds"], seconds(CORE, method, data)))
    names = {"InstanceSVC": "SIL", "WitnessSVC": "MI-SVM", "AW": "AW-SVM", "AL": "AL-SVM"}
    for line in map(json.loads, (RESULTS / "scale_gpu.jsonl").read_text().splitlines()):
        if line["what"] in names:
            method = METHODS[names[line["what"]]]
            passes = max(line["steps"] + 5, method.passes if line["what"] == "InstanceSVC" else 0)
            data = Data(line["rows"], line["features"], 2)
            name = f"{names[line['what']]}, {line['rows']:,} x {line['features']} float16, H200"
            found.append(
                (name, line["seconds"], seconds(H200, replace(method, passes=passes), data))
            )
    return found


def near() -> int:
    """Return how many predictions are close to what was measured."""
    return sum(abs(said / measured - 1) <= WITHIN for _, measured, said in points())


SLIDES = Data(1.2e8, 1536, 2)  # 11,760 slides of 10,000 patches: 369 GB
PLACES = {
    "one H200, rows from a disk (6 GB/s) in every pass (not built)": replace(H200, disk=6e9),
    "one core, rows from a disk (6 GB/s) in every pass": replace(HALF_CORE, disk=6e9),
    "8 workers with an H200 each, rows on the GPUs, 10 Gbit/s": replace(
        H200, workers=8, network=1.25e9, round=0.01
    ),
    "16 workers with one core and a disk (1 GB/s) each, 10 Gbit/s": replace(
        HALF_CORE, workers=16, disk=1e9, network=1.25e9, round=0.01
    ),
}


def table() -> list[str]:
    """Return the part of the page: measured against predicted, and the prediction."""
    text = ["| fit | measured s | predicted s | ratio |", "|---|---|---|---|"]
    for name, measured, predicted in points():
        text.append(f"| {name} | {measured:.2f} | {predicted:.2f} | {predicted / measured:.2f} |")
    text += ["", "| 1.2e8 x 1,536 float16, 369 GB | SIL | MI-SVM | AW-SVM | AL-SVM |"]
    text += ["|---|---|---|---|---|"]
    for name, place in PLACES.items():
        times = [_readable(seconds(place, METHODS[method], SLIDES)) for method in METHODS]
        text.append(f"| {name} | {' | '.join(times)} |")
    return text


def _readable(value: float) -> str:
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def main() -> None:
    """Print the tables, and how many predictions are close."""
    print("\n".join(table()))
    print(f"\n{near()} of {len(points())} within {WITHIN:.0%}")


if __name__ == "__main__":
    main()
