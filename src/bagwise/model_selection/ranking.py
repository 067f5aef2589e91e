"""Average ranks of methods over data sets (Friedman, Nemenyi), and who may be the best.

With k methods on N data sets and average ranks R_j (ties share their ranks),

    chi2_F = 12 N / (k (k + 1)) [sum_j R_j^2 - k (k + 1)^2 / 4],

corrected for ties as in scipy. Two methods differ at level alpha where their average ranks differ
by more than CD = q_alpha sqrt(k (k + 1) / (6 N)), with q_alpha the quantile of the studentized
range over sqrt(2).

References: J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006;
J. Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the best",
Annals of Statistics 1984.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import friedmanchisquare, norm, rankdata, studentized_range, t as student

from bagwise._typing import Array


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods, and which of them are statistically distinguishable.

    Parameters
    ----------
    names : tuple of str
        The methods, best first.
    ranks : tuple of float
        Their average ranks; 1 is best.
    n_data : int
        Number of data sets.
    statistic, p_value : float
        Friedman's test.
    critical_difference : float
        Nemenyi's, at ``alpha``.
    alpha : float
        Significance level.

    Examples
    --------
    >>> from bagwise.model_selection import rank_methods
    >>> rank_methods(["a", "b", "c"], [[3, 2, 1], [5, 4, 3]]).cliques()
    [(0, 2)]
    """

    names: tuple[str, ...]
    ranks: tuple[float, ...]
    n_data: int
    statistic: float
    p_value: float
    critical_difference: float
    alpha: float

    def cliques(self) -> list[tuple[int, int]]:
        """Return the longest runs of methods that differ by at most the critical difference.

        Returns
        -------
        list of (int, int)
            Positions of the first and the last method of each run.
        """
        ranks = np.array(self.ranks)
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(ranks):
            # Rounding of average ranks must not part methods that are exactly that far apart.
            near = ranks - rank <= self.critical_difference + 1e-12
            last = int(np.flatnonzero(near).max())
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found


def rank_methods(
    names: list[str], values: ArrayLike, *, better: int = 1, alpha: float = 0.05
) -> Ranking:
    """Rank methods on every data set and average the ranks.

    Parameters
    ----------
    names : list of str
        The methods, three or more.
    values : array-like of shape (n_data, n_methods)
        One row per data set, two or more.
    better : {1, -1}, default=1
        Whether higher is better, or lower.
    alpha : float, default=0.05
        Level of the critical difference.

    Returns
    -------
    Ranking
        Average ranks, the test, and the critical difference.

    Examples
    --------
    >>> from bagwise.model_selection import rank_methods
    >>> ranking = rank_methods(["a", "b", "c"], [[3, 2, 1], [5, 4, 3], [9, 8, 7]])
    >>> ranking.ranks, round(ranking.statistic, 6), round(ranking.critical_difference, 3)
    ((1.0, 2.0, 3.0), 6.0, 1.914)
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(f"values must have one column for each of the {len(names)} methods.")
    if table.shape[0] < 2 or table.shape[1] < 3:
        raise ValueError("Ranks need two data sets or more, and three methods or more.")
    if not np.isfinite(table).all():
        raise ValueError("values must be finite: leave out methods that miss a data set.")
    ranks = rankdata(-better * table, axis=1).mean(axis=0)
    n_data, k = table.shape
    statistic, p_value = _friedman(table)
    quantile = studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    order = np.argsort(ranks, kind="stable")
    return Ranking(
        names=tuple(names[i] for i in order),
        ranks=tuple(float(ranks[i]) for i in order),
        n_data=n_data,
        statistic=statistic,
        p_value=p_value,
        critical_difference=float(quantile * np.sqrt(k * (k + 1) / (6 * n_data))),
        alpha=alpha,
    )


def limits_of_best(draws: Array, freedom: int, alpha: float = 0.05) -> Array:
    """Say how far each method may seem behind another one and still be the best of all.

    The limit of a method is the 1 - alpha quantile, over draws where no method is better than
    another, of the largest t statistic of the others against it. The methods that are behind no
    other one by more than their limits hold the truly best one with probability 1 - alpha (Hsu's
    multiple comparisons with the best).

    ``draws`` of shape (n_draws, n_methods) are of the joint error of the estimates, ``freedom`` is
    that of the t statistics. Limits are in standard errors of the difference, one per method.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.model_selection.ranking import limits_of_best
    >>> draws = np.random.default_rng(0).normal(size=(5000, 2))
    >>> limits_of_best(draws, 1000).round(1)
    array([1.7, 1.7])
    """
    limits = np.zeros(draws.shape[1])
    for i in range(len(limits)):
        ahead = draws - draws[:, [i]]
        spread = ahead.std(axis=0)
        ahead, spread = ahead[:, spread > 0], spread[spread > 0]
        if len(spread):
            limits[i] = np.quantile((ahead / spread).max(axis=1), 1 - alpha)
    return student.ppf(norm.cdf(limits), freedom)


def holm(p_values: ArrayLike) -> Array:
    """Correct p-values for their number, step by step (Holm).

    The chance that any true hypothesis falls below alpha is at most alpha.

    Examples
    --------
    >>> from bagwise.model_selection.ranking import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def _friedman(table: Array) -> tuple[float, float]:
    if np.all(table == table[:, :1]):  # all tied everywhere: the correction divides by zero
        return 0.0, 1.0
    test = friedmanchisquare(*table.T)
    return float(test.statistic), float(test.pvalue)
