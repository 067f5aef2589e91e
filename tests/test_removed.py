"""Removed names raise the sentence that says what replaces them."""

from inspect import signature

import numpy as np
import pytest

import bagwise
from bagwise import _removed
from bagwise.persistence.encoding import decode
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


OLD_POOL = bagwise.Pool(solver="variance_reduced_mirror_prox")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (bagwise.KeyInstanceSVC(pool=OLD_POOL), "Use solver='newton'"),
        (bagwise.MarkovNetworkClassifier(early_stopping=True), "Use early_stopping=EarlyStopping"),
        (bagwise.MarkovNetworkClassifier(init=["zeros", "centroids"]), 'Use "mean"'),
    ],
)
def test_a_removed_value_says_what_replaces_it(model, said):
    with pytest.raises(ValueError, match=rf"was removed in version 0\.3\. {said}"):
        model.fit([[[0.0]], [[1.0]]], [0, 1])


def test_a_removed_option_says_what_replaces_it(monkeypatch):
    monkeypatch.setitem(_removed.OPTIONS, "models --old", "Use --new.")
    ended = call("models", "--old=3")
    assert ended.exit_code == 2
    assert "models --old was removed in version 0.3. Use --new." in ended.output


def test_nothing_that_exists_is_called_removed():
    assert not _removed.CLASSES.keys() & set(bagwise.__all__)
    for name, parameter in _removed.PARAMETERS:
        if hasattr(bagwise, name):
            assert parameter not in signature(getattr(bagwise, name)).parameters


def test_parents_are_refused_and_ignored_in_files(tmp_path):
    with pytest.raises(TypeError, match="Bags has no parameter 'parents' since"):
        bagwise.Bags(np.ones((2, 1)), [0, 2], parents=[-1, 0])
    table = tmp_path / "a.csv"
    table.write_text("bag,label,instance_parent,f\na,1,-1,1\na,1,0,2\nb,0,-1,3\n")
    with pytest.warns(UserWarning, match=r"instance_parent.* are ignored"):
        back, y = bagwise.io.read(table)
    np.testing.assert_array_equal(back.X, [[1], [2], [3]])
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "value", "old"),
    [("chain", 0.0, 0.5), ("tree", 0.0, 1.0), ("loss", "hinge", "log_loss")],
)
def test_models_of_version_0_2_load_or_are_to_be_fitted_again(name, value, old):
    network = bagwise.MarkovNetworkClassifier
    state = {name: value, "alpha": 1.0}
    _removed.drop_removed(network, state)
    assert state == {"alpha": 1.0}
    with pytest.raises(ValueError, match=f"was fitted with {name}=.*: fit the model again"):
        _removed.drop_removed(network, {name: old})


def test_files_of_removed_kernels_and_classes_say_to_fit_again():
    with pytest.raises(ValueError, match='Use "mean" or "migraph"'):
        _removed.drop_removed(bagwise.BagKernelSVC, {"bag_kernel": "max"})
    with pytest.raises(ValueError, match=r"MultiOutputClassifier, .* Fit the model again"):
        decode({"$object": "MultiLabelMarkovNetwork", "state": {}}, dict)
