"""How many files does a fit go through? Count those of which a function runs, for five routes.

    python benchmarks/routes.py [--tree ../0.2] [--files]

Each route runs in a process of its own. All modules are imported before, so that what decorators
and class bodies do at import does not count: a file counts if one of its Python functions is called
between the first line of the route and its last. Compiled functions are not seen, nor other
processes. Version 0.2 (commit be8192e) has 33, 40, 41, 61 and 68.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

CANDIDATES = ["MI-SVM", "SimpleMI"]  # of the automatic model: others would bring their own files


def bags() -> tuple[Any, Any]:
    """Draw bags like those of musk1: 92 of them, of five instances each."""
    from bagwise.datasets import make_gaussian_bags

    return make_gaussian_bags(n_bags=92, n_features=20, shift=3.0, random_state=0)


def fit_and_predict(name: str, **parameters: Any) -> Callable[[], Any]:
    def route() -> Any:
        import bagwise

        return getattr(bagwise, name)(**parameters).fit(*data).predict(data[0])

    data = bags()
    return route


def command() -> Callable[[], Any]:
    from bagwise import io as files
    from bagwise.cli import app

    folder = Path(tempfile.mkdtemp())
    files.write(folder / "bags.csv", *bags())
    words = ["fit", f"{folder}/bags.csv", "-m", "MI-SVM", "-o", f"{folder}/model.bagwise"]
    return lambda: app(words, standalone_mode=False)


ROUTES: dict[str, Callable[[], Callable[[], Any]]] = {
    "linear MI-SVM": lambda: fit_and_predict("WitnessSVC", kernel="linear"),
    "rbf AL-SVM": lambda: fit_and_predict("AnnealedLabelSVC"),
    "MIMN": lambda: fit_and_predict("MarkovNetworkClassifier"),
    "AutoBagClassifier": lambda: fit_and_predict("AutoBagClassifier", models=CANDIDATES),
    "bagwise fit": command,
}


def import_everything() -> Path:
    import bagwise

    for module in pkgutil.walk_packages(bagwise.__path__, "bagwise."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return Path(bagwise.__file__).parent


def trace(name: str) -> list[str]:
    """Return the files of a route."""
    root = f"{import_everything()}{os.sep}"
    route, seen = ROUTES[name](), set()

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            seen.add(frame.f_code.co_filename.removeprefix(root))

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.setprofile(profile)
        route()
        sys.setprofile(None)
    return sorted(seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--files", action="store_true", help="name the files")
    parser.add_argument("--one", choices=ROUTES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        print(json.dumps(trace(options.one)))
        return
    env = {**os.environ, "PYTHONPATH": str(options.tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    for name in ROUTES:
        call = [sys.executable, __file__, "--one", name]
        run = subprocess.run(call, env=env, stdout=subprocess.PIPE, text=True, check=True)
        files = json.loads(run.stdout)
        print(f"{name}: {len(files)} files", *(files if options.files else []), sep="\n  ")


if __name__ == "__main__":
    main()
