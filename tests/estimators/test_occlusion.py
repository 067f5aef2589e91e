"""Occlusion equals brute-force removal, for every listed model and through pipelines."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    BagKernelSVC,
    Bags,
    BagStatistics,
    KernelOptions,
    MeanSVC,
    PerInstance,
    StatisticsForest,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.estimators.occlusion import occlusion_scores
from bagwise.estimators.tags import innermost
from bagwise.testing import estimators
from bagwise.testing._problems import planted_bags
from representatives import first_of_each

FURTHER = [
    *(
        BagKernelSVC(bag_kernel=bag_kernel, kernel=kernel, normalize=True)
        for bag_kernel in ("mean", "sum", "statistics", "migraph")
        for kernel in ("linear", "poly")
    ),
    BagKernelSVC(bag_kernel="statistics", kernel=lambda A, B: (1 + A @ B.T) ** 2),
    MeanSVC(kernel="poly", kernel_options=KernelOptions(coef0=1.0)),
    StatisticsSVC(statistics=["mean", "std", "q20", "size"], kernel="poly"),
]


def brute_force(model, bags):
    """Score every bag without each of its instances, one bag at a time."""
    own, rows = model.decision_function(bags), []
    for k in range(len(bags)):
        bag, n = bags[[k]], int(bags.sizes[k])
        for i in range(n):
            if n == 1:
                rows.append(own[k])
                continue
            keep = np.flatnonzero(np.arange(n) != i)
            left = Bags(bag.X[keep], [0, n - 1], ids=bag.ids, instance_ids=bag.instance_ids[keep])
            rows.append(own[k] - model.decision_function(left)[0])
    return np.array(rows)


def assert_exact(model, bags):
    expected = brute_force(model, bags)
    scale = max(1.0, float(np.abs(model.decision_function(bags)).max()))
    found = occlusion_scores(model, bags)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("estimator", [*first_of_each(estimators()), *FURTHER])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_occlusion_is_brute_force_removal(estimator):
    tags = estimator.__sklearn_tags__()
    n_classes = 3 if tags.classifier_tags.multi_class else 2
    bags, y = planted_bags(n_classes)
    model = clone(estimator).fit(bags, y)
    # Copies of instances, ties between features, and bags that it has not seen.
    fresh = planted_bags(n_classes, n_bags=5, seed=1)[0]
    repeated = Bags.from_list([np.repeat(bag, 2, axis=0).round(1) for bag in fresh])
    for given in (fresh, repeated):
        assert_exact(model, given)
    if tags.input_tags.sparse and not callable(model.get_params().get("kernel")):
        sparse = sp.csr_array(np.where(np.abs(bags.X) > 0.5, bags.X, 0.0))
        model = clone(estimator).fit(bags.replace(X=sparse), y)
        for given in (fresh, fresh.replace(X=sp.csr_array(fresh.X))):
            assert_exact(model, given)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(PerInstance(StandardScaler()), StatisticsForest(n_estimators=5)),
        make_pipeline(PerInstance(StandardScaler()), make_pipeline(WitnessSVC())),
        make_pipeline(BagStatistics(statistics="four"), LogisticRegression()),
        StatisticsSVC(pos_label=0, threshold=0.5),
        GridSearchCV(
            make_pipeline(PerInstance(StandardScaler()), MeanSVC()), {"meansvc__C": [1, 3]}
        ),
    ],
    ids=["forest", "nested", "scikit-learn", "first class", "search"],
)
def test_anything_that_scores_bags_can_be_occluded(model):
    bags, y = planted_bags()
    assert_exact(model.fit(bags, y), bags)


def test_pipelines_are_passed_only_where_instances_are_transformed_one_by_one():
    bags, y = planted_bags()
    scaled = make_pipeline(PerInstance(StandardScaler()), "passthrough", MeanSVC()).fit(bags, y)
    assert innermost(scaled, bags)[0] is scaled.steps[-1][1]
    rows = make_pipeline(BagStatistics(), LogisticRegression()).fit(bags, y)
    assert innermost(rows, bags)[0] is rows
