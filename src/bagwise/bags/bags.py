"""`Bags`, the container of multiple-instance data that the whole package works on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._removed import refuse_parameters
from bagwise._typing import Array
from bagwise.bags.arrays import (
    PER_BAG,
    PER_INSTANCE,
    as_attribute,
    as_feature_names,
    as_offsets,
    as_rows,
    check_priors,
    resolve,
    select,
    take_rows,
)
from bagwise.bags.constructors import Constructors
from bagwise.bags.frames import ById, as_frame, as_html
from bagwise.bags.ids import as_names, name_of
from bagwise.bags.merging import Merging
from bagwise.bags.stored import verify
from bagwise.rowstores import RowStore, place_rows

if TYPE_CHECKING:
    from bagwise.bags.leaks import Leak


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bags(Constructors, Merging):
    """Bags of instances: one flat matrix, and offsets that say where each bag starts.

    Bag ``i`` consists of the rows ``offsets[i]:offsets[i + 1]`` of ``X``. Ids, labels and all
    other attributes follow every slice. Instances and what belongs to them are read-only views of
    what was passed in, and slicing a contiguous range of bags copies none of them; offsets, ids and
    all that belongs to bags are copies.

    Parameters
    ----------
    X : ndarray, memory map or SciPy sparse matrix of shape (n_instances, n_features)
        All instances, bag after bag. float16, float32 and float64 are kept as they are, integers
        and booleans become float64, sparse matrices become CSR arrays. NaN is allowed here, so
        that an imputer can follow; the estimators refuse it.
    offsets : array-like of int of shape (n_bags + 1,)
        Where each bag starts; ``offsets[0] == 0`` and ``offsets[-1] == n_instances``.
    ids : array-like of shape (n_bags,), default=None
        Names of the bags, of any hashable type; 0, 1, ... if None.
    instance_ids : array-like of shape (n_instances,), default=None
        Names of the instances; 0, 1, ... if None.
    groups : array-like of shape (n_bags,), default=None
        Groups of bags that a split must keep together, such as the slides of a patient.
    bag_features : array-like of shape (n_bags, n_bag_features), default=None
        Covariates of the bag itself: numbers, or texts such as the stage of a disease.
    priors : array-like of shape (n_bags,), default=None
        Expected fraction of positive instances in the bag, in [0, 1].
    instance_labels : array-like of shape (n_instances,), default=None
        True instance labels, for evaluation; never used in fitting.
    coords : array-like of shape (n_instances, 2), default=None
        Position (x, y) of each instance in its bag, such as that of a patch on a slide.
    patch_size : array-like of shape (n_bags,), default=None
        Side of a patch in the units of ``coords``.
    feature_names : sequence of str of length n_features, default=None
        Names of the columns of ``X``.
    has_ids, has_instance_ids : bool, default=None
        Whether the ids were given rather than generated; None derives it from ``ids`` and
        ``instance_ids``.
    sites : array-like of shape (n_bags,), default=None
        Where the bags come from, such as hospitals: `bagwise.audit` compares them.
    parts : array-like of shape (n_instances,), default=None
        Part of the bag that each instance belongs to, such as the slide of a patient's patch;
        `merge` makes them.
    known_labels : array-like of shape (n_instances,), default=None
        Labels of instances to learn from: NaN, None or an empty text where unknown, and otherwise
        those of bags, or 1 and 0. Models that can fix them (see the guide on known instances).

    See Also
    --------
    check_bags : Converts every accepted form of input to `Bags`.

    Examples
    --------
    >>> from bagwise import Bags
    >>> bags = Bags([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], offsets=[0, 2, 3], ids=["a", "b"])
    >>> bags
    Bags(2 bags, 3 instances, 2 features, 1-2 instances per bag, float64)
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
    coords: Any = None
    patch_size: Any = None
    feature_names: Any = None
    has_ids: bool | None = None
    has_instance_ids: bool | None = None
    sites: Any = None
    parts: Any = None
    known_labels: Any = None

    def __new__(cls, *args: Any, **named: Any) -> Bags:
        """Refuse arguments that version 0.2 had, before the constructor does."""
        if unknown := named.keys() - cls.__dataclass_fields__.keys():
            refuse_parameters(cls, unknown)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name in ("ids", "instance_ids"):
            if getattr(self, f"has_{name}") is None:
                set_(self, f"has_{name}", getattr(self, name) is not None)
        ids = None if self.ids is None else as_names(self.ids)
        set_(self, "X", as_rows(self.X))
        set_(self, "offsets", as_offsets(self.offsets, self.n_instances, ids))
        for names, count, owner in (
            (PER_BAG, len(self), "bag"),
            (PER_INSTANCE, self.n_instances, "instance"),
        ):
            for name in names:
                set_(self, name, as_attribute(name, getattr(self, name), count, owner))
        check_priors(self.priors, self.ids)
        set_(self, "feature_names", as_feature_names(self.feature_names, self.n_features))

    def __reduce__(self) -> tuple[type[Bags], tuple[Any, ...]]:
        # Unpickled arrays are writeable; the constructor makes them read-only again.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    # Size and type -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_instances(self) -> int:
        """Number of instances in all bags."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features per instance."""
        return self.X.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(number of bags, number of features); scikit-learn takes bags for samples."""
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
        span = f"{sizes.min()}-{sizes.max()} instances per bag, " if len(self) else ""
        kind = f"sparse {self.dtype}" if sp.issparse(self.X) else str(self.dtype)
        counts = f"{len(self)} bags, {self.n_instances} instances, {self.n_features} features"
        return f"Bags({counts}, {span}{kind})"

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_frame(self, y: Any = None) -> Any:
        """Return a pandas data frame with one row per instance.

        Parameters
        ----------
        y : array-like of shape (n_bags,), default=None
            Labels of the bags, for a column "label".

        Returns
        -------
        pandas.DataFrame
            The columns "bag", "label", "group", ... where known, as `bagwise.io.write_csv` writes
            them, then the features.

        Examples
        --------
        >>> Bags.from_list([[[1.0], [2.0]], [[3.0]]], ids=["a", "b"]).to_frame([1, 0])
          bag  label   f1
        0   a      1  1.0
        1   a      1  2.0
        2   b      0  3.0
        """
        return as_frame(self, y)

    def __array__(self, *args: Any, **kwargs: Any) -> Array:
        raise TypeError(
            "Bags cannot be converted to an array: use bags.X for the flat instances, or apply a "
            "scikit-learn transformer to bags with bagwise.PerInstance(transformer)."
        )

    # Selection ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        key = resolve(key, len(self))
        if isinstance(key, int):
            rows = take_rows(self.X, slice(self.offsets[key], self.offsets[key + 1]))
            if isinstance(rows, RowStore):
                return np.asarray(rows)
            verify(rows.data if sp.issparse(rows) else rows)
            return rows
        return replace(self, **select(self, key))

    @property
    def loc(self) -> ById:
        """Bags by id: ``bags.loc["s1"]`` is an array, ``bags.loc[["s1", "s2"]]`` are bags."""
        return ById(self)

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

    def to(
        self, where: str, *, device: str | None = None, memory: float | None = None, **removed: Any
    ) -> Bags:
        """Return the same bags with their instances somewhere else.

        `InstanceSVC`, `LabelSVC`, `WitnessSVC` and the annealed models work where the instances
        are; the other estimators bring them back to the host.

        Parameters
        ----------
        where : str
            A device of PyTorch, such as "cuda" or "cuda:1"; "dask" for the workers of the Dask
            client that is open when a model is fitted, which read the instances from the file
            that the bags were opened from; "host" brings them back.
        device : str, default=None
            With "dask", the device on which every worker keeps its instances, such as "cuda". None
            reads them from the file in every pass.
        memory : float, default=None
            With a device of PyTorch, the bytes of instances that stay on it. None is what fits.
            The others stay where they are and pass through the device whenever instances are read;
            ``bags.X.where`` says how many these are. It changes the time, and no result.
        **removed : object
            What version 0.2 had: it is refused, with what replaces it.

        Returns
        -------
        Bags
            Bags whose ``X`` is there. Slices stay there, and ``np.asarray(bags.X)`` is an array.
        """
        if removed:
            refuse_parameters(self.to, removed)
            raise TypeError(f"to() has no parameter {next(iter(removed))!r}.")
        X = place_rows(self.X, where, device, memory)
        return self if X is self.X else self.replace(X=X)

    def check(self, y: ArrayLike | None = None) -> list[Leak]:
        """Return what may give labels away, for someone who knows the data to look at.

        These are features that are constant within every bag, equal to the labels of bags or
        instances, that rise or fall with the row number or an id, or that alone have an AUC above
        0.99; and instances that are in bags of different labels. Of large data a part is looked at.

        Parameters
        ----------
        y : array-like of shape (n_bags,), default=None
            Labels of the bags; without them only their ids are compared.

        Returns
        -------
        list of Leak
            With ``reason`` and ``features``; as a text, a line to print.

        Examples
        --------
        >>> ages = [50.0, 61.0, 47.0, 70.0]
        >>> bags = Bags.from_list([[[0.3, age], [0.1, age]] for age in ages])
        >>> print(*bags.check())
        Constant within every bag, so about the bag and not its instances: f2
        """
        from bagwise.bags.leaks import find_leaks

        return find_leaks(self, y)

    def flat(self, key_instances: ArrayLike) -> Array:
        """Convert one position within each bag to row numbers of ``X``.

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
            raise ValueError(f"Expected one position per bag ({len(self)}), got shape {key.shape}.")
        if len(key) and key.dtype.kind not in "iu":
            raise ValueError(f"Expected integer positions, got dtype {key.dtype}.")
        outside = np.flatnonzero((key < 0) | (key >= self.sizes))
        if len(outside):
            i = int(outside[0])
            raise ValueError(f"{name_of(self.ids, i)} has no instance {key[i]}.")
        return self.offsets[:-1] + key.astype(np.int64)


Bags.__new__.__signature__ = inspect.signature(Bags.__init__)  # type: ignore[attr-defined]
