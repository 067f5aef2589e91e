"""WebKB: web pages are bags, their passages instances, hyperlinks and co-citations edges.

The tasks of Zhang, Liu, Si, Zhang & Lawrence (2011): all linked pages of one class against as many
linked pages of the other classes, drawn at random. The accuracy depends mostly on how a page is cut
into passages and how words are weighted, so both are parameters.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import normalize

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import small_csr
from bagwise.bags.segments import expand, offsets_of
from bagwise.datasets._planting import check_choice
from bagwise.datasets.locate import find_file
from bagwise.datasets.registry import DATASETS

TASKS = ("course", "faculty", "student")
CONTEXTS = ("none", "instance", "every")
FIELDS = ("title", "url", "anchors", "linking_titles", "linking_urls")
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
    task: str = "student",
    *,
    window: int | None = 100,
    context: str = "every",
    fields: Sequence[str] = ("title", "url", "anchors"),
    weighting: str = "binary",
    min_pages: int = 2,
    random_state: int = 0,
) -> WebKB:
    """Load a WebKB task with its hyperlink and co-citation graphs.

    Parameters
    ----------
    task : {"student", "course", "faculty"}, default="student"
        The positive class.
    window : int or None, default=100
        Number of tokens per passage; the visible text of a page is cut into windows of this length.
        None: the stored passages (HTML blocks joined to at least 20 words, cut at 60), without
        context.
    context : {"every", "instance", "none"}, default="every"
        Whether the context words of a page are added to every passage, form an instance of their
        own, or are left out. They are marked by their field, so "title:home" is not "home".
    fields : sequence of str, default=("title", "url", "anchors")
        Context of a page: its title, its address, the text of the links to it ("anchors"), the
        titles and addresses of the pages that link to it ("linking_titles", "linking_urls").
    weighting : {"binary", "sublinear"}, default="binary"
        1 or 1 + log(count), times log(pages / pages with the word) over all 8,281 pages; rows have
        unit length.
    min_pages : int, default=2
        Minimum number of pages with a word; rarer words are left out.
    random_state : int, default=0
        Random seed for the choice of negative pages.

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
    _check_options(task, context, fields, weighting, window)
    pages = _read_pages()
    links = _read_links()
    chosen = _choose_pages(pages, links, task, random_state)
    numbers = np.array([int(pages[i]["page"]) for i in chosen])
    if window is None:
        counts, sizes, document_frequency, names = _read_passages(numbers)
    else:
        passages = list(_passages(window, context, fields, links))
        counts, sizes, document_frequency, names = _count(passages, numbers - 1, min_pages)
    X = _weight(counts, document_frequency, len(pages), weighting)
    bags = Bags(X, offsets_of(sizes), ids=numbers, feature_names=names)
    y = np.array([int(pages[i]["class"] == task) for i in chosen])
    universities = np.array([pages[i]["university"] for i in chosen])
    inside = np.isin(links, numbers).all(axis=1)
    return WebKB(bags, y, links[inside], _cocitations(links, numbers), universities)


def _check_options(task: str, context: str, fields: Any, weighting: str, window: Any) -> None:
    check_choice("task", task, TASKS)
    check_choice("context", context, CONTEXTS)
    check_choice("weighting", weighting, ("binary", "sublinear"))
    for field in fields:
        check_choice("fields", field, FIELDS)
    if window is None and context != "none":
        raise ValueError("The stored passages (window=None) have no context: pass context='none'.")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1 token, got {window}.")


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


def _passages(
    window: int, context: str, fields: Sequence[str], links: Array
) -> Iterator[list[list[str]]]:
    """Yield the passages of every page, each a list of words."""
    with gzip.open(_file("tokens.jsonl.gz"), "rt", encoding="utf-8") as file:
        pages = [json.loads(line) for line in file]
    linking: dict[int, list[int]] = {}
    for source, target in links.tolist():
        linking.setdefault(target, []).append(source)
    for page in pages:
        words = " ".join(page["blocks"]).split()
        passages = [words[i : i + window] for i in range(0, len(words), window)] or [[]]
        if context != "none":
            sources = [pages[number - 1] for number in linking.get(page["page"], [])]
            words_around = _context(page, sources, fields)
            if context == "instance":
                passages.append(words_around)
            else:
                passages = [passage + words_around for passage in passages]
        yield passages


def _context(page: dict[str, Any], sources: list[dict[str, Any]], fields: Any) -> list[str]:
    texts = {
        "title": page["title"],
        "url": page["url"],
        "anchors": page["anchors"],
        "linking_titles": " ".join(source["title"] for source in sources),
        "linking_urls": " ".join(source["url"] for source in sources),
    }
    return [f"{field}:{word}" for field in fields for word in texts[field].split()]


def _count(
    pages: list[list[list[str]]], chosen: Array, min_pages: int
) -> tuple[Any, Array, Array, list[str]]:
    """Return word counts of the passages, passages per page, pages per word, and the words."""
    on_pages: Counter[str] = Counter()
    for passages in pages:
        on_pages.update({word for passage in passages for word in passage})
    words = sorted(word for word, count in on_pages.items() if count >= min_pages)
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


def _read_passages(numbers: Array) -> tuple[Any, Array, Array, None]:
    path = str(_file("passage_counts.svm.gz"))
    matrix, page = load_svmlight_file(path, zero_based=False)  # the "labels" are page numbers
    page, n_words = page.astype(np.int64), matrix.shape[1]
    on_page = np.unique(expand(page, matrix.indptr) * n_words + matrix.indices)
    document_frequency = np.bincount(on_page % n_words, minlength=n_words)
    kept = np.isin(page, numbers)
    sizes = np.bincount(page[kept], minlength=numbers.max() + 1)[numbers]
    return matrix[np.flatnonzero(kept)], sizes, document_frequency, None


def _weight(counts: Any, document_frequency: Array, n_pages: int, weighting: str) -> Any:
    tf = np.ones_like(counts.data) if weighting == "binary" else 1.0 + np.log(counts.data)
    idf = np.log(n_pages / np.maximum(document_frequency, 1))
    values = tf * idf[counts.indices]
    return normalize(small_csr(values, counts.indices, counts.indptr, counts.shape), norm="l2")
