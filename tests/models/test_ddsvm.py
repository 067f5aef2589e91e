"""DD-SVM: its embedding, its prototypes, its certificate."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import DDSVM
from bagwise.datasets import load_digits_bags
from bagwise.models.ddsvm import _distinct, _likely
from bagwise.models.density import Concept


@pytest.fixture(scope="module")
def fitted():
    bags, y = load_digits_bags(digit=0, n_bags=100, subset="train", random_state=0)
    return DDSVM(C=1).fit(bags, y), bags, y


def test_embedding_is_the_least_scaled_distance(fitted):
    model, bags, _ = fitted
    expected = [
        [
            min(np.linalg.norm(s * (x - c)) for x in bag)
            for c, s in zip(model.prototypes_, model.scales_, strict=True)
        ]
        for bag in bags[:5]
    ]
    embedded = model._embed(bags)
    np.testing.assert_allclose(embedded[:5], expected, rtol=1e-9)
    np.testing.assert_allclose(embedded.std(axis=0), 1.0)


def concept(point, objective) -> Concept:
    return Concept(np.array(point, dtype=float), np.ones(2), objective, 1, True)


def test_only_likely_prototypes_stay():
    kept = _likely([concept([0, 0], 10.0), concept([1, 0], 2.0), concept([2, 0], 5.0)])
    assert [c.objective for c in kept] == [2.0, 5.0]


def test_of_copies_the_likeliest_stays():
    kept = _distinct([concept([0, 0], 1.0), concept([1e-6, 0], 2.0), concept([3, 0], 3.0)])
    assert [c.objective for c in kept] == [1.0, 3.0]


def test_both_classes_have_prototypes(fitted):
    model, bags, y = fitted
    swapped = DDSVM(C=1, pos_label=0).fit(bags, y)
    assert len(swapped.prototypes_) == len(model.prototypes_)
    np.testing.assert_allclose(
        np.sort(swapped.prototypes_[:, 0]), np.sort(model.prototypes_[:, 0]), atol=1e-12
    )
