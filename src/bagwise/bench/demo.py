"""The demo: bags of handwritten digits, positive if they contain a 9.

Training and test bags are drawn from different images. A few models learn from the labels of the
bags alone, and point at the digit that makes a bag positive, which was never labeled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_mean
from bagwise.datasets import load_digits_bags, make_molecule_bags, make_slide_bags
from bagwise.estimators.base import BagClassifier
from bagwise.metrics import bag_report
from bagwise.models.annealed import AnnealedWitnessSVC
from bagwise.models.instance import InstanceSVC
from bagwise.models.meansvc import MeanSVC
from bagwise.models.witness import LabelSVC, WitnessSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DIGIT = 9  # what positive bags contain
_SHOWN = 8  # bags in the figure, one screen high
_COIN, _GOOD = 0.6, 0.9  # accuracy at most that of a coin, AUC of a useful ranking
_SHOWN_MISTAKES = 2  # of them at most, if there are any


@dataclass(frozen=True)
class DemoTask:
    """Training and test bags with known witnesses; labels are 0 and 1."""

    train: Bags
    y_train: Array
    test: Bags
    y_test: Array
    question: ClassVar[str] = ""
    witness: ClassVar[str] = "witness"

    @classmethod
    def halve(cls, bags: Bags, y: Array) -> Self:
        """Train on the first half of the bags and test on the second."""
        half = len(bags) // 2
        return cls(bags[:half], y[:half], bags[half:], y[half:])

    @property
    def found_by_chance(self) -> float:
        """How often an instance drawn at random from a positive test bag is a witness."""
        shares = segment_mean(self.test.instance_labels, self.test.offsets)
        return float(shares[self.y_test == 1].mean())

    def models(self) -> list[BagClassifier]:
        """Return the models of the demo, not fitted; the figure shows the last one's choices."""
        annealed = AnnealedWitnessSVC(kernel="linear")
        return [MeanSVC(), WitnessSVC(kernel="linear"), annealed]

    def figure(self, model: BagClassifier) -> Figure:
        """Draw the instance scores of positive test bags: in place, or one column per bag."""
        from matplotlib.figure import Figure

        shown = np.flatnonzero(self.y_test == 1)[: _SHOWN // 2]
        figure = Figure(figsize=(3.2 * len(shown), 3.4), layout="constrained")
        for axes, i in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
            bag = self.test[i : i + 1]
            scores, true = model.instance_decision_function(bag), bag.instance_labels == 1
            x, y = (np.arange(len(scores)), scores) if bag.coords is None else bag.coords.T
            marks = axes.scatter(x, y, c=scores, cmap="viridis", s=14)
            axes.scatter(x[true], y[true], s=60, facecolors="none", edgecolors="red")
            best = int(scores.argmax())
            axes.scatter(x[best], y[best], s=40, marker="x", color="black")
            axes.set(title=str(bag.ids[0]), xticks=[])
            if bag.coords is not None:
                axes.set_yticks([])
                axes.set_aspect("equal")
                axes.invert_yaxis()
        figure.colorbar(marks, ax=figure.axes, label="score")
        figure.suptitle(f"{model}: chosen instance (cross), true ones (red)", fontsize=10)
        return figure


class SlideTask(DemoTask):
    """Slides of patches on a grid, some with a small connected tumor."""

    question: ClassVar[str] = "Is there a tumor on the slide?"
    witness: ClassVar[str] = "tumor"

    @classmethod
    def draw(cls, seed: int = 0) -> Self:
        """Draw training slides and equally many test slides."""
        return cls.halve(*make_slide_bags(120, bag_size=(30, 150), random_state=seed))


class MoleculeTask(DemoTask):
    """Molecules with many shapes, of which one must fit."""

    question: ClassVar[str] = "Does one shape of the molecule bind?"
    witness: ClassVar[str] = "shape"

    @classmethod
    def draw(cls, seed: int = 0) -> Self:
        """Draw training molecules and equally many test molecules."""
        return cls.halve(*make_molecule_bags(160, random_state=seed))


class DigitTask(DemoTask):
    """Bags of digits; training and test share no image. Labels are 1 for bags with a 9."""

    question: ClassVar[str] = "Is there a 9 in the bag?"
    witness: ClassVar[str] = "9"

    @classmethod
    def draw(cls, seed: int = 0, n_bags: int = 200) -> Self:
        """Draw training bags and equally many test bags."""
        draws = (("train", 2 * seed), ("test", 2 * seed + 1))
        parts = [
            load_digits_bags(_DIGIT, n_bags=n_bags, subset=subset, random_state=state)
            for subset, state in draws
        ]
        return cls(*parts[0], *parts[1])

    def models(self) -> list[BagClassifier]:
        """Return the models that the digits contrast."""
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
        wrong = np.flatnonzero(predicted != self.y_test)[:_SHOWN_MISTAKES]
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
    task: DemoTask, models: list[BagClassifier], begin: Callable[[str], None] = lambda _: None
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
