"""`Comparison`: what a comparison found, and how sure it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._typing import Array
from bagwise.catalog import rank_cost
from bagwise.crossfit import decides_badly
from bagwise.estimators.tags import bag_tags
from bagwise.metrics import bag_measures
from bagwise.model_selection.intervals import (
    Difference,
    Estimate,
    Sample,
    difference,
    estimate,
    holm,
    limits_of_best,
)
from bagwise.model_selection.nested import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class Compared:
    """The result of one model.

    Parameters
    ----------
    name : str
        Its name.
    model : BagClassifier
        The estimator, without the chosen parameters.
    records : list of dict
        One per outer fold that was judged: repeat, fold, scores, point, seconds, and what was
        warned of; or "failure".
    failure : str
        Why it has no result; empty if it has one.
    estimates : dict of str to Estimate
        By metric; empty where it has no result.

    Examples
    --------
    >>> from bagwise.model_selection import Compared
    >>> records = [{"seconds": 1.0, "point": {"C": 3.0}}, {"seconds": 2.0, "point": {"C": 3.0}}]
    >>> result = Compared("SIL", None, records)
    >>> result.seconds, result.usual_point
    (1.5, {'C': 3.0})
    """

    name: str
    model: Any
    records: list[dict[str, Any]]
    failure: str = ""
    estimates: dict[str, Estimate] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """CPU seconds per outer fold."""
        return float(np.mean([r["seconds"] for r in self.records])) if self.records else 0.0

    @property
    def warned(self) -> list[str]:
        """The warnings of all fits."""
        return [text for record in self.records for text in record.get("warned", ())]

    @property
    def usual_point(self) -> dict[str, Any]:
        """The grid point that was chosen most often; the first of equals."""
        points = [record["point"] for record in self.records if "point" in record]
        counts = Counter(tuple(point.items()) for point in points)
        return dict(counts.most_common(1)[0][0]) if counts else {}

    @property
    def usual_scale(self) -> str:
        """The scaling that was chosen most often."""
        counts = Counter(record["scale"] for record in self.records if "scale" in record)
        return counts.most_common(1)[0][0] if counts else "raw"

    @property
    def instance_scores(self) -> str:
        """How it points at instances: "exact", "occlusion", or "" where it does not."""
        return bag_tags(self.model).instance_scores

    @property
    def decides_badly(self) -> bool:
        """Whether it ranks bags well and calls many wrong, at the threshold of inner folds."""
        rates = {metric: one.value for metric, one in self.estimates.items()}
        return "sensitivity" in rates and decides_badly(rates) is not None


@dataclass(frozen=True)
class Comparison:
    """Models, judged on the same folds.

    Parameters
    ----------
    models : dict of str to BagClassifier
        All models that were to be compared.
    records : list of dict
        What was judged so far, in any order.
    sample : Sample
        The bags.
    folds : list of ndarray
        The outer fold of each bag, one array per repeat.
    protocol : Protocol
        How models are judged.
    left_out : dict of str to str
        Methods that were not compared, or not to the end, and why.
    stopped : {"", "time", "interrupted"}
        Why it ended before everything was done.
    ahead : tuple of str and float
        The model that is to be judged next, and about how many seconds that would take.
    known : dict
        Estimates by model and number of whole repeats, which later states of a run share.

    Examples
    --------
    >>> from bagwise import InstanceSVC, WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import compare
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear")}
    >>> comparison = compare(bags, y, models, cv=3, n_repeats=1)
    >>> comparison.groups, comparison.more_bags
    ([('MI-SVM', 'SIL')], 63)
    """

    models: dict[str, Any]
    records: list[dict[str, Any]]
    sample: Sample
    folds: list[Array]
    protocol: Protocol
    left_out: dict[str, str] = field(default_factory=dict)
    stopped: str = ""
    ahead: tuple[str, float] = ("", 0.0)
    known: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False, compare=False)

    # Results --------------------------------------------------------------------------------------

    @cached_property
    def results(self) -> dict[str, Compared]:
        """The models that have a result, the best first, by name."""
        known = [one for one in self._found if one.estimates]
        metric = self.protocol.metric
        return {one.name: one for one in sorted(known, key=lambda r: -r.estimates[metric].value)}

    @property
    def failures(self) -> dict[str, str]:
        """The models that could not be fitted, and why."""
        return {one.name: one.failure for one in self._found if one.failure and not one.estimates}

    @cached_property
    def _found(self) -> list[Compared]:
        return [self._summarize(name) for name in self.models]

    @property
    def unfinished(self) -> dict[str, int]:
        """The models that wait for a result, and how many of their outer folds were judged."""
        known = {**self.results, **self.failures, **self.left_out}
        rest = [name for name in self.models if name not in known]
        return {name: len(self._records_of(name)) for name in rest}

    @property
    def n_repeats(self) -> int:
        """The largest number of whole repeats that a model has."""
        metric = self.protocol.metric
        return max((len(r.estimates[metric].values) for r in self.results.values()), default=0)

    def _records_of(self, name: str) -> list[dict[str, Any]]:
        last = {(r["repeat"], r["fold"]): r for r in self.records if r["model"] == name}
        return [last[key] for key in sorted(last)]

    def _summarize(self, name: str) -> Compared:
        records = self._records_of(name)
        good = [record for record in records if "scores" in record]
        failure = next((record["failure"] for record in records if "failure" in record), "")
        counts = Counter(record["repeat"] for record in good)
        whole = list(takewhile(lambda r: counts[r] == self.protocol.cv, range(len(self.folds))))
        if (name, len(whole)) not in self.known:
            scores = [self._out_of_fold(good, repeat) for repeat in whole]
            given = self.sample, scores, self.folds[: len(whole)]
            metrics = self.sample.metrics if whole else ()
            self.known[name, len(whole)] = {metric: estimate(metric, *given) for metric in metrics}
        return Compared(name, self.models[name], good, failure, self.known[name, len(whole)])

    def _out_of_fold(self, records: list[dict[str, Any]], repeat: int) -> Array:
        mine = [record for record in records if record["repeat"] == repeat]
        scores = np.empty((len(self.sample.y), *np.shape(mine[0]["scores"])[1:]))
        for record in mine:
            scores[self.folds[repeat] == record["fold"]] = record["scores"]
        return scores

    # What it says ---------------------------------------------------------------------------------

    def difference(self, first: str, second: str, metric: str | None = None) -> Difference:
        """Compare two models, bag by bag.

        Parameters
        ----------
        first, second : str
            Names.
        metric : str, default=None
            The metric; that of the comparison when None.

        Returns
        -------
        Difference
            The first minus the second, with standard error and p-value.
        """
        one, other = (self.results[name].estimates for name in (first, second))
        metric = metric or self.protocol.metric
        return difference(self.sample, one[metric], other[metric])

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """Models that the bags cannot tell from the best; then the same among the others.

        The first group holds the truly best model with a probability of 95 %: a model leaves it
        where it is further behind another one than the best of all models would be by chance.
        """
        left, groups = list(self.results), []
        while left:
            tied = self._find_tied(left)
            groups.append(tuple(tied))
            left = [name for name in left if name not in tied]
        return groups

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The longest runs of models, by position, that the bags cannot tell from the first."""
        names = list(self.results)
        runs: list[tuple[int, int]] = []
        for first in range(len(names)):
            tied = self._find_tied(names[first:])
            last = first + len(list(takewhile(tied.__contains__, names[first:]))) - 1
            if last > first and (not runs or last > runs[-1][1]):
                runs.append((first, last))
        return runs

    @cached_property
    def _t_values(self) -> Array:
        """How much better the model of the column is than that of the row, in standard errors."""
        names = list(self.results)
        table = np.zeros((len(names), len(names)))
        for i, first in enumerate(names):
            for j, second in enumerate(names[:i]):
                table[i, j] = self.difference(second, first).t_value
                table[j, i] = -table[i, j]
        return table

    @cached_property
    def _draws(self) -> Array:
        metric = self.protocol.metric
        parts = [one.estimates[metric].parts[0] for one in self.results.values()]
        return self.sample.draws(np.array(parts))

    def _limits(self, names: list[str]) -> Array:
        """Return how far behind each model may be, in standard errors, and yet be the best."""
        at = [list(self.results).index(name) for name in names]
        return limits_of_best(self._draws[:, at], self.sample.freedom)

    def _find_tied(self, names: list[str]) -> list[str]:
        """Return the first name and those that may be as good."""
        at = [list(self.results).index(name) for name in names]
        same = self._t_values[np.ix_(at, at)].max(axis=1) <= self._limits(names)
        same[0] = True
        return [name for name, is_tied in zip(names, same, strict=True) if is_tied]

    @property
    def recommendation(self) -> str:
        """The model to take: the simplest of the best that points at instances.

        The choice is between models tied with the best and at most one standard error of their
        difference behind it. Those that rank bags well and decide badly come last. Exact instance
        scores come before those by occlusion, and these before none; then the cost rank of the
        method decides, and the metric among equals.
        """
        if not self.groups:
            raise ValueError("No model has a result.")
        best, kinds, order = self.groups[0][0], ["exact", "mixed", "occlusion", ""], {}
        for name in self.groups[0]:
            against = self.difference(best, name)
            if against.value <= against.error:
                kind = kinds.index(self.results[name].instance_scores)
                order[name] = self.results[name].decides_badly, kind, rank_cost(name)
        return min(order, key=lambda name: order[name])

    @property
    def more_bags(self) -> int | None:
        """How many more bags might tell the first from the last of the best group, roughly.

        None where there is nothing to tell apart, or where no number is enough.
        """
        if not self.groups or len(self.groups[0]) == 1:
            return None
        names, last = list(self.results), self.groups[0][-1]
        limit = self._limits(names)[names.index(last)]
        more = self.difference(names[0], last).more_bags(len(self.sample.y), float(limit))
        if more == 0 or np.isinf(more):
            return None
        unit = 10 ** max(0, int(np.log10(more)) - 1)
        return int(np.ceil(more / unit) * unit)

    @property
    def positive(self) -> Any:
        """The positive class; None for more than two classes, and for no classes."""
        if len(self.sample.classes) != 2:
            return None
        named = (getattr(model, "pos_label", None) for model in self.models.values())
        return next((each for each in named if each is not None), self.sample.classes.tolist()[1])

    @property
    def majority(self) -> dict[str, float]:
        """What always predicting the most frequent label would have; of other tasks, chance."""
        if self.sample.task != "classes":
            return self.sample.chance
        y, classes = self.sample.y, self.sample.classes
        most = int(np.argmax([np.sum(y == label) for label in classes]))
        scores = (
            np.full(len(y), 2.0 * most - 1)
            if len(classes) == 2
            else np.eye(len(classes))[np.full(len(y), most)]
        )
        values = bag_measures(y, scores, classes, self.sample.metrics, self.sample.positive)
        return {name: float(value or 0.0) for name, value in values.items()}

    @property
    def reversed_models(self) -> list[str]:
        """Models of two classes whose AUC is below one half, with the whole interval."""
        two = len(self.sample.classes) == 2
        results = self.results.values() if two else ()
        return [one.name for one in results if one.estimates["auc"].high < 0.5]

    # As a table and as a figure -------------------------------------------------------------------

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record per model, the best first and failures last.

        Returns
        -------
        list of dict
            The rows of `frame`.
        """
        group_of = {name: i for i, group in enumerate(self.groups, 1) for name in group}
        best = next(iter(self.results), "")
        rows = []
        for name, one in self.results.items():
            row: dict[str, Any] = {"model": name, "group": group_of[name]}
            for metric, found in one.estimates.items():
                limits = {f"{metric}_low": found.low, f"{metric}_high": found.high}
                row |= {metric: found.value, **limits}
            against = self.difference(best, name)
            row |= {"behind": against.value, "p_value": against.p_value}
            row |= {"repeats": len(found.values), "seconds": one.seconds}
            row |= {"instance_scores": one.instance_scores, "chosen": one.usual_point}
            row |= {"scale": one.usual_scale}
            rows.append(row | {"code": repr(one.model), "failure": ""})
        failed = [{"model": name, "failure": why} for name, why in self.failures.items()]
        return rows + failed

    @property
    def frame(self) -> DataFrame:
        """The table: one row per model, the best first and failures last."""
        from pandas import DataFrame

        return DataFrame(self.to_records())

    def p_values(self, *, corrected: bool = False) -> DataFrame:
        """Return the p-values of all paired tests.

        Parameters
        ----------
        corrected : bool, default=False
            Whether to correct for the number of pairs (Holm).

        Returns
        -------
        pandas.DataFrame
            One row and one column per model.
        """
        from pandas import DataFrame

        names = list(self.results)
        table = np.array([[self.difference(a, b).p_value for b in names] for a in names])
        if corrected:
            pairs = np.triu_indices(len(names), 1)
            table[pairs] = table.T[pairs] = holm(table[pairs])
        return DataFrame(table, index=names, columns=names)

    def plot(self, metric: str | None = None) -> Figure:
        """Draw the models with their intervals; bars join those that cannot be told apart.

        Parameters
        ----------
        metric : str, default=None
            The metric; that of the comparison when None.

        Returns
        -------
        matplotlib.figure.Figure
            One line per model, the best on top.
        """
        from bagwise.plot import compared_models

        return compared_models(self, metric or self.protocol.metric)
