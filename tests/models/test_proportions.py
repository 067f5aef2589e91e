"""LabelProportionSVC: descent, exact counts, limits, brute force on small bags, named errors."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning

from bagwise import Bags, InstanceSVC, KernelOptions, LabelProportionSVC
from bagwise.designs import matrix_design
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve


def mixed(seed, n_bags=12, sizes=(3, 9), gap=2.0):
    """Return bags of two Gaussians, the shares of the second, and the labels."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*sizes, n_bags)
    labels = (rng.random(sizes.sum()) < np.repeat(rng.random(n_bags), sizes)).astype(int)
    X = rng.normal(size=(sizes.sum(), 3)) + gap * labels[:, None]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shares = np.add.reduceat(labels, offsets[:-1]) / sizes
    return Bags(X, offsets), shares, labels


@given(st.integers(0, 10**6), st.sampled_from(["soft", "anneal", "random"]))
def test_counts_are_kept_and_the_objective_falls(seed, init):
    bags, shares, _ = mixed(seed)
    if shares.max() == 0 or shares.min() == 1:
        return
    model = LabelProportionSVC(kernel="linear", init=init).fit(bags, shares)
    counts = np.add.reduceat(model.instance_weights_, bags.offsets[:-1])
    np.testing.assert_array_equal(counts, np.round(shares * bags.sizes))
    values = [record["objective"] for record in model.estimator_.history_]
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(values))
    assert model.gap_ <= 1e-6 * model.objective_
    f = model.instance_decision_function(bags)
    slack = np.maximum(0, 1 - np.where(model.instance_weights_ > 0, f, -f))
    by_hand = 0.5 * np.sum(model.estimator_.coef_**2) + np.sum(slack**2)
    assert model.objective_ == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_many_starts_find_the_best_labels_of_all(seed):
    bags, shares, _ = mixed(seed, n_bags=4, sizes=(3, 5), gap=1.0)
    ways = []
    for i, share in enumerate(shares):
        rows = range(bags.offsets[i], bags.offsets[i + 1])
        ways.append(list(combinations(rows, round(share * bags.sizes[i]))))
    design, best = matrix_design(bags.X), np.inf
    for chosen in product(*ways):
        p = np.zeros(bags.n_instances)
        p[[row for rows in chosen for row in rows]] = 1
        best = min(best, solve(Problem(design, p, 1 - p, SquaredHinge())).objective)
    model = LabelProportionSVC(kernel="linear", n_init=30).fit(bags, shares)
    assert model.objective_ == pytest.approx(best, rel=1e-6)


def test_pure_bags_are_a_plain_svm():
    bags, _, _ = mixed(0)
    y = np.arange(len(bags)) % 2
    model = LabelProportionSVC(C=2.0).fit(bags, y)
    plain = InstanceSVC(C=2.0).fit(bags, y)
    np.testing.assert_allclose(
        model.instance_decision_function(bags), plain.instance_decision_function(bags), atol=1e-7
    )


def test_all_instances_as_landmarks_are_the_exact_kernel():
    bags, shares, _ = mixed(8)
    exact = LabelProportionSVC().fit(bags, shares)
    model = LabelProportionSVC(
        kernel_options=KernelOptions(approx="nystroem", n_components=1000)
    ).fit(bags, shares)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert model.gap_ <= 1e-6 * model.objective_


def test_shares_may_stand_on_the_bags():
    bags, shares, _ = mixed(6)
    one = LabelProportionSVC().fit(bags, shares)
    two = LabelProportionSVC().fit(bags.replace(priors=shares))
    assert one.objective_ == two.objective_
    assert one.key_instances(bags).shape == (12,)


def test_weights_are_repetition_and_bags_without_weight_say_nothing():
    bags, shares, _ = mixed(7)
    options = {"kernel": "linear", "init": "soft"}
    weight = np.where(np.arange(12) < 2, 2.0, np.where(np.arange(12) < 4, 0.0, 1.0))
    rows = np.repeat(np.arange(12), weight.astype(int))
    weighted = LabelProportionSVC(**options).fit(bags, shares, weight)
    repeated = LabelProportionSVC(**options).fit(bags[rows], shares[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


def test_labels_that_did_not_come_to_rest_are_told():
    bags, shares, _ = mixed(0, n_bags=40, gap=1.0)
    with pytest.warns(ConvergenceWarning, match="LabelProportionSVC was stopped by max_iter=1 "):
        LabelProportionSVC(init="random", max_iter=1).fit(bags, shares)


def test_bad_input_is_named():
    bags, shares, _ = mixed(0)
    with pytest.raises(ValueError, match="'init' parameter"):
        LabelProportionSVC(init="hot").fit(bags, shares)
    with pytest.raises(ValueError, match=r"Bag 0 .* has the share 75"):
        LabelProportionSVC().fit(bags, 100 * shares + 50)
    with pytest.raises(ValueError, match="the bags have no priors"):
        LabelProportionSVC().fit(bags, None)
    with pytest.raises(ValueError, match="y has 3 shares, there are 12 bags"):
        LabelProportionSVC().fit(bags, shares[:3])
    with pytest.raises(ValueError, match="All instances have the same label"):
        LabelProportionSVC().fit(bags, np.zeros(12))
    with pytest.raises(ValueError, match="'C' parameter"):
        LabelProportionSVC(C=-1).fit(bags, shares)
