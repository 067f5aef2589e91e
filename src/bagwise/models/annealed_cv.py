"""ALP-SVM over a grid of C, C2 and p*: one Gram matrix, one inverse a C, folds by Schur complement.

Gehler & Chapelle (2007) choose C, C2 and p* by 10-fold cross-validation over 40 points: 400
annealing runs. All of them share the Gram matrix (and with it gamma, chosen on all training
instances). (I + 2C K)^-1 is computed once a C; a fold's inverse follows from it by a Schur
complement of the size of the held-out part, and all runs of a fold share their first problem.
Runs of the search take one Newton step an alternation, in float32 where the kernel is a matrix,
cool on and end earlier, and skip the certificate: on tiger, elephant and musk1 their accuracies lie
2 points (root mean square) from those of runs in full, without bias, less than the standard error
of 3 that so few bags have. The model that is kept is fitted in full.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from bagwise._docs import described
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.designs import Design, Gram, Point
from bagwise.models.annealed import AnnealedProportionSVC, anneal_task
from bagwise.models.rows import Task
from bagwise.segments import expand

__all__ = ["AnnealedProportionSVCCV", "annealed_path"]

Array = NDArray[Any]

_SEARCH_REST = 0.1  # divergence at which a run of the search cools on
_SEARCH_ENTROPY = 1e-2  # an instance, at which it ends
_TENTHS = tuple(np.round(np.arange(0.1, 1.01, 0.1), 1))


def annealed_path(
    bags: Any,
    y: Any,
    *,
    C: Any = (0.5, 5.0),
    C2: Any = (0.5, 5.0),
    p_star: Any = _TENTHS,
    estimator: AnnealedProportionSVC | None = None,
    sample_weight: Any = None,
) -> list[AnnealedProportionSVC]:
    """Fit ALP-SVM at every point of a grid, sharing all that can be shared.

    Parameters
    ----------
    bags : Bags, or anything check_bags takes
        The training bags.
    y : array-like of shape (n_bags,)
        One label a bag.
    C, C2, p_star : sequence of float
        The grid. The defaults are the paper's, in our convention.
    estimator : AnnealedProportionSVC, default=None
        All other parameters.
    sample_weight : array-like of shape (n_bags,), default=None
        One weight a bag.

    Returns
    -------
    list of AnnealedProportionSVC
        Fitted models, C slowest, then C2, then p_star.

    Examples
    --------
    >>> from bagwise import annealed_path
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> models = annealed_path(bags, [1, 0, 1, 0], C=[1.0], C2=[1.0], p_star=[0.3, 0.5])
    >>> [(m.p_star, round(m.history_[-1]["p_hat"], 1)) for m in models]
    [(0.3, 0.5), (0.5, 0.5)]
    """
    template = clone(estimator) if estimator is not None else AnnealedProportionSVC()
    checked, codes, of_bags, weight = template._validated(bags, y, sample_weight)
    design = template._design(checked, expand(weight, checked.offsets))
    models = []
    for penalty in C:
        clone(template).set_params(C=penalty)._validate_params()
        _prepare(design, template, penalty * expand(weight, checked.offsets))
        for square, fraction in product(C2, p_star):
            model = clone(template).set_params(C=penalty, C2=square, p_star=fraction)
            model._validate_params()
            model.__dict__.update(_fitted_state(template))
            model._fit_on(design, checked, codes, weight)
            model._settle_threshold(checked, codes, of_bags, weight)
            models.append(model)
    return models


def _fitted_state(template: Any) -> dict[str, Any]:
    return {k: v for k, v in vars(template).items() if k.endswith("_") and not k.startswith("_")}


def _prepare(design: Design, model: AnnealedProportionSVC, weight: Array) -> None:
    if model.loss == "squared_hinge":
        design.prepare(2 * weight)


@described
class AnnealedProportionSVCCV(AnnealedProportionSVC):
    """ALP-SVM that chooses C, C2 and p* by cross-validation.

    Parameters
    ----------
    Cs : sequence of float, default=(0.5, 5.0)
        Candidates for C.
    C2s : sequence of float, default=(0.5, 5.0)
        Candidates for C2.
    p_stars : sequence of float, default=(0.1, 0.2, ..., 1.0)
        Candidates for p*.
    cv : int, default=10
        Folds; they keep ``bags.groups`` together. Also those of ``threshold`` and ``probability``.
    variance : bool, default=True
        As in `AnnealedProportionSVC`.
    start : {"uniform", "labels"}, default="uniform"
        As in `AnnealedProportionSVC`.
    %(annealing_parameters)s
    %(kernel_parameters)s
    class_weight : "balanced", dict or None, default=None
        Weights of the classes; "balanced" counts bags.
    pos_label : label, default=None
        The class whose bags hold witnesses; ``classes_[1]`` when not given. Two classes only.
    threshold : float or "calibrated", default=0.0
        Bag score above which a bag is positive; "calibrated" chooses it on out-of-fold scores.
    probability : False or "sigmoid", default=False
        With "sigmoid" there is ``predict_proba``, fitted to out-of-fold scores.
    max_iter : int, default=100
        Most alternations at one temperature.
    n_jobs : int, default=None
        Folds run at the same time.
    random_state : int, RandomState or None, default=None
        Seed of the folds; None is seed 0.
    verbose : int, default=0
        Print the accuracy of each grid point.
    callback : callable, default=None
        Called with the record of each temperature of the final fit.

    Attributes
    ----------
    C_, C2_, p_star_ : float
        The chosen grid point: the most accurate, ties to the smaller C, C2, p*.
    cv_results_ : list of dict
        C, C2, p_star, accuracy and p_hat (mean over folds) of each grid point.
    %(rows_attributes)s

    See Also
    --------
    AnnealedProportionSVC : At one grid point.
    annealed_path : Every model of a grid.

    Examples
    --------
    >>> from bagwise import AnnealedProportionSVCCV
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=30, shift=3.0, random_state=0)
    >>> model = AnnealedProportionSVCCV(Cs=[1.0], C2s=[1.0], p_stars=[0.1, 0.5], cv=3)
    >>> model.fit(bags, y).p_star_ in (0.1, 0.5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in AnnealedProportionSVC._parameter_constraints.items()
            if name not in ("C", "C2", "p_star")
        },
        "Cs": ["array-like"],
        "C2s": ["array-like"],
        "p_stars": ["array-like"],
    }

    def __init__(
        self,
        Cs=(0.5, 5.0),
        C2s=(0.5, 5.0),
        p_stars=_TENTHS,
        *,
        cv=10,
        variance=True,
        start="uniform",
        T0=10.0,
        cooling=1.5,
        tol=1e-2,
        newton_steps=None,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        max_iter=100,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        super().__init__(
            variance=variance,
            start=start,
            T0=T0,
            cooling=cooling,
            tol=tol,
            newton_steps=newton_steps,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        del self.C, self.C2, self.p_star
        self.Cs = Cs
        self.C2s = C2s
        self.p_stars = p_stars

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._check_grid()
        row_weight = expand(weight, bags.offsets)
        design = self._design(bags, row_weight)
        used = np.flatnonzero(weight > 0)  # a bag without weight is in no fold
        seed = 0 if self.random_state is None else self.random_state
        numbered = folds(bags, self.classes_[codes], self.cv, seed, weight > 0)
        splits = [(used[train], used[test]) for train, test in numbered]
        self.cv_results_ = []
        for penalty in self.Cs:
            _prepare(design, self, penalty * row_weight)
            self.cv_results_ += self._search(design, bags, codes, weight, splits, penalty)
        best = max(self.cv_results_, key=lambda record: record["accuracy"])
        self.C_, self.C2_, self.p_star_ = best["C"], best["C2"], best["p_star"]
        model = self._at(self.C_, self.C2_, self.p_star_)
        model._fit_on(design.fresh(), bags, codes, weight)
        self.__dict__.update(_fitted_state(model))

    def _check_grid(self) -> None:
        grid = list(product(self.Cs, self.C2s, self.p_stars))
        if not grid:
            raise ValueError("Cs, C2s and p_stars need at least one value each.")
        for point in grid:
            self._at(*point)._validate_params()

    def _at(self, C: float, C2: float, p_star: float) -> AnnealedProportionSVC:
        shared = self.get_params(deep=False)
        for name in ("Cs", "C2s", "p_stars"):
            del shared[name]
        model = AnnealedProportionSVC(C=C, C2=C2, p_star=p_star, **shared)
        model.__dict__.update(_fitted_state(self))
        return model

    def _search(
        self,
        design: Design,
        bags: Bags,
        codes: Array,
        weight: Array,
        splits: list[tuple[Array, Array]],
        C: float,
    ) -> list[dict[str, Any]]:
        """Return the records of all C2 and p* at one C."""
        grid = list(product(self.C2s, self.p_stars))
        models = [self._at(C, *point) for point in grid]
        if isinstance(design, Gram):
            design = design.astype(np.float32)
        jobs = Parallel(n_jobs=self.n_jobs)
        parts = jobs(
            delayed(_held_out)(design, models, bags, codes, weight, train, test)
            for train, test in splits
        )
        mass = weight.sum()
        hits = np.sum([part[0] for part in parts], axis=0) / mass
        p_hats = np.mean([part[1] for part in parts], axis=0)
        records = [
            {"C": C, "C2": C2, "p_star": p_star, "accuracy": hit, "p_hat": p_hat}
            for (C2, p_star), hit, p_hat in zip(grid, hits, p_hats, strict=True)
        ]
        for record in records:
            self._report(record)
        return records


def _held_out(
    design: Design,
    models: list[AnnealedProportionSVC],
    bags: Bags,
    codes: Array,
    weight: Array,
    train: Array,
    test: Array,
) -> tuple[Array, Array]:
    """Return the weight of rightly classified test bags, and p-hat, of each model on one fold."""
    train, test = np.sort(train), np.sort(test)  # rows of a subset keep their order
    rows, test_rows = _rows_of(bags, train), _rows_of(bags, test)
    part, held_out = bags[train], bags[test]
    narrow = design.subset(rows)
    first: list[Point | None] = [None] * len(models[0]._truth(codes).T)
    hits, p_hats = [], []
    for model in models:
        columns, fractions = [], []
        for k, task in enumerate(model._tasks(narrow, part, codes[train], weight[train])):
            point, p_hat, first[k] = _quick(model, task, first[k])
            columns.append(_scores(design, rows, test_rows, point) + point.intercept)
            fractions.append(p_hat)
        scores = model._assumption().bag_score(np.stack(columns, axis=1), held_out.offsets)
        right = model._labels(model._user_scores(scores)) == model.classes_[codes[test]]
        hits.append(float(weight[test] @ right))
        p_hats.append(np.mean(fractions))
    return np.array(hits), np.array(p_hats)


def _rows_of(bags: Bags, selected: Array) -> Array:
    member = np.zeros(len(bags), dtype=bool)
    member[selected] = True
    return np.flatnonzero(expand(member, bags.offsets))


def _scores(design: Design, rows: Array, test_rows: Array, point: Point) -> Array:
    """Score held-out rows of the whole design by a point of its subset."""
    if isinstance(design, Gram):
        return (design.K[np.ix_(test_rows, rows)] @ point.coef).astype(np.float64)
    return (design @ point.coef)[test_rows]


def _quick(
    model: AnnealedProportionSVC, task: Task, first: Point | None
) -> tuple[Point, float, Point]:
    """Anneal with one Newton step an alternation; the first problem is the neighbour's."""
    softening = model._softening(task)
    start, schedule = model._start(task, softening), model._schedule()
    schedule = replace(
        schedule,
        rest=max(schedule.rest, _SEARCH_REST),
        entropy=max(schedule.entropy, _SEARCH_ENTROPY),
    )
    run = anneal_task(task, softening, start, schedule, newton_steps=1, first=first)
    return run.point, run.history[-1]["p_hat"], run.first
