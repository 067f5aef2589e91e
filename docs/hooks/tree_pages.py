"""What the page of the architecture says about the tree: how large each part is today."""

from __future__ import annotations

from pathlib import Path

import bagwise


def sizes() -> str:
    """Return a table of the packages and modules with their files and lines, the largest first."""
    root = Path(bagwise.__file__).parent
    lines: dict[str, list[int]] = {}
    for path in root.rglob("*.py"):
        part = path.relative_to(root).parts[0]
        lines.setdefault(part, []).append(len(path.read_text(encoding="utf-8").splitlines()))
    rows = sorted(lines.items(), key=lambda item: -sum(item[1]))
    rows += [("in all", [n for counts in lines.values() for n in counts])]
    table = "\n".join(f"| `{part}` | {len(n):,} | {sum(n):,} |" for part, n in rows)
    return f"| part | files | lines |\n|---|--:|--:|\n{table}".replace("`in all`", "in all")
