"""Bags and instances joined by graphs (Zhang, Liu, Si, Zhang & Lawrence 2011)."""

from bagwise.models.graph.svc import GraphSVC

__all__ = ["GraphSVC"]
