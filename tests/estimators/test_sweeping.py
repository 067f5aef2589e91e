"""Fits on swept rows against the same fits on vectors."""

import numpy as np
import pytest

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    Bags,
    InstanceSVC,
    LabelSVC,
    WitnessSVC,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import swept
from bagwise.estimators import sweeping
from bagwise.rowstores import blocks

MODELS = [
    InstanceSVC(),
    LabelSVC(),
    WitnessSVC(),
    WitnessSVC(init="instances"),
    WitnessSVC(init="random"),
    AnnealedLabelSVC(),
    AnnealedLabelSVC(init="instances", annealing=Annealing(newton_steps=1)),
    AnnealedWitnessSVC(),
    AnnealedWitnessSVC(init="mean", annealing=Annealing(T0=1.0), n_witnesses=2),
    AnnealedProportionSVC(positive_fraction=0.3),
    AnnealedProportionSVC(positive_fraction="bags"),
]


def planted(n_classes=2):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(60, 4, bag_size=rng.integers(1, 12, 60), shift=2.0, random_state=0)
    if n_classes == 3:
        y = np.arange(60) % 3
    return bags.replace(priors=rng.uniform(0.2, 0.6, 60)), y


def both(monkeypatch, model, bags, y, **options):
    """Fit on vectors and on swept rows, cut small."""
    plain = model.fit(bags, y, **options)
    reference = {name: getattr(plain, name) for name in ("objective_", "gap_", "coef_")}
    weights, history = plain.instance_weights_, plain.history_
    monkeypatch.setattr(blocks, "MANY_ROWS", 0)
    monkeypatch.setattr(blocks, "CACHE_BYTES", 1 << 10)
    monkeypatch.setattr(swept, "_FEWEST_ROWS", 8)
    return reference, weights, history, model.fit(bags, y, **options)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_swept_fits_reach_the_same_objective(monkeypatch, model):
    bags, y = planted()
    model.set_params(kernel="linear", C=0.5)
    reference, weights, _, fitted = both(monkeypatch, model, bags, y)
    np.testing.assert_allclose(fitted.objective_, reference["objective_"], rtol=1e-7)
    np.testing.assert_allclose(fitted.coef_, reference["coef_"], atol=1e-4)
    np.testing.assert_allclose(fitted.instance_weights_, weights, atol=1e-6)
    assert fitted.gap_[0] <= 1e-8 * fitted.objective_[0]


@pytest.mark.parametrize("model", [LabelSVC(), AnnealedWitnessSVC()], ids=str)
def test_weights_and_several_classes(monkeypatch, model):
    bags, y = planted(n_classes=3)
    weight = np.random.default_rng(1).integers(0, 3, len(y)) + (np.arange(len(y)) < 6)
    model.set_params(kernel="linear", C=0.5)
    reference, _, _, fitted = both(monkeypatch, model, bags, y, sample_weight=weight)
    np.testing.assert_allclose(fitted.objective_, reference["objective_"], rtol=1e-7)


def test_offsets_and_scales_are_conditioned(monkeypatch):
    bags, y = planted()
    odd = bags.replace(X=bags.X * [1, 1e-3, 1e3, 1] + [0, 0, 1e8, 5.0])
    model = InstanceSVC(kernel="linear")
    reference, _, _, fitted = both(monkeypatch, model, odd, y)
    np.testing.assert_allclose(fitted.objective_, reference["objective_"], rtol=1e-7)
    assert fitted.gap_[0] <= 1e-6 * fitted.objective_[0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_precision_of_rows_bounds_the_certificate(monkeypatch, dtype):
    bags, y = planted()
    rounded = Bags(bags.X.astype(dtype), bags.offsets)
    monkeypatch.setattr(blocks, "MANY_ROWS", 0)
    fitted = LabelSVC(kernel="linear", C=0.5).fit(rounded, y)
    exact = LabelSVC(kernel="linear", C=0.5).fit(rounded.replace(X=rounded.X.astype(float)), y)
    np.testing.assert_allclose(fitted.objective_, exact.objective_, rtol=1e-6)


def test_one_pass_per_newton_step(monkeypatch):
    """A path takes a pass per alternation and per further Newton step, and few at its end."""
    bags, y = planted()
    made = []
    monkeypatch.setattr(blocks, "MANY_ROWS", 0)
    label = sweeping.label_rows
    monkeypatch.setattr(sweeping, "label_rows", lambda *args: made.append(label(*args)) or made[-1])
    model = AnnealedLabelSVC(kernel="linear", C=0.5).fit(bags, y)
    steps = sum(record["factorizations"] for record in model.history_)
    alternations = sum(record["alternations"] for record in model.history_)
    assert made[0].passes <= max(steps, alternations) + alternations + 8
    assert made[0].passes < 4 * steps  # which is what products with vectors take


@pytest.mark.parametrize("seed", [1, 2])
def test_large_bags_follow_the_path_in_memory(monkeypatch, seed):
    """With steps taken unseen while labels tip over, the path would end in another minimum."""
    bags, y = make_gaussian_bags(40, 8, bag_size=50, shift=2.0, random_state=seed)
    model = AnnealedLabelSVC(kernel="linear", C=0.05)
    reference, _, _, fitted = both(monkeypatch, model, bags, y)
    np.testing.assert_allclose(fitted.objective_, reference["objective_"], rtol=1e-6)
