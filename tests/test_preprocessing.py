"""Transformers lifted to bags, and statistics of bags."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC

import bagwise
from bag_helpers import dense
from bagwise import Bags, BagStatistics, InstanceSVC, PerInstance, WitnessSVC

SIZES = np.array([2, 1, 4, 3])
ATTRIBUTES = ("ids", "groups", "bag_features", "priors", "instance_ids", "instance_labels")


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    n = int(SIZES.sum())
    return Bags(
        rng.normal(2.0, 3.0, size=(n, 3)),
        np.concatenate([[0], np.cumsum(SIZES)]),
        ids=["a", "b", "c", "d"],
        groups=["p", "p", "q", "r"],
        bag_features=rng.normal(size=(4, 2)),
        priors=[0.1, 0.2, 0.3, 0.4],
        instance_ids=100 + np.arange(n),
        instance_labels=np.arange(n) % 2,
        feature_names=["length", "width", "mass"],
    )


def assert_same_attributes(one, other):
    np.testing.assert_array_equal(one.offsets, other.offsets)
    for name in ATTRIBUTES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.has_ids, one.has_instance_ids) == (other.has_ids, other.has_instance_ids)


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(), PCA(2), Nystroem(n_components=4, random_state=0), KBinsDiscretizer(3)],
    ids=lambda t: type(t).__name__,
)
def test_instances_are_transformed_and_everything_else_stays(transformer, bags):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny bins
        expected = clone(transformer).fit(bags.X).transform(bags.X)
        lifted = PerInstance(transformer).fit(bags)
        result = lifted.transform(bags)
    dense = [rows.toarray() if sp.issparse(rows) else rows for rows in (expected, result.X)]
    np.testing.assert_array_equal(*dense)
    assert_same_attributes(result, bags)
    assert not hasattr(transformer, "n_features_in_"), "the transformer passed in was fitted"


def test_fit_transform_uses_that_of_the_transformer(bags):
    y = np.array([0, 1, 1, 0])
    category = bags.replace(X=np.floor(bags.X))
    encoder = TargetEncoder(cv=2, random_state=0)
    rows_y = np.repeat(y, SIZES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few members in a class
        expected = clone(encoder).fit_transform(category.X, rows_y)
        found = PerInstance(encoder).fit_transform(category, y)
    np.testing.assert_array_equal(found.X, expected)


def test_sparse_stays_sparse_unless_the_transformer_changes_it(bags):
    sparse = bags.replace(X=sp.csr_array(np.where(bags.X > 2, bags.X, 0.0)))
    result = PerInstance(MaxAbsScaler()).fit_transform(sparse)
    assert sp.issparse(result.X)
    expected = PerInstance(MaxAbsScaler()).fit_transform(bags.replace(X=sparse.X.toarray()))
    np.testing.assert_allclose(result.X.toarray(), expected.X, rtol=1e-12)
    assert_same_attributes(result, bags)
    reduced = PerInstance(TruncatedSVD(2, random_state=0)).fit_transform(sparse)
    assert isinstance(reduced.X, np.ndarray)
    assert reduced.n_features == 2
    coded = PerInstance(OneHotEncoder()).fit_transform(bags.replace(X=np.sign(bags.X)))
    assert sp.issparse(coded.X)


# Names -------------------------------------------------------------------------------------------


def test_feature_names_go_through(bags):
    lifted = PerInstance(PCA(2)).fit(bags)
    np.testing.assert_array_equal(lifted.feature_names_in_, bags.feature_names)
    np.testing.assert_array_equal(lifted.get_feature_names_out(), ["pca0", "pca1"])
    np.testing.assert_array_equal(lifted.transform(bags).feature_names, ["pca0", "pca1"])
    scaled = PerInstance(StandardScaler()).fit_transform(bags)
    np.testing.assert_array_equal(scaled.feature_names, ["length", "width", "mass"])
    dropped = PerInstance(SimpleImputer(missing_values=0.0, keep_empty_features=False))
    with pytest.warns(UserWarning, match="Skipping features"):
        kept = dropped.fit_transform(bags.replace(X=bags.X * [1, 0, 1])).feature_names
    np.testing.assert_array_equal(kept, ["length", "mass"])
    nameless = bags.replace(feature_names=None)
    assert PerInstance(StandardScaler()).fit_transform(nameless).feature_names is None
    doubled = PerInstance(FunctionTransformer(lambda X: 2 * X))
    assert not hasattr(doubled, "get_feature_names_out")
    assert doubled.fit_transform(bags).feature_names is None


# Output containers -------------------------------------------------------------------------------


def test_the_global_setting_for_frames(bags):
    pipeline = make_pipeline(PerInstance(StandardScaler()), PerInstance(PCA(2)), WitnessSVC())
    y = [0, 1, 1, 0]
    expected = clone(pipeline).fit(bags, y).decision_function(bags)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(PerInstance(StandardScaler()).fit_transform(bags), Bags)
        found = clone(pipeline).fit(bags, y).decision_function(bags)
        statistics = BagStatistics(statistics=["mean"]).fit_transform(bags)
    np.testing.assert_array_equal(found, expected)
    assert isinstance(statistics, pd.DataFrame)
    assert list(statistics.columns) == ["mean_length", "mean_width", "mean_mass"]


# Parameters --------------------------------------------------------------------------------------


def test_imputers_see_nan_and_estimators_refuse_it(bags):
    X = bags.X.copy()
    X[3, 1] = np.nan
    spoiled = bags.replace(X=X)
    filled = PerInstance(SimpleImputer()).fit_transform(spoiled)
    assert filled.X[3, 1] == np.nanmean(X[:, 1])
    y = [0, 1, 1, 0]
    make_pipeline(PerInstance(SimpleImputer()), InstanceSVC()).fit(spoiled, y)
    with pytest.raises(ValueError, match=r"'c'.* contains NaN in its instance 0, feature 'width'"):
        make_pipeline(PerInstance(StandardScaler()), InstanceSVC()).fit(spoiled, y)


def test_inverse_transform(bags):
    lifted = PerInstance(StandardScaler()).fit(bags)
    back = lifted.inverse_transform(lifted.transform(bags))
    np.testing.assert_allclose(back.X, bags.X)
    np.testing.assert_array_equal(back.feature_names, bags.feature_names)
    assert_same_attributes(back, bags)
    assert not hasattr(PerInstance(Nystroem()), "inverse_transform")


# Labels and weights ------------------------------------------------------------------------------


def test_supervised_transformers_get_the_bags_label(bags):
    y = np.array([0, 1, 1, 0])
    lifted = PerInstance(SelectKBest(k=1)).fit(bags, y)
    expected = SelectKBest(k=1).fit(bags.X, np.repeat(y, SIZES))
    np.testing.assert_array_equal(lifted.transformer_.scores_, expected.scores_)
    assert PerInstance(TargetEncoder()).__sklearn_tags__().target_tags.required


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_weights_go_to_every_instance_of_the_bag(method, bags):
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    lifted = PerInstance(StandardScaler())
    getattr(lifted, method)(bags, sample_weight=weight)
    kept = bags[[0, 2, 2, 3]]
    np.testing.assert_allclose(lifted.transformer_.mean_, kept.X.mean(axis=0))
    np.testing.assert_allclose(lifted.transformer_.var_, kept.X.var(axis=0))


SCALER = PerInstance(StandardScaler())
REFUSED = {
    "PCA takes no sample_weight": lambda b: PerInstance(PCA()).fit(b, sample_weight=np.ones(4)),
    "one per instance": lambda b: SCALER.fit(b, sample_weight=np.ones(b.n_instances)),
    r"bag 2 \(id .*'c'.*\) is -1": lambda b: SCALER.fit(b, sample_weight=[1, 1, -1, 1]),
    "y has 3 labels, there are 4 bags": lambda b: PerInstance(SelectKBest(k=1)).fit(b, [0, 1, 1]),
    "returned 9 rows for 10 instances": lambda b: PerInstance(
        FunctionTransformer(lambda X: X[1:])
    ).fit_transform(b),
    "'transformer' parameter of PerInstance": lambda b: PerInstance("scale").fit(b),
    "Feature 0 is called 'mass' here and was 'length'": lambda b: SCALER.fit(b).transform(
        b.replace(feature_names=b.feature_names[::-1])
    ),
    "2 features, but PerInstance was fitted with 3": lambda b: SCALER.fit(b).transform(
        b.replace(X=b.X[:, :2])
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_named(message, bags):
    with pytest.raises(ValueError, match=message):
        REFUSED[message](bags)


# Statistics of bags ------------------------------------------------------------------------------


STATISTICS = {
    "min": lambda bag: bag.min(axis=0),
    "max": lambda bag: bag.max(axis=0),
    "mean": lambda bag: bag.mean(axis=0),
    "std": lambda bag: bag.std(axis=0),
    "size": lambda bag: [len(bag)],
    "q10": lambda bag: np.quantile(bag, 0.1, axis=0),
    "q50": lambda bag: np.median(bag, axis=0),
    "q97.5": lambda bag: np.quantile(bag, 0.975, axis=0),
}


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    names=st.lists(st.sampled_from([*STATISTICS]), min_size=1, unique=True),
    sparse=st.booleans(),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    seed=st.integers(0, 100),
)
def test_statistics_are_those_of_numpy(sizes, names, sparse, dtype, seed):
    X = np.random.default_rng(seed).normal(100.0, 1.0, size=(sum(sizes), 3)).astype(dtype)
    X[X < 100] = 0
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    wide = np.float32 if dtype == np.float16 else dtype  # SciPy has no sparse float16
    rows = sp.csr_array(X.astype(wide)) if sparse else X
    found = BagStatistics(statistics=names).fit_transform(Bags(rows, offsets))
    assert sp.issparse(found) == sparse
    expected = [
        np.concatenate([STATISTICS[name](bag.astype(np.float64)) for name in names])
        for bag in np.split(X, offsets[1:-1])
    ]
    np.testing.assert_allclose(found.toarray() if sparse else found, expected, rtol=1e-6, atol=1e-9)


def test_names_of_statistics(bags):
    model = BagStatistics(statistics=["mean", "size", "max"]).fit(bags)
    names = ("length", "width", "mass")
    expected = [*(f"mean_{name}" for name in names), "size", *(f"max_{name}" for name in names)]
    np.testing.assert_array_equal(model.get_feature_names_out(), expected)
    nameless = BagStatistics(statistics=["std"]).fit(list(bags))
    np.testing.assert_array_equal(nameless.get_feature_names_out(), ["std_x0", "std_x1", "std_x2"])
    assert model.transform(bags).shape == (4, len(expected))


@pytest.mark.parametrize("wrong", [[], ["mean", "mode"], ["q"], ["q101"], ["q-1"], [3]])
def test_unknown_statistics_are_refused(wrong, bags):
    with pytest.raises(ValueError, match=r"must name at least one of \['min', 'max', 'mean'"):
        BagStatistics(statistics=wrong).fit(bags)


def test_statistics_have_short_names(bags):
    four = BagStatistics(statistics="four").fit_transform(bags)
    by_name = BagStatistics(statistics=["mean", "std", "min", "max"]).fit_transform(bags)
    np.testing.assert_array_equal(four, by_name)
    quantiles = BagStatistics(statistics="quantiles").fit(bags)
    assert quantiles.transform(bags).shape == (4, 7 * 3 + 1)
    names = quantiles.get_feature_names_out()
    assert list(names[[0, 3, -1]]) == ["min_length", "q10_length", "size"]
    with pytest.raises(ValueError, match="'statistics' parameter of BagStatistics"):
        BagStatistics(statistics="five").fit(bags)


@pytest.mark.parametrize(
    ("steps", "lifted"),
    [
        ([SimpleImputer(), StandardScaler(), WitnessSVC()], [True, True, False]),
        ([PerInstance(StandardScaler()), "passthrough", PCA(1), WitnessSVC()], [0, 0, 1, 0]),
        ([StandardScaler(), BagStatistics(), StandardScaler(), SVC()], [1, 0, 0, 0]),
        ([make_pipeline(SimpleImputer(), PCA(1))], [True]),
    ],
)
def test_transformers_of_rows_are_lifted_as_long_as_there_are_bags(steps, lifted, bags):
    model = bagwise.make_pipeline(*steps)
    given = [
        getattr(new, "transformer", None) is old for new, old in zip(model, steps, strict=True)
    ]
    assert given == [bool(each) for each in lifted]
    assert list(model.named_steps) == list(make_pipeline(*steps).named_steps)
    assert len(model.fit(bags, np.arange(len(bags)) % 2)[-1:]) == 1


# By site ------------------------------------------------------------------------------------------


def draw_sites(n_bags=18, seed=0):
    rng = np.random.default_rng(seed)
    sites = np.array(["north", "south", "east"])[np.arange(n_bags) % 3]
    X = rng.normal(size=(n_bags, 4, 2)) * (1 + np.arange(n_bags) % 3)[:, None, None]
    return Bags.from_padded(X + (np.arange(n_bags) % 3)[:, None, None], sites=sites)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_each_site_is_scaled_by_its_own_statistics(store):
    bags = draw_sites()
    bags = bags.replace(X=store(bags.X))
    scaler = PerInstance(StandardScaler(with_mean=store is np.asarray), by="site").fit(bags)
    made = scaler.transform(bags)
    for site in np.unique(bags.sites):
        own = np.flatnonzero(bags.sites == site)
        alone = StandardScaler(with_mean=store is np.asarray).fit_transform(bags[own].X)
        np.testing.assert_allclose(dense(made[own].X), dense(alone))
    np.testing.assert_allclose(dense(scaler.inverse_transform(made).X), dense(bags.X))


def test_what_a_bag_becomes_does_not_depend_on_the_others():
    bags = draw_sites()
    scaler = PerInstance(StandardScaler(), by="site").fit(bags)
    whole = scaler.transform(bags)
    for i in range(len(bags)):
        np.testing.assert_array_equal(scaler.transform(bags[[i]]).X, whole[[i]].X)


def test_a_new_site_needs_some_bags_of_its_own(tmp_path):
    bags = draw_sites()
    old, new = bags[bags.sites != "east"], bags[bags.sites == "east"]
    model = make_pipeline(PerInstance(StandardScaler(), by="site"), WitnessSVC(kernel="linear"))
    model.fit(old, np.arange(len(old)) // 2 % 2)
    with pytest.raises(ValueError, match="No statistics of the sites 'east' are known"):
        model.predict(new)
    with pytest.raises(ValueError, match="at least 5 bags of one new site, got 4 bags of"):
        model[0].fit_site(new[:4])
    with pytest.raises(ValueError, match="'south' are known already"):
        model[0].fit_site(bags[bags.sites == "south"])
    model[0].fit_site(new)
    np.testing.assert_allclose(model[0].transform(new).X.mean(axis=0), 0, atol=1e-12)
    bagwise.save(model, tmp_path / "m.bagwise")
    again = bagwise.load(tmp_path / "m.bagwise")
    np.testing.assert_array_equal(again.decision_function(bags), model.decision_function(bags))


def test_sites_that_tell_the_label_are_warned_of():
    bags = draw_sites(30)
    scaler = PerInstance(StandardScaler(), by="site")
    with pytest.warns(UserWarning, match="Sites and labels are associated"):
        scaler.fit(bags, bags.sites == "east")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaler.fit(bags, np.arange(30) // 3 % 2)


@pytest.mark.parametrize(
    ("error", "by", "change"),
    [
        ("needs the sites of bags", "site", {"sites": None}),
        ("fewer than 5 bags: lone", "site", {"sites": ["lone", *["north"] * 17]}),
        ("The 'by' parameter", "hospital", {}),
    ],
)
def test_bad_sites_are_named(error, by, change):
    with pytest.raises(ValueError, match=error):
        PerInstance(StandardScaler(), by=by).fit(draw_sites().replace(**change))
