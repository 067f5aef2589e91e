"""Scripts with cells (``# %%``) become executed notebooks.

    python docs/hooks/notebooks.py [examples/tutorials/slides.py ...]

writes the notebook beside each script. A cell that ends in a figure shows it, one that ends in
another value prints it, as in Jupyter. ``# %% alt="..."`` describes the figure for those who do not
see it.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import sys
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "tutorials"
DPI = 80  # figures of about 30 KB
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
Cell = dict[str, Any]


def cells_of(script: str) -> list[Cell]:
    """Split a script into cells of text and of code."""
    return [_cell(*match) for match in re.findall(r"^# %%(.*)\n((?:(?!# %%).*\n?)*)", script, re.M)]


def _cell(head: str, body: str) -> Cell:
    if "[markdown]" in head:
        text = re.sub(r"^# ?", "", body.strip(), flags=re.M)
        return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(True)}
    alt = re.search(r'alt="(.*)"', head)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"alt": alt[1]} if alt else {},
        "outputs": [],
        "source": body.strip().splitlines(True),
    }


def execute(script: str) -> list[Cell]:
    """Run all cells of a script in one namespace; return them with their outputs."""
    cells, names = cells_of(script), {"__name__": "__main__"}
    for number, cell in enumerate(c for c in cells if c["cell_type"] == "code"):
        cell["execution_count"] = number + 1
        cell["outputs"] = _outputs("".join(cell["source"]), names)
    return cells


def _outputs(code: str, names: dict[str, Any]) -> list[Cell]:
    tree, printed, value = ast.parse(code), StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    if value is not None and not hasattr(value, "savefig"):
        printed.write(f"{value!r}\n")
    text, outputs = printed.getvalue(), []
    if text:
        lines = text.splitlines(True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    return outputs + ([_picture(value)] if hasattr(value, "savefig") else [])


def _picture(figure: Any) -> Cell:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DPI)
    data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": ["<Figure>"]}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def notebook(cells: list[Cell]) -> str:
    """Return the text of a notebook file."""
    numbered = [{"id": f"cell-{i}", **cell} for i, cell in enumerate(cells)]
    whole = {"cells": numbered, "metadata": {"kernelspec": KERNEL}}
    return json.dumps({**whole, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or sorted(FOLDER.glob("*.py"))):
        path.with_suffix(".ipynb").write_text(notebook(execute(path.read_text(encoding="utf-8"))))
        print(path.stem)
