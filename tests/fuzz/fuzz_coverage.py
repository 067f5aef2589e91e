"""Damage files as coverage tells, with atheris (libFuzzer): ``pip install atheris`` first.

``python tests/fuzz/fuzz_coverage.py corpus -max_total_time=300 -timeout=20`` starts with every
valid file of `fuzz_files`, keeps in the folder ``corpus`` what reaches new lines of bagwise, and
stops at the first outcome that may not happen; run it again to go on. ``python
tests/fuzz/fuzz_coverage.py crash-...`` runs the input that libFuzzer wrote then.

An input is a byte for the form, a byte for the file of that form, and the content of this file.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))
ROOT = Path(importlib.util.find_spec("bagwise").origin).parent
COMPILED = [  # numba compiles no instrumented function
    ".".join(("bagwise", *file.relative_to(ROOT).with_suffix("").parts))
    for file in ROOT.rglob("*.py")
    if "njit" in file.read_text(encoding="utf-8")
]
with atheris.instrument_imports(include=["bagwise"], exclude=COMPILED):
    import fuzz_files

    ORIGINALS = fuzz_files.originals()  # in here, because readers are imported at their first use
FORMS = fuzz_files.FORMS


def seeds() -> dict[str, bytes]:
    """Return every valid file as an input."""
    return {
        f"{form}-{k}": bytes([form, k]) + content
        for form, files in enumerate(ORIGINALS.files)
        for k, (_, content) in enumerate(sorted(files.items()))
    }


class Judge:
    """Write one input over its file, read the form and raise what may not happen."""

    def __init__(self, folder: Path) -> None:
        self.places = [folder / str(form) for form in range(len(FORMS))]
        for place, files in zip(self.places, ORIGINALS.files, strict=True):
            for name, content in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)

    def __call__(self, data: bytes) -> None:
        """Judge one input."""
        if len(data) < 2:
            return
        form = data[0] % len(FORMS)
        kind, name, _, _ = FORMS[form]
        files = sorted(ORIGINALS.files[form].items())
        inner, content = files[data[1] % len(files)]
        (self.places[form] / inner).write_bytes(data[2:])
        found = fuzz_files.judge(kind, self.places[form] / name, ORIGINALS.contents[form])
        (self.places[form] / inner).write_bytes(content)
        if found.outcome in fuzz_files.harness.BAD:
            raise AssertionError(found)


def main() -> None:
    """Run from the command line, whose arguments are those of libFuzzer."""
    warnings.simplefilter("ignore")
    for folder in (Path(word) for word in sys.argv[1:] if not Path(word).is_file()):
        if not str(folder).startswith("-"):
            folder.mkdir(exist_ok=True)
            for name, data in seeds().items():
                (folder / f"seed-{name}").write_bytes(data)
    with tempfile.TemporaryDirectory() as place:
        atheris.Setup(sys.argv, Judge(Path(place)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
