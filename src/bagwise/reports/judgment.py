"""How a model does on bags: scores of held-out bags or of folds, and numbers with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, folds
from bagwise.crossfit.folds import count_fewest
from bagwise.crossfit.scores import fit_folds, in_order
from bagwise.crossfit.sites import with_fewer_folds
from bagwise.metrics import positive_class, unwrap_model, wilson
from bagwise.plot import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from bagwise.plot._display import MOST_LISTED, score_bags


@dataclass(frozen=True)
class Judgment:
    """Scores of bags towards the positive class, and where they come from."""

    truth: Array
    scores: Array
    probabilities: Array | None
    positive: Any
    negative: Any
    n_folds: int  # 0: the model itself scored bags that it has not seen

    @property
    def how(self) -> str:
        """Where the scores come from, in words."""
        if not self.n_folds:
            return "on these bags, which are taken to be new to the model"  # nobody can tell
        return (
            f"by {self.n_folds}-fold cross-validation: each bag was scored by a copy of the model "
            "that was trained without it"
        )

    def proportions(self) -> dict[str, dict[str, Any]]:
        """Return sensitivity, specificity and accuracy at the threshold, with 95 % intervals."""
        predicted = self.scores > 0
        parts = {
            "sensitivity": (predicted & self.truth, self.truth),
            "specificity": (~predicted & ~self.truth, ~self.truth),
            "accuracy": (predicted == self.truth, np.ones_like(self.truth)),
        }
        return {name: _proportion(int(k.sum()), int(n.sum())) for name, (k, n) in parts.items()}

    def of_groups(self, groups: Array | None) -> list[dict[str, Any]]:
        """Return bags, positives and accuracy per group of several bags; the largest first."""
        if groups is None:
            return []
        rows: list[dict[str, Any]] = []
        for group in np.unique(groups).tolist():
            part = groups == group
            right = int(((self.scores[part] > 0) == self.truth[part]).sum())
            n, n_positive = int(part.sum()), int(self.truth[part].sum())
            rows.append({"name": str(group), "bags": n, "positive": n_positive, "right": right})
        several = [row for row in rows if row["bags"] > 1]
        return sorted(several, key=lambda row: (-row["bags"], row["name"]))[:MOST_LISTED]

    def figures(self, groups: Array | None) -> dict[str, Any]:
        """Return the displays by name."""
        shown: dict[str, Any] = {
            "roc": RocDisplay.from_scores(self.truth, self.scores, groups=groups),
            "pr": PrecisionRecallDisplay.from_scores(self.truth, self.scores, groups=groups),
        }
        if self.probabilities is not None:
            shown["calibration"] = CalibrationDisplay.from_probabilities(
                self.truth, self.probabilities
            )
        return shown


def _proportion(count: int, total: int) -> dict[str, Any]:
    low, high = wilson(count / total, total)
    return {"count": count, "total": total, "value": count / total, "low": low, "high": high}


def judge(
    model: Any,
    bags: Bags,
    y: Array,
    cv: Any,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> Judgment:
    """Score bags by the model itself, or by copies fitted without them where ``cv`` is given."""
    inner, _ = unwrap_model(model, bags[:1])
    positive, sign = positive_class(inner)
    negative = next(label for label in inner.classes_.tolist() if label != positive)
    if cv is None:
        tell("Scoring bags", 0, 0)
        seen = score_bags(model, bags, y)
        chances = _probabilities(seen.model, seen.bags, positive)
        return Judgment(seen.truth, seen.scores, chances, positive, negative, 0)
    splits, done = folds(bags, y, cv, 0), count()
    fewest = min(count_fewest(bags[train], y[train]) for train, _ in splits)

    def fit(copy: Any, train: Array, _: Array) -> None:
        tell("Fitting folds", next(done), len(splits))
        copy.fit(bags[train], y[train])

    def score(copy: Any, held_out: Bags, _: Array) -> tuple[Array, Array | None]:
        return sign * bag_scores(copy, held_out), _probabilities(copy, held_out, positive)

    copy = with_fewer_folds(clone(model), fewest)
    parts = list(fit_folds(copy, bags, y, None, splits, score, fit=fit))
    scores = in_order([part[0] for part in parts], splits)
    known = [part[1] for part in parts if part[1] is not None]
    probabilities = in_order(known, splits) if known else None
    return Judgment(y == positive, scores, probabilities, positive, negative, len(splits))


def _probabilities(model: Any, bags: Bags, positive: Any) -> Array | None:
    if not hasattr(model, "predict_proba"):
        return None
    return model.predict_proba(bags)[:, model.classes_.tolist().index(positive)]
