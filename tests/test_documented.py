"""Docstrings whose parameters are documented once."""

from __future__ import annotations

import pytest

from bagwise._documented import documenting

SHARED = {"path": "The file.", "y": ("array-like of shape (n_bags,)", "Their labels.")}
reads = documenting(SHARED, returns="Bags\n    The bags.")


def test_names_types_and_defaults_are_those_of_the_signature():
    @reads(y="Labels that are known.", options="What else there is.", dtype="Their type.")
    def read(path: str | None, y=None, *, dtype: DTypeLike = float, **options: Any):  # noqa: F821
        """Read it.

        Twice.

        Examples
        --------
        >>> 1
        """

    assert read.__doc__ == (
        "Read it.\n\nTwice.\n\nParameters\n----------\npath : str\n    The file.\n"
        "y : array-like of shape (n_bags,), default=None\n    Labels that are known.\n"
        "dtype : dtype, default=float\n    Their type.\n"
        "**options : object\n    What else there is.\n"
        "\nReturns\n-------\nBags\n    The bags.\n\nExamples\n--------\n>>> 1\n"
    )


def test_what_nobody_explains_is_an_error():
    with pytest.raises(TypeError, match="'width' is not documented"):

        @reads()
        def read(path: str, width: int):
            """Read it."""
