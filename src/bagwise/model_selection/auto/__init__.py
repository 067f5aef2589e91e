"""`AutoBagClassifier` and `AutoBagRegressor`: candidates raced on shared folds, combined."""

from bagwise.model_selection.auto.classifier import AutoBagClassifier
from bagwise.model_selection.auto.regressor import AutoBagRegressor

__all__ = ["AutoBagClassifier", "AutoBagRegressor"]
