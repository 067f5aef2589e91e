"""PathCV against cross-validation by hand along the same paths."""

import numpy as np
import pytest

from bagwise import AnnealedProportionSVC, InstanceSVC, LabelSVC, PathCV, WitnessSVC
from bagwise.crossfit import folds
from bagwise.testing._problems import planted_bags

CS = [0.01, 0.1, 1.0]


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [InstanceSVC, WitnessSVC, LabelSVC])
def test_scores_are_those_of_paths_on_the_folds(kind, kernel, scoring):
    bags, y = planted_bags(n_bags=24, shift=1.0)
    base = kind(kernel=kernel, gamma=0.1)  # a width that the folds share
    search = PathCV(estimator=base, values=CS, cv=3, scoring=scoring).fit(bags, y)
    expected = []
    for train, test in folds(bags, y, 3, 0):
        models = base.path(bags[train], y[train], values=CS)
        scores = [model.decision_function(bags[test]) for model in models]
        if scoring == "accuracy":
            expected.append([np.mean((s > 0) == y[test]) for s in scores])
        else:
            pairs = [s[y[test] == 1][:, None] - s[y[test] == 0] for s in scores]
            expected.append([np.mean(p > 0) + np.mean(p == 0) / 2 for p in pairs])
    found = np.array([record["scores"] for record in search.cv_results_]).T
    np.testing.assert_allclose(found, expected, atol=1e-12)
    best = int(np.argmax(np.mean(expected, axis=0)))
    assert search.best_value_ == CS[best]
    np.testing.assert_allclose(
        search.decision_function(bags),
        base.path(bags, y, values=CS)[best].decision_function(bags),
        atol=1e-8,
    )


def test_other_parameters_and_many_classes():
    bags, y = planted_bags(3, n_bags=24)
    search = PathCV(
        estimator=AnnealedProportionSVC(), name="positive_fraction", values=[0.2, 0.8], cv=2
    ).fit(bags, y)
    assert search.best_value_ in (0.2, 0.8)
    assert search.predict(bags).shape == (24,)
    with pytest.raises(ValueError, match="two classes"):
        PathCV(scoring="roc_auc", values=[1.0], cv=2).fit(bags, y)
