"""Explicit feature map of the intersection kernel sum_i min(x_i, y_i) (Vedaldi & Zisserman 2012).

min(x, y) = sqrt(x y) k(log x - log y) with k(t) = exp(-|t| / 2), whose Fourier series over a period
Lambda gives, with L = 2 pi / Lambda,

    phi(x) = sqrt(x) [sqrt(c_0), sqrt(2 c_j) cos(j L log x), sqrt(2 c_j) sin(j L log x)], j = 1..n,
    c_j = (1 / Lambda) / (1/4 + (j L)^2),   phi(0) = 0.

The rectangular window, with half of the error of none, multiplies c_j by
1 - (-1)^j exp(-Lambda / 4): the series of k cut off at half a period. The period minimizes the
error on [0, 1].

Reference: A. Vedaldi and A. Zisserman, "Efficient additive kernels via explicit feature maps",
IEEE T-PAMI 34(3), 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from bagwise._documented import Function, Sentence, documenting
from bagwise._typing import Array
from bagwise.estimators.params import Parameters, integer, param

_SENTENCES: dict[str, Sentence] = {
    "X": ("array-like or sparse matrix of shape (n_samples, n_features)", "Nonnegative features."),
    "input_features": (
        "array-like of str",
        "Names of the input features; those seen in fit when None.",
    ),
}


def _explains(returns: str, **own: Sentence) -> Callable[[Function], Function]:
    return documenting(_SENTENCES, returns)(**own)


class IntersectionMap(TransformerMixin, Parameters):
    """Approximate the intersection kernel by 2n + 1 features per feature.

    Features must not be negative: scale them first, for example with ``MinMaxScaler(clip=True)``.
    Zero maps to zero, so sparse input stays sparse.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in fit.
    period_ : float
        The period Lambda.

    See Also
    --------
    sklearn.kernel_approximation.AdditiveChi2Sampler : The same for the chi-squared kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.preprocessing import IntersectionMap
    >>> phi = IntersectionMap(n=3).fit_transform(np.array([[0.2, 0.9], [0.5, 0.3]]))
    >>> phi.shape
    (2, 14)
    >>> round(float(phi[0] @ phi[1]), 1)  # min(.2, .5) + min(.9, .3)
    0.5
    """

    n: int = param(3, integer(0), "Number of frequencies above zero.")

    @_explains("self\n    The transformer.", y=("None", "Not used."))
    def fit(self, X: Any, y: Any = None) -> IntersectionMap:
        """Check the parameters and the number of features."""
        self._validate_params()
        self._validate(X, reset=True)
        self.period_ = 4.0 + 0.5 * max(self.n - 1, 0)
        return self

    @_explains(
        "ndarray or CSR matrix of shape (n_samples, (2 n + 1) n_features)\n"
        "    All features at frequency 0, then their cosines and sines at frequency 1, and so on."
    )
    def transform(self, X: Any) -> Any:
        """Map the features."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if not sp.issparse(X):
            return np.hstack(self._columns(X))
        parts = [
            type(X)((data, X.indices, X.indptr), shape=X.shape) for data in self._columns(X.data)
        ]
        return sp.hstack(parts, format="csr")

    @_explains("ndarray of str objects\n    ``name_0``, ``name_cos1``, ``name_sin1``, ...")
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the output columns."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features, generate_names=True)
        kinds = ["0", *(f"{wave}{j}" for j in range(1, self.n + 1) for wave in ("cos", "sin"))]
        return np.array([f"{name}_{kind}" for kind in kinds for name in names], dtype=object)

    def _validate(self, X: Any, reset: bool) -> Any:
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_non_negative=True,
        )

    def _columns(self, values: Array) -> list[Array]:
        step = 2 * np.pi / self.period_
        root = np.sqrt(values)
        phase = step * np.log(np.where(values > 0, values, 1.0))
        columns = [root * np.sqrt(self._share(0))]
        for j in range(1, self.n + 1):
            part = root * np.sqrt(2 * self._share(j))
            columns += [part * np.cos(j * phase), part * np.sin(j * phase)]
        return [column.astype(values.dtype, copy=False) for column in columns]

    def _share(self, j: int) -> float:
        """Return c_j."""
        share = (1 / self.period_) / (0.25 + (j * 2 * np.pi / self.period_) ** 2)
        return share * (1 - (-1) ** j * float(np.exp(-self.period_ / 4)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
