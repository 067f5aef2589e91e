"""The cells of the automatic model, candidates on shared folds, and the leaderboard they give.

A cell holds the scores of the held-out bags. Cells of the same fold share scaled bags and
statistics.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.pipeline import Pipeline

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, fit_weighted
from bagwise.errors import message_of
from bagwise.estimators.tags import bag_tags
from bagwise.model_selection.clock import Deadline, unwatch, watch
from bagwise.model_selection.runner import Record, Runner
from bagwise.models.statistics import Rows, share_statistics


@dataclass
class Trial:
    """What is known about a candidate: scores by fold, or the reason of its failure."""

    name: str
    estimator: Any
    cells: dict[int, Array] = field(default_factory=dict)  # held-out scores (n_test, columns)
    seconds: float = 0.0  # of CPU time
    failure: str = ""
    warned: list[str] = field(default_factory=list)

    @property
    def assumption(self) -> str:
        """What the candidate assumes to make a bag positive."""
        return bag_tags(getattr(self.estimator, "_final_estimator", self.estimator)).assumption

    def note(self, record: Record) -> None:
        """Take in the record of a cell."""
        self.seconds += record["seconds"]
        self.failure = self.failure or record.get("failure", "")
        self.warned += record["warned"]
        if "scores" in record:
            self.cells[record["fold"]] = np.asarray(record["scores"])
            self.cells = dict(sorted(self.cells.items()))

    def gather_scores(self, splits: list[tuple[Array, Array]], n_bags: int) -> Array:
        """Return the scores of all bags, NaN where the fold was not run."""
        columns = next(iter(self.cells.values())).shape[1]
        scores = np.full((n_bags, columns), np.nan)
        for fold, cell in self.cells.items():
            scores[splits[fold][1]] = cell
        return scores


@dataclass(frozen=True)
class FoldCell:
    """A candidate on a fold."""

    name: str
    estimator: Any
    fold: int

    @property
    def head(self) -> Record:
        """What the record says besides the result."""
        return {"cell": self.id, "model": self.name, "fold": self.fold}

    @property
    def id(self) -> str:
        """A hash of what the result depends on besides the data, which name the store."""
        return hashlib.sha256(f"{self.fold}/{self.estimator!r}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Track:
    """The data that all candidates see, and the folds."""

    bags: Bags
    y: Array
    weight: Array
    splits: list[tuple[Array, Array]]
    token: str = field(default_factory=lambda: uuid4().hex)  # what workers keep is of this fit

    def run(
        self,
        runner: Runner,
        trials: list[Trial],
        find_useless: Callable[[], dict[str, str]] = dict,
    ) -> Any:
        """Fill in the cells, fold by fold, in the order of the trials; yield each record.

        ``find_useless()`` returns the names of trials that need no second fold, with the reason.
        """
        by_name = {trial.name: trial for trial in trials}
        folds = range(len(self.splits))
        cells = [FoldCell(t.name, t.estimator, fold) for fold in folds for t in trials]
        first, others = cells[: len(trials)], cells[len(trials) :]
        for now, later in ((first, others), (others, [])):
            for cell, record in runner.run(now, later):
                by_name[cell.name].note(record)
                yield record
            runner.left_out |= find_useless() if later else {}

    def judge(self, cell: FoldCell, until: Deadline) -> Record:
        """Return the scores of the held-out bags of a fold."""
        split = self.splits[cell.fold]
        model = watch(cell.estimator, until)
        data, key = (self.bags, self.y, self.weight), (self.token, cell.fold)
        scores = _score_held_out(model, data, split, key)
        return {"scores": scores.reshape(len(split[1]), -1).tolist()}

    def refit(self, trial: Trial, until: Deadline) -> Any:
        """Fit a candidate to all bags."""
        model = watch(trial.estimator, until)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit_weighted(model, self.bags, self.y, self.weight)
        trial.warned += [str(message_of(warning.message)) for warning in caught]
        return unwatch(model)


# What cells of a fold share -----------------------------------------------------------------------


def _score_held_out(
    model: Any, data: tuple[Bags, Array, Array], split: tuple[Array, Array], key: tuple[str, int]
) -> Array:
    bags, y, weight = data
    train = split[0]
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    last = model.steps[-1][1] if steps else model
    view = (*key, repr(steps))
    seen, held_out = _views.view(view, bags, y, split, [step for _, step in steps])
    with share_statistics(_views.statistics):
        fit_weighted(last, seen, y[train], weight[train])
        return bag_scores(last, held_out)


class _Views:
    """The two parts of the current fold as candidates see them, raw or scaled, and statistics."""

    def __init__(self) -> None:
        self.forget()

    def forget(self, fold: tuple[Any, ...] = ()) -> None:
        """Turn to a fold of which nothing is known."""
        self.fold = fold
        self.parts: dict[str, tuple[Bags, Bags]] = {}
        self.statistics: Rows = {}

    def view(
        self,
        view: tuple[str, int, str],
        bags: Bags,
        y: Array,
        split: tuple[Array, Array],
        steps: list[Any],
    ) -> tuple[Bags, Bags]:
        """Return training and held-out bags behind the steps, which see the training bags."""
        *fold, name = view
        if self.fold != tuple(fold):
            self.forget(tuple(fold))
        if name not in self.parts:
            train, test = bags[split[0]], bags[split[1]]
            for step in steps:
                train, test = step.fit_transform(train, y[split[0]]), step.transform(test)
            self.parts[name] = train, test
        return self.parts[name]


_views = _Views()


def forget_shared() -> None:
    """Forget scaled bags and statistics of this process."""
    _views.forget()


# The leaderboard ----------------------------------------------------------------------------------


def results(
    judge: Callable[[Array, Array], dict[str, float]],
    splits: list[tuple[Array, Array]],
    trials: Sequence[Trial],
    weights: Mapping[str, float],
    ensemble: tuple[Array, Array],
) -> list[Record]:
    """Return the row of the ensemble, and one per candidate.

    ``judge(scores, bags)`` returns the metric of scores with "low" and "high", its 95 % interval.
    ``weights`` are those of the members by name, ``ensemble`` its cross-fitted scores as users see
    them with the numbers of the bags that they belong to. "seconds" are of CPU time.
    """
    total = sum(trial.seconds for trial in trials)
    n_folds = max(len(trial.cells) for trial in trials)
    own = judge(*ensemble)
    first = {"model": "ensemble", **own, "weight": 1.0, "seconds": total}
    return [first | {"folds": n_folds, "failure": "", "warnings": ""}] + [
        {
            "model": trial.name,
            **(_of_trial(judge, splits, trial) if trial.cells else dict.fromkeys(own, np.nan)),
            "weight": weights.get(trial.name, 0.0),
            "seconds": trial.seconds,
            "folds": len(trial.cells),
            "failure": trial.failure,
            "warnings": " ".join(sorted(set(trial.warned))),
        }
        for trial in trials
    ]


def _of_trial(judge: Callable[..., Any], splits: list[tuple[Array, Array]], trial: Trial) -> Any:
    bags = np.concatenate([splits[fold][1] for fold in trial.cells])
    scores = np.concatenate(list(trial.cells.values()))
    return judge(scores[:, 0] if scores.shape[1] == 1 else scores, bags)
