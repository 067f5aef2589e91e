"""`HeldOut`: early stopping by a score of data that a descent does not train on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bagwise._typing import Array


class HeldOut:
    """Remembers the iterate that scores best; called with each, it says whether to stop.

    ``judge`` returns the accuracy and the loss of held-out data: of equal accuracies the lower loss
    is better, of equal losses the later iterate. ``patience`` is the number of iterates in a row,
    all worse than the best one, after which to stop.
    """

    def __init__(self, judge: Callable[[Array], tuple[float, float]], patience: int) -> None:
        self.judge, self.patience = judge, patience
        self.coef = np.empty(0)
        self.accuracy, self.loss = -np.inf, np.inf
        self.waited = 0

    def __call__(self, coef: Array) -> bool:
        """Judge an iterate."""
        accuracy, loss = self.judge(coef)
        self.waited += 1
        if (accuracy, -loss) >= (self.accuracy, -self.loss):
            self.coef, self.accuracy, self.loss, self.waited = coef, accuracy, loss, 0
        return self.stopped

    @property
    def stopped(self) -> bool:
        """Whether the last iterates were all worse than the best one."""
        return self.waited >= self.patience

    def record(self, *, early: bool) -> dict[str, float | bool]:
        """Return what a history says about it."""
        scores = {"validation_score": self.accuracy, "validation_loss": self.loss}
        return {**scores, "stopped_early": early}
