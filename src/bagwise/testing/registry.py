"""The estimators that the generic checks run over, as the catalog lists them.

What an estimator cannot do is said by its own tags (`bagwise.estimators.tags.BagTags`); a check
that it is known to fail is named in the catalog, with the reason.
"""

from __future__ import annotations

from typing import Any

from bagwise.catalog import EVERY, entry_of


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
