"""Cardinality Markov networks (Hajimirsadeghi & Mori 2017)."""

from bagwise.models.markov.network import MarkovNetworkClassifier

__all__ = ["MarkovNetworkClassifier"]
