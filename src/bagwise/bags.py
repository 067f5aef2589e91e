"""`Bags`, the one inner form of multiple-instance data, and `check_bags`, the one door to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from bagwise._checks import (
    FLOATS,
    as_attribute,
    as_feature_names,
    as_indices,
    as_offsets,
    as_rows,
    check_finite,
    check_members,
    check_priors,
)
from bagwise._factorize import constant_within, factorize

__all__ = ["Bags", "check_bags"]

Array = NDArray[Any]

_PER_BAG = ("ids", "groups", "bag_features", "priors")
_PER_INSTANCE = ("instance_ids", "instance_labels")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bags:
    """Bags of instances: one flat matrix and the offsets that cut it into bags.

    Bag ``i`` holds the rows ``offsets[i]:offsets[i + 1]`` of ``X``. Everything that is known
    about a bag or an instance travels with every slice. The arrays are read-only views of what
    was passed in; slicing a contiguous range of bags copies no data.

    Parameters
    ----------
    X : ndarray, memory map or SciPy sparse matrix of shape (n_instances, n_features)
        All instances, bag after bag. float16, float32 and float64 are kept as they are, integers
        and booleans become float64, sparse matrices become CSR arrays. NaN is allowed here (an
        imputer may follow); the estimators refuse it.
    offsets : array-like of int of shape (n_bags + 1,)
        Where each bag starts; ``offsets[0] == 0`` and ``offsets[-1] == n_instances``.
    ids : array-like of shape (n_bags,), default=None
        Names of the bags, of any hashable kind; 0, 1, ... when not given.
    instance_ids : array-like of shape (n_instances,), default=None
        Names of the instances; 0, 1, ... when not given.
    groups : array-like of shape (n_bags,), default=None
        What must stay on one side of a split, such as the patient of a slide.
    bag_features : array-like of shape (n_bags, n_bag_features), default=None
        Covariates of the bag itself.
    priors : array-like of shape (n_bags,), default=None
        Expected fraction of positive instances in the bag, in [0, 1].
    instance_labels : array-like of shape (n_instances,), default=None
        True instance labels where they are known: for evaluation, never used in fitting.
    feature_names : sequence of str of length n_features, default=None
        Names of the columns of ``X``.

    See Also
    --------
    check_bags : Turns every accepted form of input into `Bags`.

    Examples
    --------
    >>> from bagwise import Bags
    >>> bags = Bags([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], offsets=[0, 2, 3], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 3 instances, 2 features, 1-2 instances a bag, float64)
    >>> bags[0]
    array([[0., 1.],
           [2., 3.]])
    >>> bags[1:].ids
    array(['b'], dtype='<U1')
    """

    X: Any
    offsets: Array
    ids: Any = None
    instance_ids: Any = None
    groups: Any = None
    bag_features: Any = None
    priors: Any = None
    instance_labels: Any = None
    feature_names: Any = None
    has_ids: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "X", as_rows(self.X))
        set_(self, "offsets", as_offsets(self.offsets, self.X.shape[0], self.ids))
        set_(self, "has_ids", self.has_ids or self.ids is not None)
        for name, count in [*((n, len(self)) for n in _PER_BAG), *self._instance_counts()]:
            set_(self, name, as_attribute(name, getattr(self, name), count, name in _PER_BAG))
        check_priors(self.priors, self.ids)
        set_(self, "feature_names", as_feature_names(self.feature_names, self.X.shape[1]))

    def _instance_counts(self) -> Iterator[tuple[str, int]]:
        return ((name, self.n_instances) for name in _PER_INSTANCE)

    # Construction ------------------------------------------------------------------------------

    @classmethod
    def from_list(cls, arrays: Sequence[Any], ids: Any = None, **attributes: Any) -> Bags:
        """Build from one 2-D array (dense or sparse) a bag.

        Parameters
        ----------
        arrays : sequence of 2-D arrays
            The instances of each bag, all of one width.
        ids : array-like, default=None
            Names of the bags.
        **attributes : array-like
            Any other attribute of `Bags`, such as ``groups``.

        Returns
        -------
        Bags
            The bags, in the order given.

        Examples
        --------
        >>> Bags.from_list([[[1.0], [2.0]], [[3.0]]], ids=["m1", "m2"])
        Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64)
        """
        rows = [a if sp.issparse(a) else np.asarray(a) for a in arrays]
        if not rows:
            raise ValueError("There are no bags: the list is empty.")
        check_members(rows, ids)
        offsets = np.concatenate([[0], np.cumsum([r.shape[0] for r in rows])])
        stack = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
        return cls(stack, offsets, ids=ids, **attributes)

    @classmethod
    def from_groups(
        cls,
        X: Any,
        bag_ids: ArrayLike | Sequence[Hashable],
        y: ArrayLike | None = None,
        **rows: Any,
    ) -> Any:
        """Build from a flat matrix and the bag id of every row, in any order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_instances, n_features)
            All instances.
        bag_ids : sequence of hashable of length n_instances
            The bag of each row. Bags keep the order of their first appearance, rows their order
            within the bag.
        y : array-like of shape (n_instances,), default=None
            The bag's label, repeated on each of its rows.
        **rows : array-like of shape (n_instances, ...)
            Any other attribute of `Bags`, one value a row; a bag's attribute must be the same on
            all rows of the bag. ``instance_ids`` are the original row numbers unless given.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags and, if ``y`` was given, one label a bag.

        Examples
        --------
        >>> bags, y = Bags.from_groups([[1.0], [2.0], [3.0]], ["a", "b", "a"], y=[1, 0, 1])
        >>> bags[0].ravel(), y
        (array([1., 3.]), array([1, 0]))
        """
        X = as_rows(X)
        codes, ids = factorize(bag_ids)
        if len(codes) != X.shape[0]:
            raise ValueError(f"bag_ids has {len(codes)} entries, X has {X.shape[0]} rows.")
        order = np.argsort(codes, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
        names = rows.pop("feature_names", None)
        rows.setdefault("instance_ids", np.arange(len(codes)))
        sorted_rows = {k: np.asarray(v)[order] for k, v in rows.items() if v is not None}
        attributes: dict[str, Any] = {
            k: constant_within(v, offsets, ids, k) if k in _PER_BAG else v
            for k, v in sorted_rows.items()
        }
        in_order = bool(np.all(np.diff(codes) >= 0))
        bags = cls(X if in_order else X[order], offsets, ids=ids, feature_names=names, **attributes)
        if y is None:
            return bags
        return bags, constant_within(np.asarray(y)[order], offsets, ids, "label")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        bag: str,
        label: str | None = None,
        *,
        features: Sequence[str] | None = None,
        **columns: str,
    ) -> Any:
        """Build from a pandas or polars data frame with one row an instance.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            One row an instance.
        bag : str
            Column that names the bag of each row.
        label : str, default=None
            Column with the bag's label (the same on all rows of the bag).
        features : sequence of str, default=None
            The feature columns; every column not named elsewhere when not given.
        **columns : str
            Columns for other attributes of `Bags`: ``groups="patient"``,
            ``instance_labels="truth"``, ``instance_ids="patch"``, ``priors="fraction"``.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags and, if ``label`` was given, one label a bag.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"slide": ["s", "s", "t"], "y": [1, 1, 0], "f": [0.1, 0.2, 0.3]})
        >>> bags, y = Bags.from_frame(frame, bag="slide", label="y")
        >>> bags.feature_names, y
        (array(['f'], dtype=object), array([1, 0]))
        """
        named = [bag, *([label] if label is not None else []), *columns.values()]
        known = list(frame.columns)
        missing = [c for c in [*named, *(features or [])] if c not in known]
        if missing:
            raise ValueError(f"The frame has no column {missing[0]!r}; it has {known}.")
        features = [c for c in known if c not in named] if features is None else list(features)
        # pandas selects columns by list, polars too; both give a 2-D array from to_numpy().
        X = frame[features].to_numpy()
        if X.dtype.kind not in "fiub":
            wrong = next(c for c in features if np.asarray(frame[c]).dtype.kind not in "fiub")
            raise ValueError(
                f"Column {wrong!r} is not numeric. Encode it, or leave it out with features=[...]."
            )
        rows = {name: np.asarray(frame[column]) for name, column in columns.items()}
        y = None if label is None else np.asarray(frame[label])
        return cls.from_groups(X, np.asarray(frame[bag]), y, feature_names=features, **rows)

    @classmethod
    def from_padded(
        cls, array: ArrayLike, mask: ArrayLike | None = None, **attributes: Any
    ) -> Bags:
        """Build from a padded 3-D array and the mask of its real instances.

        Parameters
        ----------
        array : array-like of shape (n_bags, max_size, n_features)
            Padded instances.
        mask : array-like of bool of shape (n_bags, max_size), default=None
            True where an instance is real; all are when not given.
        **attributes : array-like
            Any other attribute of `Bags`.

        Returns
        -------
        Bags
            The bags without their padding.

        Examples
        --------
        >>> Bags.from_padded(np.zeros((2, 3, 4)), mask=[[1, 1, 0], [1, 0, 0]]).sizes
        array([2, 1])
        """
        array = np.asarray(array)
        if array.ndim != 3:
            raise ValueError(f"A padded array has 3 dimensions, this one has {array.ndim}.")
        full = np.ones(array.shape[:2], dtype=bool)
        mask = full if mask is None else np.asarray(mask, dtype=bool)
        if mask.shape != array.shape[:2]:
            raise ValueError(f"The mask's shape {mask.shape} is not {array.shape[:2]}.")
        offsets = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        return cls(array[mask], offsets, **attributes)

    @classmethod
    def concat(cls, parts: Iterable[Bags]) -> Bags:
        """Join several `Bags` of one width.

        Parameters
        ----------
        parts : iterable of Bags
            What to join; an attribute must be on all of them or on none.

        Returns
        -------
        Bags
            All bags, in order. Ids are kept where every part has its own, else made anew.

        Examples
        --------
        >>> one = Bags.from_list([[[1.0], [2.0]]])
        >>> len(Bags.concat([one, one]))
        2
        """
        parts = list(parts)
        widths = {part.n_features for part in parts}
        if len(widths) != 1:
            raise ValueError(f"Cannot join bags of different widths: {sorted(widths)}.")
        if len({sp.issparse(part.X) for part in parts}) != 1:
            raise ValueError("Cannot join dense and sparse bags.")
        stack = sp.vstack if sp.issparse(parts[0].X) else np.concatenate
        sizes = np.concatenate([part.sizes for part in parts])
        attributes = {name: _join(parts, name) for name in (*_PER_BAG, *_PER_INSTANCE)}
        if not all(part.has_ids for part in parts):
            attributes["ids"] = attributes["instance_ids"] = None
        return cls(
            stack([part.X for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            feature_names=parts[0].feature_names,
            **attributes,
        )

    # What it is --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_instances(self) -> int:
        """Number of instances in all bags."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features of an instance."""
        return self.X.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(number of bags, number of features): what scikit-learn counts as samples."""
        return (len(self), self.n_features)

    @property
    def dtype(self) -> np.dtype:
        """Data type of the instances."""
        return self.X.dtype

    @property
    def sizes(self) -> Array:
        """Number of instances in each bag."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        sizes = self.sizes
        span = f"{sizes.min()}-{sizes.max()} instances a bag, " if len(self) else ""
        kind = f"sparse {self.dtype}" if sp.issparse(self.X) else str(self.dtype)
        counts = f"{len(self)} bags, {self.n_instances} instances, {self.n_features} features"
        return f"Bags({counts}, {span}{kind})"

    def __array__(self, *args: Any, **kwargs: Any) -> Array:
        raise TypeError(
            "Bags have no array form: use bags.X for the flat instances, or lift a scikit-learn "
            "transformer to bags with bagwise.PerInstance(transformer)."
        )

    # Selection ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):  # scikit-learn writes X[key, ...]
            key, *rest = key
            if any(r is not Ellipsis and r != slice(None) for r in rest):
                raise IndexError("Bags are indexed by bag only; select features on bags.X.")
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(f"Bag {key} of {len(self)} bags.")
            key = int(key) % len(self)
            return self._rows(slice(self.offsets[key], self.offsets[key + 1]))
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._range(start, max(start, stop))
            key = np.arange(start, stop, step)
        return self._take(as_indices(key, len(self)))

    def _rows(self, rows: Any) -> Any:
        if not (sp.issparse(self.X) and isinstance(rows, slice)):
            return self.X[rows]
        # SciPy copies a row range; these are views.
        pointers = self.X.indptr[rows.start : rows.stop + 1]
        entries = slice(pointers[0], pointers[-1])
        parts = (self.X.data[entries], self.X.indices[entries], pointers - pointers[0])
        return sp.csr_array(parts, shape=(len(pointers) - 1, self.n_features), copy=False)

    def _range(self, start: int, stop: int) -> Bags:
        rows = slice(int(self.offsets[start]), int(self.offsets[stop]))
        offsets = self.offsets[start : stop + 1] - self.offsets[start]
        return self._select(slice(start, stop), rows, offsets)

    def _take(self, bags: Array) -> Bags:
        if len(bags) and np.all(np.diff(bags) == 1):
            return self._range(int(bags[0]), int(bags[-1]) + 1)
        sizes = self.sizes[bags]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.offsets[:-1][bags] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return self._select(bags, rows, offsets)

    def _select(self, bags: Any, rows: Any, offsets: Array) -> Bags:
        of_bags = {name: _pick(getattr(self, name), bags) for name in _PER_BAG}
        of_rows = {name: _pick(getattr(self, name), rows) for name in _PER_INSTANCE}
        return replace(self, X=self._rows(rows), offsets=offsets, **of_bags, **of_rows)

    def replace(self, **changes: Any) -> Bags:
        """Return the same bags with some attributes changed.

        Parameters
        ----------
        **changes : array-like
            New values by attribute name, such as ``X=...`` or ``priors=...``.

        Returns
        -------
        Bags
            A new object that shares everything else.

        Examples
        --------
        >>> bags = Bags.from_list([[[1.0], [2.0]]])
        >>> bags.replace(X=bags.X * 10)[0].ravel()
        array([10., 20.])
        """
        if "X" in changes and changes["X"].shape[1] != self.n_features:
            changes.setdefault("feature_names", None)
        return replace(self, **changes)

    def flat(self, key_instances: ArrayLike) -> Array:
        """Turn one position within each bag into row numbers of ``X``.

        Parameters
        ----------
        key_instances : array-like of int of shape (n_bags,)
            Position within each bag, as an estimator's ``key_instances`` returns.

        Returns
        -------
        ndarray of shape (n_bags,)
            Row numbers.

        Examples
        --------
        >>> Bags.from_list([[[1.0], [2.0]], [[3.0]]]).flat([1, 0])
        array([1, 2])
        """
        key = np.asarray(key_instances)
        if key.shape != (len(self),):
            raise ValueError(f"Expected one position a bag ({len(self)}), got shape {key.shape}.")
        outside = np.flatnonzero((key < 0) | (key >= self.sizes))
        if len(outside):
            i = outside[0]
            raise ValueError(f"Bag {i} (id {self.ids[i]!r}) has no instance {key[i]}.")
        return self.offsets[:-1] + key


def check_bags(bags: Any, *, finite: bool = True) -> Bags:
    """Turn any accepted form of multiple-instance data into `Bags`.

    Parameters
    ----------
    bags : Bags, list or object array of 2-D arrays, 3-D array, 2-D array or data frame
        A 3-D array holds bags of one size; every row of a plain 2-D array (dense, sparse or data
        frame) is a bag of one instance.
    finite : bool, default=True
        Refuse NaN and infinity, naming bag, instance and feature.

    Returns
    -------
    Bags
        The bags; the same object if it was `Bags` already.

    Examples
    --------
    >>> from bagwise import check_bags
    >>> check_bags([np.zeros((2, 3)), np.ones((4, 3))])
    Bags(2 bags, 6 instances, 3 features, 2-4 instances a bag, float64)
    """
    if not isinstance(bags, Bags):
        bags = _as_bags(bags)
    if len(bags) == 0:
        raise ValueError("There are no bags: 0 sample(s) were given, at least 1 is required.")
    if finite:
        check_finite(bags)
    return bags


def is_plain_table(data: Any) -> bool:
    """Tell whether the input is a plain 2-D table, every row of which is a bag of one."""
    if isinstance(data, Bags):
        return False
    if isinstance(data, list | tuple) or getattr(data, "dtype", None) == np.dtype(object):
        shape = getattr(data, "shape", None)
        if shape is not None and len(shape) != 1:
            return len(shape) == 2
        return len(data) == 0 or not (sp.issparse(data[0]) or np.ndim(data[0]) >= 2)
    return len(getattr(data, "shape", (0, 0))) != 3


def _as_bags(data: Any) -> Bags:
    if is_plain_table(data):
        X = check_array(data, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=False)
        return Bags(X, np.arange(X.shape[0] + 1))
    if getattr(data, "ndim", 1) == 3:
        return Bags.from_padded(data)
    return Bags.from_list(list(data))


def _pick(values: Any, key: Any) -> Any:
    return None if values is None else values[key]


def _join(parts: list[Bags], name: str) -> Any:
    values = [getattr(part, name) for part in parts]
    missing = [v is None for v in values]
    if all(missing):
        return None
    if any(missing):
        raise ValueError(
            f"Part {missing.index(True)} has no {name}, part {missing.index(False)} has."
        )
    return np.concatenate(values)
