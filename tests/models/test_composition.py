"""Shares of kinds: against scikit-learn, where two kinds together decide, and by occlusion."""

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from bagwise import Bags, CompositionLogistic, StatisticsForest, load, save
from bagwise.bags.without import score_without_each
from bagwise.estimators.occlusion import decision_without_each
from bagwise.testing._problems import planted_bags


def together(n_bags, seed):
    """Draw bags that are positive when kinds 0 and 1 occur together; either may occur alone."""
    rng, centers = np.random.default_rng(seed), 2.5 * np.random.default_rng(9).normal(size=(8, 5))
    y, bags = np.arange(n_bags) % 2, []
    for label in y:
        kinds = rng.integers(2, 8, 30)
        present = [0, 1] if label else [[0], [1], []][rng.integers(3)]
        for kind in present:
            kinds[rng.choice(30, 3, replace=False)] = kind
        bags.append(centers[kinds] + rng.normal(size=(30, 5)))
    return Bags.from_list(bags), y


def test_two_kinds_together_are_seen_where_statistics_do_not():
    train, new = together(100, 0), together(200, 1)
    areas = [
        roc_auc_score(new[1], model.fit(*train).decision_function(new[0]))
        for model in (CompositionLogistic(n_words=16, C=30.0), StatisticsForest(n_estimators=100))
    ]
    assert areas[0] > 0.95
    assert areas[0] > areas[1] + 0.05


def test_rows_are_square_roots_of_the_shares_of_nearest_words():
    bags, y = planted_bags(n_bags=20)
    model = CompositionLogistic(n_words=4, C=3.0).fit(bags, y)
    nearest = KMeans(4, init=model.words_, n_init=1, max_iter=1).fit(model.words_).predict(bags.X)
    parts = np.split(nearest, bags.offsets[1:-1])
    rows = np.sqrt([np.bincount(part, minlength=4) / len(part) for part in parts])
    expected = rows @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(bags), expected)
    sparse = bags.replace(X=sp.csr_array(bags.X))
    np.testing.assert_allclose(model.decision_function(sparse), expected)


def test_instances_are_scored_by_taking_them_out_and_files_keep_the_model(tmp_path):
    bags, y = planted_bags(3, n_bags=30)
    model = CompositionLogistic(n_words=5, C=3.0).fit(bags, y)
    several = np.repeat(bags.sizes > 1, bags.sizes)  # the only instance leaves nothing behind
    expected = score_without_each(model.decision_function, bags)
    np.testing.assert_allclose(decision_without_each(model, bags)[several], expected[several])
    save(model, tmp_path / "m.bagwise")
    loaded = load(tmp_path / "m.bagwise")
    np.testing.assert_array_equal(loaded.decision_function(bags), model.decision_function(bags))
