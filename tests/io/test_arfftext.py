"""The syntax of ARFF: fields, quotes, escapes and declarations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bagwise.io import FormatError
from bagwise.io._arfftext import Header, is_open_quote, quote, split_fields

PATH = Path("a.arff")


@given(texts=st.lists(st.text("ab ,'\"\\%{}\t\n\rü", min_size=1, max_size=5), max_size=4))
def test_quoted_fields_come_back(texts):
    line = ",".join(map(quote, texts))
    assert split_fields(PATH, line, 1) == texts
    assert not is_open_quote(line)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a, b ,c", ["a", "b", "c"]),
        ("1 2\t3", ["1", "2", "3"]),
        ("'a b',\"c,d\"", ["a b", "c,d"]),
        (r"'it\'s', '\u00fc\n'", ["it's", "ü\n"]),
        ("", []),
    ],
)
def test_fields_as_people_write_them(text, fields):
    assert split_fields(PATH, text, 1) == fields


def test_what_cannot_be_split_is_shown():
    with pytest.raises(FormatError, match=r"line 4: cannot be split into fields at '\{b\}'"):
        split_fields(PATH, "a,{b}", 4)


def test_declarations_nest():
    header = Header(PATH)
    lines = [
        "% a comment",
        "@RELATION 'r'",
        "@attribute id {a,'b c'}",
        "@attribute bag relational",
        "\t@attribute 'f 1' REAL",
        "@end bag",
        "@attribute note string",
    ]
    assert not any(header.take(line, i) for i, line in enumerate(lines, 1))
    assert header.take("@DATA", 8)
    identity, bag, note = header.attributes
    assert (identity.kind, identity.values) == ("nominal", ["a", "b c"])
    assert [(a.name, a.kind) for a in bag.inner] == [("f 1", "numeric")]
    assert note.kind == "string"
