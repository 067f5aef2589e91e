"""After an error about a table, a hint says what its columns look like."""

from __future__ import annotations

import pytest

from command_line import refused

TABLE = "slide,dx,patient,site,note,f\n" + "".join(
    f"s{i},{'mut' if i % 2 else 'wt'},p{i // 2},{'ab'[i % 2]}{i % 3},n{i}{k},{i + k}\n"
    for i in range(12)
    for k in range(3)
)
MODEL = ["-m", "SIL", "--positive", "mut"]
ROLES = ["--bag", "slide", "--label", "dx"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "the columns may be --bag slide --label dx --groups patient."),
        (ROLES, "'patient' is the same on all rows of a bag: is it --groups patient?"),
        (
            [*ROLES, "--groups", "patient"],
            "'site' is the same on all rows of a bag. If it is no feature, name it with --label or",
        ),
        ([*ROLES, "--drop", "patient,site"], "Hint: leave the column out with --drop note."),
        (["--bag", "slde", "--label", "dx"], "Did you mean 'slide'?"),
    ],
)
def test_hints(words, hint, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    refused(1, hint, "cv", tmp_path / "t.csv", *MODEL, *words)
