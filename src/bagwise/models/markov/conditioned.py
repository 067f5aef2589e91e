"""What a network learns from known instances, under any potential on the number of positives.

Labelings that disagree with what is known are left out of F(-1) and F(+1). What remains of a bag is
a smaller one whose positives are counted from the known ones on: the known scores are in both sides
and cancel. Each known instance is a bag of one besides, of its own label and of its bag's weight,
without features of bags.

Two kinds of bags teach nothing new: those whose known labels leave one label of the bag only, such
as a known positive under "at least one", and those whose label implies all labels of instances,
such as negative bags there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import AtLeastPotential, CountPotential
from bagwise.assumptions.inference import flat_tables
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import expand, offsets_of, segment_sum
from bagwise.estimators.input import REMEDY, check_known
from bagwise.models.markov.risk import InstanceOperator


@dataclass(frozen=True)
class Examples:
    """What a network is trained on: bags as it sees them."""

    instances: InstanceOperator
    offsets: Array
    columns: Array  # features of bags
    labels: Array
    weight: Array
    kinds: Array | None = None  # as in `CountInference`, where instances were left out


@dataclass(frozen=True)
class Remains:
    """Bags without their known instances; of a bag that is all known, one that never counts."""

    rows: Array
    offsets: Array
    kinds: Array  # (n_models, n_bags, 3), as in `CountInference`

    @classmethod
    def of(cls, bags: Bags, signs: Array) -> Remains:
        """Return what remains where signs are 0, (n_models, n_instances)."""
        unknown = (signs == 0).all(axis=0)
        free = segment_sum(1 * unknown, bags.offsets)
        positives = [segment_sum(1 * (row > 0), bags.offsets) for row in signs]
        kinds = np.stack([np.stack([bags.sizes, known, free], axis=1) for known in positives])
        unknown[bags.offsets[:-1][free == 0]] = True
        return cls(np.flatnonzero(unknown), offsets_of(np.maximum(free, 1)), kinds)

    def find_possible(self, potential: CountPotential) -> Array:
        """Return which labels of bags their known instances allow, (2, n_models, n_bags)."""
        start, table, _ = flat_tables(potential, self.kinds.reshape(-1, 3))
        firsts, which = np.unique(start, return_inverse=True)
        allowed = np.maximum.reduceat(np.isfinite(table), firsts, axis=1)
        return allowed[:, which].reshape(2, *self.kinds.shape[:2])


def leave_out_known(
    seen: Examples, bags: Bags, signs: Array, potential: CountPotential, *, joint: bool
) -> Examples:
    """Return what remains of the bags, and their known instances as bags of one.

    ``signs`` are 1 for known positives of a model and -1 for known negatives; ``joint`` says that
    the models are those of classes that exclude each other. Contradictions are errors.
    """
    sides = seen.labels == np.arange(len(signs))[:, None] + (len(signs) == 1)
    is_open = _find_open(bags, signs, sides, potential, joint)
    implied = _find_implied(bags, sides, potential)
    signs, kept = np.where(expand(implied, bags.offsets), 0, signs), is_open | implied
    remains, singles = Remains.of(bags, signs), np.flatnonzero(signs.any(axis=0))
    owners = expand(np.arange(len(bags)), bags.offsets)[singles]
    rows = np.concatenate([remains.rows[expand(kept, remains.offsets)], singles])
    sizes = np.concatenate([np.diff(remains.offsets)[kept], np.ones(len(singles), dtype=int)])
    one = np.broadcast_to([1, 0, 1], (len(signs), len(singles), 3))
    own = signs[:, singles]
    labels = own.argmax(axis=0) if len(signs) > 1 else 1 * (own[0] > 0)
    kinds = np.concatenate([remains.kinds[:, kept], one], axis=1)
    plain = _is_any(potential) and not kinds[..., 1].any()  # known negatives change no count
    return Examples(
        replace(seen.instances, design=seen.instances.design.subset(rows)),
        offsets_of(sizes),
        np.concatenate([seen.columns[kept], np.zeros((len(singles), seen.columns.shape[1]))]),
        np.concatenate([seen.labels[kept], labels]),
        np.concatenate([seen.weight[kept], seen.weight[owners]]),
        None if plain else kinds,
    )


def _is_any(potential: CountPotential) -> bool:
    return isinstance(potential, AtLeastPotential) and potential.positive_fraction == 0


def _find_open(
    bags: Bags, signs: Array, sides: Array, potential: CountPotential, joint: bool
) -> Array:
    """Return the bags that could have another label, for what is known of their instances."""
    if _is_any(potential):
        for row, positive in zip(signs, sides, strict=True):  # whose errors name the instance
            check_known(bags, row, positive, np.full(len(bags), True))
    negative, positive = Remains.of(bags, signs).find_possible(potential)
    bad = np.argwhere(~np.where(sides, positive, negative).T)
    if len(bad):
        bag, model = bad[0]
        own = signs[model, bags.offsets[bag] : bags.offsets[bag + 1]]
        raise ValueError(
            f"{name_of(bags.ids, int(bag))} is {'positive' if sides[model, bag] else 'negative'}, "
            f"but {np.sum(own > 0)} of its {len(own)} instances are known to be positive and "
            f"{np.sum(own < 0)} to be negative, which its cardinality rules out. {REMEDY}"
        )
    if joint and len(signs) > 1:  # another class must take over from that of the bag
        return (negative & sides).any(axis=0) & (positive & ~sides).any(axis=0)
    return np.where(sides, negative, positive).any(axis=0)


def _find_implied(bags: Bags, sides: Array, potential: CountPotential) -> Array:
    """Return the bags whose label says the labels of all their instances."""
    distinct, which = np.unique(bags.sizes, return_inverse=True)
    tables = [np.isfinite(flat_tables(potential, distinct[[k]])[1]) for k in range(len(distinct))]
    said = np.stack([(t.sum(axis=1) == 1) & (t[:, 0] | t[:, -1]) for t in tables], axis=1)
    return np.where(sides, said[1, which], said[0, which]).all(axis=0)
