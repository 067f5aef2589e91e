"""Which model suits given bags: nested cross-validation over the methods, ranked."""

from bagwise.comparison.ranking import METRICS, Ranking, candidates, compare_models
from bagwise.comparison.search import Choice, check_enough, grid_points, search, standardiser

__all__ = [
    "METRICS",
    "Choice",
    "Ranking",
    "candidates",
    "check_enough",
    "compare_models",
    "grid_points",
    "search",
    "standardiser",
]
