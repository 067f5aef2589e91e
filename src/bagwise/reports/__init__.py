"""One self-contained HTML page about a model and its bags, or about a comparison of models."""

from bagwise.reports.comparison import report_comparison
from bagwise.reports.page import report
from bagwise.reports.rendering import Report

__all__ = ["Report", "report", "report_comparison"]
