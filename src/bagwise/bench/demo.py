"""The demo: bags of handwritten digits, positive if they contain a 9.

Training and test bags are drawn from different images. A few models learn from the labels of the
bags alone, and point at the digit that makes a bag positive, which was never labeled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Self

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_mean
from bagwise.datasets import load_digits_bags
from bagwise.estimators.base import BagClassifier
from bagwise.metrics import bag_report
from bagwise.models.instance import InstanceSVC
from bagwise.models.witness import LabelSVC, WitnessSVC
from bagwise.tolerances import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIGIT = 9  # what positive bags contain
_SHOWN = 8  # bags in the figure, one screen high
_COIN, _GOOD = 0.6, 0.9  # accuracy at most that of a coin, AUC of a useful ranking


@dataclass(frozen=True)
class DigitTask:
    """Bags of digits; training and test share no image. Labels are 1 for bags with a 9."""

    train: Bags
    y_train: Array
    test: Bags
    y_test: Array

    @classmethod
    def draw(cls, seed: int = 0, n_bags: int = 200) -> Self:
        """Draw training bags and equally many test bags."""
        draws = (("train", 2 * seed), ("test", 2 * seed + 1))
        parts = [
            load_digits_bags(_DIGIT, n_bags=n_bags, subset=subset, random_state=state)
            for subset, state in draws
        ]
        return cls(*parts[0], *parts[1])

    @property
    def found_by_chance(self) -> float:
        """How often an instance drawn at random from a positive test bag is a 9."""
        shares = segment_mean(self.test.instance_labels, self.test.offsets)
        return float(shares[self.y_test == 1].mean())

    def models(self) -> list[BagClassifier]:
        """Return the models of the demo, not fitted; the figure shows the last one's choices."""
        linear = WitnessSVC(kernel="linear")
        calibrated = InstanceSVC(threshold="calibrated")
        return [InstanceSVC(), calibrated, LabelSVC(), linear, WitnessSVC()]

    def figure(self, model: BagClassifier) -> Figure:
        """Draw test bags with the true 9s and the digit that the model points at.

        In bags predicted negative no choice is marked. Wrongly classified bags, if any, come last.
        """
        from bagwise.plot import image_bags

        predicted = model.predict(self.test)
        shown = self._bags_to_show(predicted)
        bags, says, holds = self.test[shown], predicted[shown], self.y_test[shown]
        scores = model.decision_function(bags)
        captions = [
            f"{'holds' if truth else 'without'} a {_DIGIT}\n"
            f"model: {'yes' if word else 'no'} ({score:+.2f}){'' if truth == word else ', WRONG'}"
            for truth, word, score in zip(holds, says, scores, strict=True)
        ]
        chosen = np.where(says == 1, model.key_instances(bags), -1)
        title = f"Test bags: positive when they hold a {_DIGIT}. Choices of {model}"
        return image_bags(bags, (8, 8), chosen=chosen, captions=captions, title=title)

    def _bags_to_show(self, predicted: Array) -> Array:
        wrong = np.flatnonzero(predicted != self.y_test)[:2]
        right = np.flatnonzero(predicted == self.y_test)[: _SHOWN - len(wrong)]
        return np.concatenate([right, wrong])


@dataclass(frozen=True)
class ModelResult:
    """What the demo's table says about one model."""

    model: str  # as typed in Python
    bag_accuracy: float  # on the test bags
    bag_auc: float
    found: float  # how often the digit chosen in a positive test bag is a 9
    seconds: float  # to fit


def evaluate(
    task: DigitTask, models: list[BagClassifier], begin: Callable[[str], None] = lambda _: None
) -> Iterator[ModelResult]:
    """Fit the models one after the other and yield the result of each on the test bags."""
    for model in models:
        begin(str(model))
        start = perf_counter()
        with one_blas_thread():  # threads gain nothing here, and lose a lot on a busy computer
            model.fit(task.train, task.y_train)
        seconds = perf_counter() - start
        report = bag_report(model, task.test, task.y_test)
        found = report["key_instance_rate"]
        yield ModelResult(str(model), report["accuracy"], report["auc"], found, seconds)


def surprise(result: ModelResult) -> str:
    """Explain a row whose accuracy is that of a coin although it ranks bags well; "" otherwise."""
    if result.bag_accuracy > _COIN or result.bag_auc < _GOOD:
        return ""
    return (
        f"{result.model} ranks bags well (AUC {result.bag_auc:.2f}) and still errs like a coin "
        f"({result.bag_accuracy:.0%}): it calls nearly all bags the same, because its threshold of "
        "0 is for instances, not for the highest of many. threshold='calibrated' chooses a "
        "threshold for bags."
    )
