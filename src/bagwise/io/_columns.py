"""What all readers and writers of tables share: the columns they take, and their documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypedDict, cast

from bagwise._documented import Function, Sentence, documenting, join_sections, sections
from bagwise._removed import refuse_parameters
from bagwise.bags import Bags
from bagwise.io._files import refuse_stream

Column = str | int
LabeledBags = tuple[Bags, Any]
_THERE = "if there is such a column"


class Columns(TypedDict, total=False):
    """What all readers of tables take beside the columns of the bags and of the labels."""

    instance_labels: Column | None
    known_labels: Column | None
    groups: Column | None
    sites: Column | None
    parts: Column | None
    priors: Column | None
    instance_ids: Column | None
    features: Sequence[Column] | None
    drop: Sequence[Column] | None
    regroup: bool


_document_reader = documenting(
    {
        "path": "The file.",
        "bag": 'Column of the bag ids, by name or position; None: "bag", or the first without a '
        "header.",
        "label": 'Column of the bag labels, the same on all rows of a bag; None: "label" '
        f"{_THERE}, or the second without a header.",
        "instance_labels": f'Column of the labels of instances; None: "instance_label" {_THERE}.',
        "known_labels": "Column of labels of instances to learn from, empty where unknown; None: "
        f'"known_label" {_THERE}.',
        "groups": f'Column of the groups of bags, such as patients; None: "group" {_THERE}.',
        "sites": f'Column of the sites of bags, such as hospitals; None: "site" {_THERE}.',
        "parts": "Column of the part of its bag that an instance belongs to, such as the slide of "
        f'a patch where bags are patients; None: "part" {_THERE}.',
        "priors": "Column of the expected fraction of positive instances of a bag; None: "
        f'"prior" {_THERE}.',
        "instance_ids": f'Column of the ids of instances; None: "instance" {_THERE}.',
        "features": 'The feature columns, by name, position or pattern such as "f*"; None: all '
        "other columns.",
        "drop": "Columns to leave out, given in the same way.",
        "regroup": "Whether to accept a file in which the rows of a bag are not consecutive.",
    },
    returns="""\
bags : Bags
    The bags, in the order of the file.
y : ndarray of shape (n_bags,) or None
    Their labels: integers, floats or texts; None if there are none.""",
)
_document_writer = documenting(
    {
        "path": "The file to write.",
        "bags": "The bags; sparse ones are written with their zeros.",
        "y": ("array-like of shape (n_bags,)", "Their labels."),
    }
)

_ROUND_TRIP = """\
>>> from bagwise import Bags, io
>>> path = getfixture("tmp_path") / "bags{}"
>>> io.{}(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
>>> io.{}(path)
(Bags(2 bags, 3 instances, 1 features, 1-2 instances per bag, float64), array([1, 0]))"""


def reads(suffix: str = "", /, **own: Sentence) -> Callable[[Function], Function]:
    """Return a decorator that documents a reader, and spells out its ``**columns``.

    The example, where a docstring has none, writes and reads a file with the ``suffix``.
    """

    def document(function: Function) -> Function:
        given = inspect.signature(function)
        parameters = [p for p in given.parameters.values() if p.annotation != "Unpack[Columns]"]
        if len(parameters) < len(given.parameters):
            parameters += map(_spell_out, Columns.__annotations__.items())
            parameters.sort(key=lambda p: p.kind)
            vars(function)["__signature__"] = given.replace(parameters=parameters)
        documented = _show_round_trip(_document_reader(**own)(function), suffix)
        known = {p.name for p in parameters}

        @wraps(documented)
        def read(*arguments: Any, **named: Any) -> Any:
            if unknown := named.keys() - known:
                refuse_parameters(documented, unknown)
            refuse_stream(arguments[0] if arguments else named.get("path"))
            return documented(*arguments, **named)

        return cast(Function, read)

    return document


def writes(suffix: str = "", /, **own: Sentence) -> Callable[[Function], Function]:
    """Return a decorator that documents a writer; the example is that of its reader."""
    return lambda function: _show_round_trip(_document_writer(**own)(function), suffix)


def _show_round_trip(function: Function, suffix: str) -> Function:
    intro, found = sections(function.__doc__ or "")
    name = function.__name__
    pair = name.replace("read", "write"), name.replace("write", "read")
    found.setdefault("Examples", _ROUND_TRIP.format(suffix, *pair))
    function.__doc__ = join_sections(intro, found)
    return function


def _spell_out(column: tuple[str, Any]) -> inspect.Parameter:
    name, kind = column
    options: Any = {"default": False if name == "regroup" else None}
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=kind.__forward_arg__, **options
    )
