"""The catalog lists every estimator, and every name in it builds what it says."""

import re
import subprocess
import sys
from inspect import isclass

import pytest
from sklearn.base import clone

import bagwise
from bagwise import ODM, by_paper_name
from bagwise.catalog import (
    ENTRIES,
    EVERY,
    METHODS,
    UnknownMethodError,
    entry_of,
    make_estimator,
    usual_grid,
)
from bagwise.catalog.papers import PAPERS
from bagwise.estimators.scoring import BagScores
from model_pages import bibtex

NAMES = [method.name for method in METHODS]


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)
    assert len({entry.path for entry in ENTRIES}) == len(ENTRIES)


def test_a_paper_name_that_is_also_a_class_means_that_class():
    classes = {entry.class_name for entry in ENTRIES}
    for method in METHODS:
        if method.name in classes:
            assert method.code == f"{method.name}()"


def test_every_public_estimator_is_listed_and_every_listed_one_is_public():
    public = {getattr(bagwise, name) for name in bagwise.__all__}
    public = {kind for kind in public if isclass(kind) and issubclass(kind, BagScores)}
    listed = {entry.estimator for entry in EVERY}
    assert listed == public, "a new estimator is exported in bagwise and has an Entry"


@pytest.mark.parametrize("entry", EVERY, ids=str)
def test_an_entry_says_what_is_true(entry):
    kind = entry.estimator
    assert entry.path == f"{kind.__module__}.{kind.__qualname__}"
    assert entry.methods or entry.class_name == "PartClassifier", "a method has a paper"
    assert entry_of(entry.build()) is entry
    assert entry.estimator.task == entry.task
    for params in (entry.checked, *entry.variants):
        assert params.items() <= entry.build(**params).get_params().items()


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_name_builds_its_method(method):
    model = by_paper_name(method.name)
    assert type(model) is method.estimator
    assert method.options.items() <= model.get_params().items()
    assert repr(clone(model)) == repr(model)
    assert repr(eval(method.code, {method.class_name: method.estimator})) == repr(model)
    assert method.purpose
    assert str(method.paper.year) in str(method.paper)


def test_every_paper_has_a_method():
    assert {m.paper for entry in EVERY for m in entry.methods} == set(PAPERS.values())
    assert all(key.endswith(str(paper.year)) for key, paper in PAPERS.items())


def test_bibtex_names_authors_with_initials():
    text = bibtex("andrews2002", PAPERS["andrews2002"])
    assert text.startswith("@inproceedings{andrews2002,\n  author = {Andrews, S. and Tsoch")
    assert "booktitle = {NIPS}" in text
    assert "@mastersthesis" in bibtex("dong2006", PAPERS["dong2006"])
    assert all(bibtex(*one).count("{") == bibtex(*one).count("}") for one in PAPERS.items())


def test_the_catalog_imports_no_model():
    code = "import sys, types; sys.modules['bagwise'] = module = types.ModuleType('bagwise'); "
    code += f"module.__path__ = {bagwise.__path__!r}; import bagwise.catalog; "
    code += "print([name for name in sys.modules if name.startswith('bagwise.models')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# Building -----------------------------------------------------------------------------------------


def test_classes_are_found_by_their_names_too():
    assert repr(make_estimator("WitnessSVC", C=3.0)) == repr(make_estimator("MI-SVM", C=3.0))
    with pytest.raises(ValueError, match=r"WitnessSVC has no parameter 'vote'"):
        make_estimator("WitnessSVC", vote="any")
    assert make_estimator("AL-SVM", annealing__cooling=2.0).annealing.cooling == 2.0
    with pytest.raises(ValueError, match=r"'cooling' since version 0.3. Use annealing__cooling="):
        make_estimator("AL-SVM", cooling=2.0)
    with pytest.raises(UnknownMethodError, match=r"There is no method 'RowsClassifier'"):
        make_estimator("RowsClassifier")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("XYZ", {}, "no method 'XYZ'. Known names: SIL, "),
        ("Mi-SVM", {}, "Did you mean 'mi-SVM' or 'MI-SVM'"),
        ("mi_SVM", {}, "Did you mean 'mi-SVM' or 'MI-SVM'"),
        ("SVM-Majority", {"vote": "any"}, 'vote cannot be set: SVM-Majority is InstanceSVC(vote="'),
        ("MI-SVM", {"c": 1}, "MI-SVM has no parameter 'c'. Did you mean 'C'"),
    ],
)
def test_what_is_wrong_is_answered_with_what_is_known(name, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        by_paper_name(name, **options)


# Usual candidates ---------------------------------------------------------------------------------


def test_usual_candidates_are_allowed():
    for method in METHODS:
        for name, values in usual_grid(method.build()).items():
            for value in values:
                method.build().set_params(**{name: value})._validate_params()


def test_a_model_that_is_not_listed_has_the_candidates_of_its_base():
    class Mine(ODM):
        pass

    class New(BagScores):
        pass

    assert usual_grid(Mine()) == usual_grid(ODM()) != {}
    assert usual_grid(New()) == {}
    assert entry_of(New()) is None
