"""What `GraphSVC` and its search share: parameters, labeled and unlabeled bags, their edges."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.designs import matrix_design
from bagwise.estimators.params import (
    Words,
    param,
    positive,
    shared,
)
from bagwise.estimators.rows import RowsClassifier
from bagwise.estimators.tags import BagTags
from bagwise.graphs import Graph
from bagwise.models.graph.structure import (
    Structure,
    find_present_edges,
    homophily,
    pad,
    views_of,
)


class GraphClassifier(RowsClassifier):
    """Classifier of bags joined by graphs; a subclass adds ``_fit_structure``.

    Attributes
    ----------
    homophily_ : float
        Fraction of the edges between labeled bags that join equal labels; NaN without such edges.
    instance_homophily_ : float
        The same for edges between instances of labeled bags.
    n_edges_ : tuple of int
        Number of edges of the two graphs that took part.
    """

    _linear_design = staticmethod(matrix_design)

    bag_graph: Any = param(
        None,
        [Graph, list, tuple, None],
        "Edges between bag ids (B-MILSD). Several graphs are views of the same bags: each has a "
        "term of its own, with its own number of edges and degrees; `Graph.scaled` weights it.",
        kind="Graph, list of Graph or None",
    )
    instance_graph: Any = param(
        None,
        [Graph, list, tuple, None],
        "Edges between instance ids (I-MILSD; with both graphs BI-MILSD), or several views.",
        kind="Graph, list of Graph or None",
    )
    scaling: str = param(
        "out",
        Words("out", "symmetric", "none"),
        "Scores are divided by the square root of the number of edges that leave (or touch) a "
        "node, or compared as they are.",
    )
    negatives: str = param(
        "bags",
        Words("bags", "instances", "witnesses"),
        "One slack per negative bag, as in the paper; one per negative instance, as in "
        '`WitnessSVC`; or with "witnesses" one per bag for its witness only, as the paper prints '
        "the convex problems. The objective may then rise, which comes with a warning.",
    )
    tol: float = param(
        1e-4,
        positive(),
        "Precision of the mean loss, and of the mean difference along edges, at which the cutting "
        "plane method stops.",
    )
    fit_intercept: bool = param(True, ["boolean"], "Learn an intercept, penalized like a weight.")
    kernel: Any = shared("kernel", default="linear")
    max_iter: int = shared("max_iter")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; cutting planes stop at their precision."""
        exact = self.kernel == "linear" and not self.bag_graph and not self.instance_graph
        tolerance = 1e-5 if exact else 0.1
        return replace(super().__bag_tags__(), tolerance=tolerance, instance_rows=False)

    def _fit_structure(
        self, structure: Structure, everyone: Bags, codes: Array, weight: Array
    ) -> None:
        raise NotImplementedError

    def fit(self, bags: Any, y: Any, sample_weight: Any = None, unlabeled: Any = None) -> Self:
        """Learn from labeled bags and, through the graphs, from unlabeled bags.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The labeled bags; `Bags` with ids where there is a graph.
        y : array-like of shape (n_bags,)
            One label per bag, of two classes or more.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag; it multiplies every loss of the bag.
        unlabeled : Bags, or anything check_bags takes, default=None
            Bags that take part by their edges alone. ``threshold="calibrated"`` and
            ``probability`` use the labeled ones only.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(bags, y, sample_weight, unlabeled=unlabeled)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array, unlabeled: Any = None) -> None:
        everyone = self._join_bags(bags, self._validate_unlabeled(bags, unlabeled))
        structure = self._structure(everyone, pad(weight, len(everyone)))
        self._note_homophily(structure, pad(codes, structure.n_bags, -1))
        self._fit_structure(structure, everyone, codes, weight)

    def _validate_unlabeled(self, bags: Bags, unlabeled: Any) -> Bags | None:
        if unlabeled is None:
            return None
        width = getattr(unlabeled, "n_features", bags.n_features)
        if width != bags.n_features:
            raise ValueError(
                f"The unlabeled bags have {width} features, the labeled ones have "
                f"{bags.n_features}: both need the same columns."
            )
        return self._validate_bags(unlabeled, reset=False)

    def _join_bags(self, bags: Bags, others: Bags | None) -> Bags:
        """Return all bags that take part; those without labels do so by edges only."""
        self._check_graph_ids(bags, others)
        graphs = bool(self.bag_graph or self.instance_graph)
        return Bags.concat([bags, others]) if graphs and others is not None else bags

    def _check_graph_ids(self, bags: Bags, others: Bags | None) -> None:
        for part in [bags] if others is None else [bags, others]:
            for graph, has, what in (
                (self.bag_graph, part.has_ids, "bag"),
                (self.instance_graph, part.has_instance_ids, "instance"),
            ):
                if graph and not has:
                    name = "ids" if what == "bag" else "instance_ids"
                    raise ValueError(
                        f"The {what}s have no ids of their own, so the edges of {what}_graph "
                        f"cannot find them: build the Bags with {name}."
                    )

    def _structure(self, bags: Bags, weight: Array) -> Structure:
        views = views_of(self.bag_graph, "bag_graph")
        of_bags = find_present_edges(views, "bag", bags.ids, bags.instance_ids)
        views = views_of(self.instance_graph, "instance_graph")
        of_rows = find_present_edges(views, "instance", bags.instance_ids, bags.ids)
        self.n_edges_ = tuple(sum(map(len, views)) for views in (of_bags, of_rows))
        design = self._design(bags, expand(weight, bags.offsets))
        return Structure(design, bags.offsets, of_bags, of_rows)

    def _note_homophily(self, structure: Structure, codes: Array) -> None:
        of_rows = expand(codes, structure.offsets)
        self.homophily_ = homophily(structure.bag_edges, codes)
        self.instance_homophily_ = homophily(structure.row_edges, of_rows)
        for value, what in ((self.homophily_, "bag"), (self.instance_homophily_, "instance")):
            if value < 0.5:
                warnings.warn(
                    f"Only {value:.0%} of the edges of {what}_graph between labeled bags join "
                    "equal labels: pulling their scores together works against the labels. Try "
                    "mu=0, or another graph.",
                    stacklevel=4,
                )

    def _labeled_truth(self, codes: Array, weight: Array) -> Array:
        # A bag without weight is no positive bag: it must not choose a witness.
        return self._truth(codes) & (weight > 0)[:, None]
