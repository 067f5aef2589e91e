"""`KernelFeatures`: the exact features of a kernel on the span of the training instances.

With K = U diag(e) U' the kernel matrix of the training instances, phi(x) = k(x, X) U diag(e)^(-1/2)
has phi(x).phi(x') = k(x, x') whenever one of the two is a training instance. A model that is linear
in phi with a penalty on |w|^2 is then the kernelized model: by the representer theorem its solution
lies in the span of the training instances. Nothing is approximated, at the cost of one
decomposition of an n x n matrix and n features per instance.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise._typing import Array
from bagwise.kernels.instance import gram_matrix, in_double
from bagwise.kernels.memory import check_memory

_NOISE = 1e-12  # eigenvalues below this fraction of the largest are rounding


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map instances to the exact features of a kernel.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        The kernel.
    gamma : float or {"median", "scale"}, default="median"
        The width of "rbf" and the factor of "poly"; "median" is 1 / (2 median^2) of the distances.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    random_state : int, default=0
        Seed of the sample on which the median is taken where instances are many.

    Attributes
    ----------
    X_fit_ : ndarray of shape (n_samples, n_features)
        The training instances.
    components_ : ndarray of shape (n_samples, n_components)
        U diag(e)^(-1/2).
    n_features_in_ : int
        Number of features seen in fit.

    See Also
    --------
    sklearn.kernel_approximation.Nystroem : The same from some of the instances, for many of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.preprocessing import KernelFeatures
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> phi = KernelFeatures(gamma=0.5).fit_transform(X)
    >>> (phi @ phi.T).round(3)[0]  # exp(-.5 d^2) at distances 0, 1 and 3
    array([1.   , 0.607, 0.011])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({"rbf", "linear", "poly"}), callable],
        "gamma": [StrOptions({"median", "scale"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Real],
        "random_state": ["random_state"],
    }

    def __init__(self, *, kernel="rbf", gamma="median", degree=3, coef0=0.0, random_state=0):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Say that sparse instances are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> KernelFeatures:
        """Decompose the kernel matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training instances.
        y : None
            Not used.

        Returns
        -------
        self
            The transformer.
        """
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_memory(X.shape[0], 8)
        self.kernel_, K = gram_matrix(
            in_double(X),
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            weights=np.ones(X.shape[0]),
            random_state=check_random_state(self.random_state),
        )
        values, vectors = scipy.linalg.eigh(K.astype(np.float64))
        kept = values > _NOISE * max(float(values[-1]), 0.0)
        self.X_fit_, self.components_ = X, vectors[:, kept] / np.sqrt(values[kept])
        return self

    def transform(self, X: Any) -> Array:
        """Map instances.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The instances.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Their products with the features of a training instance are kernel values.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self.kernel_(in_double(X), in_double(self.X_fit_)) @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])
