"""How well a model does: ROC, precision and recall, and calibration.

scikit-learn's displays take `Bags` as well, but know no groups and draw no bands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.calibration import calibration_curve

from bagwise._typing import Array
from bagwise.crossfit.scores import LEVEL
from bagwise.metrics import bound_auc_of
from bagwise.plot._display import (
    NEUTRAL,
    by_class,
    draw_samples,
    draws,
    new_axes,
    plain,
    score_bags,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_GRID = np.linspace(0, 1, 201)  # steps of half a percent
_DRAWS = 500  # the 2.5 % quantile then rests on 12 draws
_BINS = 8  # of a calibration: five bags each where there are forty


class Kind(NamedTuple):
    """What a curve shows."""

    # From the positives and negatives down to each score, the highest first, to x, y and the value.
    measure: Callable[[Array, Array], tuple[Array, Array, float]]
    value: str
    axes: tuple[str, str]


def _measure_roc(hits: Array, misses: Array) -> tuple[Array, Array, float]:
    x, y = np.append(0, misses) / misses[-1], np.append(0, hits) / hits[-1]
    return x, y, float(np.trapezoid(y, x))


def _measure_precision(hits: Array, misses: Array) -> tuple[Array, Array, float]:
    # Down to the first bag that was drawn there is none, and nothing is wrong.
    precision, recall = (hits + 1e-300) / (hits + misses + 1e-300), hits / hits[-1]
    area = np.sum(np.diff(recall, prepend=0) * precision)
    return np.append(0, recall), np.append(1, precision), float(area)


ROC = Kind(_measure_roc, "AUC", ("1 - specificity", "sensitivity"))
PRECISION = Kind(
    _measure_precision, "average precision", ("recall (sensitivity)", "precision (PPV)")
)


@dataclass(frozen=True)
class Curve:
    """A curve over [0, 1] with a 95 % band, by drawing bags (or groups) with replacement."""

    kind: Kind
    x: Array
    y: Array
    band: Array  # (2, 201): its lower and upper end at 0, .005, ..., 1
    value: float  # the area under the curve, or the average precision
    interval: tuple[float, float]  # of 95 %
    chance: float  # the value of scores that know nothing

    @classmethod
    def trace(
        cls, kind: Kind, truth: ArrayLike, scores: ArrayLike, groups: Array | None = None
    ) -> Curve:
        """Return the curve of scores that are high for positive bags."""
        truth, scores = np.asarray(truth, dtype=bool), np.asarray(scores, dtype=np.float64)
        if not 0 < truth.sum() < len(truth):
            raise ValueError("The bags are all of one class: a curve needs both.")
        order = np.argsort(-scores, kind="stable")
        last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of equal scores
        hits, misses = truth[order], ~truth[order]

        def measure(weight: Array) -> tuple[Array, Array, float]:
            found = (np.cumsum(weight[order] * part)[last] for part in (hits, misses))
            return kind.measure(*found)

        draws = draw_samples(truth, groups, _DRAWS, 0)
        drawn = [measure(np.bincount(rows, minlength=len(truth))) for rows in draws]
        band = _span([np.interp(_GRID, x, y) for x, y, _ in drawn])
        if kind is ROC:
            interval, chance = bound_auc_of(truth, scores, groups), 0.5
        else:
            low, high = _span([area for *_, area in drawn]).tolist()
            interval, chance = (min(low, _lowest(truth, groups)), high), float(truth.mean())
        x, y, value = measure(np.ones(len(truth)))
        return cls(kind, x, y, band, value, interval, chance)

    def draw(self, ax: Axes | None = None, name: str | None = None) -> Figure:
        """Draw it, with a name in the legend where there is one."""
        ax = ax or new_axes()
        low, high = self.interval
        head = "" if name is None else f"{plain(name)}: "
        label = f"{head}{self.kind.value} {self.value:.3f} ({low:.3f} to {high:.3f})"
        (line,) = ax.plot(self.x, self.y, label=label)
        ax.fill_between(_GRID, *self.band, alpha=0.18, linewidth=0, color=line.get_color())
        ends = (0, 1) if self.kind is ROC else (self.chance, self.chance)
        ax.plot([0, 1], ends, color=NEUTRAL, linewidth=0.8, linestyle="--")
        ax.set(xlabel=self.kind.axes[0], ylabel=self.kind.axes[1], xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(fontsize="small")
        return ax.get_figure()  # type: ignore[return-value]


def _span(values: list[Any]) -> Array:
    """Return the 95 % interval of what was measured on drawn bags."""
    return np.quantile(values, [LEVEL / 2, 1 - LEVEL / 2], axis=0)


def _lowest(truth: Array, groups: Array | None) -> float:
    """Return what scores without an error still allow: drawing them again shows no error either.

    With n bags (or groups) of the rarer class and none wrong, a rate of right ones down to
    0.025^(1/n) is not excluded at this level.
    """
    units = np.arange(len(truth)) if groups is None else np.asarray(groups)
    rarer = min(len(set(units[part].tolist())) for part in (truth, ~truth))
    return float((LEVEL / 2) ** (1 / rarer))


_draws_curve = draws(
    bags="Bags that the model has not seen.",
    name="Name of the curve in the legend; the class of the model when None.",
)


@_draws_curve
def roc(
    model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None, name: str | None = None
) -> Figure:
    """Draw the receiver operating characteristic of bag scores, with a 95 % band.

    The band comes from drawing bags with replacement, whole groups where ``bags.groups`` has them;
    the interval of the AUC is Newcombe's.

    Examples
    --------
    >>> others, truth = load_digits_bags(n_bags=60)
    >>> roc(model, others[20:], truth[20:]).axes[0].get_legend().get_texts()[0]
    Text(0, 0, 'WitnessSVC: AUC 0.916 (0.768 to 0.971)')
    """
    return _draw_curve(ROC, model, bags, y, ax, name)


@_draws_curve
def precision_recall(
    model: Any, bags: Any, y: ArrayLike, *, ax: Axes | None = None, name: str | None = None
) -> Figure:
    """Draw precision against recall of bag scores, with a 95 % band.

    The band comes from drawing bags with replacement, whole groups where ``bags.groups`` has them.

    Examples
    --------
    >>> precision_recall(model, bags, y)
    <Figure size ... with 1 Axes>
    """
    return _draw_curve(PRECISION, model, bags, y, ax, name)


def _draw_curve(
    kind: Kind, model: Any, bags: Any, y: ArrayLike, ax: Axes | None, name: str | None
) -> Figure:
    seen = score_bags(model, bags, y)
    curve = Curve.trace(kind, seen.truth, seen.scores, seen.bags.groups)
    return curve.draw(ax, type(seen.model).__name__ if name is None else name)


def draw_calibration(truth: Array, chances: Array) -> Figure:
    """Draw how often bags of a predicted probability are positive, over histograms of both classes.

    Bins have equally many bags.
    """
    ax = new_axes()
    observed, predicted = calibration_curve(truth, chances, n_bins=_BINS, strategy="quantile")
    ax.plot([0, 1], [0, 1], color=NEUTRAL, linewidth=0.8, linestyle="--", label="ideal")
    ax.plot(predicted, observed, "o-", color="black", label="observed")
    for part, color, name in by_class(truth):
        weights = np.full(part.sum(), 0.5 / max(1, len(part)))  # the bars take half the height
        ax.hist(chances[part], range=(0, 1), weights=weights, color=color, alpha=0.3, label=name)
    ax.set(xlabel="predicted probability", ylabel="fraction of positive bags")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(loc="upper left", fontsize="small")
    return ax.get_figure()  # type: ignore[return-value]
