"""The candidates: methods of the catalog at settings that did well, on raw and scaled features.

Three families, because each fails where another is right: statistics of a bag's features, kernels
between whole bags, and witness models, which look for the one instance that decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline

from bagwise.bags import Bags
from bagwise.catalog import ENTRIES, make_estimator
from bagwise.errors import suggestion
from bagwise.model_selection.search import standardizer

_TOLD_APART = ("statistics", "bag_features")  # parameters that tell candidates of a method apart
_SHOWN = {"four": "four", "quantiles": "quantiles", "kernels": "bag kernels"}  # as names show them
_MANY_INSTANCES = 5000  # a matrix of all pairs of instances then takes 200 MB
_MANY_IN_BLOCKS = 10_000  # kernels between bags are summed in blocks: a second of 100 features


@dataclass(frozen=True)
class Candidate:
    """A method at a setting; ``scaled`` ones see standardized features."""

    method: str
    scaled: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    family: str = "witness"
    pairwise: bool = True  # whether it compares all pairs of instances
    most: int = _MANY_INSTANCES  # instances of which it can compare all pairs
    linear: dict[str, Any] | None = None  # what takes its place where these are too many

    @property
    def name(self) -> str:
        """The name on the leaderboard."""
        details = [_SHOWN[self.options[key]] for key in _TOLD_APART if key in self.options]
        details += ["standardized"] if self.scaled else []
        return ", ".join([self.method, *details])

    def build(self, bags: Bags, **settings: Any) -> Any:
        """Return the estimator as it suits the bags; parameters that it lacks are left out."""
        few = bags.n_instances <= self.most or not self.pairwise
        model = make_estimator(self.method, **(self.options if few else self.linear or {}))
        configure(model, **settings)
        if not self.scaled:
            return model
        return Pipeline([("scale", standardizer(bags)), ("classify", model)])

    def refused(self, bags: Bags, n_classes: int, memory: float) -> str:
        """Return why it cannot be fitted to the bags, or an empty text."""
        tags = make_estimator(self.method).__sklearn_tags__()
        if n_classes > 2 and not tags.classifier_tags.multi_class:
            return "is for two classes"
        if hasattr(bags.X, "indptr") and not tags.input_tags.sparse:
            return "does not take sparse instances"
        if self.pairwise and bags.n_instances > self.most and self.linear is None:
            return f"compares all pairs of the {bags.n_instances} instances"
        whole = self.pairwise and self.most == _MANY_INSTANCES and self.linear is None
        needed = 8.0 * bags.n_instances**2 if whole else 0.0
        return "" if needed <= memory else f"needs {needed / 2**30:.1f} GiB"


def both(method: str, **facts: Any) -> list[Candidate]:
    """Return a candidate on raw and on standardized features."""
    return [Candidate(method, scaled, **facts) for scaled in (False, True)]


_LINEAR: dict[str, Any] = {"kernel": "linear", "C": 0.3}
_LARGE: dict[str, Any] = {"kernel": "linear", "C": 0.01}  # losses of many instances add up
_ROWS: dict[str, Any] = {"family": "statistics", "pairwise": False}
_BAGS: dict[str, Any] = {"family": "bags", "pairwise": False}
_PAIRS: dict[str, Any] = {"family": "bags", "most": _MANY_IN_BLOCKS}
PORTFOLIO: tuple[Candidate, ...] = (
    Candidate("StatisticsForest", options={"n_estimators": 100}, **_ROWS),
    Candidate("StatisticsForest", options={"n_estimators": 100, "statistics": "four"}, **_ROWS),
    Candidate("StatisticsSVC", options={"C": 3.0, "gamma": "scale"}, **_ROWS),
    Candidate(
        "StatisticsSVC",
        options={"C": 3.0, "gamma": "scale", "statistics": "quantiles"},
        **_ROWS,
    ),
    Candidate("StatisticsLogistic", options={"C": 0.01}, **_ROWS),
    *both("STK", options={"C": 3.0}, **_BAGS),
    *both("SimpleMI", options={"C": 10.0}, **_BAGS),
    *both("MI-Kernel", options={"C": 30.0}, **_PAIRS),
    Candidate("miGraph", options={"C": 30.0}, **_PAIRS),
    *both("Citation kNN", options={"metric": "average"}, **_PAIRS),
    Candidate("MIMN", options={"alpha": 1.0}, family="network", pairwise=False),
    Candidate("MIMN", options={"alpha": 1.0, "bag_features": "kernels"}, family="network"),
    Candidate("MI-SVM", options={"C": 30.0}, linear=_LARGE),
    Candidate("MI-SVM", True, options={"C": 3.0}, linear=_LINEAR),
    Candidate("mi-SVM", options={"C": 3.0}, linear=_LINEAR),
    Candidate("AW-SVM", options={"C": 3.0}, linear=_LARGE),
    Candidate("MILES", options={"C": 3.0}),
    Candidate("MILBoost", options={"n_estimators": 30, "max_depth": 3}, pairwise=False),
)


def configure(model: Any, **settings: Any) -> Any:
    """Set those of the parameters that the model, or the last step of a pipeline, has."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    known = last.get_params(deep=False)
    last.set_params(**{key: value for key, value in settings.items() if key in known})
    return model


def named(models: Iterable[Any]) -> dict[str, Any]:
    """Return estimators by name; a text names a candidate, a method or a class."""
    found: dict[str, Any] = {}
    for model in models:
        name = model if isinstance(model, str) else _title(model)
        number = sum(other.split(" #")[0] == name for other in found)
        found[f"{name} #{number + 1}" if number else name] = _looked_up(model)
    return found


def _title(model: Any) -> str:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return type(last).__name__


def _looked_up(model: Any) -> Any:
    if not isinstance(model, str):
        return model
    candidates = {candidate.name: candidate for candidate in PORTFOLIO}
    if model in candidates:
        return candidates[model]
    methods = [each.name for entry in ENTRIES for each in entry.methods]
    classes = [entry.class_name for entry in ENTRIES]
    if model not in {*methods, *classes}:
        hint = suggestion(model, dict.fromkeys([*candidates, *methods, *classes]))
        raise ValueError(f"There is no model {model!r} to try. {hint}")
    return make_estimator(model)
