from bagwise.catalog.papers import PAPERS


def test_bibtex_names_authors_with_initials():
    text = PAPERS["andrews2002"].bibtex("andrews2002")
    assert text.startswith("@inproceedings{andrews2002,\n  author = {Andrews, S. and Tsoch")
    assert "booktitle = {NIPS}" in text
    assert "@mastersthesis" in PAPERS["dong2006"].bibtex("dong2006")
    for key, paper in PAPERS.items():
        assert paper.bibtex(key).count("{") == paper.bibtex(key).count("}")
