"""The listed estimators, and all checks that apply to one.

What an estimator cannot do is said by its own tags (`bagwise.estimators.tags.BagTags`); a check
that it is known to fail is named in the catalog, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import clone

from bagwise.catalog import EVERY, entry_of
from bagwise.testing import _contract, _invariances
from bagwise.testing._problems import Check, facts_of

# Every function of these modules whose name starts with "check_", in order.
ALL_CHECKS: list[Check] = [
    check
    for module in (_invariances, _contract)
    for name, check in vars(module).items()
    if name.startswith("check_")
]


def bag_checks(estimator: Any) -> Iterator[Check]:
    """Yield the checks that apply to an estimator, by its tags and parameters.

    Parameters
    ----------
    estimator : BagClassifier
        Not fitted.

    Yields
    ------
    callable
        ``check(estimator)`` raises an AssertionError if the contract is broken.

    Examples
    --------
    >>> from bagwise import LabelSVC
    >>> from bagwise.testing import bag_checks
    >>> next(bag_checks(LabelSVC())).__name__
    'check_forms_of_input_agree'
    """
    facts = facts_of(estimator)
    for check in ALL_CHECKS:
        if facts.issuperset(getattr(check, "needs", ())):
            yield check


def check_bag_estimator(
    estimator: Any, *, expected_failed_checks: dict[str, str] | None = None
) -> None:
    """Raise an ExceptionGroup of all failures if an estimator breaks the contract.

    Parameters
    ----------
    estimator : BagClassifier
        Not fitted; every check works on clones.
    expected_failed_checks : dict of str to str, default=None
        Names of checks that must fail, and why. If one of them passes, that is a failure too.

    See Also
    --------
    bag_checks : The single checks, to run one by one.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.testing import check_bag_estimator
    >>> check_bag_estimator(WitnessSVC())
    """
    reasons, failures = expected_failed_checks or {}, []
    for check in bag_checks(estimator):
        name = check.__name__
        try:
            check(clone(estimator))
        except Exception as error:  # noqa: BLE001 - every failure is reported
            if name not in reasons:
                error.add_note(f"in {name} of {estimator!r}")
                failures.append(error)
        else:
            if name in reasons:
                what = f"{name} passes, but was expected to fail: {reasons[name]}"
                failures.append(AssertionError(what))
    if failures:
        raise ExceptionGroup(f"{estimator!r} breaks the contract of bag estimators", failures)


def estimators(*, sklearn: bool = False, task: str = "classes") -> list[Any]:
    """Return every listed estimator in each form that is checked.

    Parameters
    ----------
    sklearn : bool, default=False
        Only the forms that scikit-learn's ``check_estimator`` runs over: one per class.
    task : {"classes", "numbers", "grades", "times"}, default="classes"
        What the labels of their bags are.

    Returns
    -------
    list of bag estimators
        Not fitted.

    Examples
    --------
    >>> from bagwise.testing import estimators
    >>> estimators(sklearn=True)[0]
    InstanceSVC()
    """
    return [
        entry.build(**params)
        for entry in EVERY
        if entry.task == task
        for params in (entry.checked, *([] if sklearn else entry.variants))
    ]


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Name the checks, scikit-learn's or ours, that an estimator is known to fail.

    Parameters
    ----------
    estimator : BagClassifier
        A listed estimator.

    Returns
    -------
    dict of str to str
        Names of checks and reasons, for ``check_estimator`` or `check_bag_estimator`.

    Examples
    --------
    >>> from bagwise import LabelSVC
    >>> from bagwise.testing import expected_failed_checks
    >>> expected_failed_checks(LabelSVC())
    {}
    """
    entry = entry_of(estimator)
    if entry is None or repr(entry.build(**entry.checked)) != repr(estimator):
        return {}
    return entry.fails
