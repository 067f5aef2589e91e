"""Sites that bags come from, such as hospitals: leaving whole ones out, and their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import factorize
from bagwise.bags.merging import agree_within
from bagwise.bags.segments import offsets_of
from bagwise.crossfit.folds import number_units
from bagwise.crossfit.scores import LEVEL, bag_scores, fit_folds


def site_of_units(bags: Bags) -> Array:
    """Return the site number of each patient, or bag; a patient at two sites is an error."""
    if bags.sites is None:
        raise ValueError("The bags have no sites: give the hospital of each bag as sites=...")
    codes, names = factorize(bags.sites)
    if len(names) < 2:
        raise ValueError(f"All bags come from the site {names.tolist()[0]!r}: there are no others.")
    units = number_units(bags)
    order = np.argsort(units, kind="stable")
    keys = bags.ids if bags.groups is None else factorize(bags.groups)[1]
    ends = offsets_of(np.bincount(units))
    agree_within(bags.sites[order], ends, keys, bags.ids[order], "sites")
    return codes[order][ends[:-1]]


def leave_one_site_out(bags: Bags, y: Array) -> list[tuple[Array, Array]]:
    """Return training and test bags for each site without which both classes are left."""
    codes, names = factorize(bags.sites)
    splits = [(np.flatnonzero(codes != k), np.flatnonzero(codes == k)) for k in range(len(names))]
    n_classes = len(np.unique(y))
    return [(train, test) for train, test in splits if len(np.unique(y[train])) == n_classes]


def score_unseen(model: Any, bags: Bags, y: Array, n_jobs: int | None = None) -> Array:
    """Score each bag by a copy of the model that saw no bag of its site; NaN if none can be fit."""
    splits = leave_one_site_out(bags, y)

    def judge(copy: Any, held_out: Bags, _: Array) -> Array:
        for _, step in getattr(copy, "steps", []):
            if getattr(step, "by", None) == "site":  # its statistics need no labels
                step.fit_site(held_out)
        return bag_scores(copy, held_out)

    scores = np.full(len(y), np.nan)
    parts = fit_folds(model, bags, y, None, splits, judge, n_jobs=n_jobs)
    for (_, test), part in zip(splits, parts, strict=True):
        scores[test] = part
    return scores


def count_patients(bags: Bags, y: Array) -> Array:
    """Return the numbers of patients, or bags, by site and class."""
    keys = np.stack([number_units(bags), factorize(bags.sites)[0], factorize(y)[0]])
    _, site, label = np.unique(keys, axis=1)
    table = np.zeros((site.max() + 1, label.max() + 1), dtype=int)
    np.add.at(table, (site, label), 1)
    return table


def is_associated(bags: Bags, y: Array) -> bool:
    """Return whether labels and sites are associated, by the chi-squared test at 5 %."""
    table = count_patients(bags, y)
    several = min(table.shape) > 1
    return several and float(chi2_contingency(table, correction=False).pvalue) <= LEVEL
