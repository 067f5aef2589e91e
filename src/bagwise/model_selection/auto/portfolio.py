"""The candidates: methods of the catalog at settings that did well elsewhere.

Three families, because each fails where another is right: statistics of a bag's features, kernels
between whole bags, and witness models, which look for the one instance that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline

from bagwise.bags import Bags
from bagwise.catalog import EVERY, make_estimator
from bagwise.errors import suggestion
from bagwise.model_selection.candidates import MANY_ROWS
from bagwise.model_selection.scaling import scalings, with_scaler
from bagwise.models.meansvc import MeanSVC
from bagwise.models.statistics import StatisticsLogistic
from bagwise.models.witness import WitnessSVC

# What names of candidates call the estimators that they contain.
_ESTIMATORS = {"ExtraTreesClassifier": "", "WitnessSVC": "MI-SVM", "MeanSVC": "SimpleMI"}
_ESTIMATORS["StatisticsLogistic"] = "StatisticsLogistic"
# Parameters that tell candidates of a method apart, and how names show their values.
_TOLD_APART = {
    "statistics": lambda value: value,
    "estimator": lambda value: _ESTIMATORS.get(type(value).__name__, "gradient boosting"),
    "embedding": lambda value: value,
    "bag_kernel": lambda value: value,
    "aggregate": lambda value: value,
    "kernel": lambda value: value,
}
SHOWN = {"raw": "", "auto": "", "standard": "standardized", "robust": "robust"}
SHOWN |= {"quantile": "quantile"}
_MANY_IN_BLOCKS = 10_000  # kernels between bags are summed in blocks: a second of 100 features


@dataclass(frozen=True)
class Candidate:
    """A method at a setting, and the scaling of the features that it sees."""

    method: str
    scale: str = "raw"
    options: dict[str, Any] = field(default_factory=dict)
    family: str = "witness"
    pairwise: bool = True  # whether it compares all pairs of instances
    most: int = MANY_ROWS  # instances of which it can compare all pairs
    linear: dict[str, Any] | None = None  # cheaper options where these are too many

    @property
    def name(self) -> str:
        """The name on the leaderboard."""
        details = [show(self.options[k]) for k, show in _TOLD_APART.items() if k in self.options]
        return ", ".join(filter(None, [self.method, *details, SHOWN[self.scale]]))

    def build(self, bags: Bags, **settings: Any) -> Any:
        """Return the estimator as it suits the bags; parameters that it lacks are left out."""
        few = bags.n_instances <= self.most or not self.pairwise
        model = make_estimator(self.method, **(self.options if few else self.linear or {}))
        configure(model, **settings)
        (scaler,) = scalings(bags, self.scale).values()
        return with_scaler(model, scaler)

    def refuse(self, bags: Bags, n_classes: int, memory: float) -> str:
        """Return why it cannot be fitted to the bags, or an empty text."""
        tags = make_estimator(self.method).__sklearn_tags__()
        if n_classes > 2 and not tags.classifier_tags.multi_class:
            return "is for two classes"
        if hasattr(bags.X, "indptr") and not tags.input_tags.sparse:
            return "does not take sparse instances"
        if self.pairwise and bags.n_instances > self.most and self.linear is None:
            return f"compares all pairs of the {bags.n_instances} instances"
        whole = self.pairwise and self.most == MANY_ROWS and self.linear is None
        needed = 8.0 * bags.n_instances**2 if whole else 0.0
        return "" if needed <= memory else f"needs {needed / 2**30:.1f} GiB"

    def scale_by(self, scales: Sequence[str]) -> list[Candidate]:
        """Return the candidate on features of these scalings; of several, statistics need none."""
        several = len(scales) > 1 and self.family == "statistics"
        return [self] if several else [replace(self, scale=scale) for scale in scales]


_LINEAR: dict[str, Any] = {"kernel": "linear", "C": 0.3}
_LARGE: dict[str, Any] = {"kernel": "linear", "C": 0.01}  # losses of many instances add up
_ROWS: dict[str, Any] = {"family": "statistics", "pairwise": False}
_BAGS: dict[str, Any] = {"scale": "auto", "family": "bags", "pairwise": False}
_PAIRS: dict[str, Any] = {"scale": "auto", "family": "bags", "most": _MANY_IN_BLOCKS}
_BOOSTED = GradientBoostingClassifier(subsample=0.7, max_features="sqrt")
_TREES = ExtraTreesClassifier(200, max_features=0.1, min_samples_leaf=2)
_NOISY_OR: dict[str, Any] = {"n_estimators": 30, "max_depth": 3}
PORTFOLIO: tuple[Candidate, ...] = (
    Candidate("StatisticsForest", options={"statistics": "four", "estimator": _TREES}, **_ROWS),
    Candidate("StatisticsSVC", options={"C": 3.0, "gamma": "scale"}, **_ROWS),
    Candidate(
        "StatisticsSVC", options={"C": 3.0, "gamma": "scale", "statistics": "quantiles"}, **_ROWS
    ),
    Candidate("StatisticsForest", options={"statistics": "four", "estimator": _BOOSTED}, **_ROWS),
    Candidate("StatisticsLogistic", options={"C": 0.01}, **_ROWS),
    Candidate(
        "CompositionLogistic", "standard", {"n_words": 64, "C": 10.0}, "bags", pairwise=False
    ),
    Candidate("STK", options={"C": 3.0}, **_BAGS),
    Candidate("SimpleMI", options={"C": 10.0}, **_BAGS),
    Candidate("MI-Kernel", options={"C": 30.0}, **_PAIRS),
    Candidate("miGraph", options={"C": 30.0}, **_PAIRS),
    Candidate("Citation kNN", options={"metric": "average"}, **_PAIRS),
    Candidate("MI-SVM", options={"C": 30.0}, linear=_LARGE),
    Candidate("MI-SVM", "standard", options={"C": 3.0}, linear=_LINEAR),
    Candidate("mi-SVM", options={"C": 3.0}, linear=_LINEAR),
    Candidate("AW-SVM", options={"C": 3.0}, linear=_LARGE),
    Candidate("AL-SVM", options={"C": 3.0}, linear=_LARGE),
    Candidate("MILES", options={"C": 3.0}),
    Candidate("MILBoost", options=_NOISY_OR, linear={**_NOISY_OR, "max_features": 8}),
)

_NUMBER_BOOSTED = GradientBoostingRegressor(subsample=0.7, max_features="sqrt")
_FOREST = "StatisticsForestRegressor"
_WITNESS = {"kernel": "linear", "C": 1.0}
OF_NUMBERS: tuple[Candidate, ...] = (
    Candidate(_FOREST, options={"n_estimators": 100}, **_ROWS),
    Candidate(_FOREST, options={"statistics": "four", "estimator": _NUMBER_BOOSTED}, **_ROWS),
    Candidate("MeanRegressor", "standard", {"kernel": "linear"}, "bags", pairwise=False),
    Candidate("MeanRegressor", options={"C": 10.0}, **_BAGS),
    Candidate("BagKernelRegressor", "standard", {"C": 30.0}, "bags", most=_MANY_IN_BLOCKS),
    Candidate(
        "BagKernelRegressor",
        "standard",
        {"bag_kernel": "sum", "C": 1.0},
        "bags",
        most=_MANY_IN_BLOCKS,
    ),
    Candidate("DistributionRegressor", options={"C": 3.0}, **_PAIRS),
    Candidate("BagKernelRegressor", options={"bag_kernel": "statistics", "C": 3.0}, **_BAGS),
    Candidate(
        "CompositionRegressor", "standard", {"n_words": 64, "C": 10.0}, "bags", pairwise=False
    ),
    Candidate("WitnessRegressor", "standard", _WITNESS, pairwise=False),
    Candidate("WitnessRegressor", "standard", {**_WITNESS, "aggregate": "min"}, pairwise=False),
    Candidate("WitnessRegressor", "standard", {"C": 30.0}),
)

OF_TIMES: tuple[Candidate, ...] = (
    Candidate("CoxBag", options={"alpha": 10.0}, **_BAGS),
    Candidate("CoxBag", options={"embedding": "statistics", "alpha": 30.0}, **_ROWS),
    Candidate(
        "CoxBag", "standard", {"embedding": "composition", "alpha": 10.0}, "bags", pairwise=False
    ),
    Candidate(
        "BagSurvival", "standard", {"estimator": WitnessSVC(kernel="linear", C=0.3)}, pairwise=False
    ),
    Candidate("BagSurvival", options={"estimator": MeanSVC()}, **_BAGS),
    Candidate("BagSurvival", options={"estimator": StatisticsLogistic(C=0.01)}, **_ROWS),
)


def configure(model: Any, **settings: Any) -> Any:
    """Set those of the parameters that the model, or the last step of a pipeline, has."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    known = last.get_params(deep=False)
    last.set_params(**{key: value for key, value in settings.items() if key in known})
    return model


def at_scales(given: Mapping[str, Any], scalers: Mapping[str, Any]) -> dict[str, Any]:
    """Return candidates and estimators by name, each on features of these scalings."""
    found: dict[str, Any] = {}
    for name, model in given.items():
        if isinstance(model, Candidate):
            found |= {each.name: each for each in model.scale_by(list(scalers))}
            continue
        for scale, scaler in scalers.items():
            title = ", ".join(filter(None, [name, SHOWN[scale]]))
            found[title] = with_scaler(clone(model), scaler)
    return found


def name_models(
    models: Iterable[Any], portfolio: tuple[Candidate, ...] = PORTFOLIO
) -> dict[str, Any]:
    """Return estimators by name; a text names a candidate, a method or a class."""
    found: dict[str, Any] = {}
    for model in models:
        name = model if isinstance(model, str) else name_class(model)
        number = sum(other.split(" #")[0] == name for other in found)
        found[f"{name} #{number + 1}" if number else name] = _look_up(model, portfolio)
    return found


def name_class(model: Any) -> str:
    """Return the name of an estimator's class, of a pipeline that of its last step."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return type(last).__name__


def _look_up(model: Any, portfolio: tuple[Candidate, ...]) -> Any:
    if not isinstance(model, str):
        return model
    candidates = {candidate.name: candidate for candidate in portfolio}
    if model in candidates:
        return candidates[model]
    methods = [each.name for entry in EVERY for each in entry.methods]
    classes = [entry.class_name for entry in EVERY]
    if model not in {*methods, *classes}:
        hint = suggestion(model, dict.fromkeys([*candidates, *methods, *classes]))
        raise ValueError(f"There is no model {model!r} to try. {hint}")
    return make_estimator(model)
