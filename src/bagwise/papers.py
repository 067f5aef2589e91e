"""The papers' names of the methods: what each one is here, what it is for, and where it is from.

This is the one list behind `by_paper_name`, ``bagwise models`` and the README's table. A new
estimator adds one line to `METHODS` (and its paper above, when that is new).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from bagwise.base import BagClassifier
from bagwise.models import (
    DDSVM,
    EMDD,
    MICA,
    MILES,
    MISSVM,
    ODM,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    BagEnsemble,
    BagKernelSVC,
    CitationKNN,
    DiverseDensity,
    GraphSVC,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    MeanSVC,
    MILBoost,
    OptimalMarginSVC,
    SemiProximalSVC,
    SparseMIL,
    WitnessSVC,
)

__all__ = ["METHODS", "Method", "Paper", "UnknownMethodError", "by_paper_name"]


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it when, under which title, and where it appeared."""

    authors: str
    year: int
    title: str
    venue: str

    @property
    def short(self) -> str:
        """How the project cites it: authors and year."""
        return f"{self.authors} {self.year}"

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'


BREIMAN_1996 = Paper("Breiman", 1996, "Bagging predictors", "Machine Learning")
WANG_2000 = Paper(
    "Wang & Zucker",
    2000,
    "Solving the multiple-instance problem: a lazy learning approach",
    "ICML",
)
CHEN_2004 = Paper(
    "Chen & Wang",
    2004,
    "Image categorization by learning and reasoning with regions",
    "Journal of Machine Learning Research",
)
VIOLA_2005 = Paper(
    "Viola, Platt & Zhang", 2005, "Multiple instance boosting for object detection", "NIPS"
)
BUNESCU_2007 = Paper(
    "Bunescu & Mooney", 2007, "Multiple instance learning for sparse positive bags", "ICML"
)
ZHOU_2007 = Paper(
    "Zhou & Xu",
    2007,
    "On the relation between multi-instance learning and semi-supervised learning",
    "ICML",
)
ZHANG_2011 = Paper(
    "Zhang, Liu, Si, Zhang & Lawrence",
    2011,
    "Multiple instance learning on structured data",
    "NIPS",
)
MARON_1998 = Paper(
    "Maron & Lozano-Perez",
    1998,
    "A framework for multiple-instance learning",
    "NIPS",
)
ZHANG_2001 = Paper(
    "Zhang & Goldman",
    2001,
    "EM-DD: an improved multiple-instance learning technique",
    "NIPS",
)
ANDREWS_2002 = Paper(
    "Andrews, Tsochantaridis & Hofmann",
    2002,
    "Support vector machines for multiple-instance learning",
    "NIPS",
)
GAERTNER_2002 = Paper(
    "Gaertner, Flach, Kowalczyk & Smola",
    2002,
    "Multi-instance kernels",
    "ICML",
)
RAY_2005 = Paper(
    "Ray & Craven",
    2005,
    "Supervised versus multiple instance learning: an empirical comparison",
    "ICML",
)
CHEN_2006 = Paper(
    "Chen, Bi & Wang",
    2006,
    "MILES: multiple-instance learning via embedded instance selection",
    "IEEE TPAMI",
)
DONG_2006 = Paper(
    "Dong",
    2006,
    "A comparison of multi-instance learning algorithms",
    "master's thesis, University of Waikato",
)
GEHLER_2007 = Paper(
    "Gehler & Chapelle",
    2007,
    "Deterministic annealing for multiple-instance learning",
    "AISTATS",
)
MANGASARIAN_2008 = Paper(
    "Mangasarian & Wild",
    2008,
    "Multiple instance classification via successive linear programming",
    "Journal of Optimization Theory and Applications",
)
LI_2009 = Paper(
    "Li, Kwok, Tsang & Zhou",
    2009,
    "A convex method for locating regions of interest with multi-instance learning",
    "ECML PKDD",
)
ZHOU_2009 = Paper(
    "Zhou, Sun & Li",
    2009,
    "Multi-instance learning by treating instances as non-i.i.d. samples",
    "ICML",
)
HAJIMIRSADEGHI_2017 = Paper(
    "Hajimirsadeghi & Mori",
    2017,
    "Multi-instance classification by max-margin training of cardinality-based Markov networks",
    "IEEE TPAMI",
)
ZHANG_2019 = Paper(
    "Zhang & Zhou",
    2019,
    "Optimal margin distribution machine",
    "IEEE TKDE",
)
ZHANG_2020 = Paper(
    "Zhang & Jin",
    2020,
    "Optimal margin distribution machine for multi-instance learning",
    "IJCAI",
)
AVOLIO_2021 = Paper(
    "Avolio & Fuduli",
    2021,
    "A semiproximal support vector machine approach for binary multiple instance learning",
    "IEEE TNNLS",
)


@dataclass(frozen=True)
class Method:
    """A method under its paper's name: an estimator and the parameters that make it this method."""

    name: str
    estimator: type[BagClassifier]
    paper: Paper
    purpose: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """What a user types to build it."""
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.estimator.__name__}({options})".replace("'", '"')


METHODS = (
    Method("SIL", InstanceSVC, RAY_2005, "baseline: instances take their bag's label"),
    Method(
        "SVM-AtLeastOne",
        InstanceSVC,
        HAJIMIRSADEGHI_2017,
        "the same baseline under its other name",
        {"vote": "any"},
    ),
    Method(
        "SVM-Majority",
        InstanceSVC,
        HAJIMIRSADEGHI_2017,
        "bags that are positive when half of their instances are",
        {"vote": "majority"},
    ),
    Method("mi-SVM", LabelSVC, ANDREWS_2002, "labels for all instances, several positives a bag"),
    Method("MI-SVM", WitnessSVC, ANDREWS_2002, "one witness a positive bag, and which one it is"),
    Method("MICA", MICA, MANGASARIAN_2008, "as MI-SVM, with a mixture of the bag as its witness"),
    Method(
        "AL-SVM", AnnealedLabelSVC, GEHLER_2007, "as mi-SVM, with labels cooled from soft to hard"
    ),
    Method(
        "AW-SVM", AnnealedWitnessSVC, GEHLER_2007, "as MI-SVM, with witnesses cooled the same way"
    ),
    Method(
        "ALP-SVM",
        AnnealedProportionSVC,
        GEHLER_2007,
        "as AL-SVM, told what share of a positive bag is positive",
    ),
    Method(
        "mi-SPSVM", SemiProximalSVC, AVOLIO_2021, "many positives a bag, gathered at one hyperplane"
    ),
    Method("MI-ODM", OptimalMarginSVC, ZHANG_2020, "margins of low variance, over key instances"),
    Method("ODM", ODM, ZHANG_2019, "margins of low variance; instances take their bag's label"),
    Method(
        "Ins-KI-SVM",
        KeyInstanceSVC,
        LI_2009,
        "convex search for the key instance, against negative instances",
        {"negatives": "instances"},
    ),
    Method(
        "Bag-KI-SVM",
        KeyInstanceSVC,
        LI_2009,
        "convex search for the key instance, against the means of negative bags",
        {"negatives": "bags"},
    ),
    Method(
        "MIMN",
        MarkovNetworkClassifier,
        HAJIMIRSADEGHI_2017,
        "all instances take part, at least one is positive",
        {"cardinality": "any"},
    ),
    Method(
        "RMIMN",
        MarkovNetworkClassifier,
        HAJIMIRSADEGHI_2017,
        "at least a known share of a positive bag is positive",
        {"cardinality": "ratio"},
    ),
    Method(
        "GMIMN",
        MarkovNetworkClassifier,
        HAJIMIRSADEGHI_2017,
        "the share that makes a bag positive is learned",
        {"cardinality": "learned"},
    ),
    Method(
        "DD", DiverseDensity, MARON_1998, "a point near which every positive bag has an instance"
    ),
    Method("EM-DD", EMDD, ZHANG_2001, "the same point, found by alternation"),
    Method("MILES", MILES, CHEN_2006, "few telling instances, found by similarity to all of them"),
    Method("SimpleMI", MeanSVC, DONG_2006, "quick baseline: the bag is its mean"),
    Method(
        "MI-Kernel",
        BagKernelSVC,
        GAERTNER_2002,
        "strong baseline: bags compared by the mean kernel of their instances",
        {"kernel": "mean"},
    ),
    Method(
        "STK",
        BagKernelSVC,
        GAERTNER_2002,
        "bags compared by the smallest and largest value of each feature",
        {"kernel": "statistics"},
    ),
    Method(
        "miGraph",
        BagKernelSVC,
        ZHOU_2009,
        "as MI-Kernel, for bags in which many instances look alike",
        {"kernel": "migraph"},
    ),
    Method("MILSD", GraphSVC, ZHANG_2011, "bags or instances linked by a graph: give it one"),
    Method("sMIL", SparseMIL, BUNESCU_2007, "few positives a positive bag", {"variant": "sparse"}),
    Method(
        "stMIL",
        SparseMIL,
        BUNESCU_2007,
        "as sMIL, with instances kept away from the boundary",
        {"variant": "transductive"},
    ),
    Method(
        "sbMIL",
        SparseMIL,
        BUNESCU_2007,
        "as sMIL, told what share of a positive bag is positive",
        {"variant": "balanced"},
    ),
    Method("MissSVM", MISSVM, ZHOU_2007, "instances of positive bags as unlabelled data"),
    Method("DD-SVM", DDSVM, CHEN_2004, "distances to diverse-density prototypes"),
    Method("Citation kNN", CitationKNN, WANG_2000, "neighbours of whole bags, no training"),
    Method("MILBoost", MILBoost, VIOLA_2005, "boosted trees against the noisy-or likelihood"),
    Method("Bagging", BagEnsemble, BREIMAN_1996, "a bootstrap of bags over any bag estimator"),
)


class UnknownMethodError(ValueError):
    """No method goes by this name; the message lists those that do."""


def by_paper_name(name: str, **params: Any) -> BagClassifier:
    """Build an estimator by the name its paper gave the method.

    Parameters
    ----------
    name : str
        The paper's name. Small and capital letters matter: mi-SVM and MI-SVM are two methods.
    **params : object
        Parameters of the estimator, except those that make it this method.

    Returns
    -------
    BagClassifier
        The estimator, not fitted.

    Examples
    --------
    >>> from bagwise import by_paper_name
    >>> by_paper_name("MI-SVM", C=10)
    WitnessSVC(C=10)
    >>> by_paper_name("SVM-Majority")
    InstanceSVC(vote='majority')
    """
    method = _find(name)
    fixed = [key for key in params if key in method.options]
    if fixed:
        raise ValueError(f"{fixed[0]} cannot be set: {name} is {method.code}.")
    unknown = sorted(params.keys() - method.estimator().get_params().keys())
    if unknown:
        known = ", ".join(method.estimator().get_params())
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; there are {known}.")
    return method.estimator(**method.options, **params)


def _find(name: str) -> Method:
    for method in METHODS:
        if method.name == name:
            return method
    raise UnknownMethodError(
        f"There is no method {name!r}.{_hint(name)} "
        f"Known are {', '.join(method.name for method in METHODS)}."
    )


def _hint(name: str) -> str:
    folded = str(name).casefold()
    close = get_close_matches(folded, {method.name.casefold() for method in METHODS}, n=1)
    names = [method.name for method in METHODS if method.name.casefold() in close]
    return f" Did you mean {' or '.join(names)}?" if names else ""
