"""Estimators of numbers, grades and times under the generic checks, and in model files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import bagwise
from bagwise.testing import bag_checks, estimators, expected_failed_checks
from bagwise.testing._problems import outputs, planted_bags
from representatives import in_turn, name_of

TASKS = ("numbers", "grades")
pytestmark = pytest.mark.filterwarnings("ignore::bagwise.errors.TaskWarning")


def every(**options):
    return [model for task in TASKS for model in estimators(task=task, **options)]


def products_of_scikit_learn():
    for model in every(sklearn=True):
        for _, check in estimator_checks_generator(model):
            yield model, check, []


def products():
    for model in every():
        for check in bag_checks(model):
            yield model, check, []


@pytest.mark.parametrize(
    ("model", "check"), [*in_turn(products_of_scikit_learn()), *in_turn(products())]
)
def test_the_contract(model, check, request):
    reason = expected_failed_checks(model).get(name_of(check))
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    check(clone(model))


def times_of(y):
    return np.column_stack([np.arange(len(y)) % 4 > 0, 2.0 - y + np.arange(len(y)) / 50])


@pytest.mark.parametrize("model", [*every(), *estimators(task="times")], ids=repr)
def test_a_model_file_gives_the_same_bits(model, tmp_path):
    bags, y = planted_bags()
    labels = {"numbers": y + 0.1 * np.arange(len(y)), "grades": y, "times": times_of(y)}
    fitted = clone(model).fit(bags, labels[model.task])
    bagwise.save(fitted, tmp_path / "model.bagwise")
    read = bagwise.load(tmp_path / "model.bagwise")
    for name, values in outputs(fitted, bags).items():
        np.testing.assert_array_equal(outputs(read, bags)[name], values)
