"""`Bags`, the one inner form of multiple-instance data, and `check_bags`, the one door to it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from bagwise._checks import (
    FLOATS,
    as_array,
    as_attribute,
    as_feature_names,
    as_indices,
    as_offsets,
    as_rows,
    check_finite,
    check_priors,
    csr_view,
)
from bagwise._factorize import as_names, name_of
from bagwise._forms import (
    PER_BAG,
    PER_INSTANCE,
    group_rows,
    is_plain_table,
    join,
    offsets_of,
    read_frame,
    stack_list,
    unpad,
)

__all__ = ["Bags", "check_bags"]

Array = NDArray[Any]


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
    has_ids, has_instance_ids : bool, default=None
        Whether the names were given rather than made; told by the arguments above when None.

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
    has_ids: bool | None = None
    has_instance_ids: bool | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name in ("ids", "instance_ids"):
            if getattr(self, f"has_{name}") is None:
                set_(self, f"has_{name}", getattr(self, name) is not None)
        ids = None if self.ids is None else as_names(self.ids)
        set_(self, "X", as_rows(self.X))
        set_(self, "offsets", as_offsets(self.offsets, self.n_instances, ids))
        for name in PER_BAG:
            set_(self, name, as_attribute(name, getattr(self, name), len(self), per_bag=True))
        for name in PER_INSTANCE:
            values = as_attribute(name, getattr(self, name), self.n_instances, per_bag=False)
            set_(self, name, values)
        check_priors(self.priors, self.ids)
        set_(self, "feature_names", as_feature_names(self.feature_names, self.n_features))

    def __reduce__(self) -> tuple[type[Bags], tuple[Any, ...]]:
        # Through the constructor, because pickled arrays come back writeable.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

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
        return cls(**stack_list(arrays, ids), **attributes)

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
        arguments, labels = group_rows(X, bag_ids, y, rows)
        bags = cls(**arguments)
        return bags if labels is None else (bags, labels)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        bag: str,
        label: str | None = None,
        *,
        features: Sequence[str] | None = None,
        **columns: str | list[str],
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
        **columns : str or list of str
            Columns for other attributes of `Bags`: ``groups="patient"``,
            ``instance_labels="truth"``, ``instance_ids="patch"``, ``priors="fraction"``,
            ``bag_features=["age", "sex"]``.

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
        X, bag_ids, y, rows = read_frame(frame, bag, label, features, columns)
        return cls.from_groups(X, bag_ids, y, **rows)

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
        return cls(**unpad(array, mask), **attributes)

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
        for i, part in enumerate(parts):
            if not isinstance(part, Bags):
                raise TypeError(f"Part {i} is a {type(part).__name__}, expected Bags.")
        return cls(**join(parts))

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
            if not key or not all(_selects_all(rest) for rest in key[1:]):
                raise IndexError("Bags are indexed by bag only; select features on bags.X.")
            key = key[0]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
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
        data, indices = self.X.data[entries], self.X.indices[entries]
        return csr_view(data, indices, pointers - pointers[0], self.n_features)

    def _range(self, start: int, stop: int) -> Bags:
        rows = slice(int(self.offsets[start]), int(self.offsets[stop]))
        offsets = self.offsets[start : stop + 1] - self.offsets[start]
        return self._select(slice(start, stop), rows, offsets)

    def _take(self, bags: Array) -> Bags:
        if len(bags) and np.all(np.diff(bags) == 1):
            return self._range(int(bags[0]), int(bags[-1]) + 1)
        sizes = self.sizes[bags]
        offsets = offsets_of(sizes)
        rows = np.repeat(self.offsets[:-1][bags] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return self._select(bags, rows, offsets)

    def _select(self, bags: Any, rows: Any, offsets: Array) -> Bags:
        of_bags = {name: _pick(getattr(self, name), bags) for name in PER_BAG}
        of_rows = {name: _pick(getattr(self, name), rows) for name in PER_INSTANCE}
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
        if "X" in changes:
            changes["X"] = as_rows(changes["X"])
            if changes["X"].shape[1] != self.n_features:
                changes.setdefault("feature_names", None)
        for name in {"ids", "instance_ids"} & changes.keys():
            changes.setdefault(f"has_{name}", None)
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
        if len(key) and key.dtype.kind not in "iu":
            raise ValueError(f"Expected integer positions, got dtype {key.dtype}.")
        outside = np.flatnonzero((key < 0) | (key >= self.sizes))
        if len(outside):
            i = int(outside[0])
            raise ValueError(f"{name_of(self.ids, i)} has no instance {key[i]}.")
        return self.offsets[:-1] + key.astype(np.int64)


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
    if bags.n_features == 0:
        raise ValueError("The instances have 0 feature(s), a minimum of 1 is required.")
    if finite:
        check_finite(bags)
    return bags


def _as_bags(data: Any) -> Bags:
    if is_plain_table(data):
        data = as_array(data, "The table") if isinstance(data, list | tuple) else data
        X = check_array(data, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=False)
        return Bags(X, np.arange(X.shape[0] + 1))
    if getattr(data, "ndim", 1) == 3:
        return Bags.from_padded(data)
    return Bags.from_list(list(data))


def _selects_all(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def _pick(values: Any, key: Any) -> Any:
    return None if values is None else values[key]
