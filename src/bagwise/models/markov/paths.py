"""Paths of Markov networks: every fit starts where its neighbor's ended.

What the networks see of the bags (mapped instances, out-of-fold scores of bag features, held-out
bags) is made once. The first network descends from all starts, the others from the weights of the
last one alone: a descent from nearby has few steps to make, and no start has to be trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._documented import answers
from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.estimators.paths import models_at
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.models.markov.risk import InstanceOperator
from bagwise.models.markov.scores import Network

ALPHAS = tuple(np.logspace(2, -2, 9).tolist())  # two values per factor of ten, the largest first
_NUMBERS = ("alpha", "positive_fraction")  # what leaves inputs and weights as they are


@dataclass(frozen=True)
class Seen:
    """What networks see of bags: operator, bag features, bags, labels and weights."""

    inputs: NetworkInputs
    trained: tuple[InstanceOperator, Array, Bags, Array, Array]
    held: tuple[InstanceOperator, Array, Bags, Array, Array] | None  # by early stopping


@dataclass
class Along:
    """What a path carries from one fit to the next."""

    seen: Seen | None = None
    network: Network | None = None


class NetworkPaths:
    """One network at many values of a parameter."""

    @answers(
        *("list", "Fitted networks, one per value."),
        name='The parameter: "alpha" or "positive_fraction".',
        values="Its values, in the order of the path; two per factor of ten by default.",
    )
    def path(
        self: Any,
        bags: Any,
        y: Any,
        *,
        name: str = "alpha",
        values: Sequence[float] = ALPHAS,
        sample_weight: Any = None,
    ) -> list[Any]:
        """Fit the network at many values of a parameter, each from where the last one ended.

        The models are not those of separate fits, which begin anew: a path ends higher or lower
        than they do. Order the values of ``alpha`` from large to small, because a large one has the
        fewest local minima.

        Examples
        --------
        >>> from bagwise import MarkovNetworkClassifier
        >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
        >>> models = MarkovNetworkClassifier().path(bags, [1, 0, 1, 0], values=[1, 0.1])
        >>> [model.starts_[0]["init"] for model in models]
        ['instances', 'path']
        """
        models = self._at_values(name, values)
        fresh, along = self._make_fresh(), Along()
        bags, codes, of_bags, weight = fresh._check_training(bags, y, sample_weight)
        with one_blas_thread():
            for model in models:
                part = fresh._recast(type(self), **model.get_params(deep=False))
                part._fit_classes(bags, codes, weight, along)
                part._settle_threshold(bags, codes, of_bags, weight)
                model._become(part)
        return models

    def _at_values(self: Any, name: str, values: Sequence[float]) -> list[Any]:
        """Return an unfitted model per value."""
        if name not in _NUMBERS:
            raise ValueError(f"name={name!r} cannot be followed: choose one of {list(_NUMBERS)}.")
        if self.alphas is not None:
            raise ValueError("A path has a model per value: leave alphas=None.")
        return models_at(self, name, values)
