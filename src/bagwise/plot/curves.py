"""How well a model does: ROC, precision and recall, and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.calibration import calibration_curve

from bagwise._typing import Array
from bagwise.crossfit.scores import LEVEL
from bagwise.metrics import bound_auc_of
from bagwise.plot._display import (
    NEUTRAL,
    Display,
    by_class,
    displays,
    draw_samples,
    plain,
    score_bags,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_GRID = np.linspace(0, 1, 201)  # steps of half a percent
_DRAWS = 500  # the 2.5 % quantile then rests on 12 draws


def _lowest(truth: Array, groups: Array | None) -> float:
    """Return what scores without an error still allow: drawing them again shows no error either.

    With n bags (or groups) of the rarer class and none wrong, a rate of right ones down to
    0.025^(1/n) is not excluded at this level.
    """
    units = np.arange(len(truth)) if groups is None else np.asarray(groups)
    rarer = min(len(set(units[part].tolist())) for part in (truth, ~truth))
    return float((LEVEL / 2) ** (1 / rarer))


@dataclass
class _Curve(Display):
    """A curve over [0, 1] with a 95 % band, by drawing bags (or groups) with replacement.

    Parameters
    ----------
    x, y : ndarray
        The curve.
    band : ndarray of shape (2, 201)
        Lower and upper end of the band at 0, .005, ..., 1.
    value : float
        The area under the curve, or the average precision.
    interval : tuple of float
        Its 95 % interval.
    chance : float
        The value of scores that know nothing.
    positive : object, default=None
        The positive class.
    """

    x: Array
    y: Array
    band: Array
    value: float
    interval: tuple[float, float]
    chance: float
    positive: Any = None

    @classmethod
    @displays(
        bags="Bags that the model has not seen.",
        name="Name of the curve in the legend; the class of the model when None.",
    )
    def from_estimator(
        cls, model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None, name: str | None = None
    ) -> Self:
        """Draw the curve of a fitted model on labeled bags."""
        seen = score_bags(model, bags, y)
        name = type(seen.model).__name__ if name is None else name
        groups = seen.bags.groups
        return cls.from_scores(
            seen.truth, seen.scores, groups=groups, positive=seen.positive, ax=ax, name=name
        )

    @classmethod
    @displays(
        scores=("array-like of shape (n_bags,)", "Scores that are high for positive bags."),
        groups=(
            "array-like of shape (n_bags,)",
            "Groups of bags that are drawn together for the band.",
        ),
        positive="What the positive class is called.",
        name="Name of the curve in the legend.",
    )
    def from_scores(
        cls,
        truth: ArrayLike,
        scores: ArrayLike,
        *,
        groups: Array | None = None,
        positive: Any = "positive",
        ax: Axes | None = None,
        name: str | None = None,
    ) -> Self:
        """Draw the curve of given scores, for example out-of-fold scores."""
        truth, scores = np.asarray(truth, dtype=bool), np.asarray(scores, dtype=np.float64)
        if not 0 < truth.sum() < len(truth):
            raise ValueError("The bags are all of one class: a curve needs both.")
        order = np.argsort(-scores, kind="stable")
        last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of equal scores
        hits, misses = truth[order], ~truth[order]

        def measure(weight: Array) -> tuple[Array, Array, float]:
            found = (np.cumsum(weight[order] * part)[last] for part in (hits, misses))
            return cls._measure(*found)

        draws = draw_samples(truth, groups, _DRAWS, 0)
        drawn = [measure(np.bincount(rows, minlength=len(truth))) for rows in draws]
        lines, values = [np.interp(_GRID, x, y) for x, y, _ in drawn], [area for *_, area in drawn]
        interval = cls._bound(truth, scores, groups, values)
        x, y, value = measure(np.ones(len(truth)))
        chance = float(truth.mean()) if cls._chance_is_prevalence else 0.5
        band = np.quantile(lines, [LEVEL / 2, 1 - LEVEL / 2], axis=0)
        return cls(x, y, band, value, interval, chance, positive).plot(ax, name=name)

    _axis_names = ("", "")
    _value_name = ""
    _chance_is_prevalence = False  # of scores that know nothing; otherwise the diagonal

    @staticmethod
    def _measure(hits: Array, misses: Array) -> tuple[Array, Array, float]:
        """Return the curve, and the area under it or the like.

        ``hits`` and ``misses`` are the positives and negatives down to each score, the highest
        first.
        """
        raise NotImplementedError

    @staticmethod
    def _bound(
        truth: Array, scores: Array, groups: Array | None, drawn: list[float]
    ) -> tuple[float, float]:
        """Return the 95 % interval of the area; by default from the areas of drawn bags."""
        low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
        return min(float(low), _lowest(truth, groups)), float(high)

    @displays(name="Name of the curve in the legend.")
    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw the curve."""
        ax = self._on(ax)
        low, high = self.interval
        head = "" if name is None else f"{plain(name)}: "
        label = f"{head}{self._value_name} {self.value:.3f} ({low:.3f} to {high:.3f})"
        (line,) = ax.plot(self.x, self.y, label=label)
        ax.fill_between(_GRID, *self.band, alpha=0.18, linewidth=0, color=line.get_color())
        ends = (self.chance, self.chance) if self._chance_is_prevalence else (0, 1)
        ax.plot([0, 1], ends, color=NEUTRAL, linewidth=0.8, linestyle="--")
        ax.set(xlabel=self._axis_names[0], ylabel=self._axis_names[1], xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(fontsize="small")
        return self


@dataclass
class RocDisplay(_Curve):
    """Receiver operating characteristic of bag scores, with a 95 % band.

    ``x`` and ``y`` are the rates of false and of true positives. The band comes from drawing bags
    with replacement, whole groups where ``bags.groups`` has them.

    Examples
    --------
    >>> others, truth = load_digits_bags(n_bags=60)
    >>> round(RocDisplay.from_estimator(model, others[20:], truth[20:]).value, 2)
    0.92
    """

    _axis_names = ("1 - specificity", "sensitivity")
    _value_name = "AUC"

    @staticmethod
    def _measure(hits: Array, misses: Array) -> tuple[Array, Array, float]:
        x, y = np.append(0, misses) / misses[-1], np.append(0, hits) / hits[-1]
        return x, y, float(np.trapezoid(y, x))

    @staticmethod
    def _bound(
        truth: Array, scores: Array, groups: Array | None, drawn: list[float]
    ) -> tuple[float, float]:
        """Return Newcombe's interval, which has a length also where no pair is wrong."""
        return bound_auc_of(truth, scores, groups)


@dataclass
class PrecisionRecallDisplay(_Curve):
    """Precision against recall of bag scores, with a 95 % band.

    ``x`` and ``y`` are recall and precision. The band comes from drawing bags with replacement,
    whole groups where ``bags.groups`` has them.

    Examples
    --------
    >>> from bagwise.plot import PrecisionRecallDisplay
    >>> shown = PrecisionRecallDisplay.from_scores([1, 1, 0, 0], [0.9, 0.2, 0.4, 0.1])
    >>> round(shown.value, 2), shown.chance
    (0.83, 0.5)
    """

    _axis_names = ("recall (sensitivity)", "precision (PPV)")
    _value_name = "average precision"

    _chance_is_prevalence = True

    @staticmethod
    def _measure(hits: Array, misses: Array) -> tuple[Array, Array, float]:
        # Down to the first bag that was drawn there is none, and nothing is wrong.
        precision, recall = (hits + 1e-300) / (hits + misses + 1e-300), hits / hits[-1]
        area = np.sum(np.diff(recall, prepend=0) * precision)
        return np.append(0, recall), np.append(1, precision), float(area)


@dataclass
class CalibrationDisplay(Display):
    """How often bags of a predicted probability are positive.

    Parameters
    ----------
    predicted, observed : ndarray
        Mean probability and fraction of positives of each bin.
    probabilities : ndarray
        The probabilities of all bags, drawn as a histogram below.
    truth : ndarray of bool
        Which bags are positive.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.plot import CalibrationDisplay
    >>> chance = np.linspace(0.05, 0.95, 40)
    >>> truth = np.random.default_rng(0).random(40) < chance
    >>> len(CalibrationDisplay.from_probabilities(truth, chance, n_bins=4).observed)
    4
    """

    predicted: Array
    observed: Array
    probabilities: Array
    truth: Array

    @classmethod
    @displays(
        model=("BagClassifier", 'Fitted with ``probability="sigmoid"``; two classes.'),
        bags="Bags that the model has not seen.",
        n_bins="Number of bins with equally many bags.",
    )
    def from_estimator(
        cls, model: Any, bags: Any, y: ArrayLike, *, n_bins: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the calibration of a model with ``predict_proba``."""
        seen = score_bags(model, bags, y)
        column = seen.model.classes_.tolist().index(seen.positive)
        chances = seen.model.predict_proba(seen.bags)[:, column]
        return cls.from_probabilities(seen.truth, chances, n_bins=n_bins, ax=ax)

    @classmethod
    @displays(
        probabilities=("array-like of shape (n_bags,)", "Their probabilities."),
        n_bins="Number of bins with equally many bags.",
    )
    def from_probabilities(
        cls, truth: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 8, ax: Axes | None = None
    ) -> Self:
        """Draw the calibration of given probabilities."""
        truth, chances = np.asarray(truth, dtype=bool), np.asarray(probabilities)
        curve = calibration_curve(truth, chances, n_bins=n_bins, strategy="quantile")
        return cls(curve[1], curve[0], chances, truth).plot(ax)

    def _draw(self, ax: Axes) -> None:
        """Draw the curve over the histograms of both classes."""
        ax.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle="--", label="ideal")
        ax.plot(self.predicted, self.observed, "o-", color="black", label="observed")
        for part, color, name in by_class(self.truth):
            weights = np.full(part.sum(), 0.5 / max(1, len(part)))  # the bars take half the height
            of_class = self.probabilities[part]
            ax.hist(of_class, range=(0, 1), weights=weights, color=color, alpha=0.3, label=name)
        ax.set(xlabel="predicted probability", ylabel="fraction of positive bags")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(loc="upper left", fontsize="small")
