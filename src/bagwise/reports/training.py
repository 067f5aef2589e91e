"""How a model was trained: certificate in words, parameters, versions, convergence."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from bagwise.plot import annealing_path
from bagwise.plot._display import new_axes

_PACKAGES = ("bagwise", "numpy", "scipy", "scikit-learn", "numba")
_SHOWS = ("callback", "verbose", "n_jobs")  # parameters that change no number
_SMALL = 1e-4  # relative gap that no prediction notices


def certificate(model: Any) -> str:
    """Say what is proven about the solution, and what a reader should make of it."""
    gap, objective = (getattr(model, f"{name}_", None) for name in ("gap", "objective"))
    if gap is None or objective is None:
        return "This kind of model comes without a proof of how well its problem was solved."
    gap, objective = float(np.max(gap)), float(np.max(np.abs(objective)))
    relative = gap / objective if objective else gap
    if not np.isfinite(relative):
        return "The solver proved no bound on its error: treat the result with caution."
    within = (
        f"to within {relative:.1e} of" if relative > np.finfo(float).eps else "up to rounding at"
    )
    solved = (
        f"The last convex problem of the training is proven to be solved {within} its best "
        "possible objective"
    )
    if relative <= _SMALL:
        return f"{solved}: training longer would not change the model."
    return f"{solved}. That is a lot: raise max_iter, or scale the features."


def parameters(model: Any, whole: Any) -> list[tuple[str, str]]:
    """Return the steps before a model, and the parameters that change its numbers, as texts."""
    before = [repr(step) for _, step in getattr(whole, "steps", [])[:-1]]
    known = sorted(model.get_params(deep=False).items())
    shown = [(name, repr(value)) for name, value in known if name not in _SHOWS]
    return [("steps before it", ", ".join(before)), *shown] if before else shown


def versions() -> list[tuple[str, str]]:
    """Return the versions of what computed the numbers."""
    return [("Python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)]


def convergence(model: Any) -> Any:
    """Return a figure of the objective by iteration, or of the temperatures; None without."""
    history = getattr(model, "history_", None)
    if not history or not isinstance(history[0], dict):
        return None
    if "temperature" in history[0]:
        return annealing_path(model)
    values = [record["objective"] for record in history if "objective" in record]
    if len(values) < 2:
        return None
    ax = new_axes()
    ax.plot(np.arange(1, len(values) + 1), values, "o-")
    ax.set(xlabel="outer iteration", ylabel="objective")
    ax.locator_params(axis="x", integer=True)
    return ax.get_figure()
