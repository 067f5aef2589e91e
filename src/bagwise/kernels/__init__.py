"""Kernels between instances and between bags."""

from bagwise.kernels.instance import (
    MANY_ROWS,
    Kernel,
    check_kernel_matrix,
    check_kernel_values,
    check_matrix,
    gram_matrix,
    in_double,
    median_gamma,
    memory_limit,
    settle_gamma,
    squared_distances,
    squared_norms,
)

__all__ = [
    "MANY_ROWS",
    "Kernel",
    "check_kernel_matrix",
    "check_kernel_values",
    "check_matrix",
    "gram_matrix",
    "in_double",
    "median_gamma",
    "memory_limit",
    "settle_gamma",
    "squared_distances",
    "squared_norms",
]
