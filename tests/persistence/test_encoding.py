"""Values as JSON and back, to the bit; what is not data is refused."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import bagwise
from bagwise import Graph, WitnessSVC
from bagwise.io import FormatError
from bagwise.io._files import read_npy
from bagwise.persistence import UnsavableError, archive, encoding
from bagwise.persistence.encoding import (
    build_tree,
    decode,
    encode,
    find_class,
    holds_sklearn,
    name_of_class,
    tree_parts,
)
from bagwise.testing._problems import planted_bags


def there_and_back(value):
    """Encode a value, write and read the JSON and the arrays, and decode it."""
    kept = {}

    def keep(part):
        kept[str(len(kept))] = archive._npy(part)
        return str(len(kept) - 1)

    text = json.dumps(encode(value, "value", keep), allow_nan=False)
    return decode(json.loads(text), lambda name: read_npy(Path("kept"), name, kept[name]))


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "x"], "b": {"c": (1, ())}},
        {1: "one", (2, "b"): "two", "$array": "three", None: 4},
        [float("inf"), float("nan"), -0.0, 5e-324, 0.1 + 0.2],
        (np.float32(0.1), np.float64(0.3), np.int8(3), np.bool_(True), np.str_("text")),
        [np.dtype("<f4"), np.dtype("U3")],
    ],
)
def test_values_of_every_kind_come_back(value):
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.array(["a", "bcd"]),
        np.array(["a", ("b", 1), None], dtype=object).reshape(3, 1),
        np.zeros((0, 4), dtype=np.float32),
        np.array(7),
    ],
    ids=["fortran", "texts", "objects", "empty", "scalar"],
)
def test_arrays_keep_values_type_and_order(array):
    found = there_and_back(array)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse_matrices_keep_their_kind(kind):
    found = there_and_back(kind(np.eye(3, 4)))
    assert type(found) is kind
    np.testing.assert_array_equal(found.toarray(), np.eye(3, 4))


def test_graphs_come_back():
    graph = Graph.from_edges([("a", "b"), ("b", 3)], weight=[0.5, 2.0], directed=True)
    found = there_and_back(graph)
    assert repr(found) == repr(graph)
    assert list(found.ids) == list(graph.ids)
    np.testing.assert_array_equal(found.weight, graph.weight)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (print, r"value is the builtin_function_or_method 'print'.* data, not code"),
        ({"a": [print]}, r"value\['a'\]\[0\] is the"),
        (WitnessSVC(kernel=print), r"value\.kernel is the"),
        (np.random.RandomState(0), "Replace it by numbers, texts or arrays"),
        (np.array([(1, None)], dtype=[("a", int), ("b", object)]), "value is the ndarray"),
        (np.datetime64("2020"), "value is the datetime64"),
        ({1, 2}, "value is the set 'set'"),
    ],
)
def test_what_is_no_data_is_named_with_its_place(value, message):
    with pytest.raises(UnsavableError, match=message):
        encode(value, "value", lambda array: "name")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"$call": "print"}, r"unknown kind '\$call'"),
        ({"$tuple": 3}, r"malformed '\$tuple'"),
        ({"$scalar": 3}, r"malformed '\$scalar'"),
        ({"$object": "Popen", "state": {}}, "'Popen', which is not among the known classes"),
        ({"$object": "WitnessSVC", "state": {"__class__": 1}}, "a special attribute of Python"),
        ({"$object": "PerInstance", "state": {}}, "lacks the parameter 'transformer'"),
        ({"$sparse": "csr_array", "shape": [1, 1]}, r"malformed '\$sparse'"),
    ],
)
def test_what_encode_does_not_write_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        decode(value, None)


def test_other_classes_are_not():
    class WitnessSVC:  # the name alone does not make it ours
        pass

    for kind in (subprocess.Popen, KNeighborsClassifier, WitnessSVC, int):
        assert name_of_class(kind) is None
    assert find_class("Popen") is None
    assert find_class("sklearn.neighbors.KNeighborsClassifier") is None


def test_classes_of_scikit_learn_are_seen_in_a_state():
    assert holds_sklearn('{"$object": "StandardScaler", "state": {}}')
    assert not holds_sklearn('{"$object": "WitnessSVC", "state": {"kernel": "PCA"}}')


# Model files of version 0.2 load to the same bits, or the error says to fit again ----------------

FILES = Path(__file__).parent / "files"  # written by commit be8192e, fitted to planted_bags()
SCORES = json.loads((FILES / "scores.json").read_text())


@pytest.mark.parametrize("name", ["annealed", "svc_nystroem"])
def test_models_of_0_2_have_the_same_scores(name):
    model = bagwise.load(FILES / f"{name}.bagwise")
    bags, _ = planted_bags()
    np.testing.assert_array_equal(model.decision_function(bags), SCORES[name])


def test_flat_parameters_of_0_2_are_in_their_groups():
    model = bagwise.load(FILES / "annealed.bagwise")
    assert model.get_params()["annealing__cooling"] == model.annealing.cooling
    again = model.fit(*planted_bags())
    np.testing.assert_allclose(again.decision_function(planted_bags()[0]), SCORES["annealed"])


def test_a_parameter_that_changed_predictions_asks_to_fit_again():
    with pytest.raises(FormatError, match=r"fitted with chain=1\.0.*fit the model again"):
        bagwise.load(FILES / "network_chain.bagwise")


def test_parts_that_are_gone_ask_to_fit_again(monkeypatch):
    known = encoding.find_class  # MILBoost had trees of its own
    monkeypatch.setattr(encoding, "find_class", lambda n: None if n == "Forest" else known(n))
    with pytest.raises(FormatError, match=r"'Forest', which is not among .*fit the model again"):
        bagwise.load(FILES / "milboost.bagwise")


# Decision trees -----------------------------------------------------------------------------------

PARTS = tree_parts(DecisionTreeClassifier(max_depth=2).fit(np.eye(6, 3), [0, 1] * 3).tree_)


def forge(field, value):
    nodes = PARTS["nodes"].copy()
    nodes[field][0] = value
    return {"nodes": nodes}


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (forge("left_child", 10**6), "leads nowhere"),
        (forge("right_child", 0), "leads nowhere"),
        (forge("feature", 3), "leads nowhere"),
        (forge("feature", -2), "leads nowhere"),
        ({"nodes": np.zeros(3)}, "does not know"),
        ({"values": PARTS["values"][:-1]}, "wrong shape"),
        ({"n_classes": np.array([], dtype=int)}, "without classes"),
        ({"max_depth": 0}, "depth is not the one it states"),
    ],
)
def test_a_forged_tree_is_not_built(forged, message):
    with pytest.raises(ValueError, match=message):
        build_tree({**PARTS, **forged})
