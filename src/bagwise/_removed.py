"""What version 0.3 no longer has, and what to use instead: one table, read by every error.

A row maps a name that 0.2 had to the sentence its user reads. Classes are looked up when they are
imported, parameters when an estimator is built or changed, methods when they are called, options
when a command is read, and members when a file is opened. docs/migration.md lists the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

_TIES = (
    "Leave it out: chains and trees within bags had no gain on real data (docs/results/chains.md, "
    "docs/results/trees.md)."
)

_NO_PATH = (
    "Use model_selection.search or BagGridSearchCV: paths had no gain in accuracy over separate "
    "fits (docs/results/paths.md)."
)

_REFUSALS = "Test refusals with pytest.raises; ours are in tests/bad_inputs of the repository."

_OF_SCORES = "scikit-learn's displays take Bags, and scores (from_predictions)."
_RANKS = "benchmarks/league/ranks.py of the repository ranks systems over many data sets."

CLASSES: dict[str, str] = {  # public names of the package, and of its parts in model files
    "AnnealedProportionSVCCV": "Use model_selection.search or BagGridSearchCV with "
    "AnnealedProportionSVC: the same choice by separate fits.",
    "annealed_path": "Use model_selection.search, which compares the points of a grid.",
    "Forest": "Its trees are scikit-learn's now.",
    "GraphSVCCV": "Use model_selection.transductive_cv with GraphSVC at each C and mu; it hides "
    "labels in the same way.",
    "KernelFeatures": "Use sklearn.kernel_approximation.Nystroem(n_components=n), which is exact "
    "where n is the number of training instances.",
    "MultiLabelMarkovNetwork": "Use sklearn.multioutput.MultiOutputClassifier, which takes Bags.",
    "PathCV": _NO_PATH,
    "SpanningTrees": _TIES,
    "plot.cardinality_weights": "docs/markov_figures.py of the repository draws it.",
    "plot.BagSizeDisplay": "Use plot.score_by_size(model, bags, y), which returns the figure.",
    "plot.CalibrationDisplay": "Use sklearn.calibration.CalibrationDisplay, which takes Bags.",
    "plot.ContributionDisplay": "Use `bagwise explain` or bagwise.report, which name the features "
    "that contributed most.",
    "plot.ImportanceDisplay": "Use plot.importance(model, bags, y), which returns the figure; "
    "inspection.permutation_importance has the numbers.",
    "plot.InstanceScoreDisplay": "Use plot.score_histogram(model, bags, y), which returns the "
    "figure.",
    "plot.LearningCurveDisplay": "Use sklearn.model_selection.LearningCurveDisplay, "
    "which takes Bags.",
    "plot.PrecisionRecallDisplay": "Use plot.precision_recall(model, bags, y), which returns the "
    f"figure. {_OF_SCORES}",
    "plot.RocDisplay": "Use plot.roc(model, bags, y), which returns the figure; "
    f"metrics.evaluation has the AUC with its interval. {_OF_SCORES}",
    "plot.ScoreStripDisplay": "Use plot.score_histogram, or the strips of bagwise.report.",
    "plot.TopInstancesDisplay": "Use bagwise.report(..., images=...), which shows the instances "
    "with the highest scores of every bag.",
    "plot.critical_difference": _RANKS,
    "plot.margin_distribution": "docs/make_margins.py of the repository draws it.",
    "model_selection.BagRandomizedSearchCV": "Use BagGridSearchCV, or RandomizedSearchCV of "
    "scikit-learn, whose best_estimator_ points at instances.",
    "model_selection.Ranking": _RANKS,
    "model_selection.rank_methods": _RANKS,
    "model_selection.scalings": "Use the parameter scale of compare, search and AutoBagClassifier.",
    "model_selection.standardizer": "Use PerInstance(StandardScaler()).",
    "model_selection.with_scaler": "Use make_pipeline(PerInstance(StandardScaler()), model).",
    "testing.BadInput": _REFUSALS,
    "testing.bad_inputs": _REFUSALS,
    "testing.check_bad_input": _REFUSALS,
}

_EARLY = "Use early_stopping=EarlyStopping(validation_fraction=..., n_iter_no_change=...)."

_PAIRWISE = (
    'Use "mean" or "migraph": "max" and "hausdorff" had no gain over them on five data sets '
    "(docs/results/baselines.md)."
)

_WEBKB = "Title, address and anchors of a page are in every passage, which was best."

# By (class, parameter); subclasses are covered by the row of their base.
PARAMETERS: dict[tuple[str, str], str] = {
    ("to", "folder"): "Leave it out: fits on a cluster keep no checkpoints any more.",
    ("AutoBagClassifier", "memory_limit"): "A model may need half of the memory of the computer.",
    ("AutoBagClassifier", "store"): "Leave it out: a fit begins anew. compare(..., out=folder) "
    "keeps every result in a folder.",
    ("BagEnsemble", "combine"): "Leave it out: decision values are averaged.",
    ("BagEnsemble", "oob_score"): "Use model_selection.cross_validate_bags.",
    ("BagEnsemble", "bootstrap"): "Leave it out: members draw with replacement.",
    ("BagEnsemble", "max_bags"): "Leave it out: members draw as many bags as there are.",
    (
        "BagKernelSVC",
        "affinity",
    ): "Leave it out: neighbors are within the mean distance in the bag.",
    ("BagKernelSVC", "metric"): "Leave it out: it belonged to bag_kernel='hausdorff'.",
    ("Bags", "parents"): _TIES,
    ("AnnealedWitnessSVC", "C_witnesses"): "Leave it out: a penalized number of witnesses had no "
    "gain over a fixed one (docs/results/witness_count.md).",
    ("DDSVM", "separation"): "Leave it out: it is .05, as in the paper.",
    ("GraphSVC", "linearize_negatives"): 'Use negatives="witnesses".',
    ("GraphSVC", "tol_cccp"): "CCCP stops at a relative decrease of 1e-6.",
    ("GraphSVC", "tol_graph"): "tol is the precision of the loss and of the edges.",
    ("GraphSVC", "mu_instances"): "Weight the graph: instance_graph=graph.scaled(factor).",
    **{
        (owner, "landmarks"): "Leave it out: landmarks are drawn by randomly pivoted Cholesky."
        for owner in ("KernelOptions", "RowsClassifier", "LabelProportionSVC", "_Points")
    },
    ("IntersectionMap", "period"): "Leave it out: it is the best one for n.",
    ("IntersectionMap", "window"): 'Leave it out: "uniform" had twice the error.',
    ("MarkovNetworkClassifier", "chain"): _TIES,
    ("MarkovNetworkClassifier", "alphas"): "Use model_selection.search, which chooses one alpha: "
    "averages of several had no gain over it (docs/results/markov.md).",
    ("MarkovNetworkClassifier", "combine"): "model_selection.search chooses one alpha.",
    ("MarkovNetworkClassifier", "loss"): "Networks are trained for their margin; "
    'probability="sigmoid" gives probabilities of bags.',
    ("MarkovNetworkClassifier", "n_iter_no_change"): _EARLY,
    ("MarkovNetworkClassifier", "tree"): _TIES,
    ("MarkovNetworkClassifier", "validation_fraction"): _EARLY,
    ("check_bag_estimator", "on_fail"): "All failures are raised together, in an ExceptionGroup.",
    ("heatmap", "limits"): "The ends of the colors are the 1 % quantile and the highest of scores.",
    ("image_bags", "columns"): "Every bag is one row of images.",
    ("image_bags", "truth"): "Use bags.replace(instance_labels=...).",
    ("load_webkb", "context"): _WEBKB,
    ("load_webkb", "fields"): _WEBKB,
    ("load_webkb", "min_pages"): "Words on one page only are left out.",
    ("load_webkb", "weighting"): "Counts of a word in a passage do not matter.",
    ("read_bags", "mmap"): "Leave it out: instances are mapped. np.array(bags.X) reads them all.",
    ("read_csv", "engine"): "Leave it out: one parser reads every file, with the same result.",
}
for _kind in ("arff", "c45", "csv", "folder", "slides", "svmlight"):
    PARAMETERS[f"read_{_kind}", "progress"] = "Leave it out: readers show no progress."
for _kind in ("arrow", "csv", "folder", "parquet", "slides"):
    PARAMETERS[f"read_{_kind}", "dtype"] = "Use bags.replace(X=bags.X.astype(dtype))."

_LOWER = "For a lower minimum use more starts (n_init), or an annealed SVM."
METHODS: dict[tuple[str, str], str] = {  # by (class, method)
    ("ConformalBagClassifier", "key_instance_sets"): "Use calibrate_instances and discover of the "
    "classifier, which need no labels of instances.",
    ("CrossValidation", "values"): "Use [fold[metric] for fold in result.folds].",
    ("Graph", "from_networkx"): "Use Graph.from_sparse(networkx.to_scipy_sparse_array(graph), "
    "ids=list(graph), directed=graph.is_directed()).",
    ("LabelSVC", "global_bound"): _LOWER,
    ("MarkovNetworkClassifier", "path"): _NO_PATH,
    ("RowsClassifier", "path"): _NO_PATH,
    ("RowsClassifier", "stability_"): "Use bagwise.inspection.key_stability.",
    ("WitnessSVC", "global_bound"): _LOWER,
}

_METRIC = 'Use "auc", "accuracy", "balanced_accuracy", "sensitivity" or "specificity".'
VALUES: dict[tuple[str, str, str | bool], str] = {  # by (class or function, parameter, value)
    ("BagKernelSVC", "bag_kernel", "hausdorff"): _PAIRWISE,
    ("BagKernelSVC", "bag_kernel", "max"): _PAIRWISE,
    ("compare", "metric", "average_precision"): _METRIC,
    ("compare", "metric", "f1"): _METRIC,
    ("compare", "metric", "sensitivity@0.9"): _METRIC,
    ("compare", "metric", "sensitivity@0.95"): _METRIC,
    ("MarkovNetworkClassifier", "early_stopping", False): "Leave it out.",
    ("MarkovNetworkClassifier", "early_stopping", True): _EARLY,
    ("MarkovNetworkClassifier", "init", "centroids"): 'Use "mean".',
    ("Pool", "solver", "variance_reduced_mirror_prox"): "Use solver='newton', which "
    "is exact, or 'mirror_prox': on pools of this size exact gradients cost no more.",
}

# Parameters that belong to a group since: by (class, group, class of the group), the names in 0.2
# and in the group. Model files of 0.2 are read by it.
_ANNEALING = ("T0", "cooling", "tol", "newton_steps", "max_inner", "variance")
_POOL = ("init", "solver", "tol", "max_columns", "refine", "max_iter")
_KERNEL = {"coef0": "coef0", "kernel_approx": "approx", "n_components": "n_components"}
GROUPED: dict[tuple[str, str, str], dict[str, str]] = {
    ("AnnealedSVC", "annealing", "Annealing"): {name: name for name in _ANNEALING},
    ("AssignedClassifier", "pool", "Pool"): {name: name for name in _POOL},
    ("RowsClassifier", "kernel_options", "KernelOptions"): _KERNEL,
    ("LabelProportionSVC", "kernel_options", "KernelOptions"): _KERNEL,
}
for (_owner, _group, _kind), _names in GROUPED.items():
    for _old, _new in _names.items():
        PARAMETERS[_owner, _old] = (
            f"Use {_group}__{_new}=... in set_params, grids and --param, or "
            f"{_group}={_kind}({_new}=...) in Python."
        )

_DEMOS = "The demo shows digits; the tutorials of the documentation show slides and molecules."
OPTIONS: dict[str, str] = {  # options of the command line, with their command
    "bench FILE.yaml": "Use `bagwise compare`, which judges models on your own data; presets of "
    "the papers are still there.",
    "bench --dask": "Use --jobs: no published benchmark needed a cluster.",
    "bench --quick": "Leave it out: an interrupted run is resumed by the same command.",
    "demo --molecules": _DEMOS,
    "demo --slides": _DEMOS,
    "fit --report": "Use `bagwise report MODEL DATA` after it, which judges by folds.",
}

MEMBERS: dict[str, str] = {  # members of stores, columns of tables and entries of model files
    ".bags of version 1": "Stores of bagwise 0.1 have no checksums: convert them with bagwise 0.2.",
    "Near-duplicate bags (a line of reports)": "Look at Instances in several bags, which counts "
    "instances with equal features.",
    "tables.tex": "Use tables.csv with pandas.DataFrame.to_latex.",
    "parents": "The parents of instances (instance_parent) are ignored since version 0.3.",
}

# Parameters whose other values changed predictions, with the value at which a model of 0.2 loads.
HARMLESS: dict[tuple[str, str], Any] = {
    ("BagEnsemble", "combine"): "average",
    ("BagKernelSVC", "affinity"): "mean",
    ("IntersectionMap", "period"): None,
    ("IntersectionMap", "window"): "rectangular",
    ("MarkovNetworkClassifier", "alphas"): None,
    ("MarkovNetworkClassifier", "chain"): 0.0,
    ("MarkovNetworkClassifier", "loss"): "hinge",
    ("MarkovNetworkClassifier", "tree"): 0.0,
}


def refuse_class(name: str) -> None:
    """Raise an ImportError if ``name`` is a class that was removed.

    An AttributeError would lose its sentence in ``from bagwise import name``.
    """
    if name in CLASSES:
        raise ImportError(f"bagwise.{name} was removed in version 0.3. {CLASSES[name]}")


def refuse_names(module: str) -> Callable[[str], NoReturn]:
    """Return what answers names that a module does not have: removed ones with their sentence."""

    def answer(name: str) -> NoReturn:
        refuse_class(f"{module.removeprefix('bagwise.')}.{name}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return answer


def refuse_parameters(cls: Any, names: Iterable[str]) -> None:
    """Raise a TypeError if a name is a parameter that a class or function had in version 0.2."""
    for name in names:
        if removed := find_removed_parameter(cls, name):
            raise TypeError(removed)


def find_removed_parameter(cls: Any, name: str) -> str:
    """Return the sentence for a parameter that a class or function had in version 0.2, or ""."""
    for base in _bases(cls):
        if (base.__name__, name) in PARAMETERS:
            sentence = PARAMETERS[base.__name__, name]
            return f"{cls.__name__} has no parameter {name!r} since version 0.3. {sentence}"
    return ""


def _bases(cls: Any) -> tuple[Any, ...]:
    return cls.__mro__ if isinstance(cls, type) else (cls,)


def regroup_parameters(cls: type, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Take what is in a group since 0.3 out of an estimator's values; return it by group."""
    found: dict[str, dict[str, Any]] = {}
    for (owner, group, _), names in GROUPED.items():
        if any(base.__name__ == owner for base in cls.__mro__):
            found |= {group: {new: values.pop(old) for old, new in names.items() if old in values}}
    return {group: taken for group, taken in found.items() if taken}


def refuse_value(cls: Any, parameter: str, value: Any) -> None:
    """Raise a ValueError if a parameter had this value, or one in it, in version 0.2."""
    values = value if isinstance(value, list | tuple) else [value]
    for each in values:
        for base in _bases(cls) if isinstance(each, str | bool) else ():
            if sentence := VALUES.get((base.__name__, parameter, each)):
                raise ValueError(f"{parameter}={each!r} was removed in version 0.3. {sentence}")


class RemovedMethod:
    """Stands in for a removed method: using it raises an AttributeError with its sentence."""

    def __init__(self, name: str, sentence: str) -> None:
        self.name, self.sentence = name, sentence

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        """Raise the sentence."""
        what = f"{owner.__name__}.{self.name}"
        raise AttributeError(f"{what} was removed in version 0.3. {self.sentence}")


def mark_removed_methods(cls: type) -> None:
    """Put a `RemovedMethod` in place of every method that a class had in version 0.2."""
    for (owner, name), sentence in METHODS.items():
        if owner == cls.__name__:
            setattr(cls, name, RemovedMethod(name, sentence))


def drop_removed(cls: type, state: dict[str, Any]) -> None:
    """Remove parameters of version 0.2 from a stored model; a ValueError says to fit it again."""
    if "bag_kernel" in state:  # scores depend on it
        refuse_value(cls, "bag_kernel", state["bag_kernel"])
    for base in cls.__mro__:
        for key in [key for key in state if (base.__name__, key) in PARAMETERS]:
            value, place = state.pop(key), (base.__name__, key)
            if place in HARMLESS and value != HARMLESS[place]:
                raise ValueError(
                    f"was fitted with {key}={value!r}, which {cls.__name__} does not have since "
                    "version 0.3: fit the model again"
                )
