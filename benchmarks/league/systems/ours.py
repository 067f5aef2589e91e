"""bagwise: the automatic model, also with the standard assumption, and its best single model."""

import time

import numpy as np

# The limit of the automatic model is to be CPU time, as for all others.
time.monotonic = time.perf_counter = time.process_time

from bagwise import AutoBagClassifier, Bags  # noqa: E402

PACKAGES = ("bagwise", "scikit-learn", "scipy")
RANDOM = {"bagwise auto", "bagwise auto, standard assumption", "bagwise best single model"}


def answer(model, new):
    """Return what a fitted bag classifier says of bags; instances only when they are asked for."""
    bags = Bags.from_list(new)
    return {
        "score": model.decision_function(bags),
        "probability": model.predict_proba(bags)[:, 1],
        "label": model.predict(bags),
        "instances": lambda: np.split(model.instance_decision_function(bags), bags.offsets[1:-1]),
    }


def fit_auto(bags, y, seed, budget, **options):
    """Fit the automatic model within the budget, with room for the refit."""
    model = AutoBagClassifier(time_limit=budget, random_state=seed, n_jobs=1, **options)
    model.fit(Bags.from_list(bags), y)
    return lambda new: answer(model, new)


def fit_standard(bags, y, seed, budget):
    """Fit the automatic model of models that can only rise with an instance."""
    return fit_auto(bags, y, seed, budget, assumption="standard")


def fit_single(bags, y, seed, budget):
    """Choose the candidate of highest inner AUC, and fit it alone."""
    data = Bags.from_list(bags)
    auto = AutoBagClassifier(time_limit=budget, random_state=seed, n_jobs=1).fit(data, y)
    tried = [row for row in auto.results_[1:] if row["folds"] == auto.results_[0]["folds"]]
    best = max(tried, key=lambda row: row["auc"])["model"]
    alone = AutoBagClassifier(models=[best], time_limit=None, random_state=seed, n_jobs=1)
    alone.fit(data, y)
    return lambda new: answer(alone, new)


SYSTEMS = {
    "bagwise auto": fit_auto,
    "bagwise auto, standard assumption": fit_standard,
    "bagwise best single model": fit_single,
}
