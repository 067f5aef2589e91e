"""Tables of what version 0.3 removed: the rows of `bagwise._removed`, which errors read as well."""

from __future__ import annotations

from bagwise import _removed


def tables() -> str:
    """Return one table per kind of name; kinds without a removed name are left out."""
    parameters = {f"{cls}({name})": said for (cls, name), said in _removed.PARAMETERS.items()}
    values = {
        f"{cls}({name}={word!r})": said for (cls, name, word), said in _removed.VALUES.items()
    }
    kinds = {
        "Classes and functions": _removed.CLASSES,
        "Parameters": {**parameters, **values},
        "Methods": {f"{cls}.{name}": said for (cls, name), said in _removed.METHODS.items()},
        "Options of the command line": _removed.OPTIONS,
        "Members of files": _removed.MEMBERS,
    }
    return "\n\n".join(_table(title, rows) for title, rows in kinds.items() if rows)


def _table(title: str, rows: dict[str, str]) -> str:
    cells = {name: said.replace("|", r"\|") for name, said in rows.items()}
    lines = "\n".join(f"| `{name}` | {said} |" for name, said in cells.items())
    return f"## {title}\n\n| removed | what to use instead |\n|---|---|\n{lines}"
