"""bagwise models: every method with its class, purpose and paper."""

from __future__ import annotations

import pytest

from bagwise.catalog import METHODS
from command_line import done, printed, refused


def test_models_lists_every_method_with_its_paper():
    shown = done("models").stdout
    for method in METHODS:
        line = next(line for line in shown.splitlines() if f"│ {method.name} " in line)
        for text in (method.code, method.purpose, method.paper.short):
            assert text in line


def test_models_as_json():
    listed = printed("models")
    assert [entry["name"] for entry in listed] == [method.name for method in METHODS]
    majority = next(entry for entry in listed if entry["name"] == "SVM-Majority")
    assert (majority["class"], majority["options"]) == ("InstanceSVC", {"vote": "majority"})


@pytest.mark.parametrize("argument", ["MI-SVM", "--csv"])
def test_models_refuses_arguments(argument):
    refused(2, argument, "models", argument)
