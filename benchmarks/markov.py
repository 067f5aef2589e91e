"""Markov networks on the paper's benchmarks: five binary data sets and the two Corel sets.

    BAGWISE_DATA=... python benchmarks/markov.py binary --repeats 3
    BAGWISE_DATA=... python benchmarks/markov.py corel --repeats 5
    BAGWISE_DATA=... python benchmarks/markov.py objective

Each appends to a table under docs/results/markov/ fold by fold and continues where it was stopped.
`python benchmarks/markov_page.py` turns the tables into docs/results/markov.md. Everything (scaling
to [0, 1], feature map, bag kernels, alpha) is fitted on the training part of a split. alpha is the
weight of the regularizer, the paper's lambda.

- binary: stratified 10-fold. "alpha = v" uses one alpha on all folds (the best of them is the
  papers' optimistic protocol); "nested" chooses alpha by three inner folds of the training part;
  older rows "average" average the scores of all. Bag features are out-of-fold scores of three
  bag-kernel SVMs with C = 10 ("kernels") or another C ("kernels-100").
- corel: five random halves, joint multiclass network compared with one-vs-rest.
- objective: what training reaches, compared with CCCP and L-BFGS from several starts.
"""

from __future__ import annotations

import argparse
import csv
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import MinMaxScaler

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma
from bagwise.model_selection import search
from bagwise.models.markov.inputs import kernel_models
from bagwise.preprocessing import IntersectionMap
from timing import one_thread

TABLES = Path(__file__).parents[1] / "docs" / "results" / "markov"
BINARY = ("musk1", "tiger", "elephant", "fox", "musk2")
BAG_KERNELS = ("cosine", "mean", "statistics")
CARDINALITIES = ("any", "ratio", "learned")
PATH = (1.0, 3.0, 10.0, 30.0, 100.0)  # at unit mean squared norm
SMALL_AND_PATH = (0.3, *PATH)
Alphas = dict[str | None, tuple[float, ...]]
COREL_ALPHAS: dict[str, Alphas] = {
    "corel1000": {None: (0.1, 0.3), "bags": (3.0, 10.0)},
    "corel2000": {"bags": (10.0,)},
}
TRAINING = {"init": ("instances",), "tol": 0.03}  # lower objectives gain no accuracy


class Table:
    """A packed CSV file that grows row by row and knows which splits it contains."""

    def __init__(self, name: str, columns: list[str]) -> None:
        self.path, self.columns = TABLES / f"{name}.csv.xz", columns
        TABLES.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self.path.write_bytes(lzma.compress(",".join(columns).encode() + b"\n"))

    def has(self, **key: Any) -> bool:
        """Say whether there is a row with these values."""
        with lzma.open(self.path, "rt") as file:
            rows = csv.DictReader(file)
            return any(all(row[k] == str(v) for k, v in key.items()) for row in rows)

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append rows and close the file."""
        with lzma.open(self.path, "at") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n").writerows(rows)


def load(name: str) -> tuple[Bags, Any]:
    bags, y = fetch("corel2000" if name == "corel1000" else name)
    codes = np.unique(y, return_inverse=True)[1]
    first = codes < (10 if name == "corel1000" else codes.max() + 1)
    return bags[first], codes[first]


def scaled(bags: Bags, train: Any, test: Any) -> tuple[Bags, Bags]:
    scaler = MinMaxScaler(clip=True).fit(bags[train].X)
    both = bags.replace(X=scaler.transform(bags.X))
    return both[train], both[test]


def feature_map(kind: str, train: Bags) -> Any:
    if kind == "intersection":
        return IntersectionMap(n=3 if train.n_features < 50 else 1)
    gamma = 2 * settle_gamma(
        "median", train.X, np.ones(train.n_instances), np.random.RandomState(0)
    )
    default = 150 if train.n_features < 50 else 300  # Corel has nine features
    size = min(int(kind.partition("-")[2] or default), train.n_instances)  # "nystroem-100"
    return Nystroem(n_components=size, gamma=gamma, random_state=0)  # 1 / median^2


def with_bag_scores(
    source: str, train: Bags, y: Any, test: Bags
) -> tuple[Bags, Bags, dict[str, Any]]:
    """Attach the bag-kernel SVMs' scores, out-of-fold on training bags; also return them alone."""
    if source == "none":
        return train, test, {}
    weight = source.partition("-")[2]  # "kernels", "kernels-100"
    splits, inside, outside = folds(train, y, 5, 0), [], []
    for model in kernel_models(float(weight or 10)):
        of_train = out_of_fold_scores(model, train, y, np.ones(len(y)), splits)
        inside.append(of_train.reshape(len(y), -1))
        outside.append(clone(model).fit(train, y).decision_function(test))
    names = [f"{kind} kernel" + (f", C = {weight}" if weight else "") for kind in BAG_KERNELS]
    plain = dict(zip(names, outside, strict=True))
    columns = np.hstack([scores.reshape(len(test), -1) for scores in outside])
    return (
        train.replace(bag_features=np.hstack(inside)),
        test.replace(bag_features=columns),
        plain,
    )


def labels_of(scores: Any) -> Any:
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def path_rows(
    model: Any, path: tuple[float, ...], train: Bags, y: Any, test: Bags, truth: Any
) -> Iterator[dict[str, Any]]:
    """Yield the number of correct predictions per alpha, and for the nested choice."""
    points = [{"alpha": alpha} for alpha in path]
    inner = [choice.value for choice in search(model, points, train, y, cv=3)]
    fits = (clone(model).set_params(**point).fit(train, y) for point in points)
    right = [int(np.sum(fit.predict(test) == truth)) for fit in fits]
    for alpha, n_right in zip(path, right, strict=True):
        yield {"protocol": f"alpha = {alpha:g}", "right": n_right}
    yield {"protocol": "nested", "right": right[int(np.argmax(inner))]}


COLUMNS = ["data", "repeat", "fold", "map", "bag_features", "model", "protocol", "right", "bags"]


def kernel_rows(plain: dict[str, Any], truth: Any) -> Iterator[dict[str, Any]]:
    for name, scores in plain.items():
        right = int(np.sum(labels_of(scores) == truth))
        yield {"map": "-", "bag_features": "-", "model": name, "protocol": "fixed", "right": right}


def mapped(kind: str, inside: Bags, outside: Bags) -> tuple[Bags, Bags]:
    mapping = feature_map(kind, inside).fit(inside.X)
    return tuple(part.replace(X=mapping.transform(part.X)) for part in (inside, outside))


def nested_rows(
    bags: Bags,
    y: Any,
    split: tuple[Any, Any],
    wanted: list[tuple[str, str]],
    path: tuple[float, ...],
) -> Iterator[dict[str, Any]]:
    """Fit the wanted (bag features, map) along the path on one split, with inner folds."""
    train, test = split
    plain_inside, plain_outside = scaled(bags, train, test)
    for source in dict.fromkeys(source for source, _ in wanted):
        inside, outside, plain = with_bag_scores(source, plain_inside, y[train], plain_outside)
        yield from kernel_rows(plain, y[test])
        for kind in (kind for s, kind in wanted if s == source):
            seen, fresh = mapped(kind, inside, outside)
            for cardinality in CARDINALITIES:
                model = MarkovNetworkClassifier(
                    cardinality=cardinality,
                    bag_features="bags" if plain else None,
                    **TRAINING,
                )
                name = {"map": kind, "bag_features": source, "model": cardinality}
                yield from (
                    {**name, **row}
                    for row in path_rows(model, path, seen, y[train], fresh, y[test])
                )


def fixed_rows(
    bags: Bags,
    y: Any,
    split: tuple[Any, Any],
    alphas: Alphas,
    ways: tuple[str, ...],
    known: Callable[..., bool],
) -> Iterator[dict[str, Any]]:
    """Fit each alpha alone, unless it is known: inner folds would cost four times as much."""
    train, test = split
    inside, outside = scaled(bags, train, test)
    inside, outside, plain = with_bag_scores("kernels", inside, y[train], outside)
    yield from (row for row in kernel_rows(plain, y[test]) if not known(model=row["model"]))
    inside, outside = mapped("nystroem", inside, outside)
    for multi_class, cardinality, bag_features in product(ways, CARDINALITIES, alphas):
        for alpha in alphas[bag_features]:
            name = {
                "map": "nystroem",
                "bag_features": "kernels" if bag_features else "none",
                "model": f"{cardinality} {multi_class}" if len(ways) > 1 else cardinality,
                "protocol": f"alpha = {alpha:g}",
            }
            if not known(**name):
                options = {"bag_features": bag_features, "alpha": alpha, "cardinality": cardinality}
                model = MarkovNetworkClassifier(multi_class=multi_class, **options, **TRAINING)
                model.fit(inside, y[train])
                yield {**name, "right": int(np.sum(model.predict(outside) == y[test]))}


def binary(repeats: int, sets: list[str], sources: list[str], maps: list[str]) -> None:
    table = Table("binary", COLUMNS)
    for repeat, name in product(range(repeats), sets):
        bags, y = load(name)
        path = SMALL_AND_PATH if name == "musk1" else PATH
        splits = StratifiedKFold(10, shuffle=True, random_state=repeat).split(y, y)
        for fold, split in enumerate(splits):
            key = {"data": name, "repeat": repeat, "fold": fold}
            wanted = [
                (source, kind)
                for source, kind in product(sources, maps)
                if not table.has(**key, map=kind, bag_features=source)
            ]
            rows = nested_rows(bags, y, split, wanted, path)
            table.add([{**key, **row, "bags": len(split[1])} for row in rows])


def corel(repeats: int, sets: list[str]) -> None:
    table = Table("corel", COLUMNS)
    for name in sets:
        bags, y = load(name)
        halves = StratifiedShuffleSplit(repeats, test_size=0.5, random_state=0).split(y, y)
        for repeat, split in enumerate(halves):
            key = {"data": name, "repeat": repeat, "fold": 0}
            known = partial(table.has, **key)
            ways = ("native", "ovr")
            rows = fixed_rows(bags, y, split, COREL_ALPHAS[name], ways, known)
            table.add([{**key, **row, "bags": len(split[1])} for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=["binary", "corel", "objective"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--bag-features", nargs="+", default=["none", "kernels"])
    parser.add_argument("--maps", nargs="+", default=["nystroem", "intersection"])
    given = parser.parse_args()
    if given.table == "objective":
        from markov_objective import objective

        objective(Table)
    elif given.table == "binary":
        binary(given.repeats, given.sets or list(BINARY), given.bag_features, given.maps)
    else:
        corel(given.repeats, given.sets or list(COREL_ALPHAS))


if __name__ == "__main__":
    with one_thread():
        main()
