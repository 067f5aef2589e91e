"""ARFF files as WEKA and people write them."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.io import FormatError, read, write

# As WEKA 3.6.14's ArffSaver wrote it.
WEKA = r"""@relation 'atoms of molecules'

@attribute molecule {d1,'d 2'}
@attribute bag relational
@attribute element {br,c,'c l'}
@attribute charge numeric
@end bag
@attribute class {inactive,active}

@data
d1,'c,-0.117\nbr,?\n\'c l\',0.5',active
'd 2','c,0.001',inactive
"""
WEKA_SPARSE = r"""@relation bags

@attribute bag_id {a,b}
@attribute bag relational
@attribute f1 numeric
@attribute f2 numeric
@attribute f3 numeric
@end bag
@attribute class {p,n}

@data
a,'{1 0.785153,2 0.01643}\n{}\n{0 2}',p
b,'{2 0.055374}',n
"""


def test_weka_saved_file(tmp_path):
    (tmp_path / "atoms.arff").write_text(WEKA)
    bags, y = read(tmp_path / "atoms.arff")
    expected = [[0, 1, 0, -0.117], [1, 0, 0, np.nan], [0, 0, 1, 0.5], [0, 1, 0, 0.001]]
    np.testing.assert_array_equal(bags.X, expected)
    assert list(bags.feature_names) == ["element=br", "element=c", "element=c l", "charge"]
    assert bags.ids.tolist() == ["d1", "d 2"]
    assert y.tolist() == ["active", "inactive"]


def test_weka_saved_sparse_file(tmp_path):
    (tmp_path / "b.arff").write_text(WEKA_SPARSE)
    bags, y = read(tmp_path / "b.arff")
    assert sp.issparse(bags.X)
    expected = [[0, 0.785153, 0.01643], [0, 0, 0], [2, 0, 0], [0, 0, 0.055374]]
    np.testing.assert_array_equal(bags.X.toarray(), expected)
    assert y.tolist() == ["p", "n"]


def test_arff_as_in_the_books(tmp_path):
    text = (
        "% comment\n@RELATION musk\n@ATTRIBUTE id {m1}\n@ATTRIBUTE bag RELATIONAL\n"
        "  @ATTRIBUTE f1 REAL % not\n  @ATTRIBUTE 'f 2' integer\n@END bag\n"
        '@ATTRIBUTE class {0,1}\n@DATA\nm1,"1.5, 2\\n3,-4e1" , 1\n'
    )
    (tmp_path / "b.arff").write_text(text)
    bags, y = read(tmp_path / "b.arff")
    np.testing.assert_array_equal(bags.X, [[1.5, 2], [3, -40]])
    assert list(bags.feature_names) == ["f1", "f 2"]
    assert y.tolist() == [1]


def test_sparse_nominal_left_out_is_the_first_value(tmp_path):
    text = WEKA_SPARSE.replace("f2 numeric", "f2 {u,v}").replace("1 0.785153", "1 v")
    (tmp_path / "b.arff").write_text(text)
    bags, _ = read(tmp_path / "b.arff")
    assert list(bags.feature_names) == ["f1", "f2=u", "f2=v", "f3"]
    expected = [[0, 0, 1, 0.01643], [0, 1, 0, 0], [2, 1, 0, 0], [0, 1, 0, 0.055374]]
    np.testing.assert_array_equal(bags.X.toarray(), expected)


def test_attributes_can_be_named(tmp_path):
    (tmp_path / "b.arff").write_text(WEKA)
    bags, y = read(tmp_path / "b.arff", bag="class", label="molecule")
    assert (bags.ids.tolist(), y.tolist()) == (["active", "inactive"], ["d1", "d 2"])
    with pytest.raises(FormatError, match=r"has no column 'clas'\. Did you mean 'class'\?"):
        read(tmp_path / "b.arff", label="clas")


def test_infinities_and_single_numbers_are_written_as_weka_reads_them(tmp_path):
    bags = Bags.from_list([[[np.inf], [np.nan]], [[-1.5]]], ids=["a", "b"])
    write(tmp_path / "b.arff", bags, ["p", "n"], relation="two words")
    text = (tmp_path / "b.arff").read_text()
    assert text.startswith("@relation 'two words'\n")
    assert "a,'Infinity\\n?',p\nb,'-1.5',n\n" in text
    np.testing.assert_array_equal(read(tmp_path / "b.arff")[0].X, [[np.inf], [np.nan], [-1.5]])
