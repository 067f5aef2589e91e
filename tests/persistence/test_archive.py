"""Model files: every estimator comes back to the bit, and what is not ours is not read."""

import hashlib
import json
import pickle
import zipfile
from io import BytesIO

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import bagwise
from bagwise import (
    BagEnsemble,
    BagKernelSVC,
    BagStatistics,
    InstanceSVC,
    MarkovNetworkClassifier,
    PerInstance,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.estimators.base import BagClassifier
from bagwise.io import CorruptFileError, FormatError, TruncatedFileError
from bagwise.models.intersection import IntersectionMap
from bagwise.persistence import UnsavableError, describe
from bagwise.testing import estimators
from bagwise.testing._problems import assert_same_bits, outputs, planted_bags
from representatives import first_of_each


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.bagwise"


@pytest.fixture
def saved(path):
    bags, y = planted_bags()
    bagwise.save(WitnessSVC(kernel="linear").fit(bags, y), path)
    return path


def rewrite(path, change, sums=True):
    """Change the members of a model file; with ``sums`` as one who knows about checksums would."""
    with zipfile.ZipFile(path) as archive_:
        members = {name: archive_.read(name) for name in archive_.namelist()}
    change(members)
    if sums:
        del members["SHA256SUMS"]
        lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members.items()]
        members["SHA256SUMS"] = "".join(lines).encode()
    with zipfile.ZipFile(path, "w") as archive_:
        for name, data in members.items():
            archive_.writestr(name, data)


def edited(name, **changes):
    def change(members):
        members[name] = json.dumps({**json.loads(members[name]), **changes}).encode()

    return change


# The round trip -----------------------------------------------------------------------------------


def every_estimator():
    listed = estimators()
    public = (getattr(bagwise, name) for name in bagwise.__all__)
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BagClassifier)]
    return listed + [kind() for kind in kinds if kind not in {type(model) for model in listed}]


@pytest.mark.parametrize("estimator", first_of_each(every_estimator()))
def test_every_listed_estimator_comes_back_to_the_bit(estimator, path):
    n_classes = 3 if estimator.__sklearn_tags__().classifier_tags.multi_class else 2
    bags, y = planted_bags(n_classes)
    fresh, _ = planted_bags(n_classes, seed=1)
    model = clone(estimator).fit(bags, y)
    bagwise.save(model, path)
    loaded = bagwise.load(path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert_same_bits(outputs(model, fresh), outputs(loaded, fresh), "after loading")
    assert repr(loaded.get_params()) == repr(model.get_params())


@pytest.mark.parametrize(
    "model",
    [
        WitnessSVC(probability="sigmoid", threshold="calibrated", calibration_cv=2),
        WitnessSVC(pos_label="absent", class_weight={"absent": 2.0, "present": 0.5}),
        MarkovNetworkClassifier(cardinality="learned", bag_features="kernels", cv=2, max_iter=3),
        MarkovNetworkClassifier(feature_map=IntersectionMap(), max_iter=3),
        Pipeline([("svc", WitnessSVC())]),
        make_pipeline(PerInstance(StandardScaler()), WitnessSVC()),
        make_pipeline(
            PerInstance(make_pipeline(SimpleImputer(), RobustScaler(), PCA(2))), BagKernelSVC()
        ),
        make_pipeline(
            PerInstance(PowerTransformer()), PerInstance(Nystroem(n_components=4)), InstanceSVC()
        ),
        make_pipeline(PerInstance(QuantileTransformer(n_quantiles=9)), WitnessSVC()),
        make_pipeline(BagStatistics(statistics=("min", "max")), InstanceSVC()),
    ],
    ids=lambda model: repr(model)[:60],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_names_probabilities_and_pipelines_come_back(model, path):
    bags, y = planted_bags()
    named = bags.replace(X=np.abs(bags.X), feature_names=["a", "b", "c"])
    model = model.fit(named, np.array(["absent", "present"])[y])
    bagwise.save(model, path)
    loaded = bagwise.load(path)
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name)(named), getattr(model, name)(named))
    with pytest.raises(ValueError, match="Feature 0 is called 'c' here and was 'a'"):
        loaded.predict(named.replace(feature_names=["c", "b", "a"]))


def test_sparse_support_vectors_stay_sparse(path):
    bags, y = planted_bags()
    sparse = bags.replace(X=sp.csr_array(np.where(bags.X > 0.3, bags.X, 0.0)))
    model = InstanceSVC().fit(sparse, y)
    bagwise.save(model, path)
    loaded = bagwise.load(path)
    assert type(loaded.support_vectors_) is type(model.support_vectors_)
    assert_same_bits(outputs(model, sparse), outputs(loaded, sparse), "sparse")


def test_the_same_model_gives_the_same_bytes(tmp_path):
    bags, y = planted_bags()
    for name in ("one", "other"):
        bagwise.save(InstanceSVC().fit(bags, y), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_parameter_newer_than_the_file_takes_its_default(saved):
    def forget(members):
        state = json.loads(members["state.json"])
        del state["state"]["max_iter"]
        members["state.json"] = json.dumps(state).encode()

    rewrite(saved, forget)
    assert bagwise.load(saved).max_iter == WitnessSVC().max_iter


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(PerInstance(StandardScaler()), model),
        lambda model: BagEnsemble(estimator=model, n_estimators=2),
    ],
    ids=["alone", "pipeline", "ensemble"],
)
def test_a_callback_is_not_written_and_is_none_after_loading(wrap, path):
    bags, y = planted_bags()
    seen = []
    model = wrap(WitnessSVC(kernel="linear", callback=seen.append)).fit(bags, y)
    bagwise.save(model, path)
    loaded = bagwise.load(path)
    found = {k: v for k, v in loaded.get_params().items() if k.split("__")[-1] == "callback"}
    assert found
    assert set(found.values()) == {None}
    np.testing.assert_array_equal(loaded.decision_function(bags), model.decision_function(bags))
    assert "callback" not in describe(path)["model"]
    assert describe(path)["parameters"].get("callback") is None


# The description ----------------------------------------------------------------------------------


def test_the_description_says_what_the_model_is(path):
    bags, y = planted_bags()
    model = WitnessSVC(C=3.0, kernel="linear").fit(bags.replace(feature_names=list("abc")), y)
    bagwise.save(model, path, notes={"bag": "slide"})
    description = describe(path)
    assert description["class"] == "WitnessSVC"
    assert description["parameters"]["C"] == 3.0
    assert description["classes"] == [0, 1]
    assert description["positive_class"] == 1
    assert description["feature_names"] == ["a", "b", "c"]
    assert description["bagwise"] == bagwise.__version__
    assert description["notes"] == {"bag": "slide"}
    certificate = description["certificate"]
    assert certificate["objective"] == model.objective_.tolist()
    assert certificate["gap"] == model.gap_.tolist()
    assert certificate["n_iter"] == model.n_iter_


# What is refused at saving ------------------------------------------------------------------------


def linear(A, B):
    return A @ B.T


class OwnSVC(WitnessSVC):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WitnessSVC(kernel=linear), r"WitnessSVC.kernel is the function 'linear'.*data, not code"),
        (WitnessSVC(random_state=np.random.RandomState(0)), r"random_state is the RandomState"),
        (OwnSVC(), "OwnSVC"),
        (
            make_pipeline(PerInstance(FunctionTransformer(np.log1p)), WitnessSVC()),
            "FunctionTransformer",
        ),
        (
            make_pipeline(BagStatistics(), LogisticRegression()),
            "LogisticRegression is not a model of bagwise",
        ),
        (GridSearchCV(WitnessSVC(), {"C": [1.0, 2.0]}, cv=2), "save its best_estimator_"),
        (LogisticRegression(), "LogisticRegression is not a model of bagwise"),
        (StatisticsSVC(estimator=KNeighborsClassifier(3)), r"estimator is the KNeighbors.*SVC"),
        ("model", "str is not a model of bagwise"),
    ],
    ids=lambda value: repr(value)[:40],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_known_is_refused_and_nothing_is_written(model, message, path):
    bags, y = planted_bags()
    bags = bags.replace(X=np.abs(bags.X))
    if hasattr(model, "fit"):
        model.fit(bags.X[: len(y)] if isinstance(model, LogisticRegression) else bags, y)
    with pytest.raises(UnsavableError, match=message):
        bagwise.save(model, path)
    assert list(path.parent.iterdir()) == []


def test_a_model_that_is_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError):
        bagwise.save(WitnessSVC(), path)
    assert not path.exists()


# What is refused at loading -----------------------------------------------------------------------


def test_a_changed_byte_is_found_wherever_it_is(saved):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive_:
        entries = archive_.infolist()
    for entry in entries:
        if entry.filename == "SHA256SUMS":
            continue
        damaged = bytearray(whole)
        middle = entry.header_offset + 30 + len(entry.filename) + entry.file_size // 2
        damaged[middle] ^= 1
        saved.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"model\.bagwise"):
            bagwise.load(saved)


def test_a_changed_member_is_named(saved):
    rewrite(saved, edited("model.json", classes=["no", "yes"]), sums=False)
    with pytest.raises(CorruptFileError, match=r"model\.json was changed after it was written"):
        bagwise.load(saved)
    with pytest.raises(CorruptFileError, match=r"model\.json was changed"):
        describe(saved)


def test_another_scikit_learn_warns_for_its_transformers(path):
    bags, y = planted_bags()
    bagwise.save(make_pipeline(PerInstance(StandardScaler()), WitnessSVC()).fit(bags, y), path)
    rewrite(path, edited("model.json", **{"scikit-learn": "1.0"}))
    with pytest.warns(InconsistentVersionWarning, match=r"version 1\.0"):
        bagwise.load(path)


def an_array(members):
    return next(name for name in members if name.startswith("arrays/"))


def pickled(members):
    array = np.empty(1, dtype=object)
    array[0] = print
    buffer = BytesIO()
    np.save(buffer, array, allow_pickle=True)
    members[an_array(members)] = buffer.getvalue()


def claim(members):
    name = next(n for n in members if n.endswith(".npy") and b"(1, 3)" in members[n])
    members[name] = members[name].replace(b"(1, 3), }" + b" " * 12, b"(1, 3000000000000), }")


def state(value):
    return lambda members: members.update({"state.json": json.dumps(value).encode()})


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pickled, "is not an array of numbers"),
        (lambda members: members.pop(an_array(members)), "which is missing"),
        (claim, "24000000000000 bytes claimed, 24 there"),
        (lambda members: members.update({"arrays/99.npy": b""}), "99.npy belongs to nothing"),
        (state({"$object": "os.system", "state": {}}), "not among the known classes"),
        (state({"$object": ["WitnessSVC"], "state": {}}), "has a malformed"),
        (state({"$object": "StandardScaler", "state": {}}), "StandardScaler, not a model"),
        (state([1, 2]), "contains a list, not a model"),
        (edited("model.json", format="other"), "does not describe a model"),
        (edited("model.json", version=0), "reads version 3"),
        (edited("model.json", version=1, bagwise="0.1.0"), r"bagwise 0\.1, .* fit the model again"),
        (edited("model.json", version=4, bagwise="9.1"), r"9\.1 in version 4 .* a newer bagwise"),
        (lambda members: members.update({"extra.py": b""}), "so it is not a model"),
        (lambda members: members.update({"model.json": b"{"}), "is not JSON"),
        (lambda members: members.update({"state.json": DEEP}), r"state\.json is not JSON"),
        (lambda members: members.pop("state.json"), r"'state\.json' must be both"),
    ],
)
def test_a_forged_file_is_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(FormatError, match=message):
        bagwise.load(saved)


def deflate(path):
    with zipfile.ZipFile(path) as archive_:
        members = {name: archive_.read(name) for name in archive_.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive_:
        for name, data in members.items():
            archive_.writestr(name, data)


def encrypt(path):
    content = bytearray(path.read_bytes())
    content[content.rfind(b"PK\x01\x02") + 8] |= 1  # the flag of the last member
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (deflate, CorruptFileError, "is compressed"),
        (encrypt, FormatError, "is encrypted"),
        (lambda p: p.write_bytes(p.read_bytes()[:-100]), TruncatedFileError, "is truncated"),
        (lambda p: p.write_bytes(b""), TruncatedFileError, "not a model file"),
        (lambda p: p.write_bytes(pickle.dumps({"a": 1})), TruncatedFileError, "not a model file"),
        (lambda p: zipfile.ZipFile(p, "w").close(), FormatError, "not a model file of bagwise"),
        (lambda p: p.unlink(), FileNotFoundError, r"There is no file .*model\.bagwise"),
    ],
)
def test_another_kind_of_file_is_refused(saved, spoil, error, message):
    spoil(saved)
    with pytest.raises(error, match=message):
        bagwise.load(saved)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("class", "InstanceSVC"),
        ("parameters", {"C": 2.0}),
        ("classes", [0, 2]),
        ("positive_class", 0),
        ("n_features", 4),
        ("feature_names", ["a", "b", "c"]),
        ("certificate", {"objective": [0.0], "gap": [0.0], "n_iter": 1}),
        ("model", "InstanceSVC()"),
    ],
)
def test_a_description_of_another_model_is_refused(saved, key, value):
    rewrite(saved, edited("model.json", **{key: value}))
    with pytest.raises(CorruptFileError, match=f"model.json says {key} = "):
        bagwise.load(saved)
