"""The demo's data, numbers and figure."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import LabelSVC, WitnessSVC
from bagwise.bench.demo import DigitTask, evaluate


@pytest.fixture(scope="module")
def task() -> DigitTask:
    return DigitTask.draw(seed=0, n_bags=60)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_train_and_test_bags_share_no_image(seed):
    task = DigitTask.draw(seed)
    assert not set(task.train.instance_ids) & set(task.test.instance_ids)
    for bags, y in ((task.train, task.y_train), (task.test, task.y_test)):
        holds = [labels.any() for labels in np.split(bags.instance_labels, bags.offsets[1:-1])]
        assert np.array_equal(holds, y == 1)
        assert set(y) == {0, 1}


def test_found_by_chance_is_the_mean_share_of_witnesses(task):
    shares = [
        task.test.instance_labels[task.test.offsets[i] : task.test.offsets[i + 1]].mean()
        for i in np.flatnonzero(task.y_test == 1)
    ]
    assert task.found_by_chance == pytest.approx(np.mean(shares))


def test_evaluate_reports_each_model_as_it_is(task):
    model = WitnessSVC(kernel="linear")
    result = evaluate(task, model)
    assert result["model"] == "WitnessSVC(kernel='linear')"
    right = model.predict(task.test) == task.y_test
    assert result["bag_accuracy"] == right.mean()
    chosen = task.test.flat(model.key_instances(task.test))
    assert result["found"] == task.test.instance_labels[chosen][task.y_test == 1].mean()
    assert result["found"] > 0.8 > 2 * task.found_by_chance
    assert result["bag_auc"] > 0.9
    assert result["seconds"] > 0


def test_the_figure_marks_choices_in_bags_called_positive_only(task):
    model = LabelSVC(kernel="linear").fit(task.train, task.y_train)
    axes = task.figure(model).axes[0]
    captions = [label.get_text() for label in axes.get_yticklabels()]
    frames = [patch for patch in axes.patches if patch.get_linewidth() > 2]
    assert len(captions) == 8
    assert len(frames) == sum("model: yes" in caption for caption in captions) > 0
    for caption in captions:
        agrees = caption.startswith("holds") == ("model: yes" in caption)
        assert ("WRONG" in caption) == (not agrees)
