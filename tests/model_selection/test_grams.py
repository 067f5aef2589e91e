"""Shared Gram matrices: no fit depends on what ran before."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import (
    MICA,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    BagKernelSVC,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    OptimalMarginSVC,
    WitnessSVC,
)
from bagwise.bench.run import run
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection.grams import GramCache, can_share
from bench_cases import SMALL, small


@pytest.mark.parametrize(
    "model",
    [
        AnnealedProportionSVC(positive_fraction=0.3, C=5.0),
        LabelSVC(C=5.0, class_weight="balanced"),
        WitnessSVC(),
        AnnealedLabelSVC(threshold="calibrated", C=5.0, calibration_cv=3),
        WitnessSVC(probability="sigmoid", calibration_cv=3),
        OptimalMarginSVC(threshold=0.0),
        KeyInstanceSVC(threshold=0.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shared_fits_have_the_same_bits(model):
    bags, y = make_gaussian_bags(n_bags=20)
    cache = GramCache()
    assert can_share(model)
    for C in (1.0, 5.0):  # what ran before must leave no trace
        cache.fit(AnnealedProportionSVC(positive_fraction=0.7, C=C), bags, y, ("d",))
    shared = clone(model)
    assert cache.fit(shared, bags, y, ("d",)) > 0
    alone = model.fit(bags, y)
    assert np.array_equal(shared.decision_function(bags), alone.decision_function(bags))
    assert vars(shared).keys() == vars(alone).keys()
    assert len(cache.kept) == (2 if isinstance(model, LabelSVC) else 1)


def test_benchmarks_in_one_process_share_no_matrix_of_other_splits(tmp_path):
    bags, y = make_gaussian_bags(n_bags=24, shift=1.5)
    for seed in (0, 1):
        protocol = {"kind": "kfold", "folds": 3, "inner": 2, "seed": seed}
        spec = small(data=SMALL["data"][:1], models=SMALL["models"][2:], protocol=protocol)
        plan, outcome = run(spec, tmp_path / str(seed))
        assert outcome.failed == 0
        for cell in plan.cells:
            train = cell.split.train(24)
            alone = InstanceSVC().fit(bags[train], y[train]).objective_.sum()
            assert plan.records()[cell.id]["metrics"]["objective"] == alone


def test_the_cache_forgets_the_oldest():
    bags, y = make_gaussian_bags(n_bags=20)
    cache = GramCache(max_bytes=3 * 8 * bags.n_instances**2)
    for key in "abcd":
        cache.fit(WitnessSVC(), bags, y, (key,))
    assert [key[0] for key in cache.kept] == ["b", "c", "d"]


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    bags, y = make_gaussian_bags(n_bags=20)
    cache, model = GramCache(), WitnessSVC().fit(bags, y)
    expected = model.decision_function(bags)
    with pytest.raises(ValueError, match="'C' parameter"):
        cache.fit(model.set_params(C=-1.0), bags, y, ("d",))
    np.testing.assert_array_equal(model.decision_function(bags), expected)


@pytest.mark.parametrize("model", [WitnessSVC(kernel="linear"), MICA(), BagKernelSVC()], ids=repr)
def test_what_needs_more_than_a_gram_matrix_is_fitted_alone(model):
    assert not can_share(model)
