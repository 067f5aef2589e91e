"""Sparse designs: what they copy."""

import numpy as np
import scipy.sparse as sp

from bagwise.bags import Bags
from bagwise.designs import Sparse
from reference.ridge import rows


def test_a_slice_of_sparse_bags_is_made_compact_once():
    X = sp.csr_array(rows(200))
    part = Bags(X, np.arange(0, 201, 10))[:4]
    design = Sparse(part.X)
    assert design.X.nnz == design.X.data.size < X.nnz
    assert np.shares_memory(design.X.data, design._transposed.data)
    assert np.allclose(design.adjoint(np.ones(40)), X.toarray()[:40].sum(axis=0))
