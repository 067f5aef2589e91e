"""Risks that are not sums over rows: from a weight vector to a value and a subgradient."""
