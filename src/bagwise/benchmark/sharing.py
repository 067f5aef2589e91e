"""Gram matrices shared by the models and grid points that see the same training bags.

Each worker keeps the last few. The inverse that annealing starts from is shared too, by the points
of one C. Nothing that a fit learns is shared, so that its bits do not depend on what ran before: a
resumed benchmark gives the same numbers. A fit is charged with the time that its Gram matrix took,
whoever computed it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from time import process_time
from typing import Any

from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.designs import Design, Gram
from bagwise.models import AnnealedLabelSVC, AnnealedWitnessSVC
from bagwise.models.rows import RowsClassifier
from bagwise.segments import expand

__all__ = ["GramCache", "can_share", "grams_here"]

Array = NDArray[Any]

_MOST_BYTES = 600_000_000


@dataclass
class _Kept:
    design: Design
    kernel: Any
    seconds: float
    prepared: Design | None = None  # for annealing, at one C
    prepared_for: float = 0.0
    prepared_seconds: float = 0.0

    @property
    def bytes(self) -> int:
        one = self.design.K.nbytes if isinstance(self.design, Gram) else 0
        return one * (1 if self.prepared is None else 2)


class GramCache:
    """The last few Gram matrices, at most so many bytes."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()

    def fit(self, model: Any, bags: Bags, y: Array, key: tuple[Any, ...]) -> float:
        """Fit a model that `can_share`; ``key`` names the training bags. Return CPU seconds."""
        start = process_time()
        checked, codes, _, weight = model._validated(bags, y, None)
        parameters = ("kernel", "gamma", "degree", "coef0", "class_weight", "random_state")
        full_key = (*key, *(repr(getattr(model, name)) for name in parameters))
        own = process_time() - start
        kept = self._kept(full_key, model, checked, expand(weight, checked.offsets))
        design, charged = self._design(kept, model, expand(weight, checked.offsets))
        start = process_time()
        model.kernel_ = kept.kernel
        model._fit_on(design, checked, codes, weight)
        model.threshold_ = model._offsets(float(model.threshold))
        self._forget()
        return own + charged + process_time() - start

    def _kept(self, key: tuple[Any, ...], model: Any, bags: Bags, weight: Array) -> _Kept:
        if key not in self.kept:
            start = process_time()
            design = model._design(bags, weight)
            self.kept[key] = _Kept(design, model.kernel_, process_time() - start)
        self.kept.move_to_end(key)
        return self.kept[key]

    def _design(self, kept: _Kept, model: Any, weight: Array) -> tuple[Design, float]:
        """Return the design that a fit starts from, and the CPU seconds it took."""
        anneals = isinstance(model, AnnealedLabelSVC | AnnealedWitnessSVC)
        if not anneals or model.loss != "squared_hinge":
            return kept.design, kept.seconds
        if kept.prepared is None or kept.prepared_for != model.C:
            start = process_time()
            kept.prepared, kept.prepared_for = kept.design.fresh(), model.C
            kept.prepared.prepare(2 * (model.C * weight))
            kept.prepared_seconds = process_time() - start
        return kept.prepared, kept.seconds + kept.prepared_seconds

    def _forget(self) -> None:
        while (
            len(self.kept) > 1 and sum(kept.bytes for kept in self.kept.values()) > self.most_bytes
        ):
            self.kept.popitem(last=False)


def can_share(model: Any) -> bool:
    """Whether a model is fitted on a Gram matrix of the training instances and nothing else."""
    kind = type(model)
    return (
        isinstance(model, RowsClassifier)
        and kind._fit_classes is RowsClassifier._fit_classes
        and kind._design is RowsClassifier._design
        and kind.fit is RowsClassifier.fit
        and model.kernel in ("rbf", "poly")
        and not isinstance(model.threshold, str)
        and not model.probability
    )


_local = threading.local()  # workers may be threads, and a prepared inverse has scratch memory


def grams_here() -> GramCache:
    """Return this worker's cache."""
    if not hasattr(_local, "grams"):
        _local.grams = GramCache()
    return _local.grams
