"""P-values of instances against negative bags: the formula, the guarantee, and who has them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise import (
    AutoBagClassifier,
    Bags,
    BagStatistics,
    PerInstance,
    StatisticsSVC,
    WitnessSVC,
    make_pipeline,
)
from bagwise.errors import NotCalibratedError
from bagwise.estimators.discovery import comparable_scores
from bagwise.model_selection import BagGridSearchCV
from bagwise.testing import estimators
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=40)
LINEAR = WitnessSVC(kernel="linear")


def p_value(score, largest):
    """Return the p-value by its definition."""
    return (1 + sum(m >= score for m in largest)) / (1 + len(largest))


def largest_by_unit(scores, bags, units):
    """Return the largest score of every unit that is named."""
    best = {}
    for i, unit in enumerate(units):
        if unit is not None:
            top = max(scores[bags.offsets[i] : bags.offsets[i + 1]])
            best[unit] = max(top, best.get(unit, top))
    return list(best.values())


def identity(n_features=1):
    """Return a fitted model whose instance scores are the first feature, up to rising maps."""
    bags = [[[0.0] * n_features], [[1.0] + [0.0] * (n_features - 1)]]
    return WitnessSVC(kernel="linear").fit(bags, [0, 1])


@pytest.mark.parametrize("grouped", [False, True])
def test_held_out_bags_give_the_formula(grouped):
    groups = [i % 11 for i in range(len(BAGS))] if grouped else None
    bags = BAGS.replace(groups=groups)
    model = clone(LINEAR).fit(BAGS[:20], Y[:20]).calibrate_instances(reference=bags, y=Y)
    scores = model.instance_decision_function(bags)
    units = [None if label else (i % 11 if grouped else i) for i, label in enumerate(Y)]
    largest = largest_by_unit(scores, bags, units)
    expected = [p_value(s, largest) for s in scores]
    np.testing.assert_array_equal(model.instance_pvalues(bags), expected)
    np.testing.assert_array_equal(model.discover(bags, 0.3), np.array(expected) <= 0.3)
    assert model.discovery_guarantee().startswith("exact: at most one negative bag in ten")


def test_a_reference_score_that_ties_counts():
    reference = Bags.from_list([[[float(i)], [0.0]] for i in range(1, 10)])
    model = identity().calibrate_instances(reference=reference)
    new = Bags.from_list([[[9.5], [9.0], [8.5], [0.0], [-3.0]]])
    np.testing.assert_array_equal(model.instance_pvalues(new), [0.1, 0.2, 0.2, 1.0, 1.0])
    np.testing.assert_array_equal(model.discover(new), [True, False, False, False, False])


@pytest.mark.parametrize("grouped", [False, True])
def test_cross_fitted_references_come_from_models_that_did_not_see_them(grouped):
    bags = BAGS.replace(groups=[i // 2 for i in range(40)]) if grouped else BAGS
    splits = list(KFold(4).split(np.zeros(40)))  # pairs of bags stay together
    model = clone(LINEAR).fit(bags, Y).calibrate_instances(bags, Y, cv=splits, keep_models=True)
    copies = [clone(LINEAR).fit(bags[train], Y[train]) for train, _ in splits]
    fold = {i: k for k, (_, test) in enumerate(splits) for i in test.tolist()}
    of_copy = [copy.instance_decision_function(bags) for copy in copies]
    held = np.concatenate(
        [of_copy[fold[i]][bags.offsets[i] : bags.offsets[i + 1]] for i in range(40)]
    )
    units = [None if label else (i // 2 if grouped else i) for i, label in enumerate(Y)]
    largest = largest_by_unit(held, bags, units)
    direct = [p_value(s, largest) for s in model.instance_decision_function(bags)]
    np.testing.assert_array_equal(model.instance_pvalues(bags), direct)
    known = list(dict.fromkeys(unit for unit in units if unit is not None))
    of_unit = {unit: fold[2 * unit if grouped else unit] for unit in known}
    cross = [
        (1 + sum(m >= of_copy[of_unit[u]][j] for u, m in zip(known, largest, strict=True)))
        / (1 + len(known))
        for j in range(bags.n_instances)
    ]
    np.testing.assert_array_equal(model.instance_pvalues(bags, method="cross"), cross)
    assert model.discovery_guarantee().startswith("approximate: about one")
    assert model.discovery_guarantee(method="cross").startswith("conservative: usually fewer")


def test_classes_have_columns_against_the_bags_of_the_others():
    bags, y = planted_bags(3, n_bags=60)
    model = clone(LINEAR).fit(bags[:30], y[:30]).calibrate_instances(reference=bags, y=y)
    scores, found = model.instance_decision_function(bags), model.instance_pvalues(bags)
    assert found.shape == (bags.n_instances, 3)
    for k in range(3):
        units = [None if label == k else i for i, label in enumerate(y)]
        largest = largest_by_unit(scores[:, k], bags, units)
        np.testing.assert_array_equal(found[:, k], [p_value(s, largest) for s in scores[:, k]])
    assert model.discover(bags).shape == found.shape
    with pytest.raises(ValueError, match="Pass y"):
        model.calibrate_instances(reference=bags)


@pytest.mark.parametrize("sizes", [(1, 3), (20, 40)])
def test_few_exchangeable_bags_have_any_discovery(sizes):
    """Instances of a bag share an offset: bags, not instances, are exchangeable."""
    rng = np.random.default_rng(0)
    model = identity()

    def draw(n_bags):
        many = rng.integers(*sizes, n_bags)
        return Bags.from_list(
            [2 * rng.normal() + rng.standard_t(3, size=(m, 1)) for m in many.tolist()]
        )

    shares = []
    for _ in range(150):
        model.calibrate_instances(reference=draw(19))
        new = draw(20)
        found = model.discover(new, 0.1)
        shares.append(np.maximum.reduceat(found, new.offsets[:-1]).mean())
    error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= 0.1 + 3 * error
    assert np.mean(shares) >= 0.1 - 3 * error  # exactly 2 of 20 ranks are discoveries


def test_the_threshold_moves_nothing():
    shifted = clone(LINEAR).set_params(threshold=0.7)
    for estimator in (LINEAR, shifted, clone(LINEAR).set_params(probability="sigmoid")):
        model = clone(estimator).fit(BAGS, Y).calibrate_instances(BAGS, Y)
        plain = clone(LINEAR).fit(BAGS, Y).calibrate_instances(BAGS, Y)
        np.testing.assert_array_equal(model.instance_pvalues(BAGS), plain.instance_pvalues(BAGS))
    svc = StatisticsSVC(threshold=0.7).fit(BAGS, Y)
    plain = StatisticsSVC().fit(BAGS, Y)
    np.testing.assert_allclose(
        comparable_scores(svc, BAGS), comparable_scores(plain, BAGS), atol=1e-12
    )


def test_the_positive_class_may_be_the_first():
    flipped = clone(LINEAR).set_params(pos_label=0).fit(BAGS, 1 - Y)
    p = flipped.calibrate_instances(BAGS, 1 - Y).instance_pvalues(BAGS)
    same = clone(LINEAR).fit(BAGS, Y).calibrate_instances(BAGS, Y).instance_pvalues(BAGS)
    np.testing.assert_array_equal(p, same)


def test_pipelines_calibrate_with_all_of_their_steps():
    model = make_pipeline(PerInstance(StandardScaler()), clone(LINEAR)).fit(BAGS, Y)
    splits = list(KFold(4).split(np.zeros(40)))
    model.calibrate_instances(BAGS, Y, cv=splits, keep_models=True)
    tops = []
    for train, test in splits:
        held = BAGS[test[Y[test] == 0]]
        copy = clone(model).fit(BAGS[train], Y[train])
        scores = copy.instance_decision_function(held)
        tops += np.maximum.reduceat(scores, held.offsets[:-1]).tolist()
    expected = [p_value(s, tops) for s in model.instance_decision_function(BAGS)]
    np.testing.assert_array_equal(model.instance_pvalues(BAGS), expected)
    assert model.instance_pvalues(BAGS, method="cross").shape == (BAGS.n_instances,)


def test_models_by_occlusion_speak_of_influence():
    steps = BagStatistics(statistics="four"), LogisticRegression()
    for model in (StatisticsSVC(), make_pipeline(*steps)):
        model.fit(BAGS, Y).calibrate_instances(BAGS, Y)
        assert model.instance_pvalues(BAGS).min() >= 1 / 21
        assert "unusual influence" in model.discovery_guarantee()
    assert "influence" not in clone(LINEAR).fit(BAGS, Y).calibrate_instances(
        BAGS, Y
    ).discovery_guarantee(0.05, words=("slide", "outline"))


def test_automatic_models_and_searches_are_calibrated():
    auto = AutoBagClassifier(models=[clone(LINEAR), StatisticsSVC()]).fit(BAGS, Y)
    auto.calibrate_instances(BAGS, Y, keep_models=True)
    assert auto.discovery_guarantee(method="cross").startswith("approximate")
    first = auto.instance_pvalues(BAGS)
    again = auto.calibrate_instances(BAGS, Y).instance_pvalues(BAGS)
    np.testing.assert_array_equal(first, again)
    within = make_pipeline(PerInstance(StandardScaler()), clone(auto)).fit(BAGS, Y)
    assert within.calibrate_instances(BAGS, Y).discover(BAGS, 0.2).any()
    search = BagGridSearchCV(clone(LINEAR), {"C": [0.1, 1.0]}, cv=2).fit(BAGS, Y)
    chosen = search.best_estimator_
    np.testing.assert_array_equal(
        search.calibrate_instances(BAGS, Y).instance_pvalues(BAGS),
        clone(chosen).fit(BAGS, Y).calibrate_instances(BAGS, Y).instance_pvalues(BAGS),
    )


@pytest.mark.parametrize(
    "model",
    [clone(LINEAR), make_pipeline(BagStatistics(statistics="four"), LogisticRegression())],
    ids=["classifier", "pipeline"],
)
def test_another_fit_forgets_the_calibration(model):
    model.fit(BAGS, Y)
    with pytest.raises(NotCalibratedError, match="Call calibrate_instances"):
        model.discover(BAGS)
    assert model.calibrate_instances(BAGS, Y).discover(BAGS).dtype == bool
    with pytest.raises(NotCalibratedError, match="keep_models=True"):
        model.instance_pvalues(BAGS, method="cross")
    with pytest.raises(NotCalibratedError):
        model.fit(BAGS, Y).instance_pvalues(BAGS)


@pytest.mark.parametrize(
    "estimator", {type(model): model for model in estimators()}.values(), ids=repr
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_can_be_calibrated(estimator):
    model = clone(estimator).fit(BAGS, Y)
    p = model.calibrate_instances(BAGS, Y, cv=2).instance_pvalues(BAGS)
    assert p.shape == (BAGS.n_instances,)
    assert ((p > 0) & (p <= 1)).all()
    assert (p[1:] <= p[:-1])[np.diff(comparable_scores(model, BAGS)[:, 0]) >= 0].all()


def test_few_reference_bags_are_said():
    few = BAGS[np.flatnonzero(Y == 0)[:8]]
    with pytest.warns(UserWarning, match="8 negative reference bags.*level=0.1 needs 9"):
        model = clone(LINEAR).fit(BAGS, Y).calibrate_instances(reference=few)
    with pytest.warns(UserWarning, match="needs 9: bring more"):
        assert not model.discover(BAGS).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.discover(BAGS, 0.2)
        model.calibrate_instances(reference=BAGS[np.flatnonzero(Y == 0)[:9]])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "Pass the training bags"),
        ({"bags": BAGS, "y": Y, "reference": BAGS}, "Pass the training bags"),
        ({"bags": BAGS}, "Pass y"),
        ({"bags": BAGS, "y": Y + 5}, "y contains 5; the model knows"),
        ({"reference": BAGS, "y": np.ones(40, dtype=int)}, "No reference bag"),
    ],
)
def test_references_that_make_no_sense_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        clone(LINEAR).fit(BAGS, Y).calibrate_instances(**arguments)


def test_folds_keep_groups_together():
    grouped = BAGS.replace(groups=[i % 20 for i in range(40)])
    splits = list(KFold(4).split(np.zeros(40)))
    with pytest.raises(ValueError, match="split a group"):
        clone(LINEAR).fit(grouped, Y).calibrate_instances(grouped, Y, cv=splits)


def test_levels_and_methods_are_checked():
    model = clone(LINEAR).fit(BAGS, Y).calibrate_instances(BAGS, Y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.discover(BAGS, 1.5)
    with pytest.raises(ValueError, match="expected 'direct' or 'cross'"):
        model.instance_pvalues(BAGS, method="both")


@pytest.mark.parametrize("keep_models", [False, True])
def test_model_files_keep_the_calibration(tmp_path, keep_models):
    path = tmp_path / "model.bagwise"
    pipeline = make_pipeline(PerInstance(StandardScaler()), clone(LINEAR))
    for model in (pipeline, clone(LINEAR)):
        model.fit(BAGS, Y).calibrate_instances(BAGS, Y, keep_models=keep_models)
        bagwise.save(model, path)
        loaded = bagwise.load(path)
        for method in ("direct", "cross")[: 1 + keep_models]:
            expected = model.instance_pvalues(BAGS, method=method)
            np.testing.assert_array_equal(loaded.instance_pvalues(BAGS, method=method), expected)
            said = model.discovery_guarantee(method=method)
            assert loaded.discovery_guarantee(method=method) == said
