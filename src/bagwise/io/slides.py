"""Folders of slide features as pathology pipelines write them: one file per slide.

CLAM writes ``h5_files/{slide_id}.h5`` (features and coordinates) and ``pt_files/{slide_id}.pt``,
TRIDENT writes ``features_<encoder>/{slide}.h5``. Labels are in a CSV of their own.

slide_id,case_id,label
TCGA-XX-XXXX-01Z-00-DX1,TCGA-XX-XXXX,tumor
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.frames import bag_columns
from bagwise.bags.ids import match_names, require_single, resolve_names
from bagwise.errors import Argument, Message, list_names
from bagwise.io._assemble import MISSING, find_roles, require_bag
from bagwise.io._bagarrays import load_bag, read_patch_size
from bagwise.io._columns import Column, LabeledBags, reads, writes
from bagwise.io.bagfiles import BagStack, read_listing, refuse_full, write_files
from bagwise.io.errors import FormatError
from bagwise.io.tables import sniff

SLIDE_SUFFIXES = (".h5", ".hdf5", ".npz", ".npy", ".pt", ".pth")  # those with coordinates first
_USUAL = {
    "bag": ("slide_id", "slide", "bag"),
    "label": ("label",),
    "groups": ("case_id", "patient"),
    "sites": ("site",),
}


@reads(
    path="A folder of .h5, .npz, .npy or .pt files; a folder with ``h5_files`` or ``pt_files`` "
    "(CLAM) or with one ``features_...`` (TRIDENT) in it, also one folder down; or a single file. "
    "Arrays of shape (1, patches, features) are accepted; coordinates and patch sizes are read "
    "from HDF5 files.",
    bag='Column of the slide ids; None: "slide_id", "slide" or "bag".',
    label='Column of the labels; None: "label" if there is such a column.',
    groups='Column of the patients; None: "case_id" or "patient" if there is such a column. A CSV '
    "with patients and without slides has a row per patient: the names of its slides begin with "
    'that of the patient, before a ".", "-" or "_".',
    sites='Column of the sites, such as hospitals; None: "site" if there is such a column.',
    labels="The CSV. None: the only CSV in the folder, if it has slide ids. Without a CSV, every "
    "file is a bag without a label.",
    key='The array of a file; None: "features", or the only one.',
    only=("iterable of str", "Ids of the slides to read; None: all."),
    mapped="Whether features stay in their files, where the format has them in one piece (.npy, "
    "and .h5 without chunks and compression). ``bags.X`` is then a row store: linear models read "
    "it in blocks, other models as a whole, and ``np.asarray(bags.X)`` is an array.",
    decimal=('{".", ","}', "Decimal separator of labels that are numbers."),
)
def read_slides(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    groups: Column | None = None,
    sites: Column | None = None,
    labels: str | Path | None = None,
    key: str | None = None,
    only: Iterable[str] | None = None,
    mapped: bool = False,
    decimal: str = ".",
) -> LabeledBags:
    """Read a folder with one file of patch features per slide, and a CSV of labels.

    The file of a slide is named by its id, or is the only one that begins with it before a dot.
    Files without a row and rows without a label are left out with a warning that names them. If
    files are missing or cannot be read, one error lists all problems of the folder.

    Examples
    --------
    >>> from bagwise import io
    >>> from bagwise.datasets import make_slide_bags
    >>> bags, y = make_slide_bags(n_bags=4, bag_size=20, n_features=8)
    >>> folder = getfixture("tmp_path") / "clam"
    >>> io.write_slides(folder, bags, y)
    >>> again, y = io.read_slides(folder)
    >>> again.patch_size, bool((again.coords == bags.coords).all())
    (array([256., 256., 256., 256.]), True)
    """
    path = Path(path)
    found = _feature_files(path)
    named = {"bag": bag, "label": label, "groups": groups, "sites": sites}
    listing, notes = _find_csv(path, named) if labels is None else (Path(labels), [])
    if listing is None:
        slides = [_Slide(name, [file], {}) for name, file in found.items()]
    else:
        slides, notes = _list_slides(listing, named, found)
    if path.is_file():
        slides = [slide for slide in slides if slide.files]
    if only is not None:
        chosen, notes = resolve_names(map(str, only), (slide.name for slide in slides)), []
        slides = [slide for slide in slides if slide.name in chosen]
    slides = [slide for slide in slides if slide.about.get("label") not in MISSING]
    there = [slide for slide in slides if slide.files]
    if not there:
        what = "no slide has a file, a row and a label."
        raise FormatError(listing or path, " ".join([what, *notes]))
    missing = [slide.name for slide in slides if not slide.files]
    broken = _count(missing, "without a file (leave out the row, or make the features)")
    return _load(path, there, broken, notes, key, mapped, decimal)


class _Slide(NamedTuple):
    name: str
    files: list[Path]  # one; none if it is missing, several if the name is ambiguous
    about: dict[str, str]  # what the CSV says, by role

    @property
    def file(self) -> Path:
        """The only file of the slide, or an error."""
        if len(self.files) > 1:
            names = list_names([file.name for file in self.files])
            raise FormatError(self.name, f"this slide has several files: {names}.")
        return self.files[0]


# Which files --------------------------------------------------------------------------------------


def is_slide_folder(path: Path) -> bool:
    """Whether a folder holds files of features, itself or in the subfolders of pipelines."""
    return any(_with_features(folder) for folder in (path, *_subfolders(path)))


def _subfolders(path: Path) -> list[Path]:
    clam = [path / name for name in ("h5_files", "pt_files") if (path / name).is_dir()]
    trident = [*path.glob("features_*"), *path.glob("*/features_*")]  # of one size, of all
    return clam[:1] or sorted(folder for folder in trident if folder.is_dir())


def _with_features(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in SLIDE_SUFFIXES)


def _feature_files(path: Path) -> dict[str, Path]:
    """Return the files by name without suffix; of one name, the suffix that comes first."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.is_file():
        return {path.stem: path}
    files = _with_features(path)
    if not files:
        folders = _subfolders(path)
        if len(folders) > 1:
            names = list_names([str(folder.relative_to(path)) for folder in folders])
            raise FormatError(path, f"contains features of several encoders: name one, of {names}.")
        files = _with_features(folders[0]) if folders else []
    if not files:
        raise FormatError(path, f"contains no files of features ({', '.join(SLIDE_SUFFIXES)}).")
    files.sort(key=lambda file: SLIDE_SUFFIXES.index(file.suffix.lower()), reverse=True)
    return dict(sorted({file.stem: file for file in files}.items()))


def find_pictures(folder: Path, ids: Iterable[str], suffixes: Sequence[str]) -> dict[str, Path]:
    """Return the pictures of bags: named by the id, or one of both begins the other before a dot.

    A name that could be that of several is an error; bags without a picture are left out.
    """
    there = sorted(folder.iterdir(), reverse=True)  # of one name, the first counts
    files = {file.stem: file for file in there if file.suffix.lower() in suffixes}
    found = match_names(ids, files)
    shorter = match_names(files, [name for name, stems in found.items() if not stems])
    pictures = require_single({name: stems for name, stems in found.items() if stems}, files)
    begun = require_single({stem: names for stem, names in shorter.items() if names}, files)
    pictures |= {name: stem for stem, name in begun.items()}
    return {name: files[stem] for name, stem in pictures.items()}


def _find_csv(path: Path, named: dict[str, Any]) -> tuple[Path | None, list[str]]:
    """Return the only CSV of a folder, if it has slides, and a sentence if one is not used."""
    listings = sorted(path.glob("*.csv")) if path.is_dir() else []
    if any(column is not None for column in named.values()):
        if len(listings) != 1:
            problem = f"has {len(listings)} CSV files with columns: name one with "
            raise FormatError(path, Message(problem, Argument("labels"), "."))
        return listings[0], []
    if len(listings) == 1 and {*sniff(listings[0], header=True).names} & {*_USUAL["bag"]}:
        return listings[0], []
    names = list_names([file.name for file in listings])
    remedy = "name it with labels=... and its column of slides with bag=..."
    return None, [f"No labels: {names} is not used, {remedy}."] if listings else []


# Which slides -------------------------------------------------------------------------------------


def _choose_roles(listing: Path, names: list[str], named: dict[str, Any]) -> dict[str, int]:
    """Return the columns by role; rows without slides are those of patients."""
    usual = {r: next((n for n in each if n in names), "") for r, each in _USUAL.items()}
    roles = find_roles(listing, names, named, usual)
    if "groups" in roles:
        roles.setdefault("bag", roles["groups"])
    require_bag(listing, names, roles, "slide_id")
    return roles


def _list_slides(
    listing: Path, named: dict[str, Any], found: dict[str, Path]
) -> tuple[list[_Slide], list[str]]:
    """Return the slides of a CSV with their files, and sentences about what is left out."""
    roles = _choose_roles(listing, sniff(listing, header=True).names, named)
    rows = {f["bag"].strip(): f for _, f in read_listing(listing, lambda _: roles)}
    of_patients = roles["bag"] == roles.get("groups")
    stems = match_names(rows, found, ".-_" if of_patients else ".")
    slides = []
    for name, about in rows.items():
        del about["bag"]
        files = [found[stem] for stem in stems[name]]
        if of_patients and files:
            slides += [_Slide(file.stem, [file], about) for file in files]
        else:
            slides.append(_Slide(name, files, about))
    unlabeled = [slide.name for slide in slides if slide.about.get("label") in MISSING]
    strays = found.keys() - {stem for each in stems.values() for stem in each}
    notes = [
        *_count(unlabeled, f"of {listing.name} without a label"),
        *_count(sorted(strays), f"without a row in {listing.name}", "file"),
    ]
    return slides, notes


def _count(names: list[str], what: str, unit: str = "slide") -> list[str]:
    if not names:
        return []
    return [f"{len(names)} {unit}{'s' * (len(names) > 1)} {what}: {list_names(names)}."]


# Reading ------------------------------------------------------------------------------------------


def _load(
    path: Path,
    slides: list[_Slide],
    broken: list[str],
    notes: list[str],
    key: str | None,
    mapped: bool,
    decimal: str,
) -> LabeledBags:
    stack, missing = BagStack(), list[str]()
    sizes: list[float | None] = []
    widths: dict[int, list[str]] = {}
    for slide in slides:
        try:
            values, extra = load_bag(slide.file, key, None, mapped)
            widths.setdefault(values.shape[1], []).append(slide.file.name)
            if len(widths) == 1:  # else an error follows, and nothing more need be kept
                stack.add(slide.file, values, extra)
            sizes.append(read_patch_size(slide.file))
            missing += _find_missing(slide, values)
        except (FormatError, OSError) as error:
            broken.append(str(error))
    broken += _find_unusual(widths)
    if broken:
        every = [*broken, *missing, *notes]
        lines = list_names(every, "\n- ")
        noun = "problem" if len(every) == 1 else "problems"
        raise FormatError(path, f"{len(every)} {noun}:\n- {lines}")
    if notes:
        warnings.warn(f"{path}: {' '.join(notes)}", stacklevel=4)
    more: dict[str, Any] = {"decimal": decimal, "is_finite": not missing}
    more |= {} if None in sizes else {"patch_size": np.array(sizes, dtype=np.float64)}
    ids = np.array([slide.name for slide in slides])
    return stack.make_bags([slide.about for slide in slides], ids, **more)


def _find_unusual(widths: dict[int, list[str]]) -> list[str]:
    """Name the files whose number of features is not that of most files."""
    usual = max(widths, key=lambda width: len(widths[width]), default=0)
    return [
        f"{name}: has {width} features, {widths[usual][0]} and most files have {usual}."
        for width, names in widths.items()
        for name in names
        if width != usual
    ]


def _find_missing(slide: _Slide, values: Array) -> list[str]:
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if not len(bad):
        return []
    return [f"{slide.file.name}: patch {bad[0]} has a missing or infinite value ({len(bad)} such)."]


# Writing ------------------------------------------------------------------------------------------


@writes(path="The folder; it must be new or empty.", bags="The slides; their ids name the files.")
def write_slides(path: str | Path, bags: Bags, y: Any = None) -> None:
    """Write a folder as CLAM does: ``slides.csv`` and one HDF5 file per slide in ``h5_files``.

    Examples
    --------
    >>> from bagwise import Bags, io
    >>> folder = getfixture("tmp_path") / "clam"
    >>> io.write_slides(folder, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), [1, 0])
    >>> sorted(file.name for file in (folder / "h5_files").iterdir())
    ['a.h5', 'b.h5']
    """
    path = Path(path)
    refuse_full(path)
    names = [str(name) for name in bags.ids.tolist()]
    bad = next((name for name in names if not name or {*name} & {*'/\\:*?"<>|'}), None)
    if bad is not None or len(set(names)) < len(names):
        raise ValueError(f"Slide ids name files: they must differ, and {bad!r} cannot be a name.")
    named = {"bag": "slide_id", "group": "case_id", "site": "site", "label": "label"}
    columns = {named[n]: v for n, v in bag_columns(bags, y).items() if n in named}
    files = [f"h5_files/{name}.h5" for name in names]
    write_files(path, bags, files, "slides.csv", columns)
