"""Kernel matrices on a device against those on the host."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import AnnealedLabelSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("model", [AnnealedLabelSVC(), WitnessSVC()], ids=str)
def test_fits_are_those_of_the_host(model, kernel):
    bags, y = make_gaussian_bags(30, 4, shift=2.0, random_state=0)
    model.set_params(kernel=kernel, C=2.0)
    reference = model.fit(bags, y).objective_.copy()
    scores = model.decision_function(bags)
    fitted = model.fit(bags.to("cpu"), y)
    np.testing.assert_allclose(fitted.objective_, reference, rtol=1e-6)
    np.testing.assert_allclose(fitted.decision_function(bags.to("cpu")), scores, atol=1e-4)
    assert fitted.gap_[0] <= 1e-8 * fitted.objective_[0]
