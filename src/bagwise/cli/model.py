"""The model of a command and the labels it learns, checked before work."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from bagwise.bags.ids import name_of
from bagwise.cli.options import check_jobs
from bagwise.cli.output import say
from bagwise.errors import Argument, Message, list_names

_FEWEST_FOLDS = 3  # of out-of-fold scores: with two, half of the bags train each model


def complete_model(incomplete: str = "") -> list[str]:
    """Return the names of models that begin so; the shell completes them."""
    from bagwise.catalog import EVERY

    names = {name for entry in EVERY for name in (entry.class_name, *map(str, entry.methods))}
    return sorted(name for name in names if name.startswith(incomplete))


_MODEL = "Paper name or class, such as MI-SVM or WitnessSVC (see `bagwise models`)."
_PARAM = "Parameter of the model; repeatable."
_POSITIVE = "The positive label: its bags contain an instance of interest; auto tries both."
_THRESHOLD = (
    "Score above which a bag is positive, such as 0. Default: that of the highest balanced "
    "accuracy on out-of-fold scores."
)
_UNCALIBRATED = "Skip the folds behind threshold and probabilities."
Positive = Annotated[str | None, typer.Option(help=_POSITIVE, metavar="LABEL")]


@dataclass(frozen=True)
class ModelOptions:
    """The model and its parameters."""

    model: Annotated[
        str,
        typer.Option("-m", "--model", help=_MODEL, autocompletion=complete_model, metavar="NAME"),
    ]
    param: Annotated[
        list[str] | None, typer.Option("-p", "--param", help=_PARAM, metavar="NAME=VALUE")
    ] = None
    positive: Positive = None
    threshold: Annotated[float | None, typer.Option(help=_THRESHOLD, metavar="SCORE")] = None
    no_calibration: Annotated[bool, typer.Option("--no-calibration", help=_UNCALIBRATED)] = False

    def settings(self, covariates: str | None = None) -> dict[str, Any]:
        """Return the parameters by name, with those that make the model use covariates."""
        settings = use_covariates(self.model) if covariates else {}
        for text in self.param or []:
            name, equals, value = text.partition("=")
            if not equals or not name.isidentifier():
                raise typer.BadParameter(f"--param {text!r}: write NAME=VALUE, as in --param C=10.")
            if name in settings:
                raise typer.BadParameter(f"--param {name} is given twice; candidates are one list.")
            settings[name] = _read_value(name, value)
        return settings

    def task(self, source: Any) -> str:
        """Return what the labels are: as the options say, else as the model takes them."""
        return settle_task(source, build_model(self.model, {}).task) or "classes"

    def read(
        self, source: Any, *, check: bool = True, site: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return bags and labels, and the source; "auto" takes the task from the labels."""
        from bagwise.estimators.input import read_task

        task = self.task(source)
        if task != "classes" or self.model not in ("auto", "AutoBagClassifier"):
            return source, *source.read_labeled(check=check, task=task, site=site)
        bags, y = source.read_labeled(check=check, task=source.task or "", site=site)
        return replace(source, task=source.task or read_task(y)), bags, y

    def build(
        self,
        settings: dict[str, Any],
        bags: Any = None,
        y: Any = None,
        *,
        source: Any = None,
        **options: Any,
    ) -> Any:
        """Return the estimator, its parameters checked; with data, its positive label too.

        ``source`` says what the labels are.
        """
        estimator = build_model(self.model, settings)
        named = None if source is None else settle_task(source, estimator.task) or "classes"
        if named not in (None, estimator.task):
            from bagwise.model_selection.candidates import adapt_to

            estimator = adapt_to(named, estimator)
        if estimator.task != "classes":
            for flag, given in (("--positive", self.positive), ("--threshold", self.threshold)):
                if given is not None:
                    what = f"{flag} is for two classes, not for {estimator.task}."
                    raise typer.BadParameter(what)
            if estimator.task == "grades" and y is not None and estimator.order is None:
                estimator.set_params(order=order_of(y, source.order))
            return estimator
        label = None
        if y is not None:
            label = positive_label(self.positive, y, bags, estimator, **options)
        return estimator if label is None else estimator.set_params(pos_label=label)

    def calibrate(self, estimator: Any, bags: Any, y: Any, held_out: int = 0) -> int:
        """Have threshold and probabilities chosen on out-of-fold scores; say it where they are not.

        ``held_out`` is the number of folds of which one is left out before. Returns the number of
        folds that choose, 0 if there are none.
        """
        from bagwise.crossfit.folds import N_FOLDS, count_fewest

        if estimator.task != "classes" or len(np.unique(y)) < 2:
            return 0  # nothing to calibrate, or an error follows
        fewest = count_fewest(bags, y)
        n_folds = min(N_FOLDS, fewest - (-(-fewest // held_out) if held_out else 0))
        wanted: dict[str, Any] = {"threshold": self.threshold, "probability": "sigmoid"}
        if self.no_calibration or n_folds < _FEWEST_FOLDS:
            what = "the threshold is 0, there are no probabilities and no p-values of instances"
            why = "Without calibration" if self.no_calibration else f"With {fewest} bags of a class"
            say(f"{why}, {what}.")
            wanted = {"threshold": self.threshold or 0.0, "probability": False}
        elif self.threshold is None and len(np.unique(y)) == 2:
            wanted["threshold"] = "balanced"
        own = estimator.get_params(deep=False).get("calibration_cv")
        if own is not None and wanted["probability"]:
            wanted["calibration_cv"] = n_folds
        given = self.settings()
        estimator.set_params(**{name: v for name, v in wanted.items() if name not in given})
        return n_folds if wanted["probability"] else 0


def _read_value(name: str, text: str) -> Any:
    """Read a number, None, True, a list or a dict; everything else is a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        if text.lstrip().startswith(("[", "(", "{")):
            raise typer.BadParameter(
                f"--param {name}={text} is not a complete list or dict. Write it as in "
                '--param "C=[0.1,1,10]", with texts in quotes.'
            ) from error
        return {"true": True, "false": False, "null": None}.get(text, text)


def build_model(name: str, settings: dict[str, Any]) -> Any:
    """Build an estimator from its name and parameters, and check their values."""
    from sklearn.utils._param_validation import InvalidParameterError

    from bagwise.catalog import make_estimator

    try:
        if isinstance(inner := settings.get("estimator"), str):  # what a model of models fits
            settings = {**settings, "estimator": make_estimator(inner)}
        estimator = make_estimator(name, **settings)
        estimator._validate_params()
    except InvalidParameterError as error:
        hint = _list_hint(str(error), settings)
        raise typer.BadParameter(f"--param: {error}{hint}") from error
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if isinstance(settings.get("n_jobs"), int):
        check_jobs("--param n_jobs", settings["n_jobs"])
    for folds in ("cv", "calibration_cv"):
        if isinstance(settings.get(folds), list | tuple):
            raise typer.BadParameter(f"--param {folds}: give the number of folds, as {folds}=5.")
    return estimator


def _list_hint(message: str, settings: dict[str, Any]) -> str:
    """Say what a list is for, where the message is about one."""
    lists = [name for name, value in settings.items() if isinstance(value, list)]
    about_one = any(f"The {name!r} parameter" in message for name in lists)
    return " A list of candidates needs `bagwise fit --cv`." if about_one else ""


def use_covariates(name: str) -> dict[str, Any]:
    """Return the parameters with which a model uses covariates; refuse those that cannot."""
    from bagwise.estimators.covariates import covariate_settings

    found = covariate_settings(build_model(name, {}))
    if not found:
        raise typer.BadParameter(
            f"--covariates: {name} learns from instances alone. Take auto, StatisticsForest, "
            "StatisticsSVC, StatisticsLogistic, CompositionLogistic or MIMN."
        )
    return found


# The positive class -------------------------------------------------------------------------------


def positive_label(
    wanted: str | None, y: Any, bags: Any = None, model: Any = None, **options: Any
) -> Any:
    """Return the positive label; None where the labels say it, or there are more than two.

    Labels whose order is their meaning (0/1, no/yes, neg/pos) need no option; others do. With
    "auto", ``model`` is cross-validated with either label; ``options`` go to `choose_positive`.
    """
    labels = np.unique(y).tolist()
    if wanted == "auto" and "auto" not in labels and len(np.unique(y)) == 2:
        return _try_both(bags, y, model, **options)
    if wanted is None:
        _refuse_unclear(labels)
        return None
    found = next((label for label in labels if str(label) == wanted), None)
    if found is None:
        names = list_names(map(str, labels))
        raise typer.BadParameter(f"--positive {wanted}: the labels are {names}.")
    return found


def _refuse_unclear(labels: list[Any]) -> None:
    from bagwise.estimators.input import order_is_meaning

    if not order_is_meaning(labels):
        one, other = labels
        raise typer.BadParameter(
            f"the labels are {one}, {other}: which one marks bags that contain an instance of "
            f"interest? Give --positive {one} or --positive {other}; --positive auto tries both."
        )


def _try_both(bags: Any, y: Any, model: Any, **options: Any) -> Any:
    from bagwise.model_selection import choose_positive

    if model is None:  # a fast model that needs the right class
        from bagwise import WitnessSVC

        model = WitnessSVC(kernel="linear")
    choice = choose_positive(model, bags, y, **options)
    say(escape(f"{choice}."))
    return choice.label


def scaler_for(bags: Any, scale: str | None, impute: str | None = None) -> Any:
    """Return the scaler of that name for the bags, None where none is wanted."""
    from bagwise.model_selection.scaling import scalings

    (scaler,) = scalings(bags, scale, impute=impute).values()
    return scaler


# Labels -------------------------------------------------------------------------------------------


def settle_task(source: Any, own: str | None = None) -> str | None:
    """Return the task that the options name, else that of a model; None: the labels say it."""
    times = source.duration is not None or source.event is not None
    if times and source.task not in (None, "times"):
        raise typer.BadParameter(f"--duration and --event are times, not {source.task}.")
    named = "times" if times else source.task or ("grades" if source.order is not None else None)
    if (named or own) == "times" and not times:
        raise typer.BadParameter(
            "labels are times: give --duration and --event; for other labels take --model auto."
        )
    if named == "classes" and source.order is not None:
        raise typer.BadParameter("--order is for grades: take --task grades.")
    return named or (None if own == "classes" else own)


def check_task(y: Any, task: str, source: Any) -> None:
    """Refuse labels of another task, and ask about numbers that may be classes."""
    from bagwise.estimators.input import are_classes_in_disguise, is_measurement

    if task == "classes" and is_measurement(y):
        raise ValueError(
            f"The labels of {source.data} are {len(np.unique(y))} different numbers, and this "
            f"model learns classes: --cut {np.median(y):.6g} makes two, split at the median; "
            "`bagwise fit --model AutoBagRegressor` predicts the numbers."
        )
    if task != "numbers" or y.dtype.kind not in "fiub":
        return
    if source.task is None and are_classes_in_disguise(y):
        shown = ", ".join(f"{value:g}" for value in np.unique(y))
        raise typer.BadParameter(
            f"the labels are {shown}: are they classes, grades or numbers? Give --task classes "
            "with a classifier, --task grades if they have an order, or --task numbers to predict "
            "them as numbers."
        )


def order_of(y: Any, order: str | None) -> list[Any]:
    """Return the grades from the lowest to the highest; text needs ``--order``."""
    from bagwise.models.ordinal import needs_order, sort_grades

    found = np.unique(y).tolist()
    if order is None and needs_order(found):
        raise typer.BadParameter(f"--order gives the order of {list_names(found)}.")
    known = {str(label): label for label in found}
    names = None if order is None else [name.strip() for name in order.split(",")]
    return sort_grades(y, names and [known.get(name, name) for name in names]).tolist()


def cut_labels(y: Any, cut: float | None, ids: Any) -> Any:
    """Return labels that are numbers as two classes; those of these classes as they are."""
    if y is None or cut is None or {*np.asarray(y).tolist()} <= {"yes", "no"}:
        return y
    return np.where(need_numbers(y, ids, "--cut is for numbers; the label") >= cut, "yes", "no")


def need_numbers(y: Any, ids: Any, what: str) -> Any:
    """Return labels as floats; an error says ``what`` and names the first bag without a number."""
    from bagwise.io.tables import is_number

    texts = list(map(str, np.asarray(y).tolist()))
    commas = ("For decimal commas give ", Argument("decimal", "','"), ".")
    for mark, remedy in ((",", ("Correct it.",)), (".", commas)):
        for i, text in enumerate(texts):
            if not is_number(text.replace(mark, ".")):
                raise ValueError(Message(f"{what} of {name_of(ids, i)} is {text!r}. ", *remedy))
    return np.asarray(y, dtype=np.float64)


def need_labels(y: Any, data: Path) -> Any:
    """Return the labels as an array; raise an error where there are none."""
    if y is None:
        raise ValueError(f"{data} has no labels: name their column with --label.")
    return np.asarray(y)
