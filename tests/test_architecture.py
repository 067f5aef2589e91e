"""The architecture page as tests: import direction, what is loaded, sizes, the tests' own tree."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bagwise

ROOT = Path(bagwise.__file__).parent

# From the ground up. A module imports its own layer and the ones above it in this list.
LAYERS = [
    {"bags", "rowstores", "errors", "tolerances", "_documented", "_removed", "_jit"} | {"_typing"},
    {"losses", "kernels", "graphs", "assumptions", "times"},
    {"designs", "problems"},
    {"solvers"},
    {"rows"},
    {"procedures"},
    {"crossfit"},
    {"estimators"},
    {"preprocessing", "models"},
    {"metrics", "measures", "datasets", "io", "catalog"},
    {"inspection", "plot"},
    {"model_selection"},
    {"persistence"},
    {"bench", "reports", "testing"},
    {"__init__"},
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(ROOT.rglob("*.py"))

LONGEST_FILE = 420  # lines: what a reader can keep in mind

TESTS = Path(__file__).parent
# Tests of something that is no module of the package, and of what.
NOT_OF_A_MODULE = {
    "bench/test_presets.py": "the folder of presets",
    "bench/test_published.py": "the records behind the tables of the papers, in docs/results",
    "browser/test_report.py": "reports, in a real browser",
    "browser/test_site.py": "the documentation, in a real browser",
    "cli/test_init.py": "cli/__init__.py",
    "cli/test_mistakes.py": "docs/mistakes.md",
    "cli/test_page.py": "docs/cli.md",
    "cli/test_places.py": "--device and --dask, over several commands",
    "cli/test_road.py": "benchmarks/road.py: messy data, from info to the report",
    "cli/test_refusals.py": "bad arguments, over several commands",
    "cli/test_tasks.py": "numbers, grades and times, from a table to the evaluation",
    "cli/test_wording.py": "errors of the library, as the command line words them",
    "estimators/test_approximation.py": "kernel_options, over all kernel estimators",
    "estimators/test_restarts.py": "n_init, over all estimators that have it",
    "examples/test_toy2d.py": "examples/toy2d.py",
    "examples/test_tutorials.py": "examples/tutorials",
    "fuzz/test_fuzz.py": "the fuzzers, and a short run of both",
    "installed/test_installed.py": "the installed wheel, outside of the tree",
    "io/test_roundtrip.py": "writing and reading again, over all formats",
    "models/test_hard_cases.py": "data on which models once answered wrongly in silence",
    "models/test_limits.py": "limits in which models are those of scikit-learn",
    "testing/test_bad_inputs.py": "bad inputs, over estimators, data, files and commands",
    "test_architecture.py": "the package as a whole",
    "test_benchmarks.py": "the folder of benchmarks",
    "test_league.py": "benchmarks/league",
    "test_conftest.py": "conftest.py",
    "test_docs.py": "the pages",
    "test_release.py": "the conda recipe, the constraints and the workflows",
    "test_docstrings.py": "the docstrings of all public names",
    "test_model_selection_sklearn.py": "scikit-learn's tools, used with bags",
}

LOADED_WHERE_USED = (
    *("numba", "torch", "matplotlib", "dask", "distributed", "pandas", "polars"),
    *("pyarrow", "h5py", "typer", "rich", "platformdirs", "piqp"),
)


def part_of(path: Path) -> str:
    """Return the module or package directly under bagwise that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports_at_run_time(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Walk over all imports, those in functions included, without those for the type checker."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for statement in child.orelse:
                yield from imports_at_run_time(ast.Module([statement], []))
        else:
            yield from imports_at_run_time(child)


def imported_parts(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, part of bagwise) for every import of the project's own modules."""
    for node in imports_at_run_time(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = ["bagwise.__init__" if node.level else name for name in names]
        else:
            names = [alias.name for alias in node.names]
        for name in names:
            package, *inner = name.split(".")
            if package == "bagwise":
                yield node.lineno, inner[0] if inner and inner[0] in LEVEL else "__init__"


def upward_imports(part: str, source: str) -> list[str]:
    """Name the imports that go against the direction."""
    return [
        f"line {line}: {part} imports {other}"
        for line, other in imported_parts(source)
        if LEVEL[other] > LEVEL[part]
    ]


def test_every_module_is_in_a_layer():
    homeless = sorted({part_of(path) for path in MODULES} - LEVEL.keys())
    assert homeless == [], "list these in LAYERS, at the lowest level that holds"


def test_imports_point_downwards():
    listed = [path for path in MODULES if part_of(path) in LEVEL]
    wrong = {str(path): upward_imports(part_of(path), path.read_text()) for path in listed}
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("part", "source", "n_wrong"),
    [
        ("solvers", "from bagwise.problems import Problem", 0),
        ("solvers", "from bagwise.solvers.newton import solve", 0),
        ("solvers", "from bagwise.models.mica import MICA", 1),
        ("solvers", "import bagwise.models.mica as mica", 1),
        ("solvers", "def f():\n    from bagwise.models import MICA", 1),
        ("solvers", "from bagwise import bags, models", 1),
        ("solvers", "from bagwise import Bags", 1),
        ("solvers", "from . import Bags", 1),
        ("solvers", "if TYPE_CHECKING:\n    from bagwise.models import MICA", 0),
        ("solvers", "if TYPE_CHECKING:\n    pass\nelse:\n    from bagwise.models import MICA", 1),
        ("cli", "from bagwise import Bags", 0),
        ("__init__", "from bagwise.cli import app", 1),
    ],
)
def test_the_rule_sees_what_it_should(part, source, n_wrong):
    assert len(upward_imports(part, source)) == n_wrong


def test_import_bagwise_loads_no_heavy_library():
    # scikit-learn itself loads pandas and rich where they are installed: what bagwise adds counts.
    code = "import sys, sklearn.svm; before = set(sys.modules); import bagwise; "
    code += "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = set(run.stdout.split())
    assert "bagwise" in added
    assert sorted(added & set(LOADED_WHERE_USED)) == []


IMPORT_ALONE = """
import os, sys
import pandas, scipy.sparse, sklearn.base  # once for all; each fork imports one part of bagwise
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        __import__(name)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} cannot be imported before the others: is there a circular import?")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_every_part_may_be_imported_first():
    """Workers of a cluster unpickle rows first: a circular import let them wait forever."""
    parts = {module.relative_to(ROOT).parts[0].removesuffix(".py") for module in MODULES}
    names = sorted(parts - {"__init__", "__main__"}) + ["rowstores.cluster", "rows.cluster"]
    command = [sys.executable, "-c", IMPORT_ALONE, *(f"bagwise.{name}" for name in names)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr


# Files -------------------------------------------------------------------------------------------


def test_no_file_is_too_long():
    lengths = {str(path): len(path.read_text().splitlines()) for path in MODULES}
    assert [path for path, n in lengths.items() if n > LONGEST_FILE] == [], "split them"


def namesakes(test: Path) -> list[Path]:
    """Return where the module of a test module may lie; private modules drop their underscore."""
    folder, name = ROOT / test.parent, test.stem.removeprefix("test_")
    return [folder / f"{name}.py", folder / f"_{name}.py", folder / name / "__init__.py"]


def test_tests_mirror_the_source():
    tests = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]
    strays = {str(test) for test in tests if not any(map(Path.is_file, namesakes(test)))}
    assert strays == NOT_OF_A_MODULE.keys(), "move it beside its module, or say what it tests"


def test_what_only_tests_use_is_not_shipped():
    """Independent solvers live in tests/reference, and nothing in the package needs them."""
    assert (TESTS / "reference" / "program.py").is_file()
    named = [path for path in MODULES if "clarabel" in path.read_text()]
    assert named == []
