"""Whether a model has learned the site instead of the label: `audit`.

Where hospitals differ in how they prepare slides *and* in how many of their patients are ill, a
model can recognize the hospital and guess. k-fold cross-validation does not notice: every hospital
is in its training part. Leaving whole sites out does, and so do pairs of bags of one site, between
which the site cannot decide.

Two tests permute the sites of patients that have the same label. They are exact if, given the
label, nothing in the bags tells the site; the number of bags per site and label, and so the
difficulty of the problem, stay the same. The statistics are the AUC of the folds minus that of
pairs of one site, which needs no fit, and minus that of unseen sites, for which all sites are left
out again. With two sites, a model of one of them cannot learn what tells them apart: there the
first test has the power.

Of more than two classes, an AUC is the mean over classes of one against the rest (macro), and its
interval the mean of theirs, which is wide enough however they depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association
from sklearn.utils.validation import check_consistent_length

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.ids import factorize
from bagwise.bags.statistics import PRESETS, statistics
from bagwise.crossfit import CV, check_enough_bags, folds, out_of_fold_scores
from bagwise.crossfit.folds import N_FOLDS, count_fewest, number_units
from bagwise.crossfit.scores import LEVEL
from bagwise.crossfit.sites import count_patients, permute_sites, score_unseen, site_of_units
from bagwise.metrics import bag_measures
from bagwise.model_selection.by_site import Rate, SiteResult, list_sites, rate_auc
from bagwise.models.statistics import StatisticsLogistic
from bagwise.tolerances import TIE


@dataclass(frozen=True)
class Audit:
    """What `audit` found; ``print`` shows all of it, ``verdict`` is one sentence.

    Parameters
    ----------
    model : str
        The model that was cross-validated.
    n_bags : int
        Number of bags.
    classes : list
        The classes; of two, the second is the positive one.
    folds : Rate
        AUC of k-fold cross-validation, as usually reported.
    within : Rate or None
        The same scores, comparing bags of one site only; None if no site has both classes.
    unseen : Rate or None
        AUC within sites, each scored by a model that was trained without it.
    predictability : float or None
        AUC of predicting the site from the bags; None if fewer than two sites have two patients.
    association : float
        Cramér's V of labels and sites: 0 if each site has the same share of positives, 1 if the
        site determines the label.
    association_p_value : float
        P-value of the chi-squared test of it.
    p_within, p_unseen : float or None
        P-values of the falls from ``folds`` to ``within`` and to ``unseen``, by permutation.
    n_permutations : int
        Number of permutations.
    sites : list
        Each site, the largest first: ``name``, numbers of bags by class (``counts``), AUC by folds
        (``known``) and without the site (``unseen``), and a ``note`` where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import audit
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> found = audit(bags, y, sites=np.arange(40) % 2, n_permutations=0)
    >>> [(site.name, sum(site.counts.values())) for site in found.sites]
    [(0, 20), (1, 20)]
    """

    model: str
    n_bags: int
    classes: list[Any]
    folds: Rate
    within: Rate | None
    unseen: Rate | None
    predictability: float | None
    association: float
    association_p_value: float
    p_within: float | None = None
    p_unseen: float | None = None
    n_permutations: int = 0
    sites: list[SiteResult] = field(default_factory=list)

    @property
    def alarm(self) -> bool:
        """Whether one of the falls is significant: together, once in twenty times by chance."""
        known = [p for p in (self.p_within, self.p_unseen) if p is not None]
        return any(p <= LEVEL / len(known) for p in known)

    @property
    def verdict(self) -> str:
        """One sentence that says what the numbers mean."""
        known = self.predictability
        end = "too few to be predicted" if known is None else f"predictable with {known:.2f}"
        falls = [
            _say_fall(self.folds, self.within, self.p_within, "among bags of one site"),
            _say_fall(self.folds, self.unseen, self.p_unseen, "on unseen sites"),
        ]
        told = " and ".join(filter(None, falls))
        if not told:
            return f"Every site has bags of one class, so that it tells the label; sites are {end}."
        return f"The model's {self.folds.value:.2f} {told}; sites are {end}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, with the verdict.

        Returns
        -------
        dict
            As JSON can hold it; an AUC is a list with its interval.
        """
        return {"verdict": self.verdict, "alarm": self.alarm, **asdict(self)}

    def __str__(self) -> str:
        known = "not defined" if self.predictability is None else f"{self.predictability:.2f}"
        v, p = self.association, self.association_p_value
        lines = [
            self.verdict,
            f"{self.model}, {self.n_bags} bags, {len(self.sites)} sites",
            f"  AUC of folds: {self.folds}",
            f"  AUC of folds, pairs of one site: {_show(self.within, self.p_within)}",
            f"  AUC of unseen sites: {_show(self.unseen, self.p_unseen)}",
            f"  AUC of predicting the site: {known}",
            f"  Cramér's V of labels and sites: {v:.2f} (p = {p:.3g})",
        ]
        for site in self.sites:
            found = site.note or f"folds {site.known}, unseen {site.unseen}"
            lines.append(f"  {site.name}: {site.by_class}; {found}")
        return "\n".join(lines)


def _show(rate: Rate | None, p: float | None) -> str:
    return "not defined" if rate is None else f"{rate}" + ("" if p is None else f", p = {p:.3f}")


def _say_fall(folds: Rate, rate: Rate | None, p: float | None, where: str) -> str:
    """Return a clause about an AUC beside that of the folds; "" without one."""
    if rate is None:
        return ""
    falls = rate.value < folds.value and (p is None or p <= LEVEL)
    tested = "" if p is None else f" (p = {p:.3f})"
    return f"{'falls to' if falls else 'compares with'} {rate.value:.2f} {where}{tested}"


def audit(
    bags: Any,
    y: ArrayLike,
    model: Any = None,
    *,
    sites: ArrayLike | None = None,
    cv: int = N_FOLDS,
    n_permutations: int = 200,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[], Any] = lambda: None,
) -> Audit:
    """Find out whether a model depends on the site that bags come from, such as the hospital.

    It needs ``cv + n_sites * (1 + n_permutations)`` fits of the model: with the default one a
    second or so per thousand.

    Parameters
    ----------
    bags : Bags, or anything check_bags takes
        The data; bags of one group of ``bags.groups`` (a patient) stay together.
    y : array-like of shape (n_bags,)
        Their labels, of two classes or more.
    model : bag classifier, or a Pipeline or search that ends in one, default=None
        Cloned for every fit. None is `StatisticsLogistic`, which is cheap.
    sites : array-like of shape (n_bags,), default=None
        The site of each bag; ``bags.sites`` when None.
    cv : int, default=5
        Number of folds.
    n_permutations : int, default=200
        Number of permutations of the sites; 0 leaves the test out.
    random_state : int, default=0
        Seed of folds and permutations.
    n_jobs : int, default=None
        Number of folds, or of permutations, fitted at the same time.
    callback : callable, default=nothing
        Called without arguments after each permutation.

    Returns
    -------
    Audit
        Numbers with intervals, sites one by one, and a verdict.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import audit
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=80, shift=4.0, random_state=0)
    >>> found = audit(bags, y, sites=np.arange(80) % 2, n_permutations=20)
    >>> found.alarm, round(found.association, 2)
    (False, 0.1)
    """
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    bags = bags if sites is None else bags.replace(sites=sites)
    check_consistent_length(bags, y)
    check_enough_bags(bags, y, (CV, cv))
    classes = np.unique(y)  # of two, the second is the positive one
    truth = y == classes[1] if len(classes) == 2 else y[:, None] == classes
    of_unit, rows = site_of_units(bags), _describe(bags)
    title = "StatisticsLogistic()" if model is None else repr(model)
    codes = np.searchsorted(classes, y)  # so that the second class is the positive one here, too
    seen, model, y = (rows, _CHEAP, codes) if model is None else (bags, model, y)
    scores = out_of_fold_scores(model, seen, y, None, folds(seen, y, cv, random_state), n_jobs)
    unseen = score_unseen(model, seen, y, n_jobs)
    pooled = rate_auc(truth, scores, bags.groups)
    assert pooled is not None  # there are several classes
    within, apart = (rate_auc(truth, s, bags.groups, bags.sites) for s in (scores, unseen))
    draws = [permute_sites(bags, y, of_unit, random_state + r) for r in range(n_permutations)]
    among = [rate_auc(truth, scores, bags.groups, sites) for sites in draws]

    def rate_permuted(sites: Array) -> Rate | None:
        again = score_unseen(model, seen.replace(sites=sites), y)
        return rate_auc(truth, again, bags.groups, sites)

    beyond, jobs = [], Parallel(n_jobs=n_jobs, return_as="generator")
    for rate in jobs(delayed(rate_permuted)(sites) for sites in draws if apart is not None):
        beyond.append(rate)
        callback()
    table = count_patients(bags, y)
    return Audit(
        *(title, len(bags), classes.tolist(), pooled, within, apart),
        predictability=_predict_sites(rows, cv, random_state, n_jobs),
        association=float(association(table, method="cramer")),
        association_p_value=float(chi2_contingency(table, correction=False).pvalue),
        p_within=_share_below(among, within),
        p_unseen=_share_below(beyond, apart),
        n_permutations=n_permutations,
        sites=list_sites(bags, truth, classes, scores, unseen),
    )


_CHEAP = StatisticsLogistic(statistics=("mean",))  # of bags that `_describe` made single rows


def _describe(bags: Bags) -> Bags:
    """Return bags of one instance each, with the statistics of all instances as its features."""
    of_bags = {name: getattr(bags, name) for name in ("ids", "groups", "sites")}
    return Bags(statistics(bags, PRESETS["four"]), np.arange(len(bags) + 1), **of_bags)


def _share_below(permuted: list[Rate | None], rate: Rate | None) -> float | None:
    """Return the p-value of an AUC among those of permutations; None without one."""
    if rate is None or not permuted:
        return None
    below = sum(each.value <= rate.value + TIE for each in permuted if each is not None)
    return (1 + below) / (1 + len(permuted))


def _predict_sites(rows: Bags, cv: int, random_state: int, n_jobs: int | None) -> float | None:
    """Return the AUC of predicting the site, averaged over sites against the others."""
    codes, _ = factorize(rows.sites)
    units = number_units(rows)
    many = np.array([len(np.unique(units[codes == k])) for k in range(codes.max() + 1)])
    kept = np.flatnonzero((many > 1)[codes])
    if np.sum(many > 1) < 2:
        return None
    part, site = rows[kept], codes[kept]
    splits = folds(part, site, min(cv, count_fewest(part, site)), random_state)
    scores = out_of_fold_scores(_CHEAP, part, site, None, splits, n_jobs)
    found = bag_measures(site, scores, np.unique(site), ("auc",))["auc"]
    return None if found is None else float(found)
