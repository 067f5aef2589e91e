"""Which products of estimators and checks run on every push, and which with `--full` only.

Every check runs once per family: a base class and a package of models. Which member of the family
it meets rotates from check to check, so that every estimator meets some.
"""

import re
from collections import defaultdict
from functools import partial

import pytest

from bagwise.estimators.base import BagClassifier

# Checks of scikit-learn that differ from another one in the container of their input only.
TWINS = {"check_estimator_sparse_matrix", "check_sample_weight_equivalence_on_sparse_data"}


def family_of(estimator):
    """Return the name of the base class and the package of an estimator."""
    kinds = type(estimator).__mro__
    own = (kind for kind in kinds if kind.__module__.startswith("bagwise.estimators"))
    base = next((kind for kind in own if issubclass(kind, BagClassifier)), kinds[0])
    return base.__name__, type(estimator).__module__.rpartition(".")[0]


def name_of(check):
    """Return the name of a check, bound to arguments or not."""
    return name_of(check.func) if isinstance(check, partial) else check.__name__


def _wraps_others(estimator):
    """Whether an estimator fits others, which meet every check: it meets one in three."""
    return type(estimator).__module__.startswith("bagwise.model_selection")


def in_turn(products):
    """Return parameters for pytest of (estimator, check, marks), all but one per family slow."""
    products = list(products)
    members = defaultdict(list)
    for i, (estimator, check, _) in enumerate(products):
        if name_of(check) not in TWINS:
            members[family_of(estimator), name_of(check)].append(i)
    chosen = set()
    for turn, mine in enumerate(members.values()):
        i = mine[turn % len(mine)]
        if turn % 3 == 0 or not _wraps_others(products[i][0]):
            chosen.add(i)
    return [
        pytest.param(
            estimator,
            check,
            id=f"{estimator}-{name_of(check)}",
            marks=marks if i in chosen else [*marks, pytest.mark.slow],
        )
        for i, (estimator, check, marks) in enumerate(products)
    ]


def first_of_each(estimators, kind_of=type):
    """Return parameters for pytest: the first estimator of each kind, and slow ones."""
    seen, parameters = set(), []
    for estimator in estimators:
        marks = [pytest.mark.slow] if kind_of(estimator) in seen else []
        name = re.sub(r"<function .*? at 0x\w+>", "function", repr(estimator))
        parameters.append(pytest.param(estimator, id=name, marks=marks))
        seen.add(kind_of(estimator))
    return parameters
