"""Planted problems that tests of passes share."""

import numpy as np

from bagwise.datasets import make_gaussian_bags
from bagwise.rows import Labels


def plant(n_bags=60, d=4, offset=0.0, dtype=np.float64, seed=0):
    """Return bags of 1 to 11 instances, and which are positive."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_bags)
    bags, y = make_gaussian_bags(n_bags, d, bag_size=sizes, shift=2.0, random_state=seed)
    return bags.replace(X=(bags.X + offset).astype(dtype)), y == 1


def label(positive, C=0.5, seed=1, **more):
    """Return labels with bag weights, one of which is 0."""
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(positive))
    weight[3] = 0.0
    return Labels(positive, C * weight, C, **more)
