"""Assignment steps on tensors against those on the host."""

import numpy as np
import pytest

from bagwise.assumptions._soft import label_step
from bagwise.assumptions.soft import SoftLabels
from bagwise.designs import _torch_rules

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("temperature", [100.0, 1.0, 0.1, 1e-2, 1e-4])
@pytest.mark.parametrize(("penalty", "offset"), [(0.0, 4.0), (0.5, 0.0), (5.0, 2.0)])
def test_soft_labels_equal_those_of_the_host(temperature, penalty, offset):
    import torch

    rng = np.random.default_rng(0)
    sizes = np.r_[1, 2, 2, rng.integers(1, 40, 60)]
    offsets = np.r_[0, np.cumsum(sizes)]
    cost = offset + 3 * rng.normal(size=offsets[-1])
    cost[1:3] = 4.0  # a bag of two equals
    previous = np.full(len(cost), 0.5)
    softening = SoftLabels(positive_fraction=0.3, C_proportion=penalty)
    segments = _torch_rules.Segments(torch, torch.as_tensor(sizes))
    found = _torch_rules._labels(
        softening, segments, torch.as_tensor(cost), temperature, torch.as_tensor(previous)
    )
    expected, unused = np.empty_like(cost), np.empty((2, len(sizes)))
    label_step(
        cost, offsets, temperature, penalty, 0.3 * sizes, previous, expected, unused[0], unused[1]
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-11)
    assert np.add.reduceat(found.numpy(), offsets[:-1]).min() >= 1 - 1e-12
