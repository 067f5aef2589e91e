"""The notebooks are what their scripts give: cells, what is printed, and a picture at the end."""

import base64
import json

import pytest

import notebooks

SCRIPTS = sorted(notebooks.FOLDER.glob("*.py"))
PNG = b"\x89PNG"


def printed(cells):
    texts = [output.get("text") for cell in cells for output in cell.get("outputs", ())]
    return "".join("".join(text) for text in texts if text)


def test_every_field_has_a_tutorial():
    assert {path.stem for path in SCRIPTS} == {
        *("molecules", "slides", "images", "text", "audio", "cells", "proportions", "honest"),
        *("hospitals", "scale"),
    }  # fmt: skip


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_notebook_has_the_outputs_of_its_script(path):
    committed = json.loads(path.with_suffix(".ipynb").read_text())
    assert (committed["nbformat"], committed["nbformat_minor"]) == (4, 5)
    run = notebooks.execute(path.read_text())
    remedy = f"run: python docs/hooks/notebooks.py {path}"
    assert [c["source"] for c in committed["cells"]] == [c["source"] for c in run], remedy
    assert printed(committed["cells"]) == printed(run), remedy
    last = committed["cells"][-1]
    picture = last["outputs"][-1]["data"]["image/png"]
    assert base64.b64decode(picture).startswith(PNG)
    assert "image/png" in run[-1]["outputs"][-1]["data"]
    assert len(last["metadata"]["alt"]) > 20


def test_a_script_becomes_cells():
    script = (
        '# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\n\n# %% alt="A"\nprint(x)\nx + 1\n'
    )
    text, first, second = notebooks.execute(script)
    assert "".join(text["source"]) == "# Title\n\nText."
    assert first["outputs"] == []
    assert second["metadata"] == {"alt": "A"}
    assert second["outputs"][0]["text"] == ["1\n", "2\n"]
