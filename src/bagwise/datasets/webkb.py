"""WebKB: web pages are bags, their passages instances, hyperlinks and co-citations edges.

The tasks of Zhang, Liu, Si, Zhang & Lawrence (2011): all linked pages of one class against as many
linked pages of the other classes, drawn at random. A passage is a window of words, to which the
title, the address and the anchors of its page are added.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bagwise._removed import refuse_parameters
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import offsets_of
from bagwise.datasets._planting import check_choice
from bagwise.datasets.locate import DATASETS, find_file

TASKS = ("course", "faculty", "student")
_FIELDS = ("title", "url", "anchors")  # of a page, beside its text
_COCITERS = (2, 30)  # below 2 there is no pair; above 30 a directory would add hundreds


class WebKB(NamedTuple):
    """A WebKB task.

    Parameters
    ----------
    bags : Bags
        One bag per page, sparse; ``bags.ids`` are page numbers.
    y : ndarray of shape (n_bags,)
        1 for the task's class.
    hyperlinks : ndarray of shape (n_links, 2)
        Page numbers (from, to) of the links between pages of the task.
    cocitations : ndarray of shape (n_pairs, 2)
        Pairs of pages with a link from the same page, which links 2 to 30 pages of the task.
    universities : ndarray of shape (n_bags,)
        University of each page.

    Examples
    --------
    >>> from bagwise.datasets import load_webkb
    >>> bags, y, hyperlinks, cocitations, universities = load_webkb("course")  # doctest: +SKIP
    """

    bags: Bags
    y: Array
    hyperlinks: Array
    cocitations: Array
    universities: Array


def load_webkb(
    task: str = "student", *, window: int = 100, random_state: int = 0, **removed: Any
) -> WebKB:
    """Load a WebKB task with its hyperlink and co-citation graphs.

    A word weighs log(pages / pages with the word) over all 8,281 pages, and rows have unit length.
    The words of title, address ("url") and anchors, the text of the links to the page, are marked
    by their field: "title:home" is not "home".

    Parameters
    ----------
    task : {"student", "course", "faculty"}, default="student"
        The positive class.
    window : int, default=100
        Number of tokens per passage; the visible text of a page is cut into windows of this length.
    random_state : int, default=0
        Random seed for the choice of negative pages.
    **removed : object
        Parameters of version 0.2, which are refused.

    Returns
    -------
    WebKB
        ``bags``, ``y``, ``hyperlinks``, ``cocitations``, ``universities``.

    Examples
    --------
    >>> from bagwise.datasets import load_webkb
    >>> data = load_webkb("course")  # doctest: +SKIP
    >>> len(data.bags), int(data.y.sum())  # doctest: +SKIP
    (1326, 663)
    """
    refuse_parameters(load_webkb, removed)
    if removed:
        raise TypeError(f"load_webkb has no parameter {next(iter(removed))!r}.")
    check_choice("task", task, TASKS)
    if window < 1:
        raise ValueError(f"window must be at least 1 token, got {window}.")
    pages = _read_pages()
    links = _read_links()
    chosen = _choose_pages(pages, links, task, random_state)
    numbers = np.array([int(pages[i]["page"]) for i in chosen])
    counts, sizes, document_frequency, names = _count(list(_passages(window)), numbers - 1)
    X = _weight(counts, document_frequency, len(pages))
    bags = Bags(X, offsets_of(sizes), ids=numbers, feature_names=names)
    y = np.array([int(pages[i]["class"] == task) for i in chosen])
    universities = np.array([pages[i]["university"] for i in chosen])
    inside = np.isin(links, numbers).all(axis=1)
    return WebKB(bags, y, links[inside], _cocitations(links, numbers), universities)


def _file(name: str) -> Path:
    return find_file(DATASETS["webkb"], f"webkb/{name}")


def _read_pages() -> list[dict[str, str]]:
    with gzip.open(_file("pages.csv.gz"), "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _read_links() -> Array:
    with gzip.open(_file("edges_exact.csv.gz"), "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)


def _choose_pages(pages: list[dict[str, str]], links: Array, task: str, seed: int) -> Array:
    """Return the rows of all linked pages of the class and as many others, in page order."""
    is_linked = np.isin([int(page["page"]) for page in pages], links)
    is_positive = np.array([page["class"] == task for page in pages])
    positive = np.flatnonzero(is_linked & is_positive)
    others = np.flatnonzero(is_linked & ~is_positive)
    drawn = np.random.default_rng(seed).choice(others, size=len(positive), replace=False)
    return np.sort(np.concatenate([positive, drawn]))


def _cocitations(links: Array, numbers: Array) -> Array:
    to_task = links[np.isin(links[:, 1], numbers)]
    targets: dict[int, list[int]] = {}
    for source, target in to_task.tolist():
        targets.setdefault(source, []).append(target)
    least, most = _COCITERS
    pairs = [
        np.array(sorted(cited))[np.stack(np.triu_indices(len(cited), k=1), axis=1)]
        for cited in targets.values()
        if least <= len(cited) <= most
    ]
    return np.unique(np.concatenate(pairs), axis=0)


def _passages(window: int) -> Iterator[list[list[str]]]:
    """Yield the passages of every page, each a list of words."""
    with gzip.open(_file("tokens.jsonl.gz"), "rt", encoding="utf-8") as file:
        for page in map(json.loads, file):
            words = " ".join(page["blocks"]).split()
            passages = [words[i : i + window] for i in range(0, len(words), window)] or [[]]
            around = [f"{field}:{word}" for field in _FIELDS for word in page[field].split()]
            yield [passage + around for passage in passages]


def _count(pages: list[list[list[str]]], chosen: Array) -> tuple[Any, Array, Array, list[str]]:
    """Return word counts of the passages, passages per page, pages per word, and the words."""
    on_pages: Counter[str] = Counter()
    for passages in pages:
        on_pages.update({word for passage in passages for word in passage})
    # A word on one page only says nothing about other pages.
    words = sorted(word for word, count in on_pages.items() if count > 1)
    column = {word: j for j, word in enumerate(words)}
    indices: list[int] = []
    counts: list[int] = []
    pointers = [0]
    for page in chosen:
        for passage in pages[page]:
            known = Counter(column[word] for word in passage if word in column)
            indices += known.keys()
            counts += known.values()
            pointers.append(len(indices))
    matrix = small_csr(counts, indices, pointers, (len(pointers) - 1, len(words)))
    sizes = np.array([len(pages[page]) for page in chosen])
    return matrix, sizes, np.array([on_pages[word] for word in words]), words


def _weight(counts: Any, document_frequency: Array, n_pages: int) -> Any:
    """Weigh the words of a passage by how few pages have them, however often they occur in it."""
    from sklearn.preprocessing import normalize

    values = np.log(n_pages / np.maximum(document_frequency, 1))[counts.indices]
    return normalize(small_csr(values, counts.indices, counts.indptr, counts.shape), norm="l2")
