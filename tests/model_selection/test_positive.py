"""The positive class by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import MeanSVC, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import choose_positive

BAGS, Y = make_gaussian_bags(60, 5, shift=4.0, witness_rate=0.1)


@pytest.mark.parametrize("labels", [["wt", "mut"], ["mut", "wt"]])
def test_the_class_with_the_witnesses_is_found_wherever_it_is_in_the_alphabet(labels):
    choice = choose_positive(WitnessSVC(kernel="linear"), BAGS, np.array(labels)[Y])
    assert choice.label == labels[1]
    assert choice.aucs[labels[1]] > choice.aucs[labels[0]] + 0.1
    assert str(choice).startswith(f"{labels[1]} is taken as the positive class")


def test_a_model_that_treats_both_alike_takes_the_second_and_says_so():
    choice = choose_positive(MeanSVC(kernel="linear"), BAGS, np.array(["b", "a"])[Y])
    assert choice.label == "b"
    assert "both do equally well" in str(choice)


def test_three_classes_have_no_positive_one():
    with pytest.raises(ValueError, match="there are 3 classes"):
        choose_positive(MeanSVC(), BAGS, np.arange(60) % 3)
