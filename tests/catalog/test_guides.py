import re

import pytest

from bagwise.catalog import ENTRIES
from bagwise.catalog.guides import GUIDES
from bagwise.catalog.papers import PAPERS


def test_every_estimator_has_a_guide_and_every_guide_an_estimator():
    assert set(GUIDES) == {entry.class_name for entry in ENTRIES}


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_a_guide_says_all_that_a_reader_decides_by(entry):
    guide = entry.guide
    for told in (guide.objective, guide.time, guide.memory, guide.use, guide.avoid):
        assert len(told) > 3
        assert "|" not in told or told is guide.objective or "|E|" in told  # it stands in a table
    assert guide.objective.count("{") == guide.objective.count("}")


def test_recommended_classes_exist():
    known = {entry.class_name for entry in ENTRIES} | {"BagGridSearchCV"}
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
