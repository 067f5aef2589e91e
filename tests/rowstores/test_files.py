"""Rows in files act as the array that they are together."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from bagwise import AnnealedWitnessSVC, Bags, BagStatistics, InstanceSVC, WitnessSVC, io
from bagwise.io import read_bags, write_bags
from bagwise.model_selection import compare
from bagwise.rowstores import base, here
from bagwise.rowstores.cluster import for_processes
from bagwise.rowstores.files import FileRows, FileSpan


@pytest.fixture
def stored(store_spans):
    """Three files, an array between them, and the matrix that they are."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)).astype(np.float16) for n in (40, 1, 25, 30)]
    spans = store_spans(parts)
    spans[2] = parts[2]
    return FileRows(spans), np.concatenate(parts)


KEYS = (
    *(slice(None), slice(5, 60), slice(40, 41), slice(90, 200), slice(7, 7), slice(0, 96, 9)),
    *(np.arange(96)[::-1], np.r_[30:60, 0:20], np.r_[3, 95, 3], np.arange(96) % 5 == 0, [41]),
)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_selections_are_those_of_the_matrix(stored, key):
    rows, matrix = stored
    chosen = rows[key]
    assert chosen.shape == matrix[key].shape
    np.testing.assert_array_equal(np.asarray(chosen), matrix[key])
    np.testing.assert_array_equal(np.asarray(chosen[1:]), matrix[key][1:])


def test_long_runs_stay_in_their_files(stored):
    rows, _ = stored
    assert all(isinstance(part, FileSpan) for part in rows[np.r_[66:96, 0:40]].parts)
    assert isinstance(rows[[1, 9, 70]].parts[0], np.ndarray)


def test_other_types_means_and_copies(stored):
    rows, matrix = stored
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32
    np.testing.assert_allclose(np.mean(rows, axis=0), matrix.mean(axis=0, dtype=float))
    np.testing.assert_array_equal(here(pickle.loads(pickle.dumps(rows))), matrix)
    assert len(pickle.dumps(rows[:40])) < 1000  # a path, no rows


def test_a_file_that_became_shorter_is_an_error(stored):
    rows, _ = stored
    with rows.parts[0].path.open("rb+") as file:
        file.truncate(150)
    with pytest.raises(ValueError, match="was truncated after it was opened"):
        np.asarray(rows)


@pytest.fixture
def both(store_spans):
    """The same bags in files and in memory."""
    rng = np.random.default_rng(1)
    members = [rng.normal(size=(rng.integers(20, 40), 4)) for _ in range(24)]
    y = np.arange(24) % 2
    for bag, label in zip(members, y, strict=True):
        bag[:2] += 3.0 * label
    there = Bags.from_list(members)
    return there.replace(X=FileRows(store_spans(members))), there, y


@pytest.mark.parametrize(
    "model",
    [
        WitnessSVC(kernel="linear", probability="sigmoid"),
        WitnessSVC(kernel="rbf"),
        AnnealedWitnessSVC(kernel="linear"),
    ],
    ids=str,
)
def test_models_are_the_same_to_the_bit(both, model):
    stored, there, y = both
    expected = model.fit(there, y).decision_function(there)
    np.testing.assert_array_equal(model.fit(stored, y).decision_function(stored), expected)
    frames = [model.explain(bags) for bags in (stored, there)]
    assert frames[0].equals(frames[1])


def test_what_needs_arrays_gets_them(both):
    stored, there, _ = both
    np.testing.assert_array_equal(
        BagStatistics().fit_transform(stored), BagStatistics().fit_transform(there)
    )
    assert isinstance(stored.to("host").X, np.ndarray)
    assert isinstance(stored[3], np.ndarray)


def test_missing_values_are_named(both):
    stored, _, y = both
    X = here(stored.X[:30]).copy()
    X[7, 2] = np.nan
    broken = stored.replace(X=FileRows([X, stored.X[30:]]))
    with pytest.raises(ValueError, match="contains NaN in its instance 7, feature 2"):
        WitnessSVC(kernel="linear").fit(broken, y)


def test_many_rows_of_a_file_stay_there(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LARGE_SELECTION", 1)
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(400, 3)), np.arange(0, 401, 20))
    write_bags(tmp_path / "a.bags", bags, np.arange(20) % 2)
    mapped, y = read_bags(tmp_path / "a.bags")
    chosen = np.array([0, 1, 4, 5, 6, 11, 17, 2])
    part = mapped[chosen]
    assert isinstance(part.X, FileRows)
    np.testing.assert_array_equal(np.asarray(part.X), bags[chosen].X)
    np.testing.assert_array_equal(part[2], bags[4])
    model = InstanceSVC(kernel="linear")
    expected = cross_val_predict(model, bags, y, cv=3, method="decision_function")
    found = cross_val_predict(model, mapped, y, cv=3, method="decision_function")
    np.testing.assert_array_equal(found, expected)


def test_other_processes_open_files_by_their_paths(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(900, 4))
    for name, part in (("a", slice(0, 300)), ("b", slice(300, 900))):
        write_bags(tmp_path / f"{name}.bags", Bags(X[part], np.arange(0, len(X[part]) + 1, 30)))
    whole, one = io.open(tmp_path)[0].X, io.open(tmp_path / "b.bags")[0].X
    assert for_processes(one, is_finite=True) is one  # which is small
    monkeypatch.setattr(base, "LARGE_SELECTION", 0)
    for rows, expected in ((whole, X), (one, X[300:]), (one[30:90], X[330:390])):
        written = pickle.dumps(for_processes(rows, is_finite=True))
        assert len(written) < rows.shape[0] * rows.shape[1] * 8
        read = pickle.loads(written)
        np.testing.assert_array_equal(np.asarray(read), expected)
        np.testing.assert_array_equal(
            np.asarray(read[np.r_[5:30, 40:60]]), expected[np.r_[5:30, 40:60]]
        )
        assert read.is_finite
    assert for_processes(X, is_finite=True) is X


def test_a_comparison_in_processes_leaves_rows_where_they_are(both, tmp_path, monkeypatch):
    _, bags, y = both
    write_bags(tmp_path / "a.bags", bags, y)
    stored, _ = read_bags(tmp_path / "a.bags")
    monkeypatch.setattr(base, "LARGE_SELECTION", 0)
    models, sent = {"SIL": InstanceSVC(kernel="linear")}, []

    def note(X, **options):
        sent.append(for_processes(X, **options))
        return sent[-1]

    monkeypatch.setattr(sys.modules[compare.__module__], "for_processes", note)
    short = {"cv": 2, "inner_cv": 2, "n_repeats": 1}
    found = [compare(stored, y, models, n_jobs=n, **short).records for n in (2, None)]
    assert sent[0].paths is not None
    one, other = ({r["fold"]: r["scores"] for r in records} for records in found)
    assert one == other
