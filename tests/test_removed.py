"""Removed names raise the sentence that says what replaces them."""

from __future__ import annotations

import pytest

import bagwise
from bagwise import _removed
from command_line import call


def test_a_removed_class_says_what_replaces_it(monkeypatch):
    monkeypatch.setitem(_removed.CLASSES, "OldSVC", "Use WitnessSVC.")
    with pytest.raises(ImportError, match=r"bagwise\.OldSVC was removed .* Use WitnessSVC\."):
        from bagwise import OldSVC  # noqa: F401
    with pytest.raises(ImportError, match=r"KernelFeatures was removed .*Nystroem"):
        from bagwise.preprocessing import KernelFeatures  # noqa: F401


@pytest.mark.parametrize("use", [bagwise.LabelSVC, bagwise.LabelSVC().set_params])
def test_a_removed_parameter_says_what_replaces_it(monkeypatch, use):
    monkeypatch.setitem(_removed.PARAMETERS, ("BagClassifier", "old"), "Use new.")
    with pytest.raises(TypeError, match=r"LabelSVC has no parameter 'old' .* Use new\."):
        use(old=1)


def test_an_unknown_parameter_is_still_an_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        bagwise.LabelSVC(nonsense=1)


def test_a_removed_method_says_what_replaces_it():
    model = bagwise.WitnessSVC()
    assert not hasattr(model, "global_bound")
    with pytest.raises(AttributeError, match=r"WitnessSVC\.global_bound was removed .* .n_init"):
        model.global_bound([], [])


def test_a_removed_option_says_what_replaces_it(monkeypatch):
    monkeypatch.setitem(_removed.OPTIONS, "--old", "Use --new.")
    ended = call("models", "--old=3")
    assert ended.exit_code == 2
    assert "--old was removed in version 0.3. Use --new." in ended.output


def test_nothing_that_exists_is_called_removed():
    assert not _removed.CLASSES.keys() & set(bagwise.__all__)
    for name, parameter in _removed.PARAMETERS:
        if hasattr(bagwise, name):
            assert parameter not in getattr(bagwise, name)._get_param_names()
