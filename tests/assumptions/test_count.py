"""Potentials on counts: what the papers print, and what is refused by name."""

import numpy as np
import pytest

from bagwise.assumptions import BinnedPotential, CountInference, CountPotential, as_potential
from reference.potentials import AllOrNothing


@pytest.mark.parametrize("n_bins", [1, 2, 3, 5, 10])
def test_bins_are_those_of_the_paper(n_bins):
    for size in range(1, 15):
        negative, positive = BinnedPotential(n_bins).bins(size)
        for count in range(1, size + 1):  # (k-1)/K < count/m <= k/K, in whole numbers
            k = positive[count] - n_bins + 1
            assert (k - 1) * size < count * n_bins <= k * size
        for count in range(size):  # (k-1)/K <= count/m < k/K
            k = negative[count] + 1
            assert (k - 1) * size <= count * n_bins < k * size


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 2)), r"has shape \(2, 2\), expected \(2, 4\)"),
        (np.full((2, 4), np.nan), "is nan at row 0, count 0"),
        (np.array([[0.0] * 4, [0.0, np.inf, 0.0, 0.0]]), "is inf at row 1, count 1"),
        (np.array([[0.0] * 4, [-np.inf] * 4]), "forbids every count of a positive bag"),
        (np.zeros(4), r"has shape \(4,\), expected \(2, 4\): one row for negative and one for"),
        (None, r"has shape \(\), expected \(2, 4\)"),
        ([[0.0] * 4, [0.0] * 3], r"is not an array of real numbers .*expected \(2, 4\)"),
        ("any", r"is not an array of real numbers .*expected \(2, 4\)"),
    ],
)
@pytest.mark.parametrize("base", [CountPotential, object])
def test_a_bad_table_is_named(table, message, base):
    class Bad(base):
        def table(self, size):
            return table

    with pytest.raises(ValueError, match=r"Bad\.table\(3\) " + message):
        CountInference(Bad(), np.array([0, 3]))


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        (np.zeros((2, 4)), "must hold integers"),
        (np.zeros((2, 3), dtype=int), r"in shape \(2, 4\)"),
        (np.ones((2, 4), dtype=int), "between -1"),
    ],
)
def test_bad_bins_are_named(bins, message):
    class Bad(CountPotential):
        n_weights = 1

        def table(self, size):
            return np.zeros((2, size + 1))

        def bins(self, size):
            return bins

    with pytest.raises(ValueError, match=r"Bad\.bins\(3\) .*" + message):
        CountInference(Bad(), np.array([0, 3]))


def test_what_is_no_potential_is_named():
    with pytest.raises(TypeError, match=r"a method table\(size\), 3 is not"):
        as_potential(3)
    with pytest.raises(TypeError, match="pass an instance"):
        CountInference(AllOrNothing, np.array([0, 3]))

    class Half(AllOrNothing):
        n_weights = 2

    with pytest.raises(TypeError, match=r"Half has only one of bins\(size\) and n_weights"):
        as_potential(Half())
