"""What peers share: features standardized by the training instances, and label names."""

import numpy as np


def standardizer(bags):
    """Return a function that standardizes bags by the means and spreads of these."""
    X = np.vstack(bags)
    mean, spread = X.mean(0), X.std(0)
    spread[spread < 1e-12] = 1.0
    return lambda new: [(b - mean) / spread for b in new]


def split_like(scores, bags):
    """Return a flat array of instance scores as one array per bag."""
    return np.split(np.asarray(scores), np.cumsum([len(b) for b in bags])[:-1])
