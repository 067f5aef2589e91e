"""Small risks for tests of bundle methods."""

import numpy as np


class Hinges:
    """sum_i max(0, 1 - y_i z_i), z = Xw: convex."""

    def __init__(self, n=60, d=8, seed=0):
        rng = np.random.default_rng(seed)
        self.X, self.y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
        self.n_coef = d

    def forward(self, w):
        return self.X @ w

    def backward(self, r):
        return self.X.T @ r

    def value(self, z):
        return self.evaluate(z)[0]

    def evaluate(self, z):
        loss = np.maximum(0, 1 - self.y * z)
        return float(loss.sum()), -self.y * (loss > 0)
