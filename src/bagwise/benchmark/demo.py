"""The demo: bags of handwritten digits, positive when a 9 is among them.

Training and test bags are drawn from different images. A few models learn from the bags' labels
alone; what they are asked for includes the digit that made a bag positive, which nobody told them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.base import BagClassifier
from bagwise.datasets import load_digits_bags
from bagwise.metrics import bag_report
from bagwise.models import InstanceSVC, LabelSVC, WitnessSVC
from bagwise.segments import segment_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DigitTask", "ModelResult", "demo_figure", "demo_models", "evaluate"]

Array = NDArray[Any]

_DIGIT = 9
_SHOWN = 8
_SHOWN_MISTAKES = 2


@dataclass(frozen=True)
class DigitTask:
    """Training and test bags of digits; no image is in both.

    Parameters
    ----------
    train, test : Bags
        The bags, with instance labels (used for scoring only).
    y_train, y_test : ndarray
        1 where the bag holds a 9.
    """

    train: Bags
    y_train: Array
    test: Bags
    y_test: Array

    @classmethod
    def draw(cls, seed: int = 0, n_bags: int = 200) -> DigitTask:
        """Draw as many training as test bags."""
        draws = (("train", 2 * seed), ("test", 2 * seed + 1))
        parts = [
            load_digits_bags(_DIGIT, n_bags=n_bags, subset=subset, random_state=state)
            for subset, state in draws
        ]
        return cls(*parts[0], *parts[1])

    @property
    def found_by_chance(self) -> float:
        """How often a digit drawn from a positive test bag is a 9."""
        shares = segment_mean(self.test.instance_labels, self.test.offsets)
        return float(shares[self.y_test == 1].mean())


@dataclass(frozen=True)
class ModelResult:
    """What the demo's table says of one model.

    Parameters
    ----------
    model : str
        The estimator as typed in Python.
    bag_accuracy, bag_auc : float
        On the test bags.
    found : float
        How often the digit chosen in a positive test bag is a 9.
    seconds : float
        Time of the fit.
    """

    model: str
    bag_accuracy: float
    bag_auc: float
    found: float
    seconds: float


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
    """Fit the models one after the other and yield what the test bags say of each."""
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

    # Problems this small gain nothing from threads and lose a lot on a busy machine.
    with threadpool_limits(limits=1):
        start = perf_counter()
        model.fit(task.train, task.y_train)
        return perf_counter() - start


def demo_figure(task: DigitTask, model: BagClassifier) -> Figure:
    """Draw test bags with the true 9s and the digit the model holds responsible.

    Bags the model calls negative have no choice marked. If it was wrong about bags, some of these
    come last.
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
