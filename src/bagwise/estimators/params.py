"""Parameters of estimators, each written once.

A parameter is a field of a class: its annotation, default, constraint and sentence of documentation
stand in one place. `Parameters` makes the keyword-only constructor, scikit-learn's
``_parameter_constraints`` and the numpydoc sections on parameters, attributes and references out of
the fields of a class, the docstrings of its bases and the "Reference:" of its module. Parameters
that many estimators have are in a table at the end of this file (`shared`); an estimator adds its
own fields:

    class WitnessSVC(MarginClassifier):
        init: str = param("mean", Words("mean", "random"), "The first witnesses.")
        max_iter: int = shared("max_iter")

A class changes the default or the sentence of an inherited parameter with `redeclare`; inherited
attributes that it does not have are named in ``_never_fitted``. Parameters that are rarely set are
those of an object, which is one parameter (`group`): ``set_params(annealing__cooling=2.0)``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self, dataclass_transform

from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from bagwise._documented import WIDTH, begin_example, documenting, join_sections, sections
from bagwise._removed import mark_removed_methods, refuse_parameters, refuse_value
from bagwise.errors import Message, Parameter
from bagwise.tolerances import LARGEST_EXACT

_MAX_JOBS = 4096  # more workers than any machine has cores: a typing error


class Words(StrOptions):
    """A choice between words, shown in the order given."""

    def __init__(self, *words: str) -> None:
        super().__init__(set(words))
        self.words = words


def positive(*, zero: bool = False) -> Interval:
    """Return the constraint of a positive number; with ``zero`` also 0."""
    return Interval(Real, 0, None, closed="left" if zero else "neither")


def integer(least: int = 1) -> Interval:
    """Return the constraint of an integer from ``least`` up."""
    return Interval(Integral, least, None, closed="left")


def fraction() -> Interval:
    """Return the constraint of a number in [0, 1]."""
    return Interval(Real, 0, 1, closed="both")


def param(default: Any, constraint: Any, doc: str, *, kind: str | None = None) -> Any:
    """Declare a parameter with a default of an immutable type and a sentence for users.

    ``constraint`` is what scikit-learn's validation accepts, or a list of such, and ``kind`` the
    type as documentation shows it, which is read from the constraint when not given.
    """
    is_list = isinstance(constraint, list) or constraint == "no_validation"
    facts = {"constraint": constraint if is_list else [constraint], "doc": doc, "kind": kind}
    return dataclasses.field(default=default, kw_only=True, metadata=facts)


def redeclare(group: type, name: str, **facts: Any) -> Any:
    """Declare an inherited parameter anew, with another ``default``, ``constraint`` or ``doc``."""
    inherited = group.__dataclass_fields__[name]  # type: ignore[attr-defined]
    return param(**{"default": inherited.default, **inherited.metadata, **facts})


def group(kind: type[Parameters], doc: str) -> Any:
    """Declare a group of parameters as one parameter; None stands for the group's defaults.

    ``set_params(name__one=value)`` changes one of them, in a copy of the group.
    """
    names = ", ".join(kind._parameter_constraints)
    return param(None, [kind, None], f"{doc} It has the parameters {names}; None is its defaults.")


@dataclass_transform(kw_only_default=True)
class Parameters(BaseEstimator):
    """Base of everything with parameters: turns fields into constructor, checks and docstring."""

    _groups: ClassVar[dict[str, type[Parameters]]] = {}
    _own_docstring: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):  # with a positional parameter
            return
        dataclasses.dataclass(eq=False, repr=False, match_args=False)(cls)
        cls.__init__ = _name_removed(cls.__init__)  # type: ignore[method-assign]
        mark_removed_methods(cls)
        declared = {field.name: field for field in _in_order(cls)}
        cls._parameter_constraints = {k: f.metadata["constraint"] for k, f in declared.items()}
        signature = inspect.signature(cls.__init__)
        ordered = [signature.parameters[name] for name in ("self", *declared)]
        cls.__init__.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
        first = {name: constraints[0] for name, constraints in cls._parameter_constraints.items()}
        cls._groups = {name: kind for name, kind in first.items() if _is_group(kind)}
        cls._own_docstring = cls.__dict__.get("__doc__") or ""
        cls.__doc__ = _write_docstring(cls, list(declared.values()))

    @documenting({}, "dict\n    The values.")(
        deep="Whether to add those of nested objects as ``group__name``."
    )
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; groups that are None have their defaults there."""
        values = super().get_params(deep)
        for name, kind in self._groups.items() if deep else ():
            if values[name] is None:
                values |= {f"{name}__{key}": value for key, value in kind().get_params().items()}
        return values

    @documenting({}, "Parameters\n    The object itself.")(
        values="The values; ``group__name`` is one parameter of a nested object."
    )
    def set_params(self, **values: Any) -> Self:
        """Set parameters by name."""
        for name, kind in self._groups.items():
            if any(key.startswith(f"{name}__") for key in values):
                given = values.pop(name, getattr(self, name))
                # A copy: the group may be that of another estimator as well.
                setattr(self, name, kind() if given is None else clone(given))
        try:
            return super().set_params(**values)
        except ValueError:
            refuse_parameters(type(self), (name.split("__")[0] for name in values))
            raise

    def _validate_params(self) -> None:
        for name, value in self.get_params(deep=False).items():
            limit = _MAX_JOBS if name == "n_jobs" else LARGEST_EXACT
            if isinstance(value, Integral) and abs(int(value)) > limit:
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} is an integer of "
                    f"{len(str(abs(int(value))))} digits: use at most {limit}."
                )
        try:
            super()._validate_params()
        except ValueError:
            for name, value in self.get_params(deep=False).items():
                refuse_value(type(self), name, value)
            raise
        for name in self._groups:
            if getattr(self, name) is not None:
                getattr(self, name)._validate_params()


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Parameters)


def _name_removed(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that says what replaces a removed parameter where it fails."""

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **values: Any) -> None:
        try:
            init(self, *args, **values)
        except TypeError:
            refuse_parameters(type(self), values)
            raise

    return construct


def _in_order(cls: type) -> Iterator[dataclasses.Field[Any]]:
    """Yield the fields of a class: its own first, then those of its bases, nearest first."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for base in cls.__mro__:
        for name in inspect.get_annotations(base):
            if name in fields:
                yield fields.pop(name)


_BEFORE = """\
>>> from bagwise import {}
>>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
"""  # what an example that imports nothing goes on from


# Docstrings --------------------------------------------------------------------------------------


def _write_docstring(cls: type[Parameters], fields: list[dataclasses.Field[Any]]) -> str:
    """Return the class's docstring with its sections on parameters and attributes filled in."""
    intro, own = sections(cls._own_docstring)
    parameters = "\n".join(map(_entry, fields))
    attributes = "\n".join(_attributes(cls).values())
    filled = {
        "Parameters": parameters,
        "Attributes": attributes,
        "See Also": "",
        "References": _reference(cls),
    }
    filled |= {name: text for name, text in own.items() if name != "Attributes"}
    return join_sections(intro, begin_example(filled, _BEFORE, cls.__name__))


def _reference(cls: type) -> str:
    """Return the references at the end of the docstring of the class's module."""
    module = sys.modules.get(cls.__module__)  # None where a worker gets a class of a user's script
    told = (getattr(module, "__doc__", None) or "").replace("\nReferences: ", "\nReference: ")
    _, found, text = told.partition("\nReference: ")
    text = f".. [1] {text.strip()}" if found else ""
    return textwrap.fill(text, WIDTH - 8, subsequent_indent="   ", break_on_hyphens=False)


def _entry(field: dataclasses.Field[Any]) -> str:
    kind = field.metadata["kind"] or " or ".join(_kinds(field.metadata["constraint"]))
    shown = f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)
    text = textwrap.indent(textwrap.fill(field.metadata["doc"], WIDTH - 12), "    ")
    return f"{field.name} : {kind}, default={shown}\n{text}"


def _kinds(constraints: list[Any]) -> Iterator[str]:
    """Yield the types that constraints allow, in the words of scikit-learn's documentation."""
    for constraint in constraints:
        if isinstance(constraint, Words):
            yield "{" + ", ".join(f'"{word}"' for word in constraint.words) + "}"
        elif isinstance(constraint, Interval):
            yield "int" if constraint.type is Integral else "float"
        elif isinstance(constraint, HasMethods):
            yield "estimator"
        elif constraint is callable:
            yield "callable"
        elif constraint is None:
            yield "None"
        elif isinstance(constraint, type):
            yield constraint.__name__
        else:
            yield {"boolean": "bool", "array-like": "sequence"}[constraint]


def _attributes(cls: type[Parameters]) -> dict[str, str]:
    """Return the entries of fitted attributes by name: the class's own, then its bases'."""
    found: dict[str, str] = dict.fromkeys(getattr(cls, "_never_fitted", ()), "")
    for base in cls.__mro__:
        _, parts = sections(base.__dict__.get("_own_docstring", ""))
        for entry in re.split(r"\n(?=\S)", parts.get("Attributes", "")):
            names = entry.split(" : ")[0].split(", ")
            needed = re.search(r"\n    With ``(\w+)``", entry)  # a parameter of some subclasses
            if needed and needed[1] not in cls._parameter_constraints:
                continue
            if entry and not found.keys() & set(names):
                found |= dict.fromkeys(names, "") | {names[0]: entry}
    return {name: entry for name, entry in found.items() if entry}


# Parameters that many estimators have -------------------------------------------------------------

_SHARED = {
    "C": param(1.0, positive(), "Weight of the losses; the regularizer is 1/2 |w|^2."),
    "loss": param("squared_hinge", Words("squared_hinge", "hinge"), "Margin loss."),
    "covariates": param(
        False,
        ["boolean"],
        "Append ``bags.bag_features``, such as age and stage, standardized, to the row of a bag.",
    ),
    "max_iter": param(50, integer(), "Maximum number of outer iterations."),
    "n_init": param(
        1,
        integer(),
        "Number of starts, of which the lowest objective is kept: first the usual one, then random "
        "ones. More than one adds ``starts_``.",
    ),
    "class_weight": param(
        None,
        [Words("balanced"), dict, None],
        'Weight of each class, multiplied with the weights of its bags. "balanced" gives every '
        "class the same total weight.",
        kind='"balanced", dict or None',
    ),
    "verbose": param(0, ["verbose"], "Print one line per iteration.", kind="int"),
    "callback": param(None, [callable, None], "Called with the record of each iteration, a dict."),
    "pos_label": param(
        None,
        "no_validation",
        "The positive label: bags with this label contain at least one instance of interest. "
        "``classes_[1]`` when None. For two classes only.",
        kind="label",
    ),
    "threshold": param(
        None,
        [Interval(Real, None, None, closed="neither"), Words("calibrated", "balanced"), None],
        "Bag score above which a bag is called positive. None is 0, or where the probability is "
        "1/2. On out-of-fold scores of the training bags, "
        '"calibrated" takes the most accurate one, "balanced" that of the highest balanced '
        "accuracy; probabilities do not depend on it.",
        kind='float, "calibrated", "balanced" or None',
    ),
    "probability": param(
        False,
        [Words("sigmoid"), Options(bool, {False})],
        'With "sigmoid" the estimator has ``predict_proba``: a sigmoid fitted to out-of-fold '
        "scores.",
        kind='False or "sigmoid"',
    ),
    "calibration_cv": param(
        5,
        ["cv_object"],
        "Folds of the out-of-fold scores behind ``threshold`` and ``probability``. A number of "
        "folds is stratified and keeps ``bags.groups`` together.",
        kind="int, splitter or iterable of folds",
    ),
    "cv": param(
        5,
        ["cv_object"],
        "Folds of the search; a number of folds is stratified and keeps ``bags.groups`` together.",
        kind="int, splitter or iterable of folds",
    ),
    "n_jobs": param(
        None,
        [Integral, None],
        "Number of classes, of folds, or of blocks of kernel values, worked on in parallel.",
        kind="int",
    ),
    "random_state": param(
        0,
        ["random_state"],
        "Seed of everything that is drawn. An int gives the same model in every fit, None a fresh "
        "draw.",
        kind="int, RandomState or None",
    ),
    "kernel": param(
        "rbf",
        [Words("linear", "rbf", "poly", "precomputed"), callable],
        'Kernel between instances. A callable takes two matrices. With "precomputed" the columns '
        "of the instances are kernel values with the instances numbered by ``instance_ids``.",
    ),
    "gamma": param(
        "median",
        [Words("median", "scale"), positive()],
        'Width of the rbf kernel, exp(-gamma d^2): "median" is 1 / (2 median distance^2), "scale" '
        "is scikit-learn's 1 / (n_features variance).",
    ),
    "degree": param(3, integer(), "Degree of the poly kernel."),
}


def inner_estimator(text: str) -> Any:
    """Return the parameter of the bag estimator that another one fits, None for its usual one."""
    fits = HasMethods(["fit", "decision_function"])
    return param(None, [fits, None], text, kind="bag estimator")


def shared(name: str, **facts: Any) -> Any:
    """Declare a parameter that many estimators have, perhaps with another default or sentence."""
    field = _SHARED[name]
    return param(**{"default": field.default, **field.metadata, **facts})


class KernelOptions(Parameters):
    """What is rarely changed about a kernel: a group of parameters.

    Examples
    --------
    >>> from bagwise import KernelOptions, WitnessSVC
    >>> WitnessSVC(kernel_options=KernelOptions(approx="nystroem")).kernel_options.approx
    'nystroem'
    """

    coef0: float = param(
        0.0, Interval(Real, None, None, closed="neither"), "Constant term of the poly kernel."
    )
    approx: str | None = param(
        None,
        [Words("nystroem"), None],
        'None uses the kernel as it is: memory grows with the square of the instances. "nystroem" '
        "replaces it by one of ``n_components`` features, for more instances than that allows; "
        "``kernel_error_`` says what it leaves out.",
    )
    n_components: int = param(
        500, integer(), 'Number of landmarks of ``approx="nystroem"``: training instances.'
    )


def check_approximable(options: KernelOptions, kernel: Any) -> None:
    """Refuse to approximate a kernel that needs no approximation."""
    if kernel not in ("linear", "precomputed"):
        return
    why = "needs no approximation" if kernel == "linear" else "is a matrix already"
    given = Parameter("kernel_options__approx", repr(options.approx))
    what = f" is for kernels of features; kernel={kernel!r} {why}. Use "
    raise ValueError(Message(given, what, Parameter("kernel", "'rbf'"), " or leave it out."))
