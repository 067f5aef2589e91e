"""Linear fits at extreme scales, offsets and weights, against clarabel.

    python benchmarks/scales.py [--count 500] [--report docs/results/robustness.md]

Case i is `reference.linear.odd_problem(i)`: 10 to 60 rows, 1 to 7 features of scale 1e-150 to
1e150, in half of the cases with an offset of up to 1e8 times their spread, random labels, and C
from 1e-8 to 1e8. `InstanceSVC(kernel="linear")` is fitted to the rows as they are; clarabel solves
the same problem on rows centered and scaled by hand. A gap is honest if the objective is above
clarabel's by no more than the gap (and 1e-6 of the objective, clarabel's own precision).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bagwise import InstanceSVC

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.linear import odd_problem, optimum_by_clarabel

_START, _END = "<!-- scales -->", "<!-- end of scales -->"
_PRECISION = 1e-6  # relative, of clarabel's optimum


def judged(seed: int) -> list[str]:
    """Fit one problem; return what holds of it."""
    rows, y, C = odd_problem(seed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = InstanceSVC(kernel="linear", C=C).fit(rows, y)
    objective, gap = model.objective_[0], model.gap_[0]
    best = optimum_by_clarabel(rows, 2.0 * y - 1, C)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in told)
    holds = {
        "converged": not warned,
        "warned": warned,
        "compared": np.isfinite(best),
        "dishonest": objective - best > gap + _PRECISION * objective and np.isfinite(best),
    }
    return [name for name, is_so in holds.items() if is_so]


def section(count: int, found: Counter[str]) -> str:
    """Return the counts as a section of the page."""
    names = ("converged", "warned", "compared", "dishonest")
    head = f"| problems | {' | '.join(names)} |\n| {' | '.join(['---:'] * 5)} |"
    row = f"| {count:,} | {' | '.join(f'{found[name]:,}' for name in names)} |"
    return f"""{_START}
## Scales, offsets and weights

`python benchmarks/scales.py --count {count}`: linear fits to features of scale 1e-150 to 1e150,
offsets up to 1e8 times the spread, C from 1e-8 to 1e8. **Converged**: no warning. **Compared**:
clarabel solved the problem on rows centered and scaled beforehand. **Dishonest**: the objective is
further above clarabel's than the gap says.

{head}
{row}
{_END}"""


def main() -> None:
    """Count, print, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=500)
    arguments.add_argument("--report", type=Path)
    options = arguments.parse_args()
    found = Counter(name for seed in range(options.count) for name in judged(seed))
    text = section(options.count, found)
    print(text)
    if options.report is not None:
        page = options.report.read_text()
        before, there, rest = page.partition(_START)
        after = rest.partition(_END)[2]
        new = f"{before}{text}{after}" if there else f"{page}\n{text}\n"
        options.report.write_text(new)
    raise SystemExit(found["dishonest"] > 0)


if __name__ == "__main__":
    main()
