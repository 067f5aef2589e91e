# %% [markdown]
# # Molecules: which shape binds?
#
# A molecule bends into many shapes. If one of them fits the receptor, the molecule is active. The laboratory tells us which
# molecules are active, and not in which shape. This is the problem that multiple-instance learning was invented for.
#
# The data are generated. The classical data sets, `musk1` and `musk2`, have the same form: `bagwise.datasets.fetch("musk1")`.

# %%
from bagwise import BagKernelSVC, WitnessSVC
from bagwise.datasets import make_molecule_bags

bags, y = make_molecule_bags(n_bags=160, n_features=30, n_binding=3, random_state=0)
print(bags)
print(f"{y.sum()} active molecules")

# %% [markdown]
# A *bag* is a molecule, its *instances* are shapes, described by 30 features. Only the first three of them matter here, which
# no model is told. In an active molecule one shape fits: its *witness*. All other shapes are like those of inactive molecules.
#
# Two models with opposite assumptions: `WitnessSVC` looks for the one shape, `BagKernelSVC` compares whole molecules.

# %%
from sklearn.model_selection import cross_val_score

for model in (WitnessSVC(C=10), BagKernelSVC(C=10)):
    scores = cross_val_score(model, bags, y, cv=4, scoring="roc_auc")
    print(f"{type(model).__name__}: AUC {scores.mean():.2f}")

# %% [markdown]
# If one shape in twenty decides, the whole molecule says little. (On the real `musk1`, where most shapes of an active molecule are
# similar, it is the other way around; see *Choose a model*.)
#
# Which shape does the model point at, in molecules that it has not seen?

# %%
train, test = slice(0, 100), slice(100, 160)
model = WitnessSVC(C=10).fit(bags[train], y[train])
new, truth = bags[test], y[test]
found = new.flat(model.key_instances(new))
active = truth == 1
right = new.instance_labels[found][active]
print(f"the binding shape was found in {right.sum()} of {active.sum()} active molecules")

# %% [markdown]
# What did the model learn? We shuffle one feature over all shapes, and look at how much the AUC falls. The three features of the
# binding site should stand out.

# %% alt="Bars: permutation importance of features. The three features of the binding site come first."
from bagwise.plot import importance

importance(model, new, truth, top=12)
