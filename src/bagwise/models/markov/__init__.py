"""Cardinality Markov networks (Hajimirsadeghi & Mori 2017)."""

from bagwise.models.markov.network import MarkovNetworkClassifier
from bagwise.models.markov.parameters import EarlyStopping

__all__ = ["EarlyStopping", "MarkovNetworkClassifier"]
