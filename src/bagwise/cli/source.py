"""DATA on the command line: the options that say how it is read, and its reading."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from shlex import join, quote
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.cli.model import check_task, cut_labels, need_labels, need_numbers
from bagwise.cli.options import as_words, one_of, split_names
from bagwise.cli.output import say, steps
from bagwise.errors import list_names

_TOGETHER = "--duration and --event belong together, in place of --label."
_TASKS = ("classes", "numbers", "grades", "times")
TABLES = ("csv", "excel", "parquet", "arrow", "h5ad")  # formats whose columns have names


def missing_file(path: Path) -> FileNotFoundError:
    """Return the error about a file that is not there, with names that look like it."""
    there = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, there, n=2, cutoff=0.7)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return FileNotFoundError(f"There is no file or folder {path}.{meant}")


@contextmanager
def add_hints(data: Path, columns: dict[str, Any]) -> Iterator[None]:
    """Say after an error about a column what it may be; the error itself is raised again."""
    from bagwise.io.errors import FormatError, MixedTypeError

    try:
        yield
    except FormatError as error:
        roles = ["bag", *filter(None, (columns.get(name) for name in ("bag", "label", "groups")))]
        of_model = isinstance(columns.get("features"), tuple)  # no column can be left out
        if isinstance(error, MixedTypeError) and "decimal" not in error.problem and not of_model:
            drop = f"--drop {quote(str(error.column))}"
            say(escape(f"Hint: leave the column out with {drop}, or name its role."))
            _hint(data, columns)
        elif any(error.problem.startswith(f"has no column {name!r}") for name in roles):
            _hint(data, columns)
        raise


def guess_columns(
    data: Path, format: str, bag: str | None, decimal: str | None = None, aside: Sequence[str] = ()
) -> tuple[Any, Any]:
    """Return a table, and what its columns but some look like from their values."""
    from bagwise.io.findings import guess_roles, read_table

    frame = read_table(data, format, decimal=decimal)
    frame.columns = [str(name) for name in frame.columns]
    bag, rest = bag or "bag", frame.drop(columns=[*aside], errors="ignore")
    return frame, guess_roles(rest, bag if bag in rest else None)


def _hint(data: Path, columns: dict[str, Any]) -> None:
    from bagwise.io.dispatch import recognize

    format = recognize(data)
    if format not in TABLES:
        return
    roles = guess_columns(data, format, columns.get("bag"))[1]
    guessed = {"bag": roles.bag, "label": roles.label, "groups": roles.groups}
    known = guessed if "label" in columns else ("bag",)  # to the command
    words = as_words(**{n: guessed[n] for n in known if guessed[n] != columns.get(n)})
    if roles.bag is not None and words:
        say(escape(f"Hint: from their values, the columns may be {join(words)}."))


def _check_impute(impute: str | None) -> str | None:
    if impute is None:
        return None
    from bagwise.model_selection import IMPUTES

    return one_of(impute, IMPUTES, "imputation")


def _check_task(task: str | None) -> str | None:
    return None if task is None else one_of(task, _TASKS, "task")


def _column(text: str) -> Any:
    return typer.Option(help=text, metavar="COLUMN")


_DATA = "File or folder with bags, or the name of a data set (see `bagwise datasets`)."
_LABELS = "CSV with a row per slide (--bag, --label, --groups), for a folder of features."
_FEATURES = "Feature columns, with commas; patterns such as 'f*' work. Default: all others."
_DROP = "Columns to leave out, with commas; patterns work too."
_DECIMAL = 'Decimal separator of the numbers: "." or ",".'
_IMPUTE = "Fill missing values: median, mean, most_frequent or zero."
_CUT = "Of labels that are numbers, make two classes: yes from this number on, and no."
_UNIT = "Merge bags: column with what becomes the bag, such as the patient of a slide."
_DURATION = "Column with the times of events or of censoring; --event says which it is."
_EVENT = (
    "Column that is 1 where the event happened at --duration, 0 where it had not until then; "
    "COLUMN=WORD for a column of words."
)
_COVARIATES = "Columns with facts of the bag, such as age,stage, to learn from beside instances."
_ANNOTATIONS = "Folder of GeoJSON files, one per slide, with areas of known class, as of QuPath."
_TASK = "What labels are: classes, numbers, grades or times. Default: as the labels look."
_ORDER = "Grades from the lowest to the highest, with commas."
_SMILES = "Column with SMILES: each row is a molecule, the bag of its 3-D shapes (needs rdkit)."
_FORMAT = (
    "csv, excel, parquet, arrow, arff, c45, svmlight, mat, h5ad, bags, folder or slides. "
    "Default: detected."
)
Data = Annotated[Path, typer.Argument(metavar="DATA", help=_DATA)]
Bag = Annotated[str | None, _column("Column with the bag of each row, by name or number.")]
Label = Annotated[str | None, _column("Column with the labels.")]
Duration = Annotated[str | None, _column(_DURATION)]
Event = Annotated[str | None, _column(_EVENT)]
Labels = Annotated[Path | None, typer.Option(help=_LABELS, metavar="CSV")]
Groups = Annotated[str | None, _column("Column with groups that share a fold, such as patients.")]
Unit = Annotated[str | None, _column(_UNIT)]
Site = Annotated[str | None, _column("Column with the site of each bag, such as its hospital.")]
InstanceId = Annotated[str | None, _column("Column with an id of each row.")]
Known = Annotated[
    str | None, _column("Column with labels of instances to learn from; empty where unknown.")
]
Covariates = Annotated[str | None, typer.Option(help=_COVARIATES, metavar="NAMES")]
Annotations = Annotated[Path | None, typer.Option(help=_ANNOTATIONS, metavar="FOLDER")]
Format = Annotated[str | None, typer.Option(help=_FORMAT, metavar="FORMAT")]
Decimal = Annotated[str | None, typer.Option(help=_DECIMAL, metavar="MARK")]
Regroup = Annotated[
    bool, typer.Option("--regroup", help="Accept bags whose rows are not consecutive.")
]


@dataclass(frozen=True)
class Source:
    """The data and how to read it."""

    data: Data
    bag: Bag = None
    label: Label = None
    groups: Groups = None
    features: Annotated[list[str] | None, typer.Option(help=_FEATURES, metavar="NAMES")] = None
    format: Format = None
    regroup: Regroup = False
    labels: Labels = None
    drop: Annotated[list[str] | None, typer.Option(help=_DROP, metavar="NAMES")] = None
    decimal: Decimal = None
    impute: Annotated[
        str | None, typer.Option(help=_IMPUTE, metavar="HOW", callback=_check_impute)
    ] = None
    instance_id: InstanceId = None
    cut: Annotated[float | None, typer.Option(help=_CUT, metavar="NUMBER")] = None
    duration: Duration = None
    event: Event = None
    unit: Unit = None
    known: Known = None
    annotations: Annotations = None
    task: Annotated[str | None, typer.Option(help=_TASK, metavar="TASK", callback=_check_task)] = (
        None
    )
    order: Annotated[str | None, typer.Option(help=_ORDER, metavar="GRADES")] = None
    smiles: Annotated[str | None, _column(_SMILES)] = None
    covariates: Covariates = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by name or number; None where none was given."""
        if self.unit is not None and self.groups is not None:
            raise typer.BadParameter("--unit keeps its bags together: leave out --groups.")
        unit = None if self.unit == "group" else self.unit  # which files have by themselves
        return {"bag": self.bag, "label": self.label, "groups": self.groups or unit}

    def read(self, *, check: bool = True, labeled: bool = True, **more: Any) -> tuple[Bags, Any]:
        """Return bags and labels, which are None where there are none.

        ``more`` are arguments of readers that no option names, such as the columns of sites.
        """
        columns = {**self.columns, "features": split_names(self.features)}
        columns |= {"drop": split_names(self.drop), "decimal": self.decimal, "labels": self.labels}
        columns |= {"instance_ids": self.instance_id, "known_labels": self.known}
        columns |= {"smiles": self.smiles, **more}
        if not labeled:  # no column is taken for them
            del columns["label"]
        named = split_names(self.covariates) or []
        if named and columns["features"] is None and self.labels is None:
            columns["drop"] = [*(columns["drop"] or []), *named]  # facts of bags are no features
        if self.duration is not None or self.event is not None:
            if self.label is not None:
                raise typer.BadParameter(_TOGETHER)
            columns["label"] = (self.event, self.duration)
        bags, y = read_bags(self.data, self.format, self.regroup, check=check, **columns)
        if named:
            from bagwise.io.covariates import attach_covariates

            how = (named, self.bag, self.decimal)
            bags = attach_covariates(bags, self.labels or self.data, *how)
        if self.unit is not None:
            if bags.groups is None:
                what = f"bags are to be merged by {self.unit}, and {self.data} has no such column"
                raise typer.BadParameter(f"{what}: name it with --unit.")
            bags, y = (bags.merge(), None) if y is None else bags.merge("groups", y)
        y = cut_labels(y, self.cut, bags.ids)
        return self._annotate(bags, y), y

    def _annotate(self, bags: Bags, y: Any) -> Bags:
        if self.annotations is None:
            return bags
        from bagwise.estimators.input import find_known
        from bagwise.io import read_annotations

        bags = read_annotations(self.annotations, bags, () if y is None else y)
        known = bags.known_labels[find_known(bags.known_labels)]
        counts = zip(*np.unique(known, return_counts=True), strict=True)
        named = ", ".join(f"{count} of class {label:g}" if known.dtype.kind == "f" else
                          f"{count} of class {label}" for label, count in counts)  # fmt: skip
        say(escape(f"Known instances by annotations: {named or 'none'}."))
        return bags

    @property
    def notes(self) -> dict[str, Any]:
        """How the data were read: those who apply the model read theirs in the same way."""
        more = {"decimal": self.decimal, "instance_ids": self.instance_id, "impute": self.impute}
        times = {"duration": self.duration, "event": self.event, "smiles": self.smiles}
        others: dict[str, Any] = {"regroup": self.regroup, "cut": self.cut, "unit": self.unit}
        others |= {"drop": split_names(self.drop), "covariates": split_names(self.covariates)}
        return {**self.columns, **more, **times, **others}

    def read_labeled(
        self, *, check: bool = True, task: str = "classes", site: str | None = None
    ) -> tuple[Bags, Any]:
        """Return bags and labels; both must be complete, which may also be checked elsewhere."""
        bags, y = self.read(check=check, sites=site)
        y = need_labels(y, self.data)
        check_task(y, task, self)
        return check_bags(bags, finite=self.impute is None or "allow-nan") if check else bags, y

    def words(self) -> list[str]:
        """Return the words of a command line that reads the same."""
        given = asdict(self)
        return [str(given.pop("data")), *as_words(**given)]


def read_bags(
    data: Path,
    format: str | None = None,
    regroup: bool = False,
    *,
    check: bool = True,
    **columns: Any,
) -> tuple[Bags, Any]:
    """Read bags and labels from a file of any format, or fetch a data set by its name."""
    if not data.exists():
        return _fetch(data, columns)
    from bagwise.io.dispatch import READERS, recognize

    format = one_of(format or recognize(data), READERS, "format")
    if isinstance(columns.get("label"), tuple):
        return _read_times(data, format, regroup, check, columns)
    if columns.get("smiles") is None or format not in TABLES:
        return _read_file(data, format, regroup, check, columns)
    with steps("Shapes of molecules") as tell:
        columns["callback"] = partial(tell, None)
        return _read_file(data, "molecules", regroup, check, columns)


def _read_times(
    data: Path, format: str, regroup: bool, check: bool, columns: dict[str, Any]
) -> tuple[Bags, Any]:
    """Return bags with events and times, whose columns are read one after the other."""
    from bagwise.io.errors import LabelError
    from bagwise.times import check_times

    event, duration = columns["label"]
    if event is None or duration is None:
        raise typer.BadParameter(_TOGETHER)
    event, _, word = event.partition("=")
    rest = format in TABLES and format != "h5ad"  # where columns without a role are features
    named = columns.get("features") is not None or columns.get("smiles") is not None
    found = []
    for label, other in ((event, duration), (duration, event)):
        one = {**columns, "label": label}
        if rest and not named:
            one["drop"] = [*(columns.get("drop") or []), other]
        try:
            bags, y = read_bags(data, format, regroup, check=check, **one)
        except LabelError as error:  # of which label
            raise LabelError(error.path, error.problem, error.line, label) from error
        found.append(need_labels(y, data))
    events = _find_events(found[0], event, word)
    times = need_numbers(found[1], bags.ids, f"--duration {duration} is for numbers; that")
    return bags, check_times(np.column_stack([events, times]), bags.ids).as_array()


def _find_events(labels: Array, column: str, word: str) -> Array:
    """Return where a column of words has the word of the event; 0 and 1 stay as they are."""
    counts = Counter(str(label) for label in labels.tolist())
    words = sorted(counts)
    if word and word not in words:
        raise typer.BadParameter(f"--event {column}={word}: the column has {list_names(words)}.")
    if not word:
        if labels.dtype.kind in "fiub" and (len(words) > 2 or np.isin(labels, (0, 1)).all()):
            return labels
        remedy = f"name the one that is the event by --event {quote(column)}=WORD"
        raise typer.BadParameter(f"--event {column} has {list_names(words)}: {remedy}.")
    alike = [w for w in words if w != word and w.strip().casefold() == word.strip().casefold()]
    if alike:
        problem = f"the column also has {alike[0]!r}, which would be censored: write them alike"
        raise typer.BadParameter(f"--event {column}={word}: {problem}.")
    censored = list_names(f"{w} ({counts[w]})" for w in words if w != word) or "none"
    say(escape(f"Event: {word} ({counts[word]}); censored: {censored}."))
    return np.array([str(label) == word for label in labels])


def _read_file(
    data: Path, format: str, regroup: bool, check: bool, columns: dict[str, Any]
) -> tuple[Bags, Any]:
    from bagwise.io import read
    from bagwise.io.dispatch import READERS

    options = {name: value for name, value in columns.items() if value is not None}
    path, kind = (options["labels"], "csv") if "labels" in options else (data, format)
    names = cache(partial(column_names, path, kind, options.values()))
    if format != "h5ad":  # whose genes and columns have names
        options |= {n: _name_or_number(value, names) for n, value in options.items() if n != "only"}
    if regroup:
        options["regroup"] = True
    _refuse_unknown(format, READERS[format], options)
    if format == "slides":
        options["mapped"] = True
    if format == "csv":
        _say_guess(data, columns)
    with add_hints(data, columns):
        bags, y = read(data, format=format, **options)
    return check_bags(bags, finite=False) if check else bags, y


def _fetch(data: Path, columns: dict[str, Any]) -> tuple[Bags, Any]:
    from bagwise.datasets import catalog, fetch

    if data.suffix or len(data.parts) > 1:  # no data set has such a name
        raise missing_file(data)
    name = one_of(str(data), [entry.name for entry in catalog()], "file, folder or data set")
    given = next((role for role, value in columns.items() if value is not None), None)
    if given is not None:
        flag = _FLAGS.get(given, given)
        raise typer.BadParameter(f"--{flag} is for files; {name} is a data set.")
    bags, y = fetch(name)[:2]
    return bags, y


_FLAGS = {"instance_ids": "instance-id", "sites": "site", "known_labels": "known"}  # options


def _name_or_number(value: Any, names: Callable[[], list[str]]) -> Any:
    """Turn "3" into a position where no column has that name; a list of columns one by one."""
    if isinstance(value, list):  # the tuple of a model's features has names only
        return [_name_or_number(one, names) for one in value]
    is_number = isinstance(value, str) and value.isdecimal() and value not in names()
    return int(value) if is_number else value


def column_names(path: Path, format: str, named: Iterable[Any] = ()) -> list[str]:
    """Return the names of the columns of a table; none of a CSV without a header (see `sniff`)."""
    from bagwise.io._arrowfiles import IPC, PARQUET, ArrowFile
    from bagwise.io.findings import read_table
    from bagwise.io.tables import sniff

    if format == "csv":
        text = sniff(path, named=named)
        return text.names if text.header_lines else []
    if format in ("parquet", "arrow"):
        return ArrowFile(path, PARQUET if format == "parquet" else IPC).names
    return [str(n) for n in read_table(path, format, 1).columns] if format in TABLES else []


def _refuse_unknown(format: str, reader: Any, options: dict[str, Any]) -> None:
    known = inspect.signature(reader).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for name in options:
        if name not in known:
            flag = f"--{_FLAGS.get(name, name)}"
            raise typer.BadParameter(f"{flag} does not apply to files of the format {format}.")


def _say_guess(data: Path, columns: dict[str, Any]) -> None:
    """Say which columns of a table without a header are taken for the bags and the labels."""
    open_roles = [role for role in ("bag", "label") if columns.get(role, "") is None]
    if not open_roles or column_names(data, "csv", columns.values()):
        return
    taken = {"bag": "bags are in column 0", "label": "labels are in column 1"}
    guess = ", ".join(taken[role] for role in open_roles)
    flags = " and ".join(f"--{role}" for role in open_roles)
    say(escape(f"{data} has no header: {guess}. Name others with {flags}, counting from 0."))
