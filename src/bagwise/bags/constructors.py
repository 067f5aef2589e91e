"""How `Bags` are made from lists, tables, padded arrays and cells."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from bagwise.bags.forms import group_rows, join, read_anndata, read_frame, stack_list, unpad


class Constructors:
    """The class methods of `Bags` that make bags; the class itself is what they return."""

    __slots__ = ()

    @classmethod
    def from_list(cls, arrays: Sequence[Any], ids: Any = None, **attributes: Any) -> Self:
        """Create bags from a list with one 2-D array (dense or sparse) per bag.

        Parameters
        ----------
        arrays : sequence of 2-D arrays
            The instances of each bag, all with the same number of features.
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
        >>> from bagwise import Bags
        >>> Bags.from_list([[[1.0], [2.0]], [[3.0]]], ids=["m1", "m2"])
        Bags(2 bags, 3 instances, 1 features, 1-2 instances per bag, float64)
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
        """Create bags from a flat matrix and the bag id of every row, in any order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_instances, n_features)
            All instances.
        bag_ids : sequence of hashable of length n_instances
            The bag of each row. Bags appear in the order of their first rows; rows keep their
            order within the bag.
        y : array-like of shape (n_instances,), default=None
            The bag's label, repeated on each of its rows.
        **rows : array-like of shape (n_instances, ...)
            Any other attribute of `Bags`, one value per row; attributes of a bag must be the same
            on all of its rows. ``instance_ids`` are the original row numbers unless given.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags and, if ``y`` was given, one label per bag.

        Examples
        --------
        >>> from bagwise import Bags
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
        """Create bags from a pandas or polars data frame with one row per instance.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            One row per instance.
        bag : str
            Column with the bag id of each row.
        label : str, default=None
            Column with the bag's label (the same on all rows of the bag).
        features : sequence of str, default=None
            The feature columns; None takes every column that is not named otherwise.
        **columns : str or list of str
            Columns for other attributes of `Bags`: ``groups="patient"``,
            ``instance_labels="truth"``, ``instance_ids="patch"``, ``priors="fraction"``,
            ``bag_features=["age", "sex"]``, ``coords=["x", "y"]``.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags and, if ``label`` was given, one label per bag.

        Examples
        --------
        >>> from bagwise import Bags
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"slide": ["s", "s", "t"], "y": [1, 1, 0], "f": [0.1, 0.2, 0.3]})
        >>> bags, y = Bags.from_frame(frame, bag="slide", label="y")
        >>> bags.feature_names, y
        (array(['f'], dtype=object), array([1, 0]))
        """
        X, bag_ids, y, rows = read_frame(frame, bag, label, features, columns)
        return cls.from_groups(X, bag_ids, y, **rows)

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        bag: str,
        label: str | None = None,
        *,
        layer: str | None = None,
        obsm: str | None = None,
        **columns: str | list[str],
    ) -> Any:
        """Create bags from an AnnData object: the cells of a patient are a bag.

        Parameters
        ----------
        adata : anndata.AnnData
            One row per cell.
        bag : str
            Column of ``adata.obs`` with the bag of each cell, such as the patient or the sample.
        label : str, default=None
            Column of ``adata.obs`` with the bag's label.
        layer, obsm : str, default=None
            Features from ``adata.layers[layer]`` or ``adata.obsm[obsm]``, such as "X_pca";
            ``adata.X`` when both are None.
        **columns : str or list of str
            Columns of ``adata.obs`` for other attributes of `Bags`, such as ``groups="donor"`` or
            ``instance_labels="cell_type"``. ``adata.obsm["spatial"]`` becomes ``coords``.

        Returns
        -------
        Bags or (Bags, ndarray)
            The bags and, if ``label`` was given, one label per bag. Instance ids are the names of
            the cells.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from anndata import AnnData
        >>> from bagwise import Bags
        >>> obs = pd.DataFrame({"patient": ["p", "p", "q"], "status": ["ill", "ill", "well"]})
        >>> adata = AnnData(np.ones((3, 2)), obs.set_index(pd.Index(["c1", "c2", "c3"])))
        >>> bags, y = Bags.from_anndata(adata, bag="patient", label="status")
        >>> bags.sizes, y
        (array([2, 1]), array(['ill', 'well'], dtype='<U4'))
        """
        X, bag_ids, y, rows = read_anndata(adata, bag, label, layer, obsm, columns)
        return cls.from_groups(X, bag_ids, y, **rows)

    @classmethod
    def from_padded(
        cls, array: ArrayLike, mask: ArrayLike | None = None, **attributes: Any
    ) -> Self:
        """Create bags from a padded 3-D array and a mask of its real instances.

        Parameters
        ----------
        array : array-like of shape (n_bags, max_size, n_features)
            Padded instances.
        mask : array-like of bool of shape (n_bags, max_size), default=None
            True where an instance is real; None means that all are.
        **attributes : array-like
            Any other attribute of `Bags`.

        Returns
        -------
        Bags
            The bags without their padding.

        Examples
        --------
        >>> import numpy as np
        >>> from bagwise import Bags
        >>> Bags.from_padded(np.zeros((2, 3, 4)), mask=[[1, 1, 0], [1, 0, 0]]).sizes
        array([2, 1])
        """
        return cls(**unpad(array, mask), **attributes)

    @classmethod
    def concat(cls, parts: Iterable[Self]) -> Self:
        """Concatenate several `Bags` with the same features.

        Parameters
        ----------
        parts : iterable of Bags
            The parts; either all of them have an attribute or none has it.

        Returns
        -------
        Bags
            All bags, in order. Ids are kept if every part has its own, and generated otherwise.

        Examples
        --------
        >>> from bagwise import Bags
        >>> one = Bags.from_list([[[1.0], [2.0]]])
        >>> len(Bags.concat([one, one]))
        2
        """
        parts = list(parts)
        for i, part in enumerate(parts):
            if not isinstance(part, cls):
                raise TypeError(f"Part {i} is a {type(part).__name__}, expected Bags.")
        return cls(**join(parts, [f"Part {i}" for i in range(len(parts))]))
