"""Fit every estimator, those of shares, several labels, numbers, grades and times, to odd data.

``python tests/fuzz/fuzz_fits.py --count 100000`` is the long run (docs/results/robustness.md has
its counts); ``--case N`` runs one case again in this process, and prints the data, the estimator
and what happened. ``--first N --count M --out FOLDER`` runs a part and writes its counts, and
``--merge FOLDER`` prints their sum as a table.

The data: 2 to 4 classes, scales 1e-150 to 1e150, offsets up to 1e8 times the spread, constant,
repeated and binary features, float16 to float64, dense and CSR, C from 1e-8 to 1e8, labels of some
instances, covariates, weights of bags up to 1e9, and chosen thresholds. A fit must converge, warn,
or raise an error of bagwise that names a parameter, a bag or a remedy. A score may not be NaN, no
objective may be above that of w = 0, and a second fit must give the same bits.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for the harness, also where pytest imports this

import harness
import numpy as np
import scipy.sparse as sp
from harness import NAMED, OK, SILENT, UNCLEAR, Result
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier

from bagwise import (
    AutoBagRegressor,
    AutoBagSurvival,
    BagKernelRegressor,
    Bags,
    BagSurvival,
    CompositionRegressor,
    CoxBag,
    LabelProportionLogistic,
    LabelProportionSVC,
    LabelSVC,
    MeanRegressor,
    OrdinalBagClassifier,
    StatisticsForestRegressor,
    WitnessRegressor,
)
from bagwise.estimators.tags import bag_tags
from bagwise.models.proportions import ShareRegressor
from bagwise.testing import estimators

Array = np.ndarray
_LIST = [
    *estimators(),
    *(LabelProportionSVC(), LabelProportionSVC(kernel="linear", init="soft")),
    *(LabelProportionLogistic(), LabelProportionLogistic(unit_norm=False)),
    *(WitnessRegressor(kernel="linear"), MeanRegressor(), BagKernelRegressor()),
    *(StatisticsForestRegressor(), CompositionRegressor(), OrdinalBagClassifier()),
    *(BagSurvival(times=2), CoxBag(), AutoBagRegressor(), AutoBagSurvival()),
    *(MultiOutputClassifier(model) for model in (LabelSVC(kernel="linear"), estimators()[-1])),
]
_FOREIGN = (
    *("highs", "lapack", "svd ", "eigenvalues did not", "infs or nans", "matmul:", "reshape"),
    *("singular matrix", "array must not contain", "division by zero", "broadcast", "argmax of"),
    *("need at least one array", "zero-size array", "out of bounds", "input x contains"),
)
_MOST_BAGS = 10  # oddities show in the smallest problems, and more of them fit into an hour
_KNOWN = 0.15  # probability that the first instances of some bags are labeled
_COVARIATES = 0.2  # probability that bags have numbers and texts of their own
_WEIGHTED = 0.1  # probability of weights of bags
_ABOVE_ZERO = 1e-6  # of the objective at w = 0: rounding of a sum of losses


# Data --------------------------------------------------------------------------------------------


def odd_bags(rng: random.Random) -> tuple[Bags, Array, list[str]]:
    """Draw a small data set with a few oddities; return it with their names."""
    draw = np.random.default_rng(rng.getrandbits(64))
    n_classes = rng.choice((*[2] * 8, 3, 4))  # each more class is one more problem to solve
    y = draw.permutation(np.arange(rng.randint(2 * n_classes, _MOST_BAGS)) % n_classes)
    sizes = draw.integers(1, 4, len(y))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = draw.normal(size=(offsets[-1], rng.randint(1, 4)))
    X[offsets[:-1], y % X.shape[1]] += 2.0 * y
    told = [name for name in _ODDITIES if rng.random() < _ODDITIES[name][0]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        for name in told:
            X = _ODDITIES[name][1](X, draw)
    known = None
    if rng.random() < _KNOWN:
        told.append("known")
        known = np.full(offsets[-1], np.nan)
        known[offsets[:-1]] = np.where(draw.random(len(y)) < 0.5, y, np.nan)
    covariates = None
    if rng.random() < _COVARIATES:
        told.append("covariates")
        numbers = draw.normal(size=len(y)) * 10 ** draw.uniform(-150, 150)
        texts = draw.choice(["I", "II", "III"], len(y))
        covariates = np.column_stack([numbers.astype(object), texts.astype(object)])
    ids = [f"b{i}" for i in range(len(y))]
    return Bags(X, offsets, ids=ids, known_labels=known, bag_features=covariates), y, told


def _constant(X: Array, draw: Any) -> Array:
    X[:, 0] = draw.choice([0.0, 1.0, 1e300, -7.0])
    return X


def _sparse(X: Array, draw: Any) -> Any:
    rows = sp.csr_array(np.where(draw.random(X.shape) < 0.5, X, 0))
    if draw.random() < 0.5:
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


# Probability and change, in the order in which they are applied.
_ODDITIES: dict[str, tuple[float, Callable[[Array, Any], Any]]] = {
    "binary": (0.1, lambda X, draw: (X > 0).astype(float)),
    "repeated": (0.15, lambda X, draw: X[draw.integers(0, max(1, len(X) // 3), len(X))]),
    "constant": (0.15, _constant),
    "units": (0.2, lambda X, draw: X * 10 ** draw.uniform(-6, 6, X.shape[1])),
    "offset": (0.25, lambda X, draw: X + 10 ** draw.uniform(0, 8) * np.std(X, axis=0)),
    "scaled": (0.3, lambda X, draw: X * 10 ** draw.uniform(-150, 150)),
    "zero": (0.02, lambda X, draw: 0 * X),
    "float32": (0.1, lambda X, draw: X.astype(np.float32)),
    "float16": (0.05, lambda X, draw: X.astype(np.float16)),
    "sparse": (0.2, lambda X, draw: _sparse(X.astype(np.promote_types(X.dtype, "f4")), draw)),
}


def odd_estimator(rng: random.Random, number: int) -> Any:
    """Take the listed estimators in turn, often with an extreme C or alpha."""
    model = clone(_LIST[number % len(_LIST)])
    whole = model
    if isinstance(model, MultiOutputClassifier):
        model = model.estimator
    known = model.get_params()
    if rng.random() < 0.4 and "C" in known:
        model.set_params(C=10 ** rng.uniform(-8, 8))
    if rng.random() < 0.4 and "alpha" in known:
        model.set_params(alpha=10 ** rng.uniform(-6, 3))
    if rng.random() < 0.05 and "probability" in known:
        model.set_params(probability="sigmoid", calibration_cv=2)
    if rng.random() < 0.15 and {"threshold", "calibration_cv"} <= known.keys():
        chosen = rng.choice(("calibrated", "balanced", 10 ** rng.uniform(-9, 9)))
        model.set_params(threshold=chosen, calibration_cv=2)
    return whole


def odd_weights(y: Array, rng: random.Random) -> Array | None:
    """Return weights of bags from 1e-9 to 1e9, some of them 0, or mostly None."""
    if rng.random() >= _WEIGHTED:
        return None
    draw = np.random.default_rng(rng.getrandbits(64))
    return 10 ** draw.uniform(-9, 9, len(y)) * (draw.random(len(y)) < 0.8)


def targets(model: Any, y: Array, rng: random.Random) -> Array:
    """Return shares, numbers, times or two labels for the models that take them, else labels."""
    draw = np.random.default_rng(rng.getrandbits(64))
    if isinstance(model, ShareRegressor):
        return draw.random(len(y))
    task, size = getattr(model, "task", ""), 10 ** rng.uniform(-160, 160)
    if task == "numbers":
        return size * (draw.normal(size=len(y)) + rng.choice((0, 1e8)))
    if task == "times":
        return np.column_stack([draw.random(len(y)) < 0.7, np.ceil(3 * draw.random(len(y)) + y)])
    two = isinstance(model, MultiOutputClassifier)
    return np.column_stack([y % 2, draw.permutation(y % 2)]) if two else y


# Judging -----------------------------------------------------------------------------------------


def is_clear(error: BaseException, model: Any) -> bool:
    """Return whether an error is bagwise's and names a parameter, a bag, a feature or a remedy."""
    text = str(error)
    if not isinstance(error, ValueError | FloatingPointError):
        return False
    if any(word in text.lower() for word in _FOREIGN):
        return False
    place = traceback.extract_tb(error.__traceback__)[-1].filename
    ours = "/bagwise/" in place or place.endswith(("_param_validation.py", "utils/validation.py"))
    known = {name.rpartition("__")[2] for name in model.get_params()}
    names = [*known, "[Bb]ags?", "features?", "class(es)?", "[Ss]cale", "instances?", "weights?"]
    return ours and re.search(rf"\b({'|'.join(names)})\b", text) is not None


def at_zero(model: Any, bags: Bags, is_positive: Array) -> float | None:
    """Return the objective of w = 0, b = 0 for one class against the rest; None where unknown."""
    C, name = getattr(model, "C", None), type(model).__name__
    n_pos, n_bags = int(is_positive.sum()), len(bags)
    in_pos = int(bags.sizes[is_positive].sum())
    in_neg = bags.n_instances - in_pos
    if name == "MissSVM":
        return C * (n_pos + in_neg + model.unlabeled_weight * in_pos)
    if name == "KeyInstanceSVC":
        return C / 2 * (n_pos + (in_neg if model.negatives == "instances" else n_bags - n_pos))
    counts = {
        **dict.fromkeys(("InstanceSVC", "LabelSVC", "LabelProportionSVC"), bags.n_instances),
        **dict.fromkeys(("AnnealedLabelSVC", "AnnealedWitnessSVC"), bags.n_instances),
        **dict.fromkeys(("WitnessSVC", "MICA"), n_pos + in_neg),
        **dict.fromkeys(("MeanSVC", "BagKernelSVC"), n_bags),
        "SemiProximalSVC": in_pos / 2 + in_neg,
        "ODM": 1,
    }
    return C * counts[name] if name in counts else None


def wrong(model: Any, bags: Bags, y: Array, far: float = 1.0, weight: Array | None = None) -> str:
    """Return what is wrong with a fitted model without a word, or an empty text.

    It is asked about its own bags, ``far`` times as large.
    """
    asked = bags if far == 1.0 else bags.replace(X=bags.X * far)
    model.predict(asked)
    if isinstance(model, MultiOutputClassifier):
        fits = zip(model.estimators_, [bags] * 2, y.T, strict=True)
        found = (wrong(*each, far, weight) for each in fits)
        return next(filter(None, found), "")
    shares, task = isinstance(model, ShareRegressor), getattr(model, "task", "classes")
    ways = {"classes": "decision_function", "grades": "predict_proba"}
    way = "predict" if shares else ways.get(task, "predict")
    scores = {"bag": getattr(model, way)(asked)}
    if shares or bag_tags(model).instance_scores:
        scores["instance"] = model.instance_decision_function(asked)
        model.key_instances(asked)
    for name, values in scores.items():
        if not np.isfinite(values).all():
            return f"{name} scores are not finite"
    objectives = np.atleast_1d(getattr(model, "objective_", ()) if task == "classes" else ())
    known = [0, 1] if way == "predict" else model.classes_
    classes = known[1:] if len(known) == 2 else known
    for label, objective in zip(classes, objectives, strict=False):
        zero = at_zero(model, bags, y == label)
        if zero is not None and weight is None and not objective <= zero * (1 + _ABOVE_ZERO):
            return f"the objective is above that of w = 0: {objective:.6g} > {zero:.6g}"
    again = getattr(clone(model).fit(bags, y, weight), way)(asked)
    return "" if again.tobytes() == scores["bag"].tobytes() else "a second fit differs"


class Case:
    """Run case ``number``: estimator ``number`` modulo their count, data by ``rng``."""

    def __init__(self, talk: bool = False) -> None:
        self.talk = talk

    def kind(self, number: int) -> str:
        """Return the name of the class."""
        return type(_LIST[number % len(_LIST)]).__name__

    def __call__(self, rng: random.Random, number: int, folder: Path) -> Result:
        """Fit, predict and judge."""
        model, (bags, y, told) = odd_estimator(rng, number), odd_bags(rng)
        if "covariates" in told and "covariates" in model.get_params():
            model.set_params(covariates=True)
        if self.talk:
            print(model, told, bags, bags.X if not sp.issparse(bags.X) else bags.X.toarray(), y)
        far = 10 ** rng.uniform(0, 200) if rng.random() < 0.1 else 1.0
        y, weight = targets(model, y, rng), odd_weights(y, rng)
        return self.judged(model, bags, y, told, far, weight)

    def judged(
        self,
        model: Any,
        bags: Bags,
        y: Array,
        told: list[str],
        far: float = 1.0,
        weight: Array | None = None,
    ) -> Result:
        """Say how a fit ended."""
        told = told if weight is None else [*told, "weights"]
        kind, seen = (
            type(model).__name__,
            f" ({', '.join(told)}; {' '.join(repr(model).split())}, far={far:.0e})",
        )
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("always" if self.talk else "ignore")
                found = wrong(model.fit(bags, y, weight), bags, y, far, weight)
        except Exception as error:  # noqa: BLE001 - whatever comes is judged
            if self.talk:
                traceback.print_exc()
            if is_clear(error, model):
                return Result(kind, NAMED)
            return Result(kind, UNCLEAR, harness.last_place(error) + seen)
        return Result(kind, SILENT, found + seen) if found else Result(kind, OK)


def main() -> None:
    """Run from the command line."""
    options = harness.parser(__doc__ or "", count=2_000, batch=1_000).parse_args()
    if options.case is not None:
        folder = Path(tempfile.gettempdir(), "bagwise_fuzz_case")
        print(harness.run_one(Case(talk=True), options, folder))
        return
    harness.finish(Case(), options)


if __name__ == "__main__":
    main()
