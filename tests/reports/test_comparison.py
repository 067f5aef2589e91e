import re

import numpy as np
import pytest

from bagwise import InstanceSVC, MeanSVC, WitnessSVC, report_comparison
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import compare


@pytest.fixture(scope="module")
def found():
    bags, y = make_gaussian_bags(n_bags=60, shift=4.0, random_state=0)
    labels = np.where(y == 1, "ill", "well")
    models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear"), "mean": MeanSVC()}
    models["broken"] = MeanSVC(kernel="precomputed")  # there is no such kernel of means
    return bags, compare(bags, labels, models, cv=3, n_repeats=1, pos_label="ill")


def test_it_shows_what_the_comparison_found(found):
    bags, comparison = found
    page = report_comparison(comparison, bags, command="bagwise compare x", build="bagwise fit x")
    text = re.sub(r"<[^>]+>", " ", page.html.split("<main")[1])
    for name, one in comparison.results.items():
        assert name in text
        assert f"{100 * one.estimates['auc'].low:.1f} to" in text
    assert "bagwise compare x" in text
    assert "bagwise fit x" in text
    assert f"Recommended is  {comparison.recommendation}" in text
    assert "ill  (positive) or well" in text
    assert "failed:" in text
    assert "of class ill (positive)" in text
    assert page.numbers["groups"] == [list(group) for group in comparison.groups]


def test_stars_are_corrected_differences(found):
    _, comparison = found
    html = report_comparison(comparison).html
    table = html[html.index('id="pair-table"') :]
    stars = table[: table.index("</table>")].count("*</td>")
    corrected = comparison.p_values(corrected=True).to_numpy()
    assert stars == (corrected < 0.05).sum()
    assert (corrected >= comparison.p_values().to_numpy()).all()


def test_several_classes_have_no_positive_one():
    bags, _ = make_gaussian_bags(n_bags=45, shift=4.0, random_state=0)
    y = np.arange(45) % 3
    comparison = compare(bags, y, {"mean": MeanSVC()}, cv=3, n_repeats=1)
    html = report_comparison(comparison, bags).html
    assert "the label of a bag" in html
    assert "15 of class 0, 15 of class 1, 15 of class 2" in html


def test_nothing_to_report(found):
    bags, comparison = found
    models = {"broken": comparison.models["broken"]}
    empty = compare(bags, comparison.sample.y, models, cv=3, pos_label="ill")
    with pytest.raises(ValueError, match="No model has a result"):
        report_comparison(empty)
