"""What all figures share: colors, sizes, axes, and the scores of the positive class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from bagwise._documented import Sentence, documenting
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import bag_scores
from bagwise.metrics import positive_class, unwrap_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Orange for positive, blue for negative: distinct for color-blind readers.
POSITIVE, NEGATIVE, NEUTRAL = "#d1480f", "#3b7dad", "#6b6b6b"
FAINT = "#bbbbbb"
# One color, marker and line style per class or model; the shapes tell them apart in print.
_SHAPES = {NEGATIVE: "o", POSITIVE: "s", "#4d9221": "^", "#7b3294": "D", "#8c6d31": "v"}
STYLES: tuple[dict[str, Any], ...] = tuple(
    {"color": color, "marker": marker, "linestyle": line}
    for line in ("-", "--", ":")
    for color, marker in _SHAPES.items()
)
ROUND = (1, 2, 5)  # what round numbers begin with
_SMALLER = 0.75  # of matplotlib's size: letters stay readable where two are side by side
_LINE = 0.26  # inches per line of text at matplotlib's size "small"
_LONGEST_NAME = 30  # letters of a name beside an axis: half of a figure
MOST_LISTED = 60  # bags or groups of a list that fits on a page


_SENTENCES: dict[str, Sentence] = {
    "model": ("BagClassifier, Pipeline or search", "Fitted; two classes."),
    "bags": ("Bags, or anything check_bags takes", "The bags."),
    "y": ("array-like of shape (n_bags,)", "Their labels."),
    "n_repeats": "Number of shuffles per feature.",
    "random_state": ("int, RandomState or None", "Seed of the shuffles."),
    "title": "Title of the figure.",
    "ax": "Where to draw; a new figure when None.",
}
_BEFORE = """\
>>> from bagwise import WitnessSVC
>>> from bagwise.datasets import load_digits_bags
>>> from bagwise.plot import {}
>>> bags, y = load_digits_bags(n_bags=20)
>>> model = WitnessSVC(kernel="linear").fit(bags, y)
"""  # what an example that imports nothing goes on from
draws = documenting(
    _SENTENCES,
    returns="matplotlib.figure.Figure\n    The figure; save it with ``savefig``.",
    before=_BEFORE,
)


def new_axes(n_lines: int | None = None) -> Axes:
    """Return axes in a figure of its own, tall enough for lines of text where there are any."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    wide, tall = rcParams["figure.figsize"]
    size = (wide, _LINE * (n_lines + 4)) if n_lines else (_SMALLER * wide, _SMALLER * tall)
    return Figure(figsize=size, layout="constrained").subplots()


def plain(name: Any) -> str:
    """Return a name as matplotlib has to be given it to be shown letter by letter.

    Dollars would begin and end mathematics, and names that begin with an underscore would be left
    out of legends.
    """
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def name_rows(ax: Axes, names: Iterable[Any]) -> None:
    """Write a name beside each row of the figure."""
    shown = [plain(str(name)[:_LONGEST_NAME]) for name in names]
    ax.set_yticks(range(len(shown)), shown, fontsize="small")


def by_class(truth: Array) -> tuple[tuple[Array, str, str], ...]:
    """Return which bags (or instances) are of each class, its color and its name."""
    return (truth, POSITIVE, "positive bags"), (~truth, NEGATIVE, "negative bags")


class Judged(NamedTuple):
    """Bags as a model sees them: which are positive, and the score of each towards that class."""

    model: Any
    bags: Bags
    truth: Array
    scores: Array


def score_bags(model: Any, bags: Any, y: ArrayLike) -> Judged:
    """Score labeled bags by a fitted model of two classes."""
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    check_consistent_length(bags, y)
    inner, seen = unwrap_model(model, bags)
    positive, sign = positive_class(inner)
    return Judged(inner, seen, y == positive, sign * bag_scores(inner, seen))


def draw_samples(truth: Array, groups: Array | None, n_draws: int, seed: int) -> list[Array]:
    """Draw bags with replacement (whole groups where there are any); both classes in each draw."""
    rng = np.random.default_rng(seed)
    parts = np.arange(len(truth)) if groups is None else np.unique(groups, return_inverse=True)[1]
    members = np.split(np.argsort(parts, kind="stable"), np.cumsum(np.bincount(parts))[:-1])
    draws: list[Array] = []
    for _ in range(20 * n_draws):  # draws of one class alone are drawn again
        taken = rng.integers(len(members), size=len(members))
        rows = np.concatenate([members[i] for i in taken])
        if 0 < truth[rows].sum() < len(rows):
            draws.append(rows)
        if len(draws) == n_draws:
            break
    return draws
