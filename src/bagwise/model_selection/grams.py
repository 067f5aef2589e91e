"""Gram matrices shared by the models and grid points that see the same training bags.

Each worker keeps the most recent ones. An inverse that problems start from is shared too, by the
points of one C and by the folds of a calibration. Nothing that a fit learns is shared, so that its
bits do not depend on what ran before: a resumed comparison gives the same numbers. A fit is charged
with the time that its Gram matrix took, whichever fit computed it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from time import process_time
from typing import Any

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import Design
from bagwise.estimators.rows import RowsClassifier
from bagwise.estimators.tags import bag_tags

_MAX_BYTES = 600_000_000  # per worker; the matrix of musk2 takes 350 MB
# What a Gram matrix depends on besides the bags.
_SETTINGS = (*("kernel", "gamma", "degree", "kernel_options"), *("class_weight", "random_state"))


@dataclass
class _Kept:
    design: Design
    maker: RowsClassifier  # not fitted, but it knows the kernel
    seconds: float
    prepared: Design | None = None  # at one C, for one loss
    prepared_for: tuple[Any, ...] = ()
    prepared_seconds: float = 0.0

    @property
    def bytes(self) -> int:
        return self.design.nbytes + (0 if self.prepared is None else self.prepared.nbytes)

    def design_for(self, model: Any, weight: Array) -> tuple[Design, float]:
        """Return the design that a fit starts from, and the CPU seconds it took."""
        if not bag_tags(model).prepares_kernel:
            return self.design, self.seconds
        settings = model.C, model.loss
        if self.prepared is None or self.prepared_for != settings:
            start = process_time()
            self.prepared, self.prepared_for = self.design.fresh(), settings
            model._prepare(self.prepared, model.C * weight)
            self.prepared_seconds = process_time() - start
        return self.prepared, self.seconds + self.prepared_seconds


class GramCache:
    """The most recent Gram matrices, up to a number of bytes."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()

    def fit(
        self,
        model: Any,
        bags: Bags,
        y: Array,
        key: tuple[Any, ...],
        sample_weight: Array | None = None,
    ) -> float:
        """Fit a model that `can_share`; ``key`` names bags and weights. Return CPU seconds."""
        start = process_time()
        fresh = model._make_fresh()
        bags, codes, weight, weighted = fresh._check_training(bags, y, sample_weight)
        row_weight = expand(weighted, bags.offsets)
        own = process_time() - start
        settings = (repr(getattr(model, name, None)) for name in _SETTINGS)
        kept = self._keep((*key, *settings), fresh, bags, row_weight)
        design, charged = kept.design_for(model, row_weight)
        start = process_time()
        fresh = type(model)(**model.get_params(deep=False))._become(kept.maker)
        fresh.fit_on_design(design, bags, codes, weighted)
        fresh._share(design, bags, weighted)
        fresh._settle_threshold(bags, codes, weight, weighted)
        model._become(fresh)
        own += process_time() - start
        self._forget()
        return own + charged

    def _keep(self, key: tuple[Any, ...], fresh: Any, bags: Bags, weight: Array) -> _Kept:
        if key not in self.kept:
            start = process_time()
            design = fresh._design(bags, weight)
            self.kept[key] = _Kept(design, fresh, process_time() - start)
        self.kept.move_to_end(key)
        return self.kept[key]

    def _forget(self) -> None:
        while len(self.kept) > 1 and sum(one.bytes for one in self.kept.values()) > self.max_bytes:
            self.kept.popitem(last=False)


def can_share(model: Any) -> bool:
    """Whether a model is fitted on a Gram matrix of the training instances and nothing else."""
    tags = bag_tags(model)
    return tags.instance_rows and tags.shared_kernel and model.kernel in ("rbf", "poly")


_local = threading.local()  # workers may be threads, and a prepared inverse has scratch memory


def grams_here() -> GramCache:
    """Return this worker's cache."""
    if not hasattr(_local, "grams"):
        _local.grams = GramCache()
    return _local.grams
