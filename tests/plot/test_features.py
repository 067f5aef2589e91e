import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import WitnessSVC
from bagwise.plot import ContributionDisplay, ImportanceDisplay


def test_contributions_sum_to_the_difference_from_the_mean(fitted):
    model, bags, _ = fitted
    shown = ContributionDisplay.from_estimator(model, bags, bag=3, top=bags.n_features)
    row = bags.X[bags.offsets[3] + model.key_instances(bags[3:4])[0]]
    assert shown.values.sum() == pytest.approx(model.coef_[0] @ (row - bags.X.mean(axis=0)))
    assert np.all(np.diff(np.abs(shown.values)) <= 0)


def test_sparse_rows_contribute_the_same(fitted):
    model, bags, _ = fitted
    one = ContributionDisplay.from_estimator(model, bags)
    other = ContributionDisplay.from_estimator(model, bags.replace(X=sp.csr_array(bags.X)))
    assert one.values == pytest.approx(other.values)


def test_kernels_have_no_contributions(fitted):
    _, bags, y = fitted
    with pytest.raises(ValueError, match="kernel='linear' only"):
        ContributionDisplay.from_estimator(WitnessSVC().fit(bags, y), bags)


def test_the_only_feature_that_matters_is_the_first_one_drawn():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bags = [rng.normal(size=(4, 3)) + [0, 4 * label, 0] for label in y]
    model = WitnessSVC(kernel="linear").fit(bags, y)
    shown = ImportanceDisplay.from_estimator(model, bags, y, top=2)
    assert shown.names[0] == "feature 1"
    assert shown.values[0].mean() > 0.2 > abs(shown.values[1].mean())
