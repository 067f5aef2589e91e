"""AUC by site: among the bags of each, and of all pairs of bags of one site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import factorize
from bagwise.metrics import bound_auc_of, place_scores


class Rate(NamedTuple):
    """An AUC and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class SiteResult:
    """What is known of one site: its bags, and the AUC among them."""

    name: Any
    counts: dict[str, int]  # of its bags, by class
    known: Rate | None  # by folds, where other bags of the site are in the training part
    unseen: Rate | None  # by a model that was trained without the site
    note: str = ""  # why there is no AUC

    @property
    def by_class(self) -> str:
        """The numbers of bags by class, as a text."""
        return ", ".join(f"{count} of {name}" for name, count in self.counts.items() if count)


def rate_auc(
    truth: Array, scores: Array, groups: Array | None, sites: Array | None = None
) -> Rate | None:
    """Return the AUC of all pairs of bags, or of all pairs of one site; None without any.

    Of several classes, which are columns, it is the mean over those that have pairs. Bags without a
    score (NaN) are left out. The interval combines those of sites, whose weights are their numbers
    of pairs (Zou & Donner 2008).
    """
    codes = np.zeros(len(truth), dtype=int) if sites is None else factorize(sites)[0]
    columns = (values.reshape(len(values), -1).T for values in (truth, scores))
    found = []
    for one, each in zip(*columns, strict=True):
        of_sites = (np.flatnonzero((codes == k) & ~np.isnan(each)) for k in range(codes.max() + 1))
        mixed = [rows for rows in of_sites if 0 < one[rows].sum() < len(rows)]
        if mixed:
            found.append(_join_sites(one, each, groups, mixed))
    return Rate(*np.mean(found, axis=0).tolist()) if found else None


def _join_sites(
    truth: Array, scores: Array, groups: Array | None, mixed: list[Array]
) -> tuple[float, float, float]:
    """Return the AUC of pairs within sites and its interval; each site has bags of both classes."""
    units = np.arange(len(truth)) if groups is None else groups
    values = np.array(
        [place_scores(truth[rows], scores[rows])[truth[rows]].mean() for rows in mixed]
    )
    ends = [bound_auc_of(truth[rows], scores[rows], units[rows]) for rows in mixed]
    pairs = np.array([truth[rows].sum() * (~truth[rows]).sum() for rows in mixed], dtype=float)
    share = pairs / pairs.sum()
    middle = float(share @ values)
    below, above = (np.sqrt(share**2 @ (values - end) ** 2) for end in np.transpose(ends))
    return middle, max(0.0, middle - below), min(1.0, middle + above)


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
        part, counts = codes == k, members[codes == k].sum(axis=0).tolist()
        groups = None if bags.groups is None else bags.groups[part]
        known, apart = (
            None if values is None else rate_auc(truth[part], values[part], groups)
            for values in (scores, unseen)
        )
        note = f"only bags of the class {classes[int(np.argmax(counts))]}" if known is None else ""
        if known is not None and apart is None and unseen is not None:
            note = "the other sites lack a class"
        by_class = dict(zip(map(str, classes), counts, strict=True))
        results.append(SiteResult(names[k : k + 1].tolist()[0], by_class, known, apart, note))
    return results
