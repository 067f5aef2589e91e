"""AUC by site: among the bags of each, and of all pairs of bags of one site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import factorize
from bagwise.metrics import bound_auc_of


class Rate(NamedTuple):
    """An AUC and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class SiteResult:
    """What is known of one site: its bags, and the AUC among them.

    Parameters
    ----------
    name : object
        The site.
    counts : dict of str to int
        Number of its bags of each class.
    known : Rate or None
        AUC by folds, where other bags of the site are in the training part.
    unseen : Rate or None
        AUC of a model that was trained without the site.
    note : str, default=""
        Why there is no AUC.

    Examples
    --------
    >>> from bagwise.model_selection import SiteResult
    >>> SiteResult("north", {"well": 40}, None, None, "only bags of the class well").n_bags
    40
    """

    name: Any
    counts: dict[str, int]
    known: Rate | None
    unseen: Rate | None
    note: str = ""

    @property
    def n_bags(self) -> int:
        """Number of its bags."""
        return sum(self.counts.values())

    @property
    def by_class(self) -> str:
        """The numbers of bags by class, as a text."""
        return ", ".join(f"{count} of {name}" for name, count in self.counts.items() if count)


def split_classes(bags: Bags, y: Array) -> tuple[Array, Array]:
    """Return the classes, and which bags are of the second one, or of each of several."""
    classes = np.unique(y)
    if len(y) != len(bags):
        raise ValueError(f"y has {len(y)} labels, there are {len(bags)} bags.")
    if len(classes) < 2:
        raise ValueError(f"All bags are of the class {classes.tolist()}: there is nothing to tell.")
    return classes, y == classes[1] if len(classes) == 2 else y[:, None] == classes


def _one_by_one(truth: Array, scores: Array) -> list[tuple[Array, Array]]:
    """Return truth and scores of each class against the rest; of two classes, of one."""
    columns = (values.reshape(len(values), -1).T for values in (truth, scores))
    return list(zip(*columns, strict=True))


def _average(rates: Iterable[Rate | None]) -> Rate | None:
    """Return the mean of those that are defined; None if none is."""
    known = [rate for rate in rates if rate is not None]
    return Rate(*np.mean(known, axis=0).tolist()) if known else None


def auc_within(truth: Array, scores: Array, sites: Array, groups: Array | None) -> Rate | None:
    """Return the AUC of all pairs of bags of one site; None if there are none.

    It is averaged over the classes that have pairs. Bags without a score are left out.
    """
    codes = factorize(sites)[0]
    return _average(_rate_pairs(*one, codes, groups) for one in _one_by_one(truth, scores))


def _rate_pairs(truth: Array, scores: Array, codes: Array, groups: Array | None) -> Rate | None:
    """Return the AUC of pairs of one site, for one class.

    The interval combines those of sites, whose weights are their numbers of pairs (Zou & Donner
    2008).
    """
    mixed = _find_mixed(truth, scores, codes)
    if not mixed:
        return None
    share = _weigh_pairs(truth, mixed)
    rates = [rate_auc(truth[r], scores[r], None if groups is None else groups[r]) for r in mixed]
    value, low, high = np.array(rates).T
    middle = float(share @ value)
    below, above = (float(np.sqrt(share**2 @ (value - end) ** 2)) for end in (low, high))
    return Rate(middle, max(0.0, middle - below), min(1.0, middle + above))


def _find_mixed(truth: Array, scores: Array, codes: Array) -> list[Array]:
    """Return the bags with scores of each site that has some of both classes."""
    of_sites = (np.flatnonzero((codes == k) & ~np.isnan(scores)) for k in range(codes.max() + 1))
    return [rows for rows in of_sites if 0 < truth[rows].sum() < len(rows)]


def _weigh_pairs(truth: Array, mixed: list[Array]) -> Array:
    """Return the share of each site in all pairs of a positive and a negative bag of one site."""
    pairs = np.array([truth[rows].sum() * (~truth[rows]).sum() for rows in mixed], dtype=float)
    return pairs / pairs.sum()


def rate_auc(truth: Array, scores: Array, groups: Array | None) -> Rate | None:
    """Return the AUC over the classes of which there are bags, and others."""
    return _average(
        Rate(float(roc_auc_score(one, each)), *bound_auc_of(one, each, groups))
        for one, each in _one_by_one(truth, scores)
        if 0 < one.sum() < len(one)
    )


def list_sites(
    bags: Bags, truth: Array, classes: Any, scores: Array, unseen: Array | None
) -> list[SiteResult]:
    """Return the results of each site, the largest first; those of one class have a note.

    ``classes`` are the negative and the positive one, or those of the columns of ``truth``;
    ``unseen`` is None where nobody asks for it.
    """
    codes, names = factorize(bags.sites)
    members = np.stack([~truth, truth], axis=1) if truth.ndim == 1 else truth
    results = []
    for k in np.argsort(-np.bincount(codes), kind="stable"):
        rows, counts = np.flatnonzero(codes == k), members[codes == k].sum(axis=0).tolist()
        groups = None if bags.groups is None else bags.groups[rows]
        apart, note = None, ""
        known = rate_auc(truth[rows], scores[rows], groups)
        if known is None:
            note = f"only bags of the class {classes[int(np.argmax(counts))]}"
        elif unseen is not None and np.isnan(unseen[rows]).any():
            note = "the other sites lack a class"
        elif unseen is not None:
            apart = rate_auc(truth[rows], unseen[rows], groups)
        by_class = dict(zip(map(str, classes), counts, strict=True))
        results.append(SiteResult(names[k : k + 1].tolist()[0], by_class, known, apart, note))
    return results


def pair_auc(truth: Array, scores: Array, codes: Array) -> float:
    """Return the AUC of pairs of bags of one site, averaged over classes, without intervals."""
    values = []
    for one, each in _one_by_one(truth, scores):
        mixed = _find_mixed(one, each, codes)
        aucs = [roc_auc_score(one[rows], each[rows]) for rows in mixed]
        values += [float(_weigh_pairs(one, mixed) @ aucs)] if mixed else []
    return float(np.mean(values))
