"""One self-contained HTML page about a model and its bags, to show and to print."""

from bagwise.reports.page import Report, report

__all__ = ["Report", "report"]
