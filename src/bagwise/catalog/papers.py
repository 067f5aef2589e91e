"""The papers that the methods come from."""

from __future__ import annotations

from dataclasses import dataclass

_MEETINGS = ("NIPS", "ICML", "AISTATS", "ECML", "ECML PKDD", "IJCAI")
_THESIS = "master's thesis, "


def _kind_of(venue: str) -> tuple[str, str]:
    """Return the kind of a BibTeX entry, and the field that names the venue."""
    if venue.startswith(_THESIS):
        return "mastersthesis", "school"
    return ("inproceedings", "booktitle") if venue in _MEETINGS else ("article", "journal")


@dataclass(frozen=True)
class Paper:
    """A paper: authors, year, venue, title, and the authors' initials in the same order."""

    authors: str
    year: int
    venue: str
    title: str
    initials: str = ""

    @property
    def short(self) -> str:
        """Authors and year, as the project cites it."""
        return f"{self.authors} {self.year}"

    def bibtex(self, key: str) -> str:
        """Return the entry for a BibTeX file."""
        names = self.authors.replace(" & ", ", ").split(", ")
        first = self.initials.split(", ") if self.initials else [""] * len(names)
        whole = (", ".join(filter(None, pair)) for pair in zip(names, first, strict=True))
        kind, place = _kind_of(self.venue)
        fields = {
            "author": " and ".join(whole),
            "title": f"{{{self.title}}}",
            place: self.venue.removeprefix(_THESIS),
            "year": self.year,
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        return f"@{kind}{{{key},\n{lines}\n}}"

    def __str__(self) -> str:
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}'


# fmt: off
PAPERS = {
    "cox1972": Paper("Cox", 1972, "Journal of the Royal Statistical Society B",
        "Regression models and life-tables", initials="D. R."),
    "wolpert1992": Paper("Wolpert", 1992, "Neural Networks", "Stacked generalization",
        initials="D. H."),
    "breiman1996": Paper("Breiman", 1996, "Machine Learning", "Bagging predictors",
        initials="L."),
    "maron1998": Paper("Maron & Lozano-Perez", 1998, "NIPS",
        "A framework for multiple-instance learning",
        initials="O., T."),
    "wang2000": Paper("Wang & Zucker", 2000, "ICML",
        "Solving the multiple-instance problem: a lazy learning approach",
        initials="J., J.-D."),
    "frank2001": Paper("Frank & Hall", 2001, "ECML",
        "A simple approach to ordinal classification",
        initials="E., M."),
    "ray2001": Paper("Ray & Page", 2001, "ICML", "Multiple instance regression",
        initials="S., D."),
    "zhang2001": Paper("Zhang & Goldman", 2001, "NIPS",
        "EM-DD: an improved multiple-instance learning technique",
        initials="Q., S. A."),
    "andrews2002": Paper("Andrews, Tsochantaridis & Hofmann", 2002, "NIPS",
        "Support vector machines for multiple-instance learning",
        initials="S., I., T."),
    "gaertner2002": Paper("Gaertner, Flach, Kowalczyk & Smola", 2002, "ICML",
        "Multi-instance kernels",
        initials="T., P. A., A., A. J."),
    "chen2004": Paper("Chen & Wang", 2004, "Journal of Machine Learning Research",
        "Image categorization by learning and reasoning with regions",
        initials="Y., J. Z."),
    "csurka2004": Paper("Csurka, Dance, Fan, Willamowski & Bray", 2004,
        "ECCV workshop on statistical learning in computer vision",
        "Visual categorization with bags of keypoints",
        initials="G., C. R., L., J., C."),
    "ray2005": Paper("Ray & Craven", 2005, "ICML",
        "Supervised versus multiple instance learning: an empirical comparison",
        initials="S., M."),
    "viola2005": Paper("Viola, Platt & Zhang", 2005, "NIPS",
        "Multiple instance boosting for object detection",
        initials="P., J. C., C."),
    "chen2006": Paper("Chen, Bi & Wang", 2006, "IEEE TPAMI",
        "MILES: multiple-instance learning via embedded instance selection",
        initials="Y., J., J. Z."),
    "dong2006": Paper("Dong", 2006, "master's thesis, University of Waikato",
        "A comparison of multi-instance learning algorithms",
        initials="L."),
    "geurts2006": Paper("Geurts, Ernst & Wehenkel", 2006, "Machine Learning",
        "Extremely randomized trees",
        initials="P., D., L."),
    "bunescu2007": Paper("Bunescu & Mooney", 2007, "ICML",
        "Multiple instance learning for sparse positive bags",
        initials="R. C., R. J."),
    "gehler2007": Paper("Gehler & Chapelle", 2007, "AISTATS",
        "Deterministic annealing for multiple-instance learning",
        initials="P. V., O."),
    "zhou2007": Paper("Zhou & Xu", 2007, "ICML",
        "On the relation between multi-instance learning and semi-supervised learning",
        initials="Z.-H., J.-M."),
    "zhu2007": Paper("Zhu, Yu, Chi & Gong", 2007, "SIGIR",
        "Combining content and link for classification using matrix factorization",
        initials="S., K., Y., Y."),
    "mangasarian2008": Paper("Mangasarian & Wild", 2008,
        "Journal of Optimization Theory and Applications",
        "Multiple instance classification via successive linear programming",
        initials="O. L., E. W."),
    "li2009": Paper("Li, Kwok, Tsang & Zhou", 2009, "ECML PKDD",
        "A convex method for locating regions of interest with multi-instance learning",
        initials="Y.-F., J. T., I. W., Z.-H."),
    "zhou2009": Paper("Zhou, Sun & Li", 2009, "ICML",
        "Multi-instance learning by treating instances as non-i.i.d. samples",
        initials="Z.-H., Y.-Y., Y.-F."),
    "zhang2011": Paper("Zhang, Liu, Si, Zhang & Lawrence", 2011, "NIPS",
        "Multiple instance learning on structured data",
        initials="D., Y., L., J., R. D."),
    "szabo2016": Paper("Szabo, Sriperumbudur, Poczos & Gretton", 2016,
        "Journal of Machine Learning Research",
        "Learning theory for distribution regression",
        initials="Z., B. K., B., A."),
    "vock2016": Paper("Vock, Wolfson, Bandyopadhyay, Adomavicius, Johnson, Vazquez-Benitez & "
        "O'Connor", 2016, "Journal of Biomedical Informatics",
        "Adapting machine learning techniques to censored time-to-event health record data",
        initials="D. M., J., S., G., P. E., G., P. J."),
    "hajimirsadeghi2017": Paper("Hajimirsadeghi & Mori", 2017, "IEEE TPAMI",
        "Multi-instance classification by max-margin training of cardinality-based Markov "
        "networks",
        initials="H., G."),
    "zhang2019": Paper("Zhang & Zhou", 2019, "IEEE TKDE", "Optimal margin distribution machine",
        initials="T., Z.-H."),
    "zhang2020": Paper("Zhang & Jin", 2020, "IJCAI",
        "Optimal margin distribution machine for multi-instance learning",
        initials="T., H."),
    "avolio2021": Paper("Avolio & Fuduli", 2021, "IEEE TNNLS",
        "A semiproximal support vector machine approach for binary multiple instance learning",
        initials="M., A."),
}
# fmt: on
