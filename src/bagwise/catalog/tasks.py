"""The estimators of numbers, grades and times. A new one adds an entry here."""

from __future__ import annotations

from bagwise.catalog.entries import RANDOM_DRAWS
from bagwise.catalog.entry import entry, name

# fmt: off
OF_TASKS = (
    entry("bagwise.models.witness_regressor.WitnessRegressor",
        name("WitnessRegressor", "ray2001", "one instance, the largest, has the number of the bag"),
        task="numbers",
        variants=[{"kernel": "linear", "aggregate": "min"}, {"epsilon": 0.1},
            {"loss": "epsilon_insensitive", "epsilon": 0.05, "kernel": "linear"}],
        cost=2),
    entry("bagwise.models.meansvc.MeanRegressor",
        name("MeanRegressor", "dong2006", "quick baseline: ridge regression on the mean"),
        task="numbers",
        variants=[{"kernel": "linear"}, {"epsilon": 0.1}]),
    entry("bagwise.models.statistics.StatisticsForestRegressor",
        name("StatisticsForestRegressor", "geurts2006",
            "trees on quantiles of each feature in the bag"),
        task="numbers",
        checked={"n_estimators": 10},
        fails={
            f"check_sample_weight_equivalence_on_{kind}_data": "leaves count bags, not weights"
            for kind in ("dense", "sparse")
        },
        cost=5),
    entry("bagwise.models.composition.CompositionRegressor",
        name("CompositionRegressor", "csurka2004", "how much of each kind of instance a bag has"),
        task="numbers",
        grid={"C": (1.0, 10.0, 100.0)},
        checked={"n_words": 8, "C": 10.0},
        fails={
            "check_regressors_train": "eight words say little of a plain table",
            **RANDOM_DRAWS,
            "check_order_of_instances": "which instances the words begin at depends on their order",
        },
        cost=2),
    entry("bagwise.models.bagkernel.BagKernelRegressor",
        name("BagKernelRegressor", "gaertner2002",
            "bags compared by the mean kernel of their instances"),
        name("DistributionRegressor", "szabo2016",
            "a Gaussian kernel of the distances between bags as distributions",
            bag_kernel="distribution"),
        task="numbers",
        pairwise=True,
        variants=[{"bag_kernel": "statistics"}, {"bag_kernel": "distribution"}],
        cost=1),
    entry("bagwise.model_selection.auto.regressor.AutoBagRegressor",
        name("auto-numbers", "wolpert1992", "many regressors tried, the best of them combined"),
        task="numbers",
        needs="inner folds of its own for every model it tries",
        checked={"models": ["MeanRegressor", "WitnessRegressor"], "cv": 2},
        fails={"check_order_of_bags": "the folds follow the order of the bags"}),
    entry("bagwise.models.ordinal.OrdinalBagClassifier",
        name("OrdinalBagClassifier", "frank2001",
            "any bag classifier at every threshold between grades"),
        task="grades",
        needs="an estimator, by whose name it is compared",
        checked={"rule": "mode"},  # scikit-learn asks that the most probable class is predicted
        fails={
            "check_order_of_bags": "the folds of the calibration follow the order of the bags",
            **{f"check_sample_weight_equivalence_on_{kind}_data": "repeated bags move the folds"
                for kind in ("dense", "sparse")},
        },
        cost=4),
    entry("bagwise.models.survival.BagSurvival",
        name("BagSurvival", "vock2016",
            "any bag classifier at several landmark times, weighted for censoring"),
        task="times",
        needs="an estimator, by whose name it is compared",
        checked={"times": 2},
        cost=4),
    entry("bagwise.models.survival.CoxBag",
        name("CoxBag", "cox1972", "proportional hazards of the mean of a bag"),
        task="times",
        grid={"alpha": (1.0, 10.0, 100.0)},
        variants=[{"embedding": "statistics"}, {"embedding": "composition", "n_words": 4}]),
    entry("bagwise.model_selection.auto.survival.AutoBagSurvival",
        name("auto-times", "wolpert1992",
            "landmark models and Cox's models tried, the best of them combined"),
        task="times",
        needs="inner folds of its own for every model it tries",
        checked={"models": ["CoxBag"], "cv": 2}),
)
# fmt: on
