"""`Graph`: weighted edges between bags or instances, by id."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._documented import documenting
from bagwise._removed import mark_removed_methods
from bagwise._typing import Array
from bagwise.bags.ids import as_names, factorize

__all__ = ["Edges", "Graph"]


@dataclass(frozen=True)
class Edges:
    """The edges of a graph between nodes numbered 0 to ``n_nodes`` - 1."""

    source: Array  # (n_edges,), int
    target: Array  # (n_edges,), int
    weight: Array  # (n_edges,), positive
    n_nodes: int
    directed: bool  # whether an edge leaves only its source

    def __len__(self) -> int:
        return len(self.source)

    def degrees(self, kind: str) -> Array:
        """Return each node's number of edges, at least 1: those that leave it ("out"), or all.

        An undirected edge leaves both of its ends.
        """
        ends = self.source if kind == "out" and self.directed else self.both_ends
        return np.maximum(np.bincount(ends, minlength=self.n_nodes), 1)

    @property
    def both_ends(self) -> Array:
        """Sources, followed by targets."""
        return np.concatenate([self.source, self.target])

    def homophily(self, codes: Array) -> float:
        """Return the fraction of edges between equal labels, NaN if no edge has two labels.

        ``codes`` holds class numbers, or -1 for unlabeled nodes.
        """
        one, other = codes[self.source], codes[self.target]
        known = (one >= 0) & (other >= 0)
        return float(np.mean((one == other)[known])) if known.any() else float("nan")


_explains = documenting(
    {
        "weight": ("array-like of shape (n_edges,)", "Weights; 1 when None."),
        "directed": "Whether (a, b) and (b, a) are different edges.",
        "nodes": (
            "sequence of hashable",
            "All known ids; an edge to any other id is an error. Not checked when None.",
        ),
    },
    "Graph\n    The graph.",
)


class Graph:
    """Edges between bags, or between instances, by id.

    A graph is immutable, and copies share it. A fit uses the edges whose two ends are among its
    bags, so cross-validation needs no bookkeeping.

    Parameters
    ----------
    source, target : sequence of hashable
        The ids at the two ends of each edge.
    weight : array-like of shape (n_edges,), default=None
        Weights; 1 when None. Zero means no edge. The weights of a repeated edge are added.
    directed : bool, default=False
        Whether (a, b) and (b, a) are different edges.
    nodes : sequence of hashable, default=None
        All known ids; an edge to any other id is an error. Not checked when None.

    See Also
    --------
    GraphSVC : Learns from bags and the graphs between them.

    Examples
    --------
    >>> from bagwise import Graph
    >>> graph = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> graph
    Graph(3 nodes, 2 edges, undirected)
    >>> graph.among(["c", "b"]).source
    array([1])
    """

    __slots__ = ("_place", "directed", "ids", "source", "target", "weight")

    ids: Array
    source: Array
    target: Array
    weight: Array
    directed: bool
    _place: dict[Any, int]

    def __init__(
        self,
        source: Iterable[Hashable],
        target: Iterable[Hashable],
        weight: ArrayLike | None = None,
        *,
        directed: bool = False,
        nodes: Iterable[Hashable] | None = None,
    ) -> None:
        ends, n_edges = _join(source, target)
        codes, ids = factorize(ends) if n_edges else (np.empty(0, np.int64), np.empty(0, object))
        one, other = codes[:n_edges], codes[n_edges:]
        values = _check_weights(weight, n_edges)
        _refuse_loops(one, other, ids)
        if nodes is not None:
            _refuse_unknown(ids, nodes)
        one, other, values = _merge(one, other, values, directed)
        for name, array in zip(self.__slots__[2:], (ids, one, other, values), strict=True):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "directed", bool(directed))
        object.__setattr__(self, "_place", {name: i for i, name in enumerate(ids.tolist())})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("A Graph is immutable; build a new one.")

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        return self

    def __reduce__(self) -> Any:
        ends = self.ids[self.source], self.ids[self.target]
        return partial(Graph, directed=self.directed), (*ends, self.weight)

    # Construction ------------------------------------------------------------------------------

    @classmethod
    @_explains(
        edges=(
            "array-like of shape (n_edges, 2) or sequence of pairs",
            "The ids at the two ends of each edge.",
        )
    )
    def from_edges(
        cls,
        edges: Any,
        weight: ArrayLike | None = None,
        *,
        directed: bool = False,
        nodes: Iterable[Hashable] | None = None,
    ) -> Graph:
        """Build from pairs of ids.

        Examples
        --------
        >>> Graph.from_edges([(1, 2), (2, 1)], weight=[0.5, 0.5])
        Graph(2 nodes, 1 edges, undirected)
        """
        if isinstance(edges, np.ndarray):
            if edges.ndim != 2 or edges.shape[1] != 2:
                raise ValueError(f"edges must have shape (n_edges, 2), got {edges.shape}.")
            return cls(edges[:, 0], edges[:, 1], weight, directed=directed, nodes=nodes)
        pairs = [tuple(edge) for edge in edges]
        for i, pair in enumerate(pairs):
            if len(pair) != 2:
                raise ValueError(f"Edge {i} is {pair!r}, expected a pair of ids.")
        ends = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return cls(*ends, weight, directed=directed, nodes=nodes)

    @classmethod
    @_explains(
        matrix=(
            "SciPy sparse matrix or array-like of shape (n_nodes, n_nodes)",
            "Weight of the edge from row to column; zero where there is none. Symmetric, unless "
            "edges are directed.",
        ),
        ids=("sequence of hashable of length n_nodes", "Ids of the rows; 0, 1, ... when None."),
    )
    def from_sparse(
        cls, matrix: Any, ids: Iterable[Hashable] | None = None, *, directed: bool = False
    ) -> Graph:
        """Build from a square matrix of weights.

        Examples
        --------
        >>> Graph.from_sparse([[0, 1], [1, 0]], ids=["a", "b"])
        Graph(2 nodes, 1 edges, undirected)
        """
        entries = sp.coo_array(matrix)
        if entries.shape[0] != entries.shape[1]:
            raise ValueError(f"A graph's matrix must be square, it has shape {entries.shape}.")
        if not directed and abs(entries - entries.T).max() > 0:
            raise ValueError("The matrix is not symmetric: pass directed=True, or symmetrize it.")
        names = np.arange(entries.shape[0]) if ids is None else as_names(ids)
        if len(names) != entries.shape[0]:
            raise ValueError(f"There are {len(names)} ids for {entries.shape[0]} rows.")
        rows, columns = entries.coords
        kept = (entries.data != 0) & (directed | (rows <= columns))
        ends = names[rows[kept]], names[columns[kept]]
        return cls(*ends, entries.data[kept], directed=directed)

    # What it is --------------------------------------------------------------------------------

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.source)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Graph({len(self.ids)} nodes, {self.n_edges} edges, {kind})"

    @_explains(factor="A positive number.")
    def scaled(self, factor: float) -> Graph:
        """Return the graph with all weights multiplied, as one view of several.

        Examples
        --------
        >>> Graph.from_edges([("a", "b")]).scaled(0.5).weight
        array([0.5])
        """
        if not 0 < factor < np.inf:
            raise ValueError(f"factor must be a positive number, it is {factor!r}.")
        ends = self.ids[self.source], self.ids[self.target]
        return Graph(*ends, factor * self.weight, directed=self.directed)

    def among(self, ids: Iterable[Hashable], what: str = "node") -> Edges:
        """Return the edges whose two ends are among these ids, by position.

        Parameters
        ----------
        ids : sequence of hashable
            The ids, without repeats.
        what : str, default="node"
            The name of a node in error messages.

        Returns
        -------
        Edges
            Ends numbered by position in ``ids``.

        Examples
        --------
        >>> Graph.from_edges([("a", "b"), ("b", "c")]).among(["a", "b"])
        Edges(source=array([0]), target=array([1]), weight=array([1.]), n_nodes=2, directed=False)
        """
        names = as_names(ids)
        position = np.full(len(self.ids), -1)
        for i, name in enumerate(names.tolist()):
            place = self._place.get(name)
            if place is None:
                continue
            if position[place] >= 0:
                raise ValueError(
                    f"The {what} id {name!r} occurs twice (positions {position[place]} and {i}): "
                    "its edges would be ambiguous. Give every one its own id."
                )
            position[place] = i
        source, target = position[self.source], position[self.target]
        kept = (source >= 0) & (target >= 0)
        weight = self.weight[kept]
        return Edges(source[kept], target[kept], weight, len(names), self.directed)


mark_removed_methods(Graph)


def _join(source: Any, target: Any) -> tuple[Any, int]:
    """Return sources and targets in one sequence, and the number of edges."""
    source, target = as_names(source), as_names(target)
    if len(source) != len(target):
        raise ValueError(f"There are {len(source)} sources but {len(target)} targets of edges.")
    if source.dtype.kind == target.dtype.kind != "O":
        return np.concatenate([source, target]), len(source)
    return as_names(source.tolist() + target.tolist()), len(source)


def _check_weights(weight: Any, n_edges: int) -> Array:
    values = np.ones(n_edges) if weight is None else np.array(weight, dtype=np.float64)
    if values.shape != (n_edges,):
        raise ValueError(f"There are {n_edges} edges, but the weights have shape {values.shape}.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        i = int(bad[0])
        raise ValueError(
            f"Edge {i} has weight {values[i]}: weights must be finite and not negative."
        )
    return values


def _refuse_loops(source: Array, target: Array, ids: Array) -> None:
    loops = np.flatnonzero(source == target)
    if len(loops):
        i = int(loops[0])
        name = ids.tolist()[source[i]]
        raise ValueError(f"Edge {i} joins {name!r} to itself: leave out self-loops.")


def _refuse_unknown(ids: Array, nodes: Iterable[Hashable]) -> None:
    known = set(as_names(nodes).tolist())
    unknown = [name for name in ids.tolist() if name not in known]
    if unknown:
        raise ValueError(
            f"An edge ends at {unknown[0]!r}, which is not among the {len(known)} nodes "
            f"({len(unknown)} such ids)."
        )


def _merge(
    source: Array, target: Array, weight: Array, directed: bool
) -> tuple[Array, Array, Array]:
    """Add the weights of repeated edges, in order of first appearance; drop zero weights."""
    kept = weight > 0
    source, target, weight = source[kept], target[kept], weight[kept]
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    pairs = np.stack([source, target], axis=1)
    _, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    total = np.bincount(group.ravel(), weight, minlength=len(first))
    return source[first[order]], target[first[order]], total[order]
