"""WebKB with 20 % of the labels: MI-SVM, B-MILSD with two graphs, and an SVM on whole pages.

    BAGWISE_DATA=... python benchmarks/webkb.py > docs/results/webkb.md

Everything that is learned or chosen uses the labels of the training bags only. The graphs, the
document frequencies of words and the text of the other bags are used without labels, as in the
paper (Zhang, Liu, Si, Zhang & Lawrence 2011). C is chosen by five folds of the training bags at mu
= 0, then mu by three folds that hide labels.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.svm import LinearSVC

from bagwise import Graph, GraphSVC
from bagwise.datasets import load_webkb
from bagwise.model_selection import transductive_cv
from timing import one_thread

TASKS = ("course", "faculty", "student")
CS = tuple(2.0 ** np.arange(5, 11))
MUS = (0.0, 1.0, 10.0, 100.0)
FIXED_MU = 10.0  # in the rows with times
PRECISION = {"tol": 1e-3}


def splits(y: Any, n_splits: int) -> Any:
    return StratifiedShuffleSplit(n_splits, train_size=0.2, random_state=0).split(y, y)


def rated(y: Any, scores: Any) -> tuple[float, float]:
    return 100 * float(np.mean((scores > 0) == (y == 1))), float(roc_auc_score(y, scores))


def timed_fit(model: Any, data: Any, train: Any, test: Any) -> tuple[Any, float, float, float]:
    """Return the fitted model, accuracy and AUC on the unlabeled bags, and CPU seconds."""
    began = time.process_time()
    model.fit(data.bags[train], data.y[train], unlabeled=data.bags[test])
    seconds = time.process_time() - began
    return model, *rated(data.y[test], model.decision_function(data.bags[test])), seconds


def best_of(models: list[GraphSVC], data: Any, train: Any, cv: int) -> GraphSVC:
    """Return the model that is best where labels are hidden; of equal ones the first."""
    bags, y = data.bags[train], data.y[train]
    scores = [transductive_cv(model, bags, y, cv=cv)["test_score"].mean() for model in models]
    return models[int(np.argmax(scores))]


def without_graph(data: Any, train: Any, test: Any) -> tuple[Any, float, float, float]:
    """Choose C, then time the fit at it."""
    chosen = best_of([GraphSVC(C=C, mu=0.0) for C in CS], data, train, 5)
    return timed_fit(chosen.set_params(**PRECISION), data, train, test)


def page_svm(pages: Any, y: Any, train: Any, test: Any) -> tuple[float, float]:
    """Return accuracy and AUC of a linear SVM on whole pages."""
    search = GridSearchCV(LinearSVC(), {"C": 2.0 ** np.arange(-5, 6)})
    search.fit(pages[train], y[train])
    return rated(y[test], search.decision_function(pages[test]))


def one_split(data: Any, pages: Any, graphs: dict[str, Graph], train: Any, test: Any) -> dict:
    plain, accuracy, area, unit = without_graph(data, train, test)
    rows = {"MI-SVM (mu = 0)": (accuracy, area, 1.0, 0.0)}
    for name, graph in graphs.items():
        fixed = GraphSVC(bag_graph=graph, C=plain.C, mu=FIXED_MU, **PRECISION)
        _, accuracy, area, seconds = timed_fit(fixed, data, train, test)
        rows[f"B-MILSD, {name}, mu = {FIXED_MU:g}"] = (accuracy, area, seconds / unit, FIXED_MU)
        grid = [GraphSVC(bag_graph=graph, C=plain.C, mu=mu, **PRECISION) for mu in MUS]
        model, accuracy, area, _ = timed_fit(best_of(grid, data, train, 3), data, train, test)
        rows[f"B-MILSD, {name}, mu chosen"] = (accuracy, area, np.nan, model.mu)
    rows["linear SVM on whole pages"] = (*page_svm(pages, data.y, train, test), np.nan, np.nan)
    return rows


def method_table(task: str, n_splits: int) -> None:
    data = load_webkb(task)
    pages = load_webkb(task, window=1_000_000).bags.X  # one passage per page
    links = data.hyperlinks[data.hyperlinks[:, 0] != data.hyperlinks[:, 1]]
    graphs = {
        "hyperlinks": Graph.from_edges(links, directed=True),
        "co-citations": Graph.from_edges(data.cocitations),
    }
    shares = {name: graph.among(data.bags.ids).homophily(data.y) for name, graph in graphs.items()}
    told = "; ".join(
        f"{name}: {graphs[name].n_edges} edges, {100 * share:.0f} % between equal labels"
        for name, share in shares.items()
    )
    print(f"\n## {task}: {len(data.y)} pages; {told}\n")
    print("| method | accuracy, % | AUC | accuracy over mu = 0 | AUC x 100 over mu = 0 |", end="")
    print(" CPU time / mu = 0 | mu = 0 chosen | mean log10 mu > 0 |")
    print("|---|---|---|---|---|---|---|---|")
    runs = [one_split(data, pages, graphs, *split) for split in splits(data.y, n_splits)]
    table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    for name, found in table.items():
        print(_row(name, found, table["MI-SVM (mu = 0)"]), flush=True)


def _mean(values: Any, digits: str = ".1f") -> str:
    """Return the mean over splits and its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():{digits}} ({error:.{digits[-2]}f})"


def _row(name: str, runs: Any, plain: Any) -> str:
    accuracy, area, ratio, mu = runs.T
    cells = [_mean(accuracy), f"{area.mean():.3f}"]
    if runs is plain:
        cells += ["-", "-"]
    else:
        cells += [_mean(accuracy - plain[:, 0], "+.2f"), _mean(100 * (area - plain[:, 1]), "+.2f")]
    cells.append("-" if np.isnan(ratio).any() else f"{np.median(ratio):.1f}")
    if "chosen" in name:
        cells.append(f"{np.mean(mu == 0):.0%}")
        cells.append(f"{np.log10(mu[mu > 0]).mean():.1f}" if np.any(mu > 0) else "-")
    else:
        cells += ["-", "-"]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    options = parser.parse_args()
    print("# WebKB (Zhang, Liu, Si, Zhang & Lawrence 2011) with 20 % of the labels\n")
    print(
        "Accuracy and AUC on the 80 % unlabeled bags. A bag is a page, its instances are passages"
    )
    print(
        "of 100 words. Context is the page's title, its address and the text of links to it. C in"
    )
    print("2^5 ... 2^10 is chosen by five folds at mu = 0, mu in 0, 1, 10, 100 by three folds that")
    print(f"hide labels. Means over {options.splits} stratified splits, standard errors in")
    print("parentheses. Made by `python benchmarks/webkb.py`.\n")
    for task in options.tasks if options.splits else ():
        method_table(task, options.splits)


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)  # homophily below one half is shown in the table
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC's, on separable pages
    with one_thread():
        main()
