"""Parameters written once: signature, constraints, docstring and scikit-learn's tools agree."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
from numpydoc.docscrape import NumpyDocString
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError, make_constraint

from bagwise import AnnealedLabelSVC, Annealing, LabelSVC, MILESEmbedding, WitnessSVC
from bagwise.estimators.params import (
    Parameters,
    Words,
    fraction,
    integer,
    param,
    positive,
    redeclare,
)
from bagwise.testing import estimators
from bagwise.testing._problems import planted_bags

CLASSIFIERS = {type(estimator): estimator for estimator in estimators(sklearn=True)}
CLASSES = [*CLASSIFIERS, MILESEmbedding]
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS, ids=lambda cls: cls.__name__)


def signature_of(cls):
    return {p.name: p for p in inspect.signature(cls).parameters.values()}


# What a reader sees ------------------------------------------------------------------------------


def documented(cls):
    """Return (name, type, default) of the section on parameters, the default as a Python value."""
    found = {}
    for entry in NumpyDocString(inspect.getdoc(cls))["Parameters"]:
        kind, told, shown = entry.type.rpartition(", default=")
        assert told, f"{entry.name} has no default in the docstring"
        found[entry.name] = (kind, ast.literal_eval(shown), " ".join(entry.desc))
    return found


@every_class
def test_the_docstring_shows_names_and_defaults_of_the_signature_in_their_order(cls):
    assert list(documented(cls)) == list(signature_of(cls)) == list(cls._parameter_constraints)
    for name, (kind, default, text) in documented(cls).items():
        assert default == signature_of(cls)[name].default, name
        assert kind, f"{name} has no type"
        assert text.endswith("."), f"{name}: {text}"
        assert text == cls.__dataclass_fields__[name].metadata["doc"], name


@every_class
def test_the_reference_is_that_of_the_module(cls):
    module = inspect.getmodule(cls).__doc__.replace("\nReferences: ", "\nReference: ")
    _, told, reference = module.partition("\nReference: ")
    shown = " ".join(" ".join(NumpyDocString(inspect.getdoc(cls))["References"]).split())
    if told and "References" not in cls._own_docstring:
        assert shown == f".. [1] {' '.join(reference.split())}"  # no word is cut at its hyphen


@pytest.mark.filterwarnings("ignore")
@every_classifier
def test_the_docstring_lists_the_attributes_that_a_fit_leaves(cls):
    model = clone(CLASSIFIERS[cls]).fit(*planted_bags(n_bags=12))
    listed = {
        name.strip()
        for entry in NumpyDocString(inspect.getdoc(cls))["Attributes"]
        for name in entry.name.split(",")
    }
    fitted = {name for name in vars(model) if name.endswith("_")}
    of_every_classifier = {"classes_", "n_features_in_", "feature_names_in_"}
    for_predicting = {"kernel_", "inputs_"}  # no numbers that a user would read
    assert fitted - listed <= of_every_classifier | for_predicting, "not documented"
    of_other_settings = {
        *("coef_", "dual_coef_", "support_", "support_vectors_"),  # linear or not
        *("kernel_error_", "scaler_", "bag_gamma_"),
        *("slope_", "held_out_", "threshold_log_odds_"),  # of out-of-fold scores
        "starts_",  # of several starts
        *("covariate_kinds_", "covariate_center_", "covariate_scale_"),
    }
    assert listed - fitted <= of_other_settings, "documented, but not there after a fit"


# What a caller may do ----------------------------------------------------------------------------


@every_class
def test_every_parameter_is_keyword_only_and_has_a_constraint(cls):
    for name, parameter in signature_of(cls).items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        constraint = cls._parameter_constraints[name]
        assert constraint == "no_validation" or all(map(make_constraint, constraint))
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        cls(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        cls(gama=1.0)


# Seeds -------------------------------------------------------------------------------------------


def first_objective(seed):
    bags, _ = planted_bags(n_bags=40)
    y = np.random.default_rng(0).integers(0, 2, len(bags))
    return WitnessSVC(init="random", random_state=seed).fit(bags, y).history_[0]["objective"]


def test_a_seed_gives_the_same_model_and_a_random_state_goes_on_from_fit_to_fit():
    assert WitnessSVC().random_state == 0
    assert first_objective(0) == first_objective(0)
    state = np.random.RandomState(0)
    assert first_objective(state) != first_objective(state)
    assert first_objective(np.random.RandomState(0)) == first_objective(0)


# Classes of one's own ----------------------------------------------------------------------------


class Base(Parameters):
    """A base.

    Attributes
    ----------
    size_ : int
        Size.
    never_, twin_ : int
        Two at once.
    """

    width: float = param(1.0, positive(), "Width.")
    kind: str = param("a", Words("b", "a"), "Kind.")


class Narrow(Base):
    """A narrow one.

    More about it.

    Attributes
    ----------
    size_ : int
        Size of a narrow one.

    See Also
    --------
    Base : Wider.
    """

    _never_fitted = ("never_", "twin_")

    depth: int | None = param(None, [integer(2), None], "Depth.")
    width: float = redeclare(Base, "width", default=0.5, doc="Width, below 1.")


def test_a_class_redefines_a_default_and_its_base_keeps_its_own():
    assert (Narrow().width, Base().width) == (0.5, 1.0)
    assert list(signature_of(Narrow)) == ["depth", "width", "kind"]  # its own first
    assert documented(Narrow)["width"] == ("float", 0.5, "Width, below 1.")
    assert documented(Base)["width"] == ("float", 1.0, "Width.")
    assert Narrow._parameter_constraints["width"] == Base._parameter_constraints["width"]


def test_sections_are_merged_in_the_order_of_numpydoc():
    text = inspect.getdoc(Narrow)
    headings = re.findall(r"^(\w[\w ]*)\n-+$", text, re.MULTILINE)
    assert headings == ["Parameters", "Attributes", "See Also"]
    assert "size_ : int\n    Size of a narrow one." in text
    assert "never_" not in text
    assert "never_, twin_ : int\n    Two at once." in inspect.getdoc(Base)
    assert text.startswith("A narrow one.\n\nMore about it.\n")


def test_types_are_read_from_the_constraints():
    assert documented(Narrow)["depth"][0] == "int or None"
    assert documented(Narrow)["kind"][0] == '{"b", "a"}'
    told = param([1.0], ["array-like"], "Values.", kind="list of float").metadata["kind"]
    assert told == "list of float"


def test_a_subclass_without_fields_of_its_own_has_those_of_its_base():
    class Plain(LabelSVC):
        pass

    assert signature_of(Plain).keys() == signature_of(LabelSVC).keys()
    assert Plain(C=3.0).C == 3.0
    assert repr(clone(Plain(C=3.0))) == "Plain(C=3.0)"
    assert Plain(C=3.0).fit(*planted_bags()).C == 3.0


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (positive(), [1e-300, 3, np.float32(2)], [0, -1, "1", np.nan, None]),
        (positive(zero=True), [0, 0.0, 5], [-1e-9, None]),
        (integer(), [1, np.int64(4)], [0, 1.0, "1"]),
        (integer(0), [0, 7], [-1]),
        (fraction(), [0, 0.5, 1], [-0.1, 1.1]),
        (Words("a", "b"), ["a", "b"], ["c", None, 1]),
    ],
)
def test_constraints_accept_and_refuse(constraint, good, bad):
    assert all(constraint.is_satisfied_by(value) for value in good)
    assert not any(constraint.is_satisfied_by(value) for value in bad)


# Progress ----------------------------------------------------------------------------------------


def test_progress_is_printed_and_told(capsys):
    class Teller(LabelSVC):
        pass

    seen = []
    Teller(verbose=1, callback=seen.append)._report({"objective": 1.23456789, "gap": 1e-9})
    assert capsys.readouterr().out == "[Teller] objective 1.23457  gap 1e-09\n"
    assert seen == [{"objective": 1.23456789, "gap": 1e-9}]
    Teller()._report({"objective": 1.0})
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore")
@every_classifier
def test_every_iterative_estimator_tells_its_history(cls, capsys):
    if "callback" not in signature_of(cls):
        assert "max_iter" not in signature_of(cls), "iterates and does not tell"
        return
    seen = []
    model = clone(CLASSIFIERS[cls]).set_params(callback=seen.append, verbose=1)
    model.set_params(threshold=0.0)  # calibration would fit copies, which tell as well
    model.fit(*planted_bags(n_bags=12))
    assert seen
    assert all(isinstance(record, dict) and record for record in seen)
    assert len(capsys.readouterr().out.splitlines()) == len(seen)


@pytest.mark.parametrize(
    ("name", "value"),
    [("C", 10**400), ("max_iter", 10**30), ("n_jobs", 10**9), ("n_jobs", -(10**9))],
)
def test_integers_beyond_reason_are_named(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of WitnessSVC is an integer of"):
        WitnessSVC(**{name: value}).fit([[[0.0]], [[1.0]]], [0, 1])


# Sizes -------------------------------------------------------------------------------------------


@every_class
def test_an_estimator_can_be_held_in_the_head(cls):
    large = ("GraphSVC", "MarkovNetworkClassifier")
    limit = 24 if cls.__name__ in large else 20
    assert len(signature_of(cls)) <= limit, "put rare parameters into a group"
    own = {base for base in cls.__mro__ if base.__module__.startswith("bagwise")}
    assert len(own) <= 8, own


# Groups ------------------------------------------------------------------------------------------


def test_a_group_is_reached_by_its_name_although_its_default_is_none():
    model = AnnealedLabelSVC()
    assert model.annealing is None
    assert model.get_params()["annealing__cooling"] == Annealing().cooling
    assert model.set_params(annealing__cooling=3.0, C=2.0) is model
    assert (model.annealing.cooling, model.annealing.T0, model.C) == (3.0, Annealing().T0, 2.0)
    assert repr(clone(model)) == "AnnealedLabelSVC(C=2.0, annealing=Annealing(cooling=3.0))"
    with pytest.raises(ValueError, match="Invalid parameter 'colling'"):
        model.set_params(annealing__colling=1.0)


def test_a_group_that_two_models_share_is_copied_before_it_is_changed():
    shared = Annealing(T0=2.0)
    one, other = AnnealedLabelSVC(annealing=shared), AnnealedLabelSVC(annealing=shared)
    one.set_params(annealing__T0=5.0)
    assert (one.annealing.T0, other.annealing.T0, shared.T0) == (5.0, 2.0, 2.0)
    one.set_params(annealing=shared, annealing__cooling=4.0)
    assert (one.annealing.T0, one.annealing.cooling, shared.cooling) == (2.0, 4.0, 1.5)
    assert clone(other).annealing is not shared


def test_values_in_a_group_are_checked_and_the_defaults_give_the_same_model():
    with pytest.raises(InvalidParameterError, match="'cooling' parameter of Annealing"):
        AnnealedLabelSVC(annealing=Annealing(cooling=0.5)).fit(*planted_bags())
    with pytest.raises(InvalidParameterError, match="'annealing' parameter of AnnealedLabelSVC"):
        AnnealedLabelSVC(annealing={"cooling": 2.0}).fit(*planted_bags())
    bags, y = planted_bags()
    scores = [
        AnnealedLabelSVC(annealing=group).fit(bags, y).decision_function(bags)
        for group in (None, Annealing())
    ]
    assert np.array_equal(*scores)


@pytest.mark.parametrize("use", [AnnealedLabelSVC, AnnealedLabelSVC().set_params])
def test_a_flat_name_of_version_0_2_says_in_which_group_it_is(use):
    with pytest.raises(TypeError, match=r"annealing__cooling=.* or annealing=Annealing\(cooling"):
        use(cooling=2.0)
