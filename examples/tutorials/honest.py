# %% [markdown]
# # Choosing and comparing models honestly
#
# Which model is best for my bags? With a few dozen bags the honest answer is often that several models are equally good as far as the
# data can tell. `compare` says so, with intervals that hold what they promise.
#
# The data are bags of handwritten digits: is there a 9?

# %%
from bagwise.datasets import load_digits_bags

bags, y = load_digits_bags(digit=9, n_bags=60, random_state=0)
print(bags)

# %% [markdown]
# First we make the usual mistake: we try 25 settings on the same folds and report the best one. To see what this does, we give the bags
# random labels. There is nothing to learn, so an honest accuracy is near one half.

# %%
import numpy as np
from sklearn.model_selection import GridSearchCV

from bagwise import BagKernelSVC, InstanceSVC, MeanSVC, WitnessSVC
from bagwise.model_selection import compare

grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "gamma": [0.0001, 0.0003, 0.001, 0.003, 0.01]}
coins = np.random.default_rng(0).permutation(y)
search = GridSearchCV(WitnessSVC(), grid, cv=5, scoring="accuracy").fit(bags, coins)
print(f"random labels, best of 25 settings on the folds that chose it: {search.best_score_:.2f}")
honest = compare(bags, coins, {"MI-SVM": WitnessSVC()}, n_repeats=1).frame.iloc[0]
print(f"random labels, settings chosen on inner folds only: {honest['accuracy']:.2f}")

# %% [markdown]
# `compare` chooses parameters and thresholds on inner folds only. Outer folds judge. Intervals come from the spread over bags, so that
# repeating the folds does not make them look narrower than the data allow.

# %%
models = {
    "MI-SVM": WitnessSVC(kernel="linear"),
    "SIL": InstanceSVC(kernel="linear"),
    "SimpleMI": MeanSVC(),
    "MI-Kernel": BagKernelSVC(),
}
found = compare(bags, y, models, cv=5, n_repeats=1)
print(found.frame[["model", "group", "auc", "auc_low", "auc_high"]].round(2).to_string(index=False))

# %% [markdown]
# Models of group 1 cannot be told from the best with 60 bags. Among them `compare` recommends one that is simple, quick and points at
# instances:

# %%
print(found.recommendation)
print(found.groups)

# %% alt="Models with 95 % intervals of their AUC; a bar joins models that cannot be told apart."
found.plot()
