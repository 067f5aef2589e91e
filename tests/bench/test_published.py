"""The published numbers: every table says where it is from, and presets find their rows."""

from __future__ import annotations

import pytest

from bagwise.bench.published import published_table, published_tables
from bagwise.bench.spec import load_spec, presets


def test_published_rows_of_a_preset_are_found_by_its_models():
    for name in presets():
        spec = load_spec(name)
        if spec.published:
            table = published_table(spec.published)
            printed = {model for rows in table.values.values() for model in rows}
            assert {model.name for model in spec.models} & printed, name


def test_every_published_table_says_where_it_is_from():
    assert len(published_tables()) == 11
    for table in published_tables().values():
        assert table.source
        assert table.table
        assert table.protocol
        assert table.values
    tiger = published_table("gehler2007-table2").number("error", "AL-SVM T=10C", "tiger")
    assert tiger == (28.0, None)
    corel = published_table("hajimirsadeghi2017-table3").number("accuracy", "MIMN", "corel2000")
    assert corel == (71.6, 1.0)
    assert published_table("zhang2020-table3").number("accuracy", "DD", "fox") is None


def test_a_misspelled_table_is_answered_with_a_guess():
    with pytest.raises(
        ValueError, match=r"no table 'gehler2007-tabel1'. Did you mean 'gehler2007-"
    ):
        published_table("gehler2007-tabel1")
