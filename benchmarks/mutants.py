"""Does the suite notice small defects? Plant them one by one, and run the tests of their package.

A mutant is one changed operator, comparison, number or condition in a core file. Its address is the
file, the text of the statement and the place in it, so that two versions of the package can be
given the same mutants. It is killed by a failing test, or by the time limit.

    python benchmarks/mutants.py run old.jsonl --tree ../0.2
    python benchmarks/mutants.py run new.jsonl --tree . --like old.jsonl  # resumes where it stopped
    python benchmarks/mutants.py table old.jsonl new.jsonl
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

FILES = """
    losses problems metrics graphs crossfit/folds crossfit/scores kernels/instance kernels/bag
    assumptions/rules assumptions/soft assumptions/inference assumptions/count
    solvers/newton solvers/bundle solvers/cutting_plane solvers/dual_cd solvers/hinge
    procedures/alternate procedures/anneal procedures/cccp procedures/nrbm
    bags/segments bags/checks bags/ids bags/forms bags/constructors
    models/witness models/annealed models/missvm models/semiproximal models/odm
""".split()  # noqa: SIM905 (a list would be thirty lines)
PER_FILE = 3  # mutants: about a hundred in all
_PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, And Or"
SWAPS = {getattr(ast, a): getattr(ast, b) for a, b in (p.split() for p in _PAIRS.split(", "))}
SWAPS |= {other: one for one, other in SWAPS.items()}
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
NAMES |= {other: one for one, other in NAMES.items()}
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.If, ast.While)
SPARE_SECONDS = 30  # beyond three times the unchanged run: compiling, and a busy machine


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the ways to change a node in place of it: a word for the kind, and the new node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield "arithmetic", ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield "logic", ast.BoolOp(SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "dropped sign", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "extreme", ast.Attribute(node.value, NAMES[node.attr])
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield "extreme", ast.Name(NAMES[node.id])


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of functions; compiled functions and docstrings are left out."""
    for child in ast.iter_child_nodes(tree):
        compiled = any("jit" in ast.unparse(d) for d in getattr(child, "decorator_list", ()))
        if isinstance(child, SIMPLE) and not isinstance(tree, ast.Module | ast.ClassDef):
            yield getattr(child, "test", child)  # of if and while without the body
        if not compiled:
            yield from statements(child)


def mutants(tree: Path, file: str) -> dict[str, str]:
    """Return the mutated sources of a file by the address of the mutant."""
    path = tree / "src" / "bagwise" / f"{file}.py"
    if not path.is_file():
        return {}
    lines, found = path.read_bytes().splitlines(keepends=True), {}
    for statement in statements(ast.parse(path.read_text())):
        text = ast.unparse(statement)
        # Places in f-strings are not those in the file.
        strings = [node for node in ast.walk(statement) if isinstance(node, ast.JoinedStr)]
        skipped = {node for string in strings for node in ast.walk(string)}
        for place, node in enumerate(ast.walk(statement)):
            for kind, new in changes(node) if node not in skipped else ():
                address = f"{file} {digest(text)} {place} {kind}"
                found.setdefault(address, _replace(lines, node, new))
    return found


def _replace(lines: list[bytes], node: ast.AST, new: ast.AST) -> str:
    """Return the source with the text of a node replaced; everything else keeps its place."""
    before = [0, *accumulate(len(line) for line in lines)]
    start = before[node.lineno - 1] + node.col_offset
    end = before[node.end_lineno - 1] + node.end_col_offset
    whole = b"".join(lines)
    return (whole[:start] + f"({ast.unparse(new)})".encode() + whole[end:]).decode()


def chosen(args: argparse.Namespace) -> list[str]:
    """Return the addresses of a record, or the first ones of every file in a seeded order."""
    if args.like:
        return [r["id"] for r in read(args.like) if "killed" in r]
    addresses = []
    for file in FILES:
        here = mutants(args.tree, file)
        addresses += sorted(here, key=lambda each: digest(f"0 {each}"))[:PER_FILE]
    return addresses


def digest(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()[:10]


def read(record: Path) -> list[dict]:
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def targets(tree: Path, file: str) -> list[list[str]]:
    """Return what to run in turn: the tests of the module, then those of its package."""
    folder, _, stem = file.rpartition("/")
    tests = (tree / "tests" / folder).glob(f"test_{stem}*.py")
    own = sorted(str(path.relative_to(tree)) for path in tests)
    beyond = [["tests/" + folder]] if folder and folder != "models" else []
    return ([own] if own else []) + beyond


def run_tests(tree: Path, paths: list[str], limit: float) -> tuple[bool, float]:
    """Return whether all tests passed within a limit, and the CPU seconds."""
    options = ["-o", "addopts=--import-mode=importlib", "-p", "no:zarr", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", *options, *paths]
    env = {k: v for k, v in os.environ.items() if k != "BAGWISE_DATA"}
    env |= {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    stop = partial(resource.setrlimit, resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=tree, env=env, preexec_fn=stop, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode == 0, round(seconds, 1)


def run(args: argparse.Namespace) -> None:
    known = {r["id"]: r for r in read(args.record)}
    with tempfile.TemporaryDirectory() as folder:
        left_out = shutil.ignore_patterns(".git", "__pycache__", "results")
        copy = shutil.copytree(args.tree, Path(folder) / "tree", ignore=left_out)
        for number, address in enumerate(chosen(args)):
            if address not in known:
                judged = _judge(copy, address, number, known, args.record)
                known[address] = _append(args.record, {"id": address, **judged})


def _append(path: Path, record: dict) -> dict:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(record, flush=True)
    return record


def _judge(tree: Path, address: str, number: int, known: dict, record: Path) -> dict:
    file = address.split()[0]
    path = tree / "src" / "bagwise" / f"{file}.py"
    source, original = mutants(tree, file).get(address), path.read_text() if path.exists() else ""
    killed = False
    for paths in targets(tree, file) if source else ():
        usual = f"unchanged {' '.join(paths)}"
        if usual not in known:  # how long it takes, and that it passes
            passed, seconds = run_tests(tree, paths, 3600)
            known[usual] = _append(record, {"id": usual, "passed": passed, "seconds": seconds})
        path.write_text(source)
        os.utime(path, (10**9 + number, 10**9 + number))  # no stale bytecode
        passed, _ = run_tests(tree, paths, 3 * known[usual]["seconds"] + SPARE_SECONDS)
        path.write_text(original)
        killed = not passed and known[usual]["passed"]
        if killed:
            break
    return {"killed": killed, "by": paths[0]} if source else {"absent": True}


def table(args: argparse.Namespace) -> None:
    runs = [{r["id"]: r for r in read(path) if "killed" in r} for path in args.records]
    common = set.intersection(*(set(found) for found in runs))
    for path, found in zip(args.records, runs, strict=True):
        print(f"{path.name}: {sum(found[i]['killed'] for i in common)} of {len(common)} killed")
    for i in sorted(common):
        verdicts = ["killed" if found[i]["killed"] else "survived" for found in runs]
        print(i, *verdicts) if len(set(verdicts)) > 1 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one, two = commands.add_parser("run"), commands.add_parser("table")
    one.add_argument("record", type=Path)
    one.add_argument("--tree", type=Path, default=Path("."))
    one.add_argument("--like", type=Path)
    two.add_argument("records", type=Path, nargs="+")
    args = parser.parse_args()
    run(args) if "tree" in args else table(args)


if __name__ == "__main__":
    main()
