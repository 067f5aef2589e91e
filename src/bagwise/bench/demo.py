"""The demo: bags of handwritten digits, positive if they contain a 9.

Training and test bags are drawn from different images. A few models learn from the labels of the
bags alone, and point at the digit that makes a bag positive, which was never labeled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_mean
from bagwise.datasets import load_digits_bags
from bagwise.estimators.base import BagClassifier
from bagwise.metrics import bag_report
from bagwise.models.instance import InstanceSVC
from bagwise.models.witness import LabelSVC, WitnessSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIGIT = 9  # what positive bags contain
_SHOWN = 8  # bags in the figure, one screen high
_SHOWN_MISTAKES = 2  # of them at most, if there are any


@dataclass(frozen=True)
class DigitTask:
    """Training and test bags of digits, without common images; labels are 1 for bags with a 9."""

    train: Bags
    y_train: Array
    test: Bags
    y_test: Array

    @classmethod
    def draw(cls, seed: int = 0, n_bags: int = 200) -> DigitTask:
        """Draw training bags and equally many test bags."""
        draws = (("train", 2 * seed), ("test", 2 * seed + 1))
        parts = [
            load_digits_bags(_DIGIT, n_bags=n_bags, subset=subset, random_state=state)
            for subset, state in draws
        ]
        return cls(*parts[0], *parts[1])

    @property
    def found_by_chance(self) -> float:
        """How often a digit drawn at random from a positive test bag is a 9."""
        shares = segment_mean(self.test.instance_labels, self.test.offsets)
        return float(shares[self.y_test == 1].mean())


@dataclass(frozen=True)
class ModelResult:
    """What the demo's table says about one model."""

    model: str  # as typed in Python
    bag_accuracy: float  # on the test bags
    bag_auc: float
    found: float  # how often the digit chosen in a positive test bag is a 9
    seconds: float  # to fit


def demo_models() -> list[BagClassifier]:
    """Return the models of the demo, not fitted; the figure shows the last one's choices."""
    return [
        InstanceSVC(),
        InstanceSVC(threshold="calibrated"),
        LabelSVC(),
        WitnessSVC(kernel="linear"),
        WitnessSVC(),
    ]


def evaluate(
    task: DigitTask, models: list[BagClassifier], started: Callable[[str], None] = lambda _: None
) -> Iterator[ModelResult]:
    """Fit the models one after the other and yield the result of each on the test bags."""
    for model in models:
        started(str(model))
        seconds = _seconds_to_fit(model, task)
        report = bag_report(model, task.test, task.y_test)
        yield ModelResult(
            model=str(model),
            bag_accuracy=report["accuracy"],
            bag_auc=report["auc"],
            found=report["key_instance_rate"],
            seconds=seconds,
        )


def _seconds_to_fit(model: BagClassifier, task: DigitTask) -> float:
    from threadpoolctl import threadpool_limits

    # Problems this small gain nothing from threads, and lose a lot on a busy computer.
    with threadpool_limits(limits=1):
        start = perf_counter()
        model.fit(task.train, task.y_train)
        return perf_counter() - start


def demo_figure(task: DigitTask, model: BagClassifier) -> Figure:
    """Draw test bags with the true 9s and the digit that the model points at.

    In bags predicted negative no choice is marked. Wrongly classified bags, if any, come last.
    """
    from bagwise.plot import image_bags

    predicted = model.predict(task.test)
    shown = _bags_to_show(task, predicted)
    bags, says, holds = task.test[shown], predicted[shown], task.y_test[shown]
    scores = model.decision_function(bags)
    captions = [
        f"{'holds' if truth else 'without'} a {_DIGIT}\n"
        f"model: {'yes' if word else 'no'} ({score:+.2f}){'' if truth == word else ', WRONG'}"
        for truth, word, score in zip(holds, says, scores, strict=True)
    ]
    chosen = np.where(says == 1, model.key_instances(bags), -1)
    title = f"Test bags: positive when they hold a {_DIGIT}. Choices of {model}"
    return image_bags(bags, (8, 8), chosen=chosen, captions=captions, title=title)


def _bags_to_show(task: DigitTask, predicted: Array) -> Array:
    wrong = np.flatnonzero(predicted != task.y_test)[:_SHOWN_MISTAKES]
    right = np.flatnonzero(predicted == task.y_test)[: _SHOWN - len(wrong)]
    return np.concatenate([right, wrong])
