"""The errors of files: their message, their kinds, and pickling."""

import pickle

import pytest

from bagwise.io import FormatError, TruncatedFileError


@pytest.mark.parametrize(
    ("line", "column", "text"),
    [
        (None, None, "a.csv: bad."),
        (3, None, "a.csv, line 3: bad."),
        ("row 3", None, "a.csv, row 3: bad."),
        (None, "f", "a.csv, column 'f': bad."),
        (3, "f", "a.csv, line 3, column 'f': bad."),
    ],
)
def test_the_message_names_the_place(line, column, text):
    error = TruncatedFileError("a.csv", "bad.", line, column)
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == text
    assert isinstance(error, FormatError)
    assert isinstance(error, ValueError)
