"""Molecules keep the rules they state, and a witness model solves them."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import WitnessSVC
from bagwise.bags.segments import segment_sum
from bagwise.datasets import make_molecule_bags


def test_one_conformation_of_an_active_molecule_fits():
    bags, y = make_molecule_bags(50, 12, n_binding=4, positive_fraction=0.4, random_state=1)
    np.testing.assert_array_equal(segment_sum(bags.instance_labels, bags.offsets), y)
    assert int(y.sum()) == 20
    fitting = bags.X[bags.instance_labels == 1, :4]
    assert np.abs(fitting).mean() == pytest.approx(2.0, abs=0.1)
    assert fitting.std(axis=0).max() < 0.6


def test_a_witness_model_learns_the_site():
    bags, y = make_molecule_bags(120)
    model = WitnessSVC(kernel="linear").fit(bags[:60], y[:60])
    assert model.score(bags[60:], y[60:]) > 0.85
