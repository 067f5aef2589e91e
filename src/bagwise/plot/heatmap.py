"""Instance scores or p-values at their coordinates: where on a slide the evidence lies."""

from __future__ import annotations

from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.ids import factorize, name_of
from bagwise.errors import suggestion
from bagwise.plot._display import ROUND, draws, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DARKEST = 0.02  # p-value at the dark end of the colors; smaller ones look the same
_CLEAR = 0.85  # transparency at p = 1: the outline of the tissue is still seen on white


@draws(
    bags=("Bags", "With ``coords``; without ``patch_size``, patches are as large as their grid."),
    scores=(
        "array-like of shape (n_instances,)",
        "As from ``instance_decision_function``, or p-values as from ``instance_pvalues``.",
    ),
    bag="Id of the bag, or its number.",
    level="None for scores. For p-values: those up to it are outlined.",
    note="Line below the slide, such as what ``discovery_guarantee`` says.",
    meaning="What the colors of scores stand for.",
    top="Number of instances outlined where scores are drawn, those with the highest.",
    image=("array of shape (h, w, 3), str or Path", "A thumbnail of the slide, drawn below."),
    downsample="Units of ``coords`` per pixel of the image. None: all patches just fit into it.",
    microns_per_pixel="Length of a unit of ``coords``; the scale bar is in units when None.",
    title="Title; the id of the bag when None.",
)
def heatmap(
    bags: Any,
    scores: ArrayLike,
    bag: Any = 0,
    *,
    level: float | None = None,
    note: str = "",
    meaning: str = "instance score (above 0: positive)",
    top: int = 5,
    image: Any = None,
    downsample: float | None = None,
    microns_per_pixel: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the scores or p-values of a bag's instances where they lie, the best outlined.

    Examples
    --------
    >>> from bagwise import AnnealedWitnessSVC
    >>> from bagwise.datasets import make_slide_bags
    >>> from bagwise.plot import heatmap
    >>> bags, y = make_slide_bags(n_bags=20, bag_size=60)
    >>> model = AnnealedWitnessSVC(kernel="linear").fit(bags, y)
    >>> heatmap(bags, model.instance_decision_function(bags), bag="slide-000")
    <Figure size ... with 2 Axes>
    >>> p = model.calibrate_instances(bags, y).instance_pvalues(bags)
    >>> heatmap(bags, p, bag="slide-000", level=0.1, note=model.discovery_guarantee())
    <Figure size ... with 2 Axes>
    """
    bags, scores = _check(bags, scores)
    number = find_bag(bags, bag)
    rows = slice(bags.offsets[number], bags.offsets[number + 1])
    side, own = patch_side(bags, number), scores[rows]
    corners, parts = place_parts(bags, number, side)
    if image is not None and parts:
        what = "has several parts, and an image shows one: draw the bags of bags.split()"
        raise ValueError(f"{name_of(bags.ids, number)} {what}.")
    cmap, norm = color_scale(None if level is not None else color_limits(scores))
    if level is None:
        ticks = [norm.vmin, norm.vmin / 2, 0.0, norm.vmax / 2, norm.vmax]
        best, text = np.argsort(-own, kind="stable")[:top], meaning
    else:
        ticks, best = [_DARKEST, level, 0.5, 1.0], np.flatnonzero(own <= level)
        text = "p-value: share of negative slides\nwith such a patch"
    if ax is None:
        ax = _new_axes(corners, side)
    if image is not None:
        image = read_image(image)
        per_pixel = downsample or image_scale(image, corners, side)
        height, width = per_pixel * np.array(image.shape[:2])
        ax.imshow(image, extent=(0, width, height, 0), cmap="gray")
    alpha = 0.5 if level is None and image is not None else None  # p-values have their own
    colors = {"array": own, "cmap": cmap, "norm": norm, "linewidths": 0, "alpha": alpha}
    drawn = _draw_squares(ax, corners, side, **colors)
    label = f"top {top}" if level is None else f"p up to {level:g}"
    _outline(ax, corners[best], side, label, "lower right" if parts else "upper right")
    _dress(ax, corners, side, microns_per_pixel)
    for name, (left, top_edge) in parts.items():
        ax.text(left, top_edge - side / 4, plain(name), fontsize="small", va="bottom")
    ax.set_xlabel(plain(note), fontsize="small")
    ax.set_title(plain(bags.ids[number]) if title is None else title, fontsize="medium")
    figure: Any = ax.get_figure()
    bar = figure.colorbar(drawn, ax=ax, shrink=0.7)
    bar.set_ticks(ticks, labels=[f"{tick:.2g}" for tick in ticks], minor=False)
    bar.set_label(text)
    bar.ax.yaxis.set_inverted(level is not None)  # evidence is at the upper end
    return figure


def _check(bags: Any, scores: ArrayLike) -> tuple[Bags, Array]:
    bags, scores = check_bags(bags, finite=False), np.asarray(scores, dtype=np.float64)
    if bags.coords is None:
        raise ValueError(
            "The bags have no coordinates: read them from HDF5 files with 'coords', or give them "
            "with bags.replace(coords=...), one (x, y) per instance."
        )
    if scores.shape != (bags.n_instances,):
        raise ValueError(f"scores has shape {scores.shape}, expected ({bags.n_instances},).")
    return bags, scores


def find_bag(bags: Bags, bag: Any) -> int:
    """Return the number of a bag given by its id (which comes first) or number."""
    ids = bags.ids.tolist()
    if bag in ids:
        return int(ids.index(bag))
    if isinstance(bag, int) and 0 <= bag < len(bags):
        return bag
    raise ValueError(f"There is no bag {bag!r}. {suggestion(str(bag), [str(i) for i in ids])}")


def place_parts(
    bags: Bags, number: int, side: float
) -> tuple[Array, dict[str, tuple[float, float]]]:
    """Return where a bag's patches are drawn, its parts side by side, and where each part begins.

    A bag of one part is drawn where it lies, and has no names of parts.
    """
    rows = slice(bags.offsets[number], bags.offsets[number + 1])
    corners = np.asarray(bags.coords[rows], dtype=np.float64)
    codes, names = factorize(np.zeros(len(corners)) if bags.parts is None else bags.parts[rows])
    if len(names) == 1:
        return corners, {}
    placed, begins = corners.copy(), {}
    per_row, at, below = isqrt(len(names) - 1) + 1, np.zeros(2), 0.0
    for k, name in enumerate(names.tolist()):
        if k % per_row == 0:
            at = np.array([0.0, below])
        own = codes == k
        placed[own] += at - corners[own].min(axis=0)
        begins[str(name)] = (float(at[0]), float(at[1]))
        right, bottom = placed[own].max(axis=0) + 3 * side  # two patches between parts
        at, below = np.array([right, at[1]]), max(below, bottom)
    return placed, begins


def patch_side(bags: Bags, number: int) -> float:
    """Return the side of a bag's patches: as stored, or the distance between neighbors."""
    if bags.patch_size is not None:
        return float(bags.patch_size[number])
    rows = slice(bags.offsets[number], bags.offsets[number + 1])
    codes = factorize(np.zeros(bags.sizes[number]) if bags.parts is None else bags.parts[rows])[0]
    slides = [bags.coords[rows][codes == k] for k in range(codes.max() + 1)]
    every = np.concatenate([np.diff(np.unique(axis)) for corners in slides for axis in corners.T])
    if not len(every):
        problem = "has a single position: give the side of a patch with bags.replace(patch_size=)"
        raise ValueError(f"{name_of(bags.ids, number)} {problem}.")
    return float(np.median(every))


def color_limits(scores: Array) -> tuple[float, float]:
    """Return scores at the ends of the colors: 1 % and the highest, with 0 strictly between.

    Evidence is rare, so that a high quantile would cut it off.
    """
    low, high = np.quantile(scores, [0.01, 1.0])
    reach = max(abs(low), abs(high)) or 1.0
    return min(float(low), -0.05 * reach), max(float(high), 0.05 * reach)


def color_scale(limits: tuple[float, float] | None) -> tuple[Any, Any]:
    """Return colors and norm of scores between limits (white at 0), or of p-values where None."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, TwoSlopeNorm

    if limits is not None:
        return colormaps["RdBu_r"], TwoSlopeNorm(0.0, *limits)
    even = colormaps["viridis"]  # in even steps to the eye, and none the color of stained tissue
    shade = np.linspace(0, 1, even.N)
    colors = np.column_stack([even(shade)[:, :3], 1 - _CLEAR * shade**2])
    return ListedColormap(colors), LogNorm(_DARKEST, 1.0, clip=True)


def instance_colors(scores: Array, pvalues: Array | None) -> Array:
    """Return red, green, blue and alpha (0 to 255) by p-values where they are known."""
    cmap, norm = color_scale(color_limits(scores) if pvalues is None else None)
    return cmap(norm(scores if pvalues is None else pvalues), bytes=True)


def _new_axes(corners: Array, side: float) -> Axes:
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    extent = np.ptp(corners, axis=0) + side
    inches, room = rcParams["figure.figsize"][0], (1.6, 0.8)  # beside for the colors, above a title
    size = np.maximum(inches * extent / extent.max(), inches / 3) + room  # for the colors' label
    return Figure(figsize=(size[0], size[1]), layout="constrained").subplots()


def read_image(image: Any) -> Array:
    """Return an image as an array; a path is read."""
    if isinstance(image, str | Path):
        from matplotlib.image import imread

        return np.asarray(imread(image))
    return np.asarray(image)


def image_scale(image: Array, corners: Array, side: float) -> float:
    """Return the fewest units of coordinates per pixel at which all patches lie in the image."""
    right, bottom = corners.max(axis=0) + side
    return float(max(right / image.shape[1], bottom / image.shape[0]))


def _draw_squares(ax: Axes, corners: Array, side: float, **style: Any) -> Any:
    from matplotlib.collections import PolyCollection

    steps = side * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    drawn = PolyCollection((corners[:, None, :] + steps).tolist(), **style)
    ax.add_collection(drawn)
    return drawn


def _outline(ax: Axes, corners: Array, side: float, label: str, where: Any) -> None:
    """Draw lines around squares, neighbors together: an edge of two of them is inside."""
    from matplotlib.collections import LineCollection

    ends = np.array([[[0, 0], [1, 0]], [[0, 1], [1, 1]], [[0, 0], [0, 1]], [[1, 0], [1, 1]]])
    edges = (corners[:, None, None, :] + side * ends).reshape(-1, 4)
    lines, counts = np.unique(edges, axis=0, return_counts=True)
    around = lines[counts == 1].reshape(-1, 2, 2).tolist()
    for color, width in (("white", 3.2), ("black", 1.6)):  # seen on light and dark colors
        ax.add_collection(LineCollection(around, colors=color, linewidths=width))
    ax.plot([], [], "s", markerfacecolor="none", markeredgecolor="black", label=label)
    ax.legend(loc=where, fontsize="small", framealpha=0.8)


def _dress(ax: Axes, corners: Array, side: float, microns: float | None) -> None:
    low, high = corners.min(axis=0) - side, corners.max(axis=0) + 2 * side
    ax.set(xlim=(low[0], high[0]), ylim=(high[1] + 2 * side, low[1]), aspect="equal")
    ax.set(xticks=[], yticks=[])
    wide = high[0] - low[0]
    length, text = _scale_bar(wide, microns)
    bar_at = high[1] + side
    ax.plot([low[0] + side, low[0] + side + length], [bar_at, bar_at], color="black", linewidth=3)
    ax.text(low[0] + side + length, bar_at, f"  {text}", va="center", fontsize="small")


def _scale_bar(wide: float, microns: float | None) -> tuple[float, str]:
    """Return a round length of about a fifth of the width, and its text."""
    unit = 1.0 if microns is None else microns
    target = wide * unit / 5
    power = 10.0 ** np.floor(np.log10(target))
    length = power * max(s for s in ROUND if s * power <= target)
    if microns is None:
        return length, f"{length:,.0f} pixels"
    return length / unit, f"{length / 1000:g} mm" if length >= 1000 else f"{length:g} µm"
