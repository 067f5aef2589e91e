"""What networks learn from known instances, against all labelings that agree with them."""

from itertools import product

import numpy as np
import pytest

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.assumptions import CountInference
from bagwise.designs import matrix_design
from bagwise.models.markov import descents
from bagwise.models.markov.conditioned import Examples, leave_out_known
from bagwise.models.markov.risk import InstanceOperator, MarkovRisk
from bagwise.procedures.run import run
from bagwise.solvers.soft_newton import Softness
from reference.potentials import POTENTIALS, enumerate_labelings


def draw(potential, n_classes, seed, n_bags=16):
    """Bags, their classes, and signs of some instances that the potential allows."""
    rng, n_models = np.random.default_rng(seed), 1 if n_classes == 2 else n_classes
    sizes, y = rng.integers(1, 4, n_bags), np.arange(n_bags) % n_classes
    bags = Bags(rng.normal(size=(sizes.sum(), 2)), np.append(0, np.cumsum(sizes)))
    signs = np.zeros((n_models, bags.n_instances), dtype=int)
    for rows, size, code in zip(
        np.split(np.arange(sizes.sum()), bags.offsets[1:-1]), sizes, y, strict=True
    ):
        table = np.array(potential.table(size))
        labelings = np.array([*product(range(-1, n_models), repeat=size)])  # -1: of no class
        models, own = np.arange(n_models), np.array([code] if n_models == 1 else range(n_models))
        side = own == (1 if n_models == 1 else code)
        counts = (labelings[:, :, None] == models).sum(axis=1)
        allowed = np.isfinite(table[1 * side, counts]).all(axis=1)
        if allowed.any():
            labels = rng.permutation(labelings[allowed])[0]
            shown = (rng.random(size) < rng.choice([0.3, 1.0])) & ((labels >= 0) | (n_models == 1))
            signs[:, rows] = np.where(shown, np.where(labels == models[:, None], 1, -1), 0)
    return bags, y, signs


def enumerate_risk(potential, bags, codes, signs, z, weights, of_bags):
    """Return the risk of bags of weight one, by all labelings that agree with the signs."""
    total, n_models = 0.0, len(signs)
    for i, code in enumerate(codes):
        rows = slice(*bags.offsets[i : i + 2])
        F = np.empty((n_models, 2))
        for m in range(n_models):
            labelings, values = enumerate_labelings(z[m, rows], potential, weights[m])
            agrees = np.all((signs[m, rows] == 0) | (labelings == (signs[m, rows] > 0)), axis=1)
            F[m] = np.where(agrees, values, -np.inf).max(axis=1) + [0, of_bags[m, i]]
        others = F[:, 0].sum() - F[:, 0] if np.isfinite(F[:, 0]).all() else None
        if n_models == 1:
            T = F[0]
        elif others is None:  # only the class whose instances are known is left
            T = np.where(np.isfinite(F[:, 0]), -np.inf, 0.0)
        else:
            T = F[:, 1] + others
        total += max(T[k] + (k != code) for k in range(len(T))) - T[code]
    return total


def says_all(potential, size, sides):
    """Return whether the labels of a bag leave one labeling of its instances."""
    allowed = [np.flatnonzero(np.isfinite(potential.table(size)[1 * side])) for side in sides]
    return all(counts.tolist() in ([0], [size]) for counts in allowed)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_risk_is_that_of_all_labelings_that_agree(potential, n_classes, monkeypatch):
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    for seed in range(3):
        bags, y, signs = draw(potential, n_classes, seed)
        rng, n_models = np.random.default_rng(seed), len(signs)
        operator = InstanceOperator(matrix_design(np.asarray(bags.X)))
        columns = rng.normal(size=(len(bags), 1))
        seen = Examples(operator, bags.offsets, columns, y, np.ones(len(bags)))
        known = leave_out_known(seen, bags, signs, potential, joint=True)
        apart = leave_out_known(seen, bags, signs, potential, joint=False)
        instances, kinds = known.instances, known.kinds
        inference = CountInference(potential, known.offsets, kinds)
        rest = known.columns, known.labels, n_classes, known.weight
        risk = MarkovRisk(instances, inference, *rest)
        w = rng.normal(size=risk.n_coef)
        instance, weights, bag = risk.split(w)
        z, of_bags = instance @ bags.X.T, bag @ columns.T
        for i, (size, code) in enumerate(zip(bags.sizes, y, strict=True)):
            if says_all(potential, size, np.arange(n_models) + (n_models == 1) == code):
                signs[:, bags.offsets[i] : bags.offsets[i + 1]] = 0  # as the label says
        expected = enumerate_risk(potential, bags, y, signs, z, weights, of_bags)
        single = np.flatnonzero(signs.any(axis=0))
        alone = Bags(np.asarray(bags.X)[single], np.arange(len(single) + 1))
        own = signs[:, single].argmax(axis=0) if n_models > 1 else 1 * (signs[0, single] > 0)
        nothing = np.zeros((n_models, len(single)))
        expected += enumerate_risk(potential, alone, own, nothing, z[:, single], weights, nothing)
        at = risk.forward(w)
        np.testing.assert_allclose([risk.value(at), risk.evaluate(at)[0]], expected, atol=1e-10)
        for k in range(n_models if n_models > 1 else 0):  # each class against the rest
            own_kinds = None if apart.kinds is None else apart.kinds[[k]]
            inference = CountInference(potential, apart.offsets, own_kinds)
            rest = apart.columns, 1 * (apart.labels == k), 2, apart.weight
            each = MarkovRisk(apart.instances, inference, *rest)
            at = np.concatenate([instance[k], weights[k], bag[k]])
            of_class = weights[[k]], of_bags[[k]]
            args = potential, bags, 1 * (y == k), signs[[k]], z[[k]]
            expected = enumerate_risk(*args, *of_class)
            args = potential, alone, 1 * (own == k), nothing[[k]], z[[k]][:, single]
            expected += enumerate_risk(*args, weights[[k]], nothing[[k]])
            np.testing.assert_allclose(each.value(each.forward(at)), expected, atol=1e-10)
        if n_models == 1 and (rows := descents.rows_of(risk)) is not None:  # by passes
            problem, soft = descents._problem(risk, 0.5), Softness(0.1, 0.1)
            view = run(rows, problem.look(np.insert(w, 2, 0.0), soft, soft, problem.centers))
            np.testing.assert_allclose(view.objective, expected + w @ w / 4, atol=1e-10)


def refuse(known, sizes, y, **cardinality):
    bags = Bags(np.zeros((sum(sizes), 1)), np.append(0, np.cumsum(sizes)), known_labels=known)
    MarkovNetworkClassifier(**cardinality).fit(bags, y)


def test_contradictions_are_named():
    half = {"cardinality": "ratio", "positive_fraction": 0.5}
    what = r"Bag 1 \(id 1\) is negative, but 2 of its 3 instances are known to be positive"
    with pytest.raises(ValueError, match=what):
        refuse([np.nan, 1, 1, np.nan], [1, 3], [1, 0], **half)
    with pytest.raises(
        ValueError, match=r"Bag 0 \(id 0\) is positive, but 0 of its 2 .* and 2 to be"
    ):
        refuse([0, 0, np.nan], [2, 1], [1, 0], cardinality="learned")
    refuse([np.nan, 1, np.nan, np.nan], [1, 3], [1, 0], **half)  # fewer than half: allowed


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("cardinality", ["any", "ratio", "learned"])
def test_three_classes_know_their_own_instances(cardinality, multi_class):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 12)
    X = rng.normal(size=(36, 4, 3))
    own = np.arange(4) < 3
    X[:, own] += 1.5 * np.eye(3)[np.repeat([0, 1, 2], 12)][:, None]
    shown = rng.random((36, 4)) < 0.5
    bags = Bags.from_padded(X, known_labels=np.where(shown & own, y[:, None], "").ravel())
    options = {"cardinality": cardinality, "multi_class": multi_class, "alpha": 0.1}
    model = MarkovNetworkClassifier(**options).fit(bags, y)
    weights = model.instance_weights_.reshape(3, 36, 4)
    for k, name in enumerate("abc"):
        np.testing.assert_array_equal(
            weights[k][shown & own], (y == name)[np.nonzero(shown & own)[0]]
        )
    assert model.score(bags, y) > 0.6
