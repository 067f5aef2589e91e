"""Deadlines, and estimators that look at the clock while they are fitted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from sklearn.base import clone


class OutOfTimeError(Exception):
    """A fit was stopped by its deadline."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which fits stop."""

    moment: float = inf  # of time.monotonic, which is the same clock in all processes

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline that many seconds from now, none at all for None."""
        return cls(inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.moment - time.monotonic()

    def check(self) -> None:
        """Raise OutOfTimeError once the moment has passed."""
        if self.left < 0:
            raise OutOfTimeError


NEVER = Deadline()


@dataclass(frozen=True)
class _Watch:
    """The callback of a watched estimator: it checks the clock, then calls the user's own."""

    until: Deadline
    then: Callable[[dict[str, Any]], Any] | None

    def __call__(self, record: dict[str, Any]) -> None:
        self.until.check()
        if self.then is not None:
            self.then(record)


def _callbacks(model: Any) -> dict[str, Any]:
    """Return the callbacks of an estimator and of those within it, by parameter."""
    params = model.get_params(deep=True).items()
    return {key: value for key, value in params if key.rpartition("__")[2] == "callback"}


def can_be_interrupted(model: Any) -> bool:
    """Return whether a model may look at the clock while it is fitted."""
    return bool(_callbacks(model))


def watch(model: Any, until: Deadline) -> Any:
    """Return an unfitted copy whose iterations look at the clock."""
    copy = clone(model)
    return copy.set_params(**{key: _Watch(until, own) for key, own in _callbacks(copy).items()})


def unwatch(model: Any) -> Any:
    """Return the model itself, with its own callbacks again."""
    return model.set_params(**{key: watched.then for key, watched in _callbacks(model).items()})
