"""The library's errors and warnings in the words of the command line: flags for arguments."""

from __future__ import annotations

__all__ = ["at_the_terminal"]

# What the library says to a caller in Python, and what the same is called here.
_WORDS = {
    "name yours with bag=...,": "name yours with --bag,",
    "leave it out with features=[...]": "leave it out: name the others with --features",
    "pass regroup=True": "pass --regroup",
    "Pass format=...": "Pass --format NAME.",
    "name one with key=...": "read it in Python, with key=...",
    "name one with instances=...": "read it in Python, with instances=...",
    "name it with file=...": "read it in Python, with file=...",
    "Choose one with dtype=...": "Read it in Python, with dtype=...",
    "Pass zero_based=True": "Read it in Python, with zero_based=True",
    "pos_label is for two classes": "--positive is for two classes",
    "for example with PerInstance(SimpleImputer()) in a pipeline": (
        "or in Python put PerInstance(SimpleImputer()) before the model"
    ),
    "cale the features": "cale the features (--scale)",
    "Use kernel='linear', if needed after PerInstance(Nystroem(...)) in a pipeline": (
        "Use --param kernel=linear"
    ),
    "probability='sigmoid'": "probability=sigmoid",
    "Lower cv to ": "Lower the folds with --param cv=",
    "Lower cv,": "Lower the folds with --param cv=2,",
}


def at_the_terminal(message: str) -> str:
    """Return a message in one line, with flags where the library names its arguments."""
    line = " ".join(message.split())
    for python, flag in _WORDS.items():
        line = line.replace(python, flag)
    return line
