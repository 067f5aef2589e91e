import numpy as np
import scipy.sparse as sp

from bagwise import Bags
from bagwise.bags.fingerprint import fingerprints, pack_prints, unpack_prints


def test_equal_bags_have_equal_fingerprints_and_others_do_not():
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(3, 2)) for _ in range(50)])
    prints = fingerprints(bags)
    assert len(np.unique(prints)) == 50
    assert np.array_equal(fingerprints(bags[10:20]), prints[10:20])


def test_sparse_bags_are_recognized_too():
    bags = Bags(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])), [0, 1, 2, 3])
    first, second, third = fingerprints(bags)
    assert first == third != second


def test_they_survive_a_model_file():
    prints = np.array([5, 2**32 - 1, 0], dtype=np.uint32)
    assert unpack_prints(pack_prints(prints)).tolist() == [0, 5, 2**32 - 1]
