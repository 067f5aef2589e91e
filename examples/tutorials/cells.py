# %% [markdown]
# # Single cells: ill patients, unknown cells
#
# Cytometry measures thousands of cells per blood sample. The diagnosis belongs to the patient. A sample is a bag of cells, and a
# patient may have given several samples: these must not be divided between training and test.
#
# The cells are generated: four types, with proportions and shifts that differ from patient to patient. Ill patients also have a few blasts.

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
MARKERS = ["CD3", "CD19", "CD33", "CD34", "CD45", "CD117"]
TYPES = rng.normal(scale=1.5, size=(4, 6))
BLAST = np.array([-1.0, -1.0, 2.0, 3.0, -1.5, 2.5])

rows = []
for patient in range(30):
    ill, shift = patient % 2, rng.normal(scale=0.9, size=6)  # every patient is a little different
    mixture = rng.dirichlet(np.ones(4))
    for sample in range(3):
        kinds = rng.choice(4, 40, p=mixture)
        cells = TYPES[kinds] + shift + rng.normal(scale=0.8, size=(40, 6))
        blast = (rng.random(40) < 0.08) & bool(ill)
        cells[blast] = BLAST + shift + rng.normal(scale=0.8, size=(blast.sum(), 6))
        frame = pd.DataFrame(cells, columns=MARKERS)
        names = {"sample": f"p{patient}s{sample}", "patient": f"p{patient}"}
        rows.append(frame.assign(**names, ill=ill, blast=blast * 1))
table = pd.concat(rows, ignore_index=True)
print(table.groupby("ill")[["sample", "patient"]].nunique().to_string())

# %% [markdown]
# `groups` stays with the bags when they are selected or divided. (`bagwise.io.read` reads AnnData files: `bag`, `label` and `groups` are
# then columns of `obs`.)

# %%
from bagwise import Bags

bags, y = Bags.from_frame(
    table, bag="sample", label="ill", groups="patient", instance_labels="blast", features=MARKERS
)
print(bags)

# %% [markdown]
# Each model is judged in two ways. If samples of a patient are in both training and test folds, the model can recognize patients instead
# of the disease, and the first number is too good. The second number is what to expect for new patients.

# %%
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_score

from bagwise import StatisticsForest, WitnessSVC

for model in (StatisticsForest(), WitnessSVC(kernel="linear", C=0.1)):
    for name, folds in (
        ("samples divided at random", StratifiedKFold(5, shuffle=True, random_state=0)),
        ("patients kept together", StratifiedGroupKFold(5, shuffle=True, random_state=0)),
    ):
        kept = {"groups": bags.groups} if "patients" in name else {}
        splits = list(folds.split(y, y, **kept))
        scores = cross_val_score(model, bags, y, cv=splits, scoring="roc_auc")
        print(f"{type(model).__name__}, {name}: AUC {scores.mean():.2f}")

# %% [markdown]
# Within bagwise nothing has to be passed: `compare`, `search`, thresholds and probabilities keep `bags.groups` together.
#
# Which cells decide? We train on 20 patients and score the cells of the ill ones among the other 10.

# %%
number = np.array([int(name[1:]) for name in bags.groups])
train, test = number < 20, (number >= 20) & (y == 1)
model = WitnessSVC(kernel="linear", C=0.1).fit(bags[train], y[train])
new = bags[test]
scores = model.instance_decision_function(new)
key = new.flat(model.key_instances(new))
of_key, of_all = new.instance_labels[key].mean(), new.instance_labels.mean()
print(f"{of_key:.0%} of the key cells are blasts; of all cells {of_all:.0%} are")

# %% alt="Cells of new ill patients in the plane of two markers. Cells with high scores are the blasts, ringed."
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
x = new.X[:, [MARKERS.index("CD34"), MARKERS.index("CD45")]]
shown = ax.scatter(*x.T, c=scores, cmap="RdBu_r", vmin=-3, vmax=3, s=12)
blasts = new.instance_labels == 1
ax.scatter(*x[blasts].T, s=45, facecolors="none", edgecolors="#222222", lw=0.9, label="true blasts")
figure.colorbar(shown, label="score of the cell (above 0: ill)")
ax.set(xlabel="CD34", ylabel="CD45", title="Cells of patients that the model has not seen")
ax.legend()
plt.close(figure)
figure
