"""scikit-learn's searches, with the instance scores of the model that they chose."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from bagwise._documented import answers
from bagwise.estimators.pipeline import PointsThrough
from bagwise.rowstores.backend import share_passes


class _SharedPasses:
    """A search whose fits to rows of a file, or on a cluster, share their passes."""

    @answers(
        "self", "Fitted.", X=("Bags", "Bags."), y="Their labels.", params="As in scikit-learn."
    )
    def fit(self: Any, X: Any, y: Any = None, **params: Any) -> Any:
        """Try all candidates."""
        with share_passes(getattr(X, "X", None), self.n_jobs):
            return super().fit(X, y, **params)  # type: ignore[misc]


class BagGridSearchCV(PointsThrough, _SharedPasses, GridSearchCV):
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

    See Also
    --------
    BagRandomizedSearchCV : Draws parameters.

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


class BagRandomizedSearchCV(PointsThrough, _SharedPasses, RandomizedSearchCV):
    """A scikit-learn ``RandomizedSearchCV`` that also scores and explains instances.

    It adds ``instance_decision_function``, ``key_instances``, ``explain`` and, where the model
    that was chosen has it, ``predict_instances``. Everything else is that of
    ``RandomizedSearchCV``.

    Parameters
    ----------
    estimator : BagClassifier or Pipeline
        The model.
    param_distributions : dict or list of dict
        Distributions or lists by parameter.
    n_iter : int, default=10
        Number of draws.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch : object
        As in ``RandomizedSearchCV``.
    random_state : int, RandomState or None, default=None
        Seed of the draws.
    error_score, return_train_score : object
        As in ``RandomizedSearchCV``.

    See Also
    --------
    BagGridSearchCV : Tries all combinations.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import load_digits_bags
    >>> from bagwise.model_selection import BagRandomizedSearchCV
    >>> bags, y = load_digits_bags(n_bags=20)
    >>> model = WitnessSVC(kernel="linear")
    >>> search = BagRandomizedSearchCV(model, {"C": [0.1, 1.0, 10.0]}, n_iter=2, cv=2)
    >>> search.fit(bags, y).explain(bags[:1]).columns.tolist()
    ['bag', 'instance', 'label', 'score', 'share', 'features']
    """
