"""WebKB: pages, passages, context words and the two graphs."""

import numpy as np
import pytest

from bagwise.datasets import fetch, load_webkb
from bagwise.datasets.webkb import _choose_pages, _cocitations, _read_links, _read_pages

needs_data = pytest.mark.usefixtures("data_dir")


@needs_data
def test_webkb_windows_and_graphs():
    data = fetch("webkb", task="course")
    assert (len(data.bags), data.y.sum()) == (1326, 663)
    marked = {name.split(":")[0] for name in data.bags.feature_names if ":" in name}
    assert marked == {"title", "url", "anchors"}
    for edges in (data.hyperlinks, data.cocitations):
        assert np.isin(edges, data.bags.ids).all()
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert np.all(edges[:, 0] != edges[:, 1])
    assert _homophily(data, data.hyperlinks) < 0.6
    assert _homophily(data, data.cocitations) > 0.8
    lengths = data.bags.X.multiply(data.bags.X).sum(axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))  # a passage of rare words only is empty
    assert (lengths == 0).mean() < 0.01
    other = load_webkb("course", window=10**6, random_state=1)
    assert set(other.bags.sizes) == {1}
    assert not np.array_equal(other.bags.ids, data.bags.ids)


def _homophily(data, edges):
    y_of = dict(zip(data.bags.ids.tolist(), data.y.tolist(), strict=True))
    return np.mean([y_of[a] == y_of[b] for a, b in edges.tolist()])


@needs_data
def test_webkb_files_hold_what_the_table_says():
    pages, links = _read_pages(), _read_links()
    assert len(pages) == 8281
    assert len({page["class"] for page in pages}) == 7
    passages = [int(page["passages"]) for page in pages]
    assert (sum(passages), min(passages), max(passages)) == (84531, 1, 1441)
    for task, n_positive in (("course", 663), ("faculty", 796), ("student", 1161)):
        chosen = _choose_pages(pages, links, task, 0)
        assert len(chosen) == 2 * n_positive
        assert sum(pages[i]["class"] == task for i in chosen) == n_positive


def test_cocitation_pairs_by_hand():
    links = np.array([[9, 1], [9, 2], [9, 3], [8, 1], [7, 2], [7, 3]])
    links = np.concatenate([links, [[6, n] for n in range(100, 131)]])  # links 31: too many
    pairs = _cocitations(links, np.array([1, 2, 3, *range(100, 131)]))
    assert pairs.tolist() == [[1, 2], [1, 3], [2, 3]]
