"""Cardinality Markov networks (Hajimirsadeghi & Mori 2017)."""

from bagwise.models.markov.multilabel import MultiLabelMarkovNetwork
from bagwise.models.markov.network import MarkovNetworkClassifier

__all__ = ["MarkovNetworkClassifier", "MultiLabelMarkovNetwork"]
