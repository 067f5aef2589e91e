"""CSV and TSV: header, columns, types."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bagwise import Bags
from bagwise.io import (
    FormatError,
    LabelError,
    MixedTypeError,
    ShuffledBagError,
    read,
    read_arff,
    read_csv,
    write,
)
from bagwise.io.tables import TableText, join_blocks, sniff, type_column, type_texts

GOOD = "bag,label,f1,f2\na,1,0.5,1\na,1,0.7,2\nb,0,0.1,3\n"


def test_csv_without_header_and_by_position(tmp_path):
    (tmp_path / "b.csv").write_text("1,m1,0.5,2\n1,m1,0.25,3\n0,m2,4,5\n")
    bags, y = read(tmp_path / "b.csv", bag=1, label=0)
    assert bags.ids.tolist() == ["m1", "m2"]
    np.testing.assert_array_equal(bags.X, [[0.5, 2], [0.25, 3], [4, 5]])
    assert y.tolist() == [1, 0]
    assert bags.feature_names is None


def test_chosen_columns_only(tmp_path):
    (tmp_path / "b.csv").write_text("slide;note;y;a;b\ns;hello, you;1;1;2\nt;;0;3;4\n")
    bags, y = read(tmp_path / "b.csv", bag="slide", label="y", features=["b", "a"])
    np.testing.assert_array_equal(bags.X, [[2, 1], [4, 3]])
    assert list(bags.feature_names) == ["b", "a"]
    assert y.tolist() == [1, 0]


NAN, INF = np.nan, np.inf
AWKWARD = [
    ("bag,f1,f2\na,+1.5, 2\na,1e400,-1e-400\n", [[1.5, 2], [INF, 0]]),
    ("bag,f1,f2\na,NA,\nb,inf,-Infinity\n\nc,?,nan\n", [[NAN, NAN], [INF, -INF], [NAN, NAN]]),
    ("bag,f1,f2\na,True,0.5\nb,False, \n", [[1, 0.5], [0, NAN]]),
    ('bag,f1,f2\n"a\nb",1,2\n"a\nb","3",4\n', [[1, 2], [3, 4]]),
    ("\ufeffbag,f1,f2\r\na,1,2\r\nb,.5,6.\r\n", [[1, 2], [0.5, 6]]),
    ("bag\tf1\tf2\na\t0.1\t4.9406564584124654e-324", [[0.1, 5e-324]]),
]


@pytest.mark.parametrize(("text", "expected"), AWKWARD)
def test_awkward_numbers_and_line_ends(text, expected, tmp_path):
    (tmp_path / "b.csv").write_text(text, newline="")
    np.testing.assert_array_equal(read_csv(tmp_path / "b.csv")[0].X, expected)


def test_line_numbers_count_blank_lines_and_quoted_breaks(tmp_path):
    text = 'bag,label,f1\n"a\nx",1,0.5\n\nb,0,1\n"a\nx",1,2\n'
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(ShuffledBagError) as caught:
        read(tmp_path / "b.csv")
    assert caught.value.line == 7  # where the row that starts on line 6 ends


def test_regroup_brings_scattered_bags_together(tmp_path):
    (tmp_path / "b.csv").write_text(GOOD + "a,1,9,9\n")
    bags, y = read(tmp_path / "b.csv", regroup=True)
    assert bags.instance_ids.tolist() == [0, 1, 3, 2]
    assert y.tolist() == [1, 0]
    (tmp_path / "c.csv").write_text(GOOD + "a,0,9,9\n")
    with pytest.raises(LabelError) as caught:
        read(tmp_path / "c.csv", regroup=True)
    assert caught.value.line == 5


def test_a_removed_engine_and_unknown_columns_are_refused(tmp_path):
    (tmp_path / "b.csv").write_text(GOOD)
    with pytest.raises(TypeError, match=r"read_csv has no parameter 'engine' since .* Leave it"):
        read_csv(tmp_path / "b.csv", engine="pyarrow")
    with pytest.raises(TypeError, match=r"read_csv has no parameter 'dtype' since .*astype"):
        read_csv(tmp_path / "b.csv", dtype="float32")
    with pytest.raises(TypeError, match=r"read_arff has no parameter 'progress' since .* Leave it"):
        read_arff(tmp_path / "b.csv", progress=True)
    with pytest.raises(FormatError, match=r"has no column 'lable'\. Did you mean 'label'\?"):
        read_csv(tmp_path / "b.csv", label="lable")


def test_the_delimiter_follows_from_the_name_or_is_given(tmp_path):
    bags = Bags.from_list([np.ones((1, 2))], ids=["a"])
    for name, options, header in (
        ("b.csv", {}, "bag,f1,f2"),
        ("b.tsv", {}, "bag\tf1\tf2"),
        ("b.txt", {"format": "csv", "delimiter": ";"}, "bag;f1;f2"),
    ):
        write(tmp_path / name, bags, **options)
        assert (tmp_path / name).read_text().splitlines()[0] == header


# Patterns, columns left out, decimal commas -------------------------------------------------------


def test_features_by_pattern_and_columns_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag,label,f1,f2,g1,note\na,1,1,2,3,x\nb,0,4,5,6,y\n")
    chosen = read_csv(path, features=["f*", "g1"])[0]
    assert chosen.feature_names.tolist() == ["f1", "f2", "g1"]
    rest = read_csv(path, drop=["note", "f[12]"])[0]
    assert rest.feature_names.tolist() == ["g1"]
    both = read_csv(path, features=["?1"], drop=["g*"])[0]
    assert both.feature_names.tolist() == ["f1"]
    with pytest.raises(FormatError, match=r"no column matches 'h\*'"):
        read_csv(path, features=["h*"])
    with pytest.raises(FormatError, match=r"has no column 'noet'\. Did you mean 'note'"):
        read_csv(path, drop=["noet"])


def test_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag;label;f\na;1;1,5\nb;0;-2,25e1\nb;0;\n")
    bags, _ = read_csv(path, decimal=",")
    np.testing.assert_array_equal(bags.X.ravel(), [1.5, -22.5, np.nan])
    with pytest.raises(MixedTypeError, match=r"number\. For a decimal comma pass decimal=','"):
        read_csv(path)
    (tmp_path / "u.csv").write_text("bag,label,f\na,1,1\n")
    with pytest.raises(ValueError, match="The fields are separated by ','"):
        read_csv(tmp_path / "u.csv", decimal=",")


def test_decimal_commas_are_those_of_labels_and_priors_too(tmp_path):
    path = tmp_path / "t.csv"
    head = "bag;label;prior;known_label;coord_x;coord_y;f\n"
    path.write_text(head + "1,5;5,2;0,5;1,5;0,5;1;1\n1,6;7;0,25;;2;2,5;2\n")
    bags, y = read_csv(path, decimal=",")
    assert (y.tolist(), bags.priors.tolist()) == ([5.2, 7], [0.5, 0.25])
    assert bags.coords.tolist() == [[0.5, 1], [2, 2.5]]
    assert bags.known_labels[:1].tolist() == [1.5]
    assert bags.ids.tolist() == ["1,5", "1,6"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_data_frame_is_left_out(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},bag,f\n0,a,1\n1,b,2\n")
    with pytest.warns(UserWarning, match=f"column '{name}' is the index of a data frame"):
        assert read_csv(path)[0].feature_names.tolist() == ["f"]
    assert read_csv(path, features=[name])[0].X.ravel().tolist() == [0, 1]
    frame = pd.DataFrame({"bag": [*"abc"], "f": [1.0, 2, 3]})
    frame[frame.f > 1].to_parquet(tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="column '__index_level_0__' is the index of a data frame"):
        assert read(tmp_path / "t.parquet")[0].feature_names.tolist() == ["f"]
    path.write_text("sep=;\nbag;f\na;1\n")
    with pytest.raises(FormatError, match=r"line 1: 'sep=;' is for Excel alone\. Delete it"):
        read_csv(path)


def test_separators_of_thousands_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag;f\na;79\na;2.001\nb;3,5\n")
    with pytest.raises(MixedTypeError, match=r"line 3, column 'f': '2\.001' .* has a point"):
        read_csv(path, decimal=",")
    path.write_text("bag;prior;f\na;0.5;79\n")
    with pytest.raises(MixedTypeError, match=r"line 2, column 'priors': '0\.5' is not a number"):
        read_csv(path, decimal=",")
    path.write_text("bag;label;f\na;5,2;79\nb;2.001;3\n")
    with pytest.raises(MixedTypeError, match=r"line 3, column 'label': '2\.001' is not a number w"):
        read_csv(path, decimal=",")
    path.write_text("bag;f\na;79\na;2,320\n")
    with pytest.raises(MixedTypeError, match="decimal=','; write thousands without a separator"):
        read_csv(path)


def test_bag_features_may_be_missing(tmp_path):
    (tmp_path / "b.csv").write_text("bag,bag_feature_1,f\na,nan,1\na,nan,2\nb,3,4\n")
    bags, y = read_csv(tmp_path / "b.csv")
    np.testing.assert_array_equal(bags.bag_features, [[np.nan], [3]])
    assert y is None


# Syntax -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names", "delimiter", "header_lines"),
    [
        ("bag,f\na,1\n", ["bag", "f"], ",", 1),
        ("bag\tf,g\th\n", ["bag", "f,g", "h"], "\t", 1),
        ("a;1;2\n", ["column 0", "column 1", "column 2"], ";", 0),
        ('bag,"two\nlines"\n', ["bag", "two\nlines"], ",", 2),
        ("bag,label,0,1\na,1,5,6\n", ["bag", "label", "0", "1"], ",", 1),
        ("slide,dx,400,410\na,x,.5,.6\n", ["slide", "dx", "400", "410"], ",", 1),
        ("a,x,5,6\na,x,7,8\n", ["column 0", "column 1", "column 2", "column 3"], ",", 0),
        ("a,x,6,5\na,x,.5,.6\n", ["column 0", "column 1", "column 2", "column 3"], ",", 0),
    ],
)
def test_header_and_delimiter_are_guessed(text, names, delimiter, header_lines, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert sniff(tmp_path / "a.csv") == TableText(names, delimiter, header_lines)


def test_header_and_delimiter_can_be_given(tmp_path):
    (tmp_path / "a.csv").write_text("1;2\n")
    assert sniff(tmp_path / "a.csv", header=True).names == ["1", "2"]
    assert sniff(tmp_path / "a.csv", delimiter=",").names == ["1;2"]


def test_a_row_with_a_named_column_is_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("slide,400,410\na,5,6\nb,7,8\n")
    bags, _ = read_csv(tmp_path / "a.csv", bag="slide")
    assert (bags.ids.tolist(), bags.feature_names.tolist()) == (["a", "b"], ["400", "410"])


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_blocks_become_one_matrix_and_are_dropped(sizes):
    blocks = [np.arange(2.0 * size, dtype=np.float32).reshape(size, 2) for size in sizes]
    expected = np.concatenate(blocks)
    found = join_blocks(Path("a"), blocks)
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, blocks) == (np.float32, [])


@pytest.mark.parametrize(
    ("texts", "as_label", "as_id"),
    [
        (["1", "-1"], [1, -1], [1, -1]),
        (["+1", "-1"], [1, -1], ["+1", "-1"]),
        (["007", "7"], ["007", "7"], ["007", "7"]),
        (["0.5", "1.5"], [0.5, 1.5], [0.5, 1.5]),
        (["1e3"], [1000.0], ["1e3"]),
        (["1", "x"], ["1", "x"], ["1", "x"]),
        (["True", "False"], [True, False], [True, False]),
        (["1_000"], ["1_000"], ["1_000"]),
        ([str(2**70)], [float(2**70)], [str(2**70)]),
    ],
)
def test_texts_become_numbers_only_where_all_are(texts, as_label, as_id):
    assert type_texts(texts, exact_text=False).tolist() == as_label
    assert type_texts(texts, exact_text=True).tolist() == as_id
    assert type_column(texts * 2, "bag").tolist() == as_id * 2


@pytest.mark.parametrize("text", ["NA", "nan", "?"])
def test_a_label_that_may_be_missing_is_refused(text, tmp_path):
    (tmp_path / "a.csv").write_text(f"bag,label,f1\nNA,1,0\nb,{text},0\n")
    message = r"line 3: the label is .*, which may be a class or a missing value"
    with pytest.raises(LabelError, match=message):
        read_csv(tmp_path / "a.csv")
    frame = pd.DataFrame({"bag": ["NA", "b"], "label": ["x", text], "f1": 0.0})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(LabelError, match=r"row 2: the label is .*, which may be a class"):
        read(tmp_path / "a.parquet")
    np.save(tmp_path / "x.npy", np.eye(2))
    (tmp_path / "bags.csv").write_text(f"path,label\nx.npy,{text}\n")
    with pytest.raises(LabelError, match="which may be a class or a missing value"):
        read(tmp_path / "bags.csv")


@pytest.mark.parametrize("role", ["bag", "label", "group", "site"])
def test_names_that_differ_in_spaces_are_refused(role, tmp_path):
    frame = pd.DataFrame({"bag": [*"abc"], "label": [*"nmn"], "group": "p", "site": "N", "f1": 0})
    frame[role] = ["yes", "no", "yes "]
    frame.to_csv(tmp_path / "a.csv", index=False)
    message = rf"{role}s 'yes' and 'yes ' differ in spaces only"
    with pytest.raises(FormatError, match=f"line 4: the {message}"):
        read_csv(tmp_path / "a.csv")
    frame.drop(columns="f1").assign(x=[[[0.0]]] * 3).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=f"row 3: the {message}"):
        read(tmp_path / "a.parquet")  # nested
    if role != "bag":  # the name of a file: spaces around it do not count
        np.save(tmp_path / "x.npy", np.eye(2))
        frame.assign(path="x.npy").to_csv(tmp_path / "bags.csv", index=False)
        with pytest.raises(FormatError, match=f"line 4: the {message}"):
            read(tmp_path / "bags.csv")
