"""Potentials on the number of positive instances in a bag (Hajimirsadeghi & Mori 2017, Sec. 3.2).

A potential gives C(k) for every count k = 0..m of a bag of m instances, once for negative bags and
once for positive ones: a fixed number (-inf forbids the count) plus, optionally, a learned weight
that a whole bin of counts shares. With the weights w this is

    C_w(k) = table(m)[side, k] + w[bins(m)[side, k]],   side 0 for negative, 1 for positive bags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import AtLeastFraction


class CountPotential:
    """Base of all potentials; a custom rule defines `table`.

    A rule need not derive from this class: any object with a `table` works (see `as_potential`).

    Attributes
    ----------
    n_weights : int
        Number of learned weights; 0 if the table is fixed.

    Examples
    --------
    Positive bags contain exactly two positives, negative bags fewer.

    >>> import numpy as np
    >>> from bagwise.assumptions import CountPotential
    >>> class ExactlyTwo(CountPotential):
    ...     def table(self, size):
    ...         count = np.arange(size + 1)
    ...         wanted = min(2, size)
    ...         return np.where([count < wanted, count == wanted], 0.0, -np.inf)
    >>> ExactlyTwo().table(3)
    array([[  0.,   0., -inf, -inf],
           [-inf, -inf,   0., -inf]])
    """

    n_weights: int = 0

    def table(self, size: int) -> Array:
        """Return the fixed part for bags of ``size`` instances, an array of shape (2, size + 1).

        Row 0 is for negative and row 1 for positive bags; -inf forbids a count.
        """
        raise NotImplementedError

    def bins(self, size: int) -> Array:
        """Return the index of every count's learned weight, or -1, as integers (2, size + 1)."""
        return np.full((2, size + 1), -1)


@dataclass(frozen=True)
class AtLeastPotential(CountPotential):
    """MIMN (Eqs. 9-12) and RMIMN (Eq. 13): positive bags have at least max(1, rho m) positives.

    Negative bags have fewer. There are two weights, one of negative and one of positive bags.

    Parameters
    ----------
    positive_fraction : float, default=0.0
        The minimum fraction of positives in a positive bag (rho); 0 means one instance.

    Examples
    --------
    >>> from bagwise.assumptions import AtLeastPotential
    >>> AtLeastPotential(positive_fraction=0.5).table(3)
    array([[  0.,   0., -inf, -inf],
           [-inf, -inf,   0.,   0.]])
    """

    positive_fraction: float = 0.0
    n_weights = 2

    def least(self, offsets: Array) -> Array:
        """Return the number of positives each positive bag needs."""
        return AtLeastFraction(self.positive_fraction).least(offsets)

    def table(self, size: int) -> Array:
        """Forbid counts below the minimum in positive bags, the others in negative bags."""
        enough = np.arange(size + 1) >= self.least(np.array([0, size]))
        return np.where([~enough, enough], 0.0, -np.inf)

    def bins(self, size: int) -> Array:
        """Return weight 0 for negative bags and 1 for positive bags."""
        return np.repeat([[0], [1]], size + 1, axis=1)


@dataclass(frozen=True)
class BinnedPotential(CountPotential):
    """GMIMN (Eq. 14): one learned weight for each of K bins of the fraction of positives.

    Positive bags have at least one positive and negative bags at least one negative instance. The
    weights are those of negative bags (0..K-1) and then those of positive bags (K..2K-1).

    Parameters
    ----------
    n_bins : int, default=5
        Number of bins K.

    Examples
    --------
    >>> from bagwise.assumptions import BinnedPotential
    >>> BinnedPotential(n_bins=2).bins(4)
    array([[0, 0, 1, 1, 1],
           [2, 2, 2, 3, 3]])
    """

    n_bins: int = 5

    @property
    def n_weights(self) -> int:  # type: ignore[override]
        """Twice the number of bins."""
        return 2 * self.n_bins

    def table(self, size: int) -> Array:
        """Forbid "all positive" in negative bags and "none" in positive bags."""
        fixed = np.zeros((2, size + 1))
        fixed[0, size] = fixed[1, 0] = -np.inf
        return fixed

    def bins(self, size: int) -> Array:
        """Cut (k-1)/K < count/m <= k/K for positive bags and [(k-1)/K, k/K) for negative ones."""
        scaled = np.arange(size + 1) * self.n_bins  # Eq. 14, in integers: no bin edge is rounded
        negative = np.minimum(scaled // size, self.n_bins - 1)
        positive = np.maximum((scaled + size - 1) // size - 1, 0)
        return np.stack([negative, self.n_bins + positive])


@dataclass(frozen=True)
class FreePotential(CountPotential):
    """Any number of positives, for free."""

    def table(self, size: int) -> Array:
        """Return zeros."""
        return np.zeros((2, size + 1))


@dataclass(frozen=True)
class OwnPotential(CountPotential):
    """Makes a `CountPotential` of an object that may only have a table."""

    rule: Any

    @property
    def n_weights(self) -> int:  # type: ignore[override]
        """Number of learned weights of the rule, by default 0."""
        return getattr(self.rule, "n_weights", 0)

    def table(self, size: int) -> Array:
        """Return the rule's table."""
        return self.rule.table(size)

    def bins(self, size: int) -> Array:
        """Return the rule's bins, by default none."""
        return self.rule.bins(size) if hasattr(self.rule, "bins") else super().bins(size)


def as_potential(rule: Any) -> CountPotential:
    """Return a potential for any object with a table over counts.

    Parameters
    ----------
    rule : CountPotential, or object with a method ``table(size)``
        It may also have ``bins(size)`` and ``n_weights``; without them nothing is learned.

    Returns
    -------
    CountPotential
        The same table as a potential; a `CountPotential` itself.

    Examples
    --------
    >>> from bagwise.assumptions import as_potential
    >>> class AllOrNothing:
    ...     def table(self, size):
    ...         never = float("-inf")
    ...         return [[0.0] + [never] * size, [never] * size + [0.0]]
    >>> as_potential(AllOrNothing()).bins(2)
    array([[-1, -1, -1],
           [-1, -1, -1]])
    """
    if isinstance(rule, CountPotential):
        return rule
    if isinstance(rule, type) or not callable(getattr(rule, "table", None)):
        raise TypeError(
            f"A potential is an object with a method table(size), {rule!r} is not"
            + (": pass an instance of it." if isinstance(rule, type) else ".")
        )
    if hasattr(rule, "bins") != hasattr(rule, "n_weights"):
        raise TypeError(
            f"{type(rule).__name__} has only one of bins(size) and n_weights; learned weights need "
            "both."
        )
    return OwnPotential(rule)
