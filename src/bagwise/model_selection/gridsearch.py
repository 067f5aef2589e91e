"""scikit-learn's grid search, with the instance scores of the model that it chose."""

from __future__ import annotations

from sklearn.model_selection import GridSearchCV

from bagwise.estimators.pipeline import PointsThrough


class BagGridSearchCV(PointsThrough, GridSearchCV):
    """A scikit-learn ``GridSearchCV`` that also scores and explains instances.

    It adds ``instance_decision_function``, ``key_instances``, ``explain`` and, where the model
    that was chosen has it, ``predict_instances``. Everything else is that of ``GridSearchCV``.

    Parameters
    ----------
    estimator : BagClassifier or Pipeline
        The model.
    param_grid : dict or list of dict
        Candidates by parameter.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score : object
        As in ``GridSearchCV``.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import load_digits_bags
    >>> from bagwise.model_selection import BagGridSearchCV
    >>> bags, y = load_digits_bags(n_bags=20)
    >>> search = BagGridSearchCV(WitnessSVC(kernel="linear"), {"C": [0.1, 1.0]}, cv=2).fit(bags, y)
    >>> search.key_instances(bags).shape
    (20,)
    """
