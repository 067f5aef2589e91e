"""The automatic models of classes, numbers and times: candidates raced on shared folds."""

from bagwise.model_selection.auto.classifier import AutoBagClassifier
from bagwise.model_selection.auto.values import AutoBagRegressor, AutoBagSurvival

__all__ = ["AutoBagClassifier", "AutoBagRegressor", "AutoBagSurvival"]
