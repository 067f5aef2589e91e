"""What the estimators with ``kernel_approx`` share: the design of the approximated kernel."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.designs import Design, Nystroem, Pairs, nystroem_design
from bagwise.errors import Message, Parameter
from bagwise.estimators.params import KernelParameters
from bagwise.kernels import Kernel, settle_gamma
from bagwise.rowstores import here


class KernelApproximation(KernelParameters):
    """A kernel between instances, as it is or by landmarks.

    Attributes
    ----------
    kernel_error_ : float
        With ``kernel_approx``: the trace of what is left out of the kernel matrix, relative to its
        own. ``objective_`` and ``gap_`` are those of the approximated problem.
    """

    def _approximate_design(self, bags: Bags, row_weight: Array) -> Design:
        self._check_approximable()
        X = here(bags.X)
        rng = check_random_state(self.random_state)
        numbers = settle_gamma(self.gamma, X, row_weight, rng), self.degree, self.coef0
        self.kernel_ = Kernel(self.kernel, *(() if callable(self.kernel) else numbers))
        return self._by_landmarks(Pairs(self.kernel_, X), row_weight, rng)

    def _check_approximable(self) -> None:
        if self.kernel not in ("linear", "precomputed"):
            return
        why = "needs no approximation" if self.kernel == "linear" else "is a matrix already"
        given = Parameter("kernel_approx", f"{self.kernel_approx!r}")
        what = f" is for kernels of features; kernel={self.kernel!r} {why}. Use "
        raise ValueError(Message(given, what, Parameter("kernel", "'rbf'"), " or leave it out."))

    def _by_landmarks(self, pairs: Any, row_weight: Array, rng: Any, **options: Any) -> Nystroem:
        chosen = {"n_components": self.n_components, "landmarks": self.landmarks, **options}
        shared = {"random_state": rng, "n_jobs": self.n_jobs}
        design = nystroem_design(pairs, row_weight, **shared, **chosen)
        self.kernel_error_ = design.error
        return design
