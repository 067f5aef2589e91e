"""Opening files: gzip and named errors."""

import gzip

import pytest

from bagwise.io import CorruptFileError, FormatError
from bagwise.io._source import open_source, require, write_text


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_gzip_is_recognized_by_its_bytes(compress, tmp_path):
    (tmp_path / "a").write_bytes(compress("\ufefftext\n".encode()))
    with open_source(tmp_path / "a") as file:
        assert file.read() == "text\n"
    with pytest.raises(FormatError, match="is a folder, expected a file"), open_source(tmp_path):
        pass


def test_damage_is_named_before_the_text_that_it_spoils(tmp_path):
    whole = gzip.compress(b"text" * 1000)
    (tmp_path / "a").write_bytes(whole[:-8] + b"12345678")

    def parse():
        with open_source(tmp_path / "a") as file:
            file.readline(4)
            raise FormatError("a", "makes no sense.")

    with pytest.raises(CorruptFileError, match="damaged"):
        parse()


def test_what_is_missing_is_named_with_its_extra():
    require("numpy", "io")
    with pytest.raises(ImportError, match=r"needs no_such_module: pip install 'bagwise\[io\]'"):
        require("no_such_module", "io")


def test_text_is_compressed_by_name_and_without_a_date(tmp_path):
    for name in ("a.txt.gz", "b.txt.gz", "c.txt"):
        with write_text(tmp_path / name) as file:
            file.write("ü\n")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.txt.gz", "b.txt.gz"))
    assert first == second
    assert gzip.decompress(first) == (tmp_path / "c.txt").read_bytes() == "ü\n".encode()
