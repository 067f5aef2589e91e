"""Slides scored one by one: the combination of their scores, and bags that are one part each."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import Bags, MeanSVC, PartClassifier, StatisticsLogistic, WitnessSVC


def draw_patients(n=20, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n), rng.integers(1, 4, n))
    y = groups % 2
    slides = [rng.normal(size=(rng.integers(1, 5), 2)) + label for label in y]
    return Bags.from_list(slides, groups=groups).merge("groups", y)


INNER = [WitnessSVC(kernel="linear"), StatisticsLogistic(), MeanSVC()]


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize(("combine", "reduce"), [("mean", np.mean), ("max", np.max)])
@pytest.mark.parametrize("positive", [0, 1])
def test_scores_of_parts_are_combined(inner, combine, reduce, positive):
    bags, y = draw_patients()
    model = PartClassifier(estimator=inner, combine=combine, pos_label=positive).fit(bags, y)
    slides, sign = bags.split(), 2 * positive - 1
    alone = clone(inner).set_params(pos_label=positive)
    alone.fit(slides, y[np.searchsorted(np.unique(bags.ids), slides.groups)])
    scores = sign * alone.decision_function(slides)  # the highest is that of the most positive
    expected = [sign * reduce(scores[slides.groups == name]) for name in bags.ids]
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)


@pytest.mark.parametrize("inner", INNER[:2])
def test_bags_without_parts_are_one_part_each(inner):
    bags, y = draw_patients()
    plain = bags.replace(parts=None)
    alone = inner.fit(plain, y).decision_function(plain)
    model = PartClassifier(estimator=inner).fit(plain, y)
    np.testing.assert_allclose(model.decision_function(plain), alone, atol=1e-8)
    np.testing.assert_array_equal(model.key_instances(plain), inner.key_instances(plain))


def test_instances_keep_their_rows_where_parts_are_scattered():
    bags, y = draw_patients()
    model = PartClassifier(estimator=WitnessSVC(kernel="linear")).fit(bags, y)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(bags.offsets, bags.offsets[1:], strict=False)]
    )
    turned = bags.replace(
        X=bags.X[order], parts=bags.parts[order], instance_ids=np.arange(bags.n_instances)[order]
    )
    np.testing.assert_allclose(
        model.instance_decision_function(turned), model.instance_decision_function(bags)[order]
    )
    np.testing.assert_allclose(model.decision_function(turned), model.decision_function(bags))
