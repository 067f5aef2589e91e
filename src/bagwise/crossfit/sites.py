"""Sites that bags come from, such as hospitals: leaving whole ones out, and their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import factorize
from bagwise.bags.merging import agree_within
from bagwise.bags.segments import offsets_of
from bagwise.crossfit.folds import count_fewest, number_units
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


def leave_sites_out(
    model: Any, bags: Bags, y: Array, *, ordered: bool = False
) -> tuple[Any, list[tuple[Array, Array]]]:
    """Return a copy of a model, and training and test bags for each site that can be left out.

    All classes must be left without it; labels that are ``ordered`` (numbers, events and times) are
    no classes. Where they are classes, the copy has no more inner folds than the training parts
    allow.
    """
    codes, names = factorize(bags.sites)
    splits = [(np.flatnonzero(codes != k), np.flatnonzero(codes == k)) for k in range(len(names))]
    if not ordered:
        n_classes = len(np.unique(y))
        splits = [split for split in splits if len(np.unique(y[split[0]])) == n_classes]
    copy = clone(model)
    if splits and not ordered:
        with_fewer_folds(copy, min(count_fewest(bags[t], y[t]) for t, _ in splits))
    return copy, splits


def meet_site(model: Any, bags: Bags) -> None:
    """Let steps of a fitted pipeline that treat each site by itself learn that of new bags."""
    for _, step in getattr(model, "steps", []):
        if getattr(step, "by", None) == "site":  # its statistics need no labels
            step.fit_site(bags)


def with_fewer_folds(model: Any, fewest: int) -> Any:
    """Let threshold and probabilities come from as many folds as the smaller training parts allow.

    Where a class has a single bag there, they are those of scores as they are.
    """
    for name, value in model.get_params().items():
        owner = name.removesuffix("calibration_cv")
        if name == owner or not isinstance(value, int) or value <= fewest:
            continue
        plain = {f"{owner}threshold": 0.0, f"{owner}probability": False}
        model.set_params(**({name: fewest} if fewest > 1 else plain))
    return model


def score_unseen(model: Any, bags: Bags, y: Array, n_jobs: int | None = None) -> Array:
    """Score each bag by a copy of the model that saw no bag of its site; NaN if none can be fit.

    One score per bag, or one per class of several.
    """

    def judge(copy: Any, held_out: Bags, _: Array) -> Array:
        meet_site(copy, held_out)
        return bag_scores(copy, held_out)

    model, splits = leave_sites_out(model, bags, y)
    n_classes = len(np.unique(y))
    scores = np.full(len(y) if n_classes == 2 else (len(y), n_classes), np.nan)
    parts = fit_folds(model, bags, y, None, splits, judge, n_jobs=n_jobs)
    for (_, test), part in zip(splits, parts, strict=True):
        scores[test] = part
    return scores


def count_patients(bags: Bags, y: Array) -> Array:
    """Return the numbers of patients, or bags, by site and class."""
    keys = np.stack([number_units(bags), factorize(bags.sites)[0], factorize(y)[0]])
    _, site, label = np.unique(keys, axis=1)
    return np.asarray(crosstab(site, label).count)


def is_associated(bags: Bags, y: Array) -> bool:
    """Return whether labels and sites are associated, by the chi-squared test at 5 %."""
    table = count_patients(bags, y)
    several = min(table.shape) > 1
    return several and float(chi2_contingency(table, correction=False).pvalue) <= LEVEL


def permute_sites(bags: Bags, y: Array, of_unit: Array, seed: int) -> Array:
    """Return the sites of bags, permuted over the patients that have the same labels."""
    units, rng = number_units(bags), np.random.default_rng([seed, len(of_unit)])
    has = crosstab(units, factorize(y)[0]).count > 0
    permuted = of_unit.copy()
    for pattern in np.unique(has, axis=0):
        members = np.flatnonzero((has == pattern).all(axis=1))
        permuted[members] = rng.permutation(of_unit[members])
    return permuted[units]
