"""Bags of bags: slides that become patients and again slides, and features side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from bagwise._typing import Array
from bagwise.bags.arrays import feature_names, select_attributes, take_rows
from bagwise.bags.ids import as_names, differ_from_first, factorize, name_of
from bagwise.bags.segments import bag_index, expand, offsets_of, segment_max, segment_sum
from bagwise.errors import list_names

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags


class Merging:
    """Methods of `Bags` that change what a bag is, or what describes an instance."""

    __slots__ = ()

    def merge(
        self: Any, by: str | ArrayLike = "groups", y: ArrayLike | None = None, *, any_of: Any = None
    ) -> Any:
        """Merge the bags of a group into one, such as the slides of a patient.

        Instances keep the id of their bag as ``parts`` (or the part that they had before). Under
        the standard assumption, that a bag is positive if one of its instances is, the merged bag
        *is* the problem of the patient: a label that is true of the patient need not be true of
        every slide.

        Parameters
        ----------
        by : "groups" or array-like of shape (n_bags,), default="groups"
            The group of each bag, which becomes the id of the merged bag.
        y : array-like of shape (n_bags,), default=None
            Labels of the bags, or of their patients, repeated on each bag. They must agree within
            a group: an error lists all groups where they do not.
        any_of : label, default=None
            Where labels are those of slides: a group with this label on any bag gets it, whatever
            the labels of its other bags.

        Returns
        -------
        Bags or (Bags, ndarray)
            One bag per group, in the order of their first bags, and their labels if ``y`` was
            given. Priors are averaged over instances; sites, bag features and patch sizes must
            agree within a group.

        Examples
        --------
        >>> from bagwise import Bags
        >>> slides = Bags.from_list(
        ...     [[[1.0]], [[2.0]], [[3.0], [4.0]]], ids=["s1", "s2", "s3"], groups=["p", "q", "p"]
        ... )
        >>> patients, y = slides.merge("groups", y=[1, 0, 1])
        >>> patients.ids.tolist(), patients[0].ravel(), y
        (['p', 'q'], array([1., 3., 4.]), array([1, 0]))
        >>> patients.parts.tolist()
        ['s1', 's3', 's3', 's2']
        """
        codes, names = factorize(_group_of_bags(self, by))
        order = np.argsort(codes, kind="stable")
        labels = None if y is None else _check_length(y, len(self))[order]
        sorted_bags, ends = self[order], offsets_of(np.bincount(codes))
        given = _merge_attributes(sorted_bags, ends, names)
        offsets = sorted_bags.offsets[ends]
        parts = sorted_bags.parts
        if parts is None:
            parts = expand(sorted_bags.ids, sorted_bags.offsets)
        if not self.has_instance_ids:
            given["instance_ids"] = None
        merged = sorted_bags.replace(offsets=offsets, ids=names, parts=parts, **given)
        if labels is None:
            return merged
        return merged, _merge_labels(labels, ends, names, sorted_bags.ids, any_of)

    def split(self: Any) -> Bags:
        """Return one bag per part: the slides of patients, which are their groups.

        Returns
        -------
        Bags
            Their ids are the parts. `merge` undoes it.

        Examples
        --------
        >>> from bagwise import Bags
        >>> patients = Bags([[1.0], [2.0], [3.0]], [0, 2, 3], ids=["p", "q"], parts=["s", "t", "u"])
        >>> patients.split().ids, patients.split().groups
        (array(['s', 't', 'u'], dtype='<U1'), array(['p', 'p', 'q'], dtype='<U1'))
        """
        order, offsets, of = split_rows(self)
        in_order = np.array_equal(order, np.arange(len(order)))
        rows = slice(0, len(order)) if in_order else order
        given = select_attributes(self, of, rows)
        given |= {"ids": given["parts"][offsets[:-1]], "groups": self.ids[of], "parts": None}
        if not self.has_instance_ids:
            given["instance_ids"] = None
        return self.replace(X=take_rows(self.X, rows), offsets=offsets, **given)

    def join(self: Any, other: Bags) -> Bags:
        """Put the features of the same instances side by side, such as those of two encoders.

        Bags are matched by their ids, and instances within a bag by their ids or else by their
        coordinates. If both have a ``patch_size``, an instance gets the features of the other's
        patch that contains its center, so that patches of a higher magnification get those of the
        lower one around them.

        Parameters
        ----------
        other : Bags
            All bags and instances of these, in any order; others of its own are left out.

        Returns
        -------
        Bags
            These bags with further features, in memory.

        Examples
        --------
        >>> from bagwise import Bags
        >>> one = Bags.from_list([[[1.0], [2.0]]], ids=["s"], instance_ids=["a", "b"])
        >>> two = Bags.from_list([[[20.0], [10.0]]], ids=["s"], instance_ids=["b", "a"])
        >>> one.join(two)[0]
        array([[ 1., 10.],
               [ 2., 20.]])
        """
        rows, sparse = _align(self, other), sp.issparse(self.X)
        if sparse != sp.issparse(other.X):
            raise ValueError("One of the bags is sparse and one is dense: convert one of them.")
        kept = other.X[rows]
        X = sp.hstack([self.X, kept]) if sparse else np.hstack([np.asarray(self.X), kept])
        return self.replace(X=X, feature_names=_join_names(self, other))


def split_rows(bags: Bags) -> tuple[Array, Array, Array]:
    """Return the rows part by part, where each part starts, and the bag of each part."""
    if bags.parts is None:
        raise ValueError("The bags have no parts: merge bags of slides, or give parts=...")
    codes, _ = factorize(bags.parts)
    of_row = bag_index(bags.offsets)
    _, part = np.unique(np.stack([of_row, codes]), axis=1, return_inverse=True)
    part, _ = factorize(part.ravel())  # in order of appearance
    order = np.lexsort([part, of_row])
    sizes = np.bincount(part)
    return order, offsets_of(sizes), of_row[order][offsets_of(sizes)[:-1]]


# Merging ------------------------------------------------------------------------------------------


def _group_of_bags(bags: Bags, by: Any) -> Array:
    if not isinstance(by, str):
        return _check_length(by, len(bags))
    if by != "groups":
        raise ValueError(f'Bags merge by "groups" or by an array with a group per bag, not {by!r}.')
    if bags.groups is None:
        raise ValueError("The bags have no groups: give the patient of each bag as groups=...")
    return bags.groups


def _check_length(values: Any, n_bags: int) -> Array:
    values = as_names(values)
    if values.shape != (n_bags,):
        raise ValueError(f"Expected one value per bag ({n_bags}), got shape {values.shape}.")
    return values


def _merge_attributes(bags: Bags, ends: Array, names: Array) -> dict[str, Any]:
    """Return what belongs to merged bags; what differs within a group is an error."""
    merged: dict[str, Any] = {"groups": None}
    if bags.priors is not None:
        sizes = np.asarray(bags.sizes, dtype=float)
        merged["priors"] = segment_sum(bags.priors * sizes, ends) / segment_sum(sizes, ends)
    for name in ("sites", "bag_features", "patch_size"):
        values = getattr(bags, name)
        if values is not None:
            merged[name] = agree_within(values, ends, names, bags.ids, name)
    return merged


def _merge_labels(y: Array, ends: Array, names: Array, ids: Array, any_of: Any) -> Array:
    if any_of is not None:
        if any_of not in y.tolist():
            raise ValueError(f"No bag has the label {any_of!r}.")
        has = segment_max(y == any_of, ends)
        y = np.where(expand(has, ends) & (y != any_of), np.array([any_of], dtype=y.dtype), y)
    return agree_within(y, ends, names, ids, "labels")


def agree_within(values: Array, ends: Array, names: Array, ids: Array, what: str) -> Array:
    """Return one value per group of consecutive bags; an error lists groups where bags differ."""
    first, differs = values[ends[:-1]], differ_from_first(values, ends)
    bad = np.unique(bag_index(ends)[differs])
    if not len(bad):
        return first
    told = []
    for k in bad:
        other = int(np.argmax(differs[ends[k] :])) + int(ends[k])
        both = (f"{_plain(ids[i])} has {_plain(values[i])}" for i in (ends[k], other))
        told.append(f"{_plain(names[k])} ({', '.join(both)})")
    noun = "group has bags" if len(bad) == 1 else "groups have bags"
    remedy = "Correct them, or leave these bags out."
    raise ValueError(f"{len(bad)} {noun} of different {what}: {list_names(told)}. {remedy}")


def _plain(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)


# Joining ------------------------------------------------------------------------------------------


def _align(bags: Bags, other: Bags) -> Array:
    """Return the row of the other bags for each instance of these."""
    if type(other) is not type(bags):
        raise TypeError(f"Expected Bags to join with, got a {type(other).__name__}.")
    by_id = bags.has_instance_ids and other.has_instance_ids
    if not by_id and (bags.coords is None or other.coords is None):
        raise ValueError(
            "There is nothing to align the instances by: both bags need instance_ids or coords."
        )
    partners = _find(bags.ids, other.ids, ("The other bags lack", "The other bags have two bags"))
    rows, match = np.empty(bags.n_instances, dtype=np.int64), _match_ids if by_id else _match_coords
    for i, partner in enumerate(partners):
        own, theirs = (slice(*b.offsets[k : k + 2]) for b, k in ((bags, i), (other, partner)))
        rows[own] = theirs.start + match(bags, other, (i, partner), own, theirs)
    return rows


def _find(wanted: Array, names: Array, problems: tuple[str, str]) -> Array:
    """Return where each wanted name is; ``problems`` begin errors about missing and double ones."""
    places = {name: k for k, name in enumerate(names.tolist())}
    twice = [name for k, name in enumerate(names.tolist()) if places[name] != k]
    if twice:
        raise ValueError(f"{problems[1]} {twice[0]!r}: ids must differ to be matched.")
    missing = [_plain(name) for name in wanted.tolist() if name not in places]
    if missing:
        raise ValueError(f"{problems[0]} {len(missing)} of {len(wanted)}: {list_names(missing)}.")
    return np.array([places[name] for name in wanted.tolist()])


def _match_ids(bags: Bags, other: Bags, at: tuple[int, int], own: slice, theirs: slice) -> Array:
    lacks = f"The other bags lack instances of {name_of(bags.ids, at[0])},"
    twice = f"{name_of(other.ids, at[1])} has two instances"
    return _find(bags.instance_ids[own], other.instance_ids[theirs], (lacks, twice))


def _match_coords(bags: Bags, other: Bags, at: tuple[int, int], own: slice, theirs: slice) -> Array:
    sides = (0.0, 0.0)
    if bags.patch_size is not None and other.patch_size is not None:
        sides = (float(bags.patch_size[at[0]]), float(other.patch_size[at[1]]))
    mine, others = bags.coords[own] + sides[0] / 2, other.coords[theirs] + sides[1] / 2
    if not (np.isfinite(mine).all() and np.isfinite(others).all()):
        raise ValueError(f"{name_of(bags.ids, at[0])} has coords that are NaN or infinite.")
    places, counts = np.unique(other.coords[theirs], axis=0, return_counts=True)
    if np.any(counts > 1):
        twice = places[np.argmax(counts > 1)].tolist()
        raise ValueError(f"{name_of(other.ids, at[1])} has two instances at {twice}.")
    distance, rows = cKDTree(others).query(mine, p=np.inf)
    outside = np.flatnonzero(distance > sides[1] / 2)
    if len(outside):
        place = bags.coords[own][outside[0]].tolist()
        lacks = f"has {len(outside)} of {len(mine)} instances where the other bags have none"
        raise ValueError(f"{name_of(bags.ids, at[0])} {lacks}, the first at {place}.")
    return rows


def _join_names(bags: Bags, other: Bags) -> list[Any] | None:
    if bags.feature_names is None and other.feature_names is None:
        return None
    first, second = feature_names(bags), feature_names(other)
    twice = [str(name) for name in second if name in set(first)]
    if twice:
        remedy = "rename those of one with bags.replace(feature_names=...)"
        raise ValueError(f"Both bags have features named {list_names(twice)}: {remedy}.")
    return [*first, *second]
