"""Answer for version 0.2 in benchmarks/auto.py: one key per line in, one line of JSON out.

It runs on a checkout of that version: PYTHONPATH=TREE/src:TREE/benchmarks.
"""

from __future__ import annotations

import json
import sys
import warnings

import auto
from timing import one_thread


def main():
    one_thread()
    warnings.simplefilter("ignore")
    auto.AutoBagClassifier().fit(*auto.digits())
    for line in sys.stdin:
        task, repeat, fold = key = json.loads(line)
        with auto.without(auto.RELATED.get(task, (task,))):
            model = auto.AutoBagClassifier(time_limit=auto.LIMIT)
            result = auto.judged(model, *auto.case(*key))
        cell = {"task": task, "repeat": repeat, "fold": fold, **result}
        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
