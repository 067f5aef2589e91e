"""Labels whose order is their meaning are taken as they are; of all others a warning names one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bagwise import AnnealedWitnessSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import PositiveClassWarning, message_of
from bagwise.estimators.positive import order_is_meaning

BAGS, Y = make_gaussian_bags(30, 3, shift=4.0)

CLEAR = [
    *([0, 1], [-1, 1], [False, True], [2.0, 7.0], ["neg", "pos"], ["Negative", "positive"]),
    *(["no", "yes"], ["NO", "YES"], ["absent", "present"], ["0", "1"], ["-1", "1"], ["n", "y"]),
    *(["False", "True"], ["neg. bag", "pos. bag"], ["a", "b", "c"]),
]
UNCLEAR = [
    *(["mut", "wt"], ["Yes", "no"], ["normal", "tumor"], ["+", "-"], ["1", "0"], ["a", "b"]),
    *(["present", "wanting"], ["negative", "tumor"]),
]


@pytest.mark.parametrize("classes", CLEAR, ids=str)
def test_labels_whose_order_is_their_meaning(classes):
    assert order_is_meaning(classes)


@pytest.mark.parametrize("classes", UNCLEAR, ids=str)
def test_labels_that_do_not_say_which_is_positive(classes):
    assert not order_is_meaning(classes)


def test_fit_names_the_class_taken_and_how_to_name_the_other():
    with pytest.warns(PositiveClassWarning, match="'wt' is taken as the positive class") as caught:
        WitnessSVC(kernel="linear").fit(BAGS, np.array(["mut", "wt"])[Y])
    assert "pass pos_label='mut'; pos_label='wt' confirms." in str(caught[0].message)
    worded = message_of(caught[0].message).reword(lambda a: f"--positive {a.value}")
    assert "pass --positive 'mut'; --positive 'wt' confirms." in worded


@pytest.mark.parametrize("settings", [{}, {"threshold": "calibrated"}, {"probability": "sigmoid"}])
def test_it_is_said_once_even_if_folds_are_fitted(settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AnnealedWitnessSVC(kernel="linear", **settings).fit(BAGS, np.array(["mut", "wt"])[Y])
    assert [w.category for w in caught].count(PositiveClassWarning) == 1


def test_a_named_class_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveClassWarning)
        WitnessSVC(kernel="linear", pos_label="mut").fit(BAGS, np.array(["wt", "mut"])[Y])
