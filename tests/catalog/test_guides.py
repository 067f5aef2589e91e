import re

import pytest

import bagwise
from bagwise.catalog import ENTRIES
from bagwise.catalog.guides import GUIDES
from bagwise.catalog.papers import PAPERS


def public_estimators():
    modules = (bagwise, bagwise.model_selection, bagwise.preprocessing)
    things = (getattr(module, name) for module in modules for name in module.__all__)
    return {thing.__name__ for thing in things if isinstance(thing, type) and hasattr(thing, "fit")}


def test_every_estimator_has_a_guide_and_every_guide_an_estimator():
    assert set(GUIDES) == public_estimators()
    assert {entry.class_name for entry in ENTRIES} <= set(GUIDES)


@pytest.mark.parametrize("guide", GUIDES.values(), ids=GUIDES)
def test_a_guide_says_all_that_a_reader_decides_by(guide):
    for told in (guide.objective, guide.time, guide.memory, guide.use, guide.avoid):
        assert len(told) > 3
        assert "|" not in told or told is guide.objective  # it would end the cell of a table
    assert guide.objective.count("{") == guide.objective.count("}")


def test_recommended_classes_exist():
    known = set(GUIDES)
    advice = " ".join(guide.avoid for guide in GUIDES.values())
    named = set(re.findall(r"\b[A-Z]\w+(?:SVC|CV|SVM|Forest|Density)\b|\bMILES\b", advice))
    assert "WitnessSVC" in named
    assert named <= known


def test_bibtex_names_authors_with_initials():
    text = PAPERS["andrews2002"].bibtex("andrews2002")
    assert text.startswith("@inproceedings{andrews2002,\n  author = {Andrews, S. and Tsoch")
    assert "booktitle = {NIPS}" in text
    assert "@mastersthesis" in PAPERS["dong2006"].bibtex("dong2006")
    for key, paper in PAPERS.items():
        assert paper.bibtex(key).count("{") == paper.bibtex(key).count("}")
