"""WebKB: web pages are bags, their passages instances, hyperlinks and co-citations edges.

The tasks of Zhang, Liu, Si, Zhang & Lawrence (2011): all linked pages of one class against as many
linked pages of the other classes, drawn at random. How a page becomes passages and how words are
weighted decides most of the accuracy, so both are parameters.
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
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from bagwise.bags import Bags
from bagwise.datasets.locate import find_file, not_found
from bagwise.datasets.registry import DATASETS
from bagwise.io._csr import small_csr

__all__ = ["WebKB", "load_webkb"]

Array = NDArray[Any]

TASKS = ("course", "faculty", "student")
CONTEXTS = ("none", "instance", "every")
FIELDS = ("title", "url", "anchors", "linking_titles", "linking_urls")
_COCITERS = (2, 30)


class WebKB(NamedTuple):
    """A WebKB task.

    Parameters
    ----------
    bags : Bags
        One bag a page, sparse; ``bags.ids`` are page numbers.
    y : ndarray of shape (n_bags,)
        1 for the task's class.
    hyperlinks : ndarray of shape (n_links, 2)
        Page numbers (from, to) of the links between pages of the task.
    cocitations : ndarray of shape (n_pairs, 2)
        Pairs of page numbers that some page, which links 2 to 30 pages of the task, both links.
    universities : ndarray of shape (n_bags,)
        Where the page is from.

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
        Tokens a passage; the page's visible text is cut into windows of this length. None: the
        stored passages (HTML blocks joined to at least 20 words, cut at 60), without context.
    context : {"every", "instance", "none"}, default="every"
        What becomes of the context words of a page: added to every passage, made an instance of
        their own, or left out. They are marked by their field, so "title:home" is not "home".
    fields : sequence of str, default=("title", "url", "anchors")
        Which context: the page's title, its address, the text of the links to it
        ("anchors"), the titles and addresses of the pages that link to it ("linking_titles",
        "linking_urls").
    weighting : {"binary", "sublinear"}, default="binary"
        1 or 1 + log(count), times log(pages / pages with the word) over all 8,281 pages; rows have
        length one.
    min_pages : int, default=2
        Words on fewer pages are left out.
    random_state : int, default=0
        Seed of the draw of negative pages.

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
        counts, sizes, document_frequency, names = _stored_passages(numbers)
    else:
        passages = list(_passages(window, context, fields, links))
        counts, sizes, document_frequency, names = _count(passages, numbers - 1, min_pages)
    X = _weighted(counts, document_frequency, len(pages), weighting)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    bags = Bags(X, offsets, ids=numbers, feature_names=names)
    y = np.array([int(pages[i]["class"] == task) for i in chosen])
    universities = np.array([pages[i]["university"] for i in chosen])
    inside = np.isin(links, numbers).all(axis=1)
    return WebKB(bags, y, links[inside], _cocitations(links, numbers), universities)


def _check_options(task: str, context: str, fields: Any, weighting: str, window: Any) -> None:
    for name, value, allowed in (
        ("task", task, TASKS),
        ("context", context, CONTEXTS),
        ("weighting", weighting, ("binary", "sublinear")),
        *(("fields", field, FIELDS) for field in fields),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {list(allowed)}, it is {value!r}.")
    if window is None and context != "none":
        raise ValueError("The stored passages (window=None) have no context: pass context='none'.")
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1 token, it is {window}.")


def _file(name: str) -> Path:
    dataset = DATASETS["webkb"]
    found = find_file(f"webkb/{name}", dataset.files[f"webkb/{name}"])
    if found is None:
        raise not_found(dataset, f"webkb/{name}")
    return found


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
    """Return the passages' word counts, passages a page, pages a word, and the words."""
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


def _stored_passages(numbers: Array) -> tuple[Any, Array, Array, None]:
    with gzip.open(_file("passage_counts.svm.gz"), "rt") as file:
        lines = [line.rstrip().partition(" ") for line in file]
    page = np.array([int(first) for first, _, _ in lines])
    pointers = np.concatenate([[0], np.cumsum([pairs.count(":") for _, _, pairs in lines])])
    tokens = " ".join(pairs for _, _, pairs in lines).replace(":", " ").split()
    values = np.array(tokens, dtype=np.float64)
    indices, counts = values[0::2].astype(np.int64) - 1, values[1::2]
    n_words = int(indices.max()) + 1
    matrix = small_csr(counts, indices, pointers, (len(lines), n_words))
    on_page = np.unique(np.repeat(page, np.diff(pointers)) * n_words + indices)
    document_frequency = np.bincount(on_page % n_words, minlength=n_words)
    kept = np.isin(page, numbers)
    sizes = np.bincount(page[kept], minlength=numbers.max() + 1)[numbers]
    return matrix[np.flatnonzero(kept)], sizes, document_frequency, None


def _weighted(counts: Any, document_frequency: Array, n_pages: int, weighting: str) -> Any:
    tf = np.ones_like(counts.data) if weighting == "binary" else 1.0 + np.log(counts.data)
    idf = np.log(n_pages / np.maximum(document_frequency, 1))
    values = tf * idf[counts.indices]
    return normalize(small_csr(values, counts.indices, counts.indptr, counts.shape), norm="l2")
