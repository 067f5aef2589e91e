"""The papers' names: every estimator has one, and every name builds what it says."""

from __future__ import annotations

import re
from inspect import isclass

import pytest
from sklearn.base import clone

import bagwise
from bagwise import InstanceSVC, LabelSVC, WitnessSVC, by_paper_name, models
from bagwise.base import BagClassifier
from bagwise.papers import METHODS, UnknownMethodError

NAMES = [method.name for method in METHODS]


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)


def test_every_estimator_has_a_paper_name():
    listed = {method.estimator for method in METHODS}
    public = {name: getattr(models, name) for name in models.__all__}
    classes = {n: c for n, c in public.items() if isclass(c) and issubclass(c, BagClassifier)}
    nameless = [n for n, c in classes.items() if c not in listed and not n.endswith("CV")]
    assert nameless == [], "add a line to METHODS in bagwise/papers.py"


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_name_builds_its_method(method):
    model = by_paper_name(method.name)
    assert type(model) is method.estimator
    assert method.options.items() <= model.get_params().items()
    assert repr(clone(model)) == repr(model)
    assert repr(eval(method.code, vars(bagwise))) == repr(model)
    assert method.purpose
    assert str(method.paper.year) in str(method.paper)


def test_case_tells_two_methods_apart():
    assert type(by_paper_name("mi-SVM")) is LabelSVC
    assert type(by_paper_name("MI-SVM")) is WitnessSVC


def test_parameters_are_passed_on():
    model = by_paper_name("SVM-Majority", C=3.0, kernel="linear")
    assert repr(model) == repr(InstanceSVC("majority", C=3.0, kernel="linear"))


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownMethodError, match="no method 'XYZ'") as error:
        by_paper_name("XYZ")
    assert all(name in str(error.value) for name in NAMES)
    assert "Did you mean" not in str(error.value)


@pytest.mark.parametrize("name", ["Mi-SVM", "mi_SVM"])
def test_a_near_miss_is_answered_with_a_guess(name):
    with pytest.raises(UnknownMethodError, match=re.escape("Did you mean mi-SVM or MI-SVM?")):
        by_paper_name(name)


def test_what_makes_the_method_cannot_be_changed():
    with pytest.raises(
        ValueError, match=r'vote cannot be set: SVM-Majority is InstanceSVC\(vote="'
    ):
        by_paper_name("SVM-Majority", vote="any")


def test_an_unknown_parameter_is_named():
    with pytest.raises(ValueError, match=r"MI-SVM has no parameter 'c'; there are C, "):
        by_paper_name("MI-SVM", c=1)
