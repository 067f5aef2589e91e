"""The papers that the methods come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper: authors, year, venue and title."""

    authors: str
    year: int
    venue: str
    title: str

    @property
    def short(self) -> str:
        """Authors and year, as the project cites it."""
        return f"{self.authors} {self.year}"

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'


# fmt: off
PAPERS = {
    "breiman1996": Paper("Breiman", 1996, "Machine Learning", "Bagging predictors"),
    "maron1998": Paper("Maron & Lozano-Perez", 1998, "NIPS",
        "A framework for multiple-instance learning"),
    "wang2000": Paper("Wang & Zucker", 2000, "ICML",
        "Solving the multiple-instance problem: a lazy learning approach"),
    "zhang2001": Paper("Zhang & Goldman", 2001, "NIPS",
        "EM-DD: an improved multiple-instance learning technique"),
    "andrews2002": Paper("Andrews, Tsochantaridis & Hofmann", 2002, "NIPS",
        "Support vector machines for multiple-instance learning"),
    "gaertner2002": Paper("Gaertner, Flach, Kowalczyk & Smola", 2002, "ICML",
        "Multi-instance kernels"),
    "chen2004": Paper("Chen & Wang", 2004, "Journal of Machine Learning Research",
        "Image categorization by learning and reasoning with regions"),
    "caruana2004": Paper("Caruana, Niculescu-Mizil, Crew & Ksikes", 2004, "ICML",
        "Ensemble selection from libraries of models"),
    "ray2005": Paper("Ray & Craven", 2005, "ICML",
        "Supervised versus multiple instance learning: an empirical comparison"),
    "viola2005": Paper("Viola, Platt & Zhang", 2005, "NIPS",
        "Multiple instance boosting for object detection"),
    "chen2006": Paper("Chen, Bi & Wang", 2006, "IEEE TPAMI",
        "MILES: multiple-instance learning via embedded instance selection"),
    "dong2006": Paper("Dong", 2006, "master's thesis, University of Waikato",
        "A comparison of multi-instance learning algorithms"),
    "geurts2006": Paper("Geurts, Ernst & Wehenkel", 2006, "Machine Learning",
        "Extremely randomized trees"),
    "bunescu2007": Paper("Bunescu & Mooney", 2007, "ICML",
        "Multiple instance learning for sparse positive bags"),
    "gehler2007": Paper("Gehler & Chapelle", 2007, "AISTATS",
        "Deterministic annealing for multiple-instance learning"),
    "zhou2007": Paper("Zhou & Xu", 2007, "ICML",
        "On the relation between multi-instance learning and semi-supervised learning"),
    "mangasarian2008": Paper("Mangasarian & Wild", 2008,
        "Journal of Optimization Theory and Applications",
        "Multiple instance classification via successive linear programming"),
    "li2009": Paper("Li, Kwok, Tsang & Zhou", 2009, "ECML PKDD",
        "A convex method for locating regions of interest with multi-instance learning"),
    "zhou2009": Paper("Zhou, Sun & Li", 2009, "ICML",
        "Multi-instance learning by treating instances as non-i.i.d. samples"),
    "zhang2011": Paper("Zhang, Liu, Si, Zhang & Lawrence", 2011, "NIPS",
        "Multiple instance learning on structured data"),
    "hajimirsadeghi2017": Paper("Hajimirsadeghi & Mori", 2017, "IEEE TPAMI",
        "Multi-instance classification by max-margin training of cardinality-based Markov "
        "networks"),
    "zhang2019": Paper("Zhang & Zhou", 2019, "IEEE TKDE", "Optimal margin distribution machine"),
    "zhang2020": Paper("Zhang & Jin", 2020, "IJCAI",
        "Optimal margin distribution machine for multi-instance learning"),
    "avolio2021": Paper("Avolio & Fuduli", 2021, "IEEE TNNLS",
        "A semiproximal support vector machine approach for binary multiple instance learning"),
}
# fmt: on
