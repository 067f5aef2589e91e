"""Measure the house: lines, tuned constants, parameters, ancestries and names, by package.

    python tests/house.py [--tree CHECKOUT]

A *tuned constant* is a number, or a tuple of numbers, with a name in a module or a class body.
A *literal* is a number inside of a function other than the everyday ones (`EVERYDAY`): it counts
beside the constants, so that moving one into a function gains nothing. `tests/test_architecture.py`
holds the limits.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
EVERYDAY = {0, 1, 2, 3, 10, 100, 0.5}
IRREGULAR = (
    "begun bound built chosen drawn found frozen given held kept known left made said seen sent"
)
IRREGULAR += " shown sought taken thrown told worn written"
PARTICIPLE = re.compile(rf"_*([a-z]+ed|{IRREGULAR.replace(' ', '|')})(_|$)")
# Words that end like participles and are verbs, or that mathematics uses as adjectives.
NO_PARTICIPLES = {
    "embed",
    "bound",
    "weighted",
    "squared",
    "balanced",
    "signed",
    "feed",
    "seed",
    "shed",
    "need",
    "exceed",
}


def package_of(path: Path, source: Path) -> str:
    """Return the package or module directly under bagwise that a file belongs to."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def is_name(node: ast.expr) -> bool:
    """Return whether an expression is the name of a constant."""
    return isinstance(node, ast.Name) and node.id.isupper()


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number, computed from numbers, or a tuple of them.

    A number times another constant is one too: it was chosen all the same.
    """
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(map(is_number, sides)) and all(is_number(s) or is_name(s) for s in sides)
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(map(is_number, node.values))
    return (
        isinstance(node, ast.Tuple | ast.List)
        and bool(node.elts)
        and all(map(is_number, node.elts))
    )


def find_constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module's tuned constants, those of its classes included."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [statement for body in (tree, *classes) for statement in body.body]:
        if isinstance(node, ast.Assign) and is_number(node.value):
            yield from (ast.unparse(target) for target in node.targets)
    for node in tree.body:  # in a class, an annotated number is the default of a field
        if isinstance(node, ast.AnnAssign) and node.value is not None and is_number(node.value):
            yield ast.unparse(node.target)


def find_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield every function and method of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def count_literals(tree: ast.Module) -> int:
    """Return the number of literals inside of functions that are not everyday numbers."""
    inner = {id(node): node for f in find_functions(tree) for node in ast.walk(f)}
    numbers = (node.value for node in inner.values() if isinstance(node, ast.Constant))
    return sum(type(value) in (int, float) and value not in EVERYDAY for value in numbers)


def find_participles(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions that are participles; properties may be adjectives."""
    for function in find_functions(tree):
        is_property = any("property" in ast.unparse(each) for each in function.decorator_list)
        first = function.name.strip("_").split("_")[0]
        if PARTICIPLE.match(function.name) and first not in NO_PARTICIPLES and not is_property:
            yield function.name


def measure(checkout: Path) -> dict[str, Counter[str]]:
    """Return counts by package: lines, constants, literals, participles."""
    source = checkout / "src" / "bagwise"
    counts: dict[str, Counter[str]] = {
        name: Counter() for name in ("files", "lines", "constants", "literals", "participles")
    }
    for path in sorted(source.rglob("*.py")):
        package, text = package_of(path, source), path.read_text()
        tree = ast.parse(text)
        counts["files"][package] += 1
        counts["lines"][package] += len(text.splitlines())
        counts["constants"][package] += len(list(find_constants(tree)))
        counts["literals"][package] += count_literals(tree)
        counts["participles"][package] += len(list(find_participles(tree)))
    return counts


def count_lines(folder: Path) -> int:
    """Return the lines of all Python files below a folder."""
    return sum(len(path.read_text().splitlines()) for path in folder.rglob("*.py"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to measure")
    checkout = parser.parse_args().tree
    counts = measure(checkout)
    print("package".ljust(18), *(name.rjust(12) for name in counts))
    for package in sorted(counts["lines"]):
        print(package.ljust(18), *(str(each[package]).rjust(12) for each in counts.values()))
    print("all".ljust(18), *(str(each.total()).rjust(12) for each in counts.values()))
    for folder in ("tests", "benchmarks"):
        print(folder.ljust(18), " " * 12, str(count_lines(checkout / folder)).rjust(12))


if __name__ == "__main__":
    main()
