"""The classes that a model file may contain."""

from __future__ import annotations

import subprocess

import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from bagwise import PerInstance, WitnessSVC
from bagwise.persistence.allowed import allowed_class, holds_sklearn, name_of_class


@pytest.mark.parametrize("kind", [WitnessSVC, PerInstance, StandardScaler, PCA])
def test_a_class_and_its_name(kind):
    assert name_of_class(kind) == kind.__name__
    assert allowed_class(kind.__name__) is kind


def test_other_classes_are_not():
    class WitnessSVC:  # the name alone does not make it ours
        pass

    for kind in (subprocess.Popen, KNeighborsClassifier, WitnessSVC, int):
        assert name_of_class(kind) is None
    assert allowed_class("Popen") is None
    assert allowed_class("sklearn.neighbors.KNeighborsClassifier") is None


def test_classes_of_scikit_learn_are_seen_in_a_state():
    assert holds_sklearn('{"$object": "StandardScaler", "state": {}}')
    assert not holds_sklearn('{"$object": "WitnessSVC", "state": {"kernel": "PCA"}}')
