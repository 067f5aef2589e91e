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
from numpy.typing import NDArray

from bagwise.assumptions import AtLeastRatio

__all__ = ["AtLeastPotential", "BinnedPotential", "CountPotential", "as_potential"]

Array = NDArray[Any]


class CountPotential:
    """Base of all potentials; a rule of one's own defines `table`.

    A rule need not derive from this class: an object with a `table` will do (see `as_potential`).

    Attributes
    ----------
    n_weights : int
        Number of learned weights; 0 when the table says all.

    Examples
    --------
    Positive bags hold exactly two positives, negative ones fewer.

    >>> import numpy as np
    >>> from bagwise.cardinality import CountPotential
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
        """Return the fixed part, shape (2, size + 1): row 0 for negative bags, 1 for positive.

        Parameters
        ----------
        size : int
            Number of instances in the bag.

        Returns
        -------
        ndarray of shape (2, size + 1)
            Finite numbers, or -inf for a forbidden count.
        """
        raise NotImplementedError

    def bins(self, size: int) -> Array:
        """Return the number of the learned weight of every count, -1 for none.

        Parameters
        ----------
        size : int
            Number of instances in the bag.

        Returns
        -------
        ndarray of int of shape (2, size + 1)
            Numbers below ``n_weights``.
        """
        return np.full((2, size + 1), -1)


@dataclass(frozen=True)
class AtLeastPotential(CountPotential):
    """MIMN (Eqs. 9-12) and RMIMN (Eq. 13): positive bags hold at least max(1, rho m) positives.

    Negative bags hold fewer. There are two weights, of negative and of positive bags.

    Parameters
    ----------
    rho : float, default=0.0
        The least fraction of positives in a positive bag; 0 asks for one instance.

    Examples
    --------
    >>> from bagwise.cardinality import AtLeastPotential
    >>> AtLeastPotential(rho=0.5).table(3)
    array([[  0.,   0., -inf, -inf],
           [-inf, -inf,   0.,   0.]])
    """

    rho: float = 0.0
    n_weights = 2

    def least(self, offsets: Array) -> Array:
        """Return how many positives a positive bag needs."""
        return AtLeastRatio(self.rho).least(offsets)

    def table(self, size: int) -> Array:
        """Forbid counts below the least in positive bags, the others in negative bags."""
        enough = np.arange(size + 1) >= self.least(np.array([0, size]))
        return np.where([~enough, enough], 0.0, -np.inf)

    def bins(self, size: int) -> Array:
        """Return weight 0 for negative bags and 1 for positive bags."""
        return np.repeat([[0], [1]], size + 1, axis=1)


@dataclass(frozen=True)
class BinnedPotential(CountPotential):
    """GMIMN (Eq. 14): one learned weight for each of K bins of the fraction of positives.

    Positive bags hold at least one positive and negative bags at least one negative instance. The
    weights are those of negative bags (0..K-1) and then those of positive bags (K..2K-1).

    Parameters
    ----------
    n_bins : int, default=5
        K.

    Examples
    --------
    >>> from bagwise.cardinality import BinnedPotential
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
        scaled = np.arange(size + 1) * self.n_bins
        negative = np.minimum(scaled // size, self.n_bins - 1)
        positive = np.maximum((scaled + size - 1) // size - 1, 0)
        return np.stack([negative, self.n_bins + positive])


@dataclass(frozen=True)
class OwnPotential(CountPotential):
    """Lend what `CountPotential` has to an object that has a table alone."""

    rule: Any

    @property
    def n_weights(self) -> int:  # type: ignore[override]
        """As many as the rule says, by default none."""
        return getattr(self.rule, "n_weights", 0)

    def table(self, size: int) -> Array:
        """Return the rule's table."""
        return self.rule.table(size)

    def bins(self, size: int) -> Array:
        """Return the rule's bins, by default none."""
        return self.rule.bins(size) if hasattr(self.rule, "bins") else super().bins(size)


def as_potential(rule: Any) -> CountPotential:
    """Return a potential made of any object with a table over counts.

    Parameters
    ----------
    rule : CountPotential, or object with a method ``table(size)``
        It may have ``bins(size)`` and ``n_weights`` as well; without them nothing is learned.

    Returns
    -------
    CountPotential
        The same table as a potential; a `CountPotential` itself.

    Examples
    --------
    >>> from bagwise.cardinality import as_potential
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
            f"A potential is an object with a method table(size), {rule!r} is none"
            + (": make an instance of it." if isinstance(rule, type) else ".")
        )
    if hasattr(rule, "bins") != hasattr(rule, "n_weights"):
        raise TypeError(
            f"{type(rule).__name__} has one of bins(size) and n_weights: learned weights need both."
        )
    return OwnPotential(rule)
