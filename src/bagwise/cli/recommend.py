"""The command that builds what `bagwise compare` recommends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bagwise.cli.options import split_names
from bagwise.cli.source import Source


def set_aside(found: Any, source: Source, site: str | None) -> Source:
    """Return how the recommended model reads the data: columns that it cannot use are dropped."""
    from bagwise.estimators.covariates import uses_covariates

    aside = [] if site is None else [site]
    if found.results and not uses_covariates(found.models[found.recommendation]):
        aside += split_names(source.covariates) or []
        source = replace(source, covariates=None)
    if not aside or source.labels is not None:  # whose columns are no features
        return source
    return replace(source, drop=[*(source.drop or []), *aside])


def build_command(found: Any, words: list[str]) -> list[str]:
    """Return the words of the command that fits the recommended model; none without one."""
    from bagwise.model_selection.compare import COVARIATES

    if not found.results:
        return []
    one = found.results[found.recommendation]
    task = ["--task", "grades"] * (found.sample.task == "grades" not in words)
    name = one.name
    if name == COVARIATES:
        name = type(found.models[name]).__name__
    words = ["bagwise", "fit", *words, *task, "--scale", one.usual_scale, "--model", name]
    for setting in _settings(found.models[one.name], name, one):
        words += ["--param", setting]
    return words


def _settings(model: Any, name: str, one: Any) -> list[str]:
    """Return the parameters of a model that its name does not say, such as a linear kernel."""
    from bagwise.catalog import make_estimator
    from bagwise.estimators.covariates import uses_covariates

    said = make_estimator(name)
    if type(model) is not type(said):  # a classifier at the thresholds of grades or times
        model = model.estimator
    own = said.get_params(deep=False)
    own = {k: v for k, v in model.get_params(deep=False).items() if repr(v) != repr(own[k])}
    if uses_covariates(model):  # which the options say
        own = {k: v for k, v in own.items() if k not in ("covariates", "bag_features")}
    own.pop("pos_label", None)
    chosen = {key: f"{value:g}" for key, value in one.usual_point.items()}
    return [f"{key}={value}" for key, value in (own | chosen).items()]
