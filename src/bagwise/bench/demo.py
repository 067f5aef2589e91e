"""The demo: bags of handwritten digits, positive if they contain a 9.

Training and test bags are drawn from different images. A few models learn from the labels of the
bags alone, and point at the digit that makes a bag positive, which was never labeled.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

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


def evaluate(task: DigitTask, model: BagClassifier) -> dict[str, Any]:
    """Fit a model and return what it does on the test bags.

    "found" is how often the digit chosen in a positive test bag is a 9.
    """
    start = perf_counter()
    with one_blas_thread():  # threads gain nothing here, and lose a lot on a busy computer
        model.fit(task.train, task.y_train)
    seconds, report = perf_counter() - start, bag_report(model, task.test, task.y_test)
    found = {"bag_accuracy": report["accuracy"], "bag_auc": report["auc"]}
    found |= {"found": report["key_instance_rate"], "seconds": seconds}
    return {"model": str(model), **found}


def surprise(result: dict[str, Any]) -> str:
    """Explain a row whose accuracy is that of a coin although it ranks bags well; "" otherwise."""
    accuracy, auc = result["bag_accuracy"], result["bag_auc"]
    if accuracy > _COIN or auc < _GOOD:
        return ""
    return (
        f"{result['model']} ranks bags well (AUC {auc:.2f}) and still errs like a coin "
        f"({accuracy:.0%}): it calls nearly all bags the same, because its threshold of 0 is for "
        "instances, not for the highest of many. threshold='calibrated' chooses a threshold for "
        "bags."
    )
