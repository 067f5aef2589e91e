"""The figure of margin distributions: shares of what is there, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import LabelSVC, OptimalMarginSVC, WitnessSVC
from bagwise.datasets import load_digits_bags
from bagwise.plot import margin_distribution


@pytest.fixture(scope="module")
def fitted():
    bags, y = load_digits_bags(n_bags=30)
    models = {
        "odm": OptimalMarginSVC(C_pos=10.0, C_neg=10.0, relax=False, threshold=0.0),
        "svm": WitnessSVC(),
    }
    return {name: model.fit(bags, y) for name, model in models.items()}, bags, y


def test_every_panel_holds_all_margins_of_every_model(fitted):
    figure = margin_distribution(*fitted, title="digits")
    for axis in figure.axes:
        filled = [bar.get_height() for bar in axis.patches if hasattr(bar, "get_height")]
        assert np.sum(filled) == pytest.approx(2.0)  # one for each model


def test_the_legend_gives_mean_and_deviation(fitted):
    models, bags, y = fitted
    (legend,) = margin_distribution(models, bags, y).legends
    scores = models["svm"].instance_decision_function(bags)
    positive = models["svm"].decision_function(bags)[y == 1]
    margins = np.concatenate([positive, -scores[np.repeat(y == 0, np.diff(bags.offsets))]])
    expected = f"svm (mean {margins.mean():.2f}, sd {margins.std():.2f})"
    assert legend.get_texts()[1].get_text() == expected


def test_the_named_positive_class_is_the_positive_one(fitted):
    _, bags, y = fitted
    by_default = {"a": LabelSVC().fit(bags, y)}
    turned = {"a": LabelSVC(pos_label=0).fit(bags, 1 - y)}
    texts = [
        margin_distribution(models, bags, labels).legends[0].get_texts()[0].get_text()
        for models, labels in ((by_default, y), (turned, 1 - y))
    ]
    assert texts[0] == texts[1]


def test_three_classes_are_refused(fitted):
    _, bags, _ = fitted
    y = np.arange(30) % 3
    with pytest.raises(ValueError, match="two classes; 'three' has 3"):
        margin_distribution({"three": LabelSVC().fit(bags, y)}, bags, y)


def test_every_model_is_drawn_however_many(fitted):
    models, bags, y = fitted
    many = {f"svm {i}": models["svm"] for i in range(8)}
    figure = margin_distribution(many, bags, y)
    assert len(figure.legends[0].get_texts()) == 8
    steps = [patch for patch in figure.axes[0].patches if not hasattr(patch, "get_height")]
    assert len({(patch.get_edgecolor(), patch.get_linestyle()) for patch in steps}) == 8


def test_what_cannot_be_drawn_is_refused_by_name(fitted):
    models, bags, y = fitted
    with pytest.raises(TypeError, match="must map names to fitted models"):
        margin_distribution(list(models.values()), bags, y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        margin_distribution(models, bags, y[:-1])
    with pytest.raises(
        ValueError, match=r"'odm' was fitted on the labels \[0, 1\], and y also has \[2\]"
    ):
        margin_distribution(models, bags, y + 1)
    with pytest.raises(ValueError, match="y has only one class"):
        margin_distribution(models, bags, np.ones_like(y))
