"""`AutoBagClassifier`: candidates raced on shared folds, calibrated, combined."""

from bagwise.model_selection.auto.classifier import AutoBagClassifier

__all__ = ["AutoBagClassifier"]
