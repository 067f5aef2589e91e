"""Every listed estimator of any task in a model file."""

import numpy as np
import pytest
from sklearn.base import clone

import bagwise
from bagwise.testing import estimators
from bagwise.testing._problems import outputs, planted_bags

OTHERS = [model for task in ("numbers", "grades", "times") for model in estimators(task=task)]


@pytest.mark.parametrize("model", OTHERS, ids=repr)
@pytest.mark.filterwarnings("ignore::bagwise.errors.TaskWarning")
def test_a_model_file_gives_the_same_bits(model, tmp_path):
    bags, y = planted_bags()
    times = np.column_stack([np.arange(len(y)) % 4 > 0, 2.0 - y + np.arange(len(y)) / 50])
    labels = {"numbers": y + 0.1 * np.arange(len(y)), "grades": y, "times": times}
    fitted = clone(model).fit(bags, labels[model.task])
    bagwise.save(fitted, tmp_path / "model.bagwise")
    read = bagwise.load(tmp_path / "model.bagwise")
    for name, values in outputs(fitted, bags).items():
        np.testing.assert_array_equal(outputs(read, bags)[name], values)
