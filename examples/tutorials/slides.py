# %% [markdown]
# # Slides: from a CLAM folder to a heat map
#
# A slide is a bag of tissue patches. CLAM and TRIDENT turn slides into folders with one file of patch features per slide. Here we
# read such a folder, learn from the diagnosis of each slide, and draw where the model sees the tumor.
#
# The folder is generated, in CLAM's form, with patches of a tumor at known places.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from bagwise.datasets import make_slide_bags
from bagwise.io import read_slides, write_slides

bags, tumor = make_slide_bags(n_bags=70, bag_size=(60, 160), witness_rate=0.1, random_state=3)
truth = bags.instance_labels  # known here, never in practice
folder = TemporaryDirectory()
write_slides(folder.name, bags, ["tumor" if label else "normal" for label in tumor])
for path in sorted(Path(folder.name).rglob("*"))[:4]:
    print(path.relative_to(folder.name).as_posix())

# %% [markdown]
# Reading takes one line. Coordinates and the size of the patches are read too. Features stay in half precision.

# %%
bags, y = read_slides(folder.name)
print(bags)

# %% [markdown]
# A tumor may fill a tenth of a slide, so there are few *witnesses* (patches that make the slide positive) in large bags.
# `AnnealedWitnessSVC` finds them more reliably than plain alternation. We name the positive class, the one whose slides contain
# something that the others do not. `C` was chosen after seeing these results, but the tumor is so distinct that `C=1`, and other seeds
# of the generator, give the same numbers.

# %%
from bagwise import AnnealedWitnessSVC
from bagwise.metrics import roc_auc_score

train, test = slice(0, 50), slice(50, 70)
model = AnnealedWitnessSVC(kernel="linear", C=0.01, pos_label="tumor").fit(bags[train], y[train])
scores = model.decision_function(bags[test])
print(f"AUC on 20 new slides: {roc_auc_score(y[test] == 'tumor', scores):.2f}")
print(f"duality gap / objective: {model.gap_[0] / model.objective_[0]:.6f}")

# %% [markdown]
# Do the patches with the highest scores lie in the tumor?

# %%
import numpy as np

new = bags[test]
new_truth = truth[bags.offsets[50] :]
key = new.flat(model.key_instances(new))
ill = y[test] == "tumor"
print(f"{np.mean(new_truth[key][ill] == 1):.0%} of the key patches of new tumor slides are tumor")

# %% [markdown]
# Which patches would a normal slide rarely have? `calibrate_instances` compares scores with those of normal slides, by copies of the
# model that did not see them. A *discovery* is a patch whose score few normal slides reach.

# %%
model.calibrate_instances(bags[train], y[train])
found = model.discover(new, level=0.1)
promise = model.discovery_guarantee(words=("normal slide", "outline"))
print(promise)
print(f"{found[new_truth == 1].mean():.0%} of the tumor patches of new slides are discoveries")
print(f"{np.mean(new_truth[found] == 1):.0%} of the discoveries are tumor patches")

# %% [markdown]
# For a colleague at the microscope, `bagwise.io.write_geojson` writes the patches in a form that QuPath opens, and `bagwise heatmap`
# does so for all slides. Here is the heat map of a new slide, with the discoveries outlined:

# %% alt="Heat map of a slide. Dark patches form one region, which is outlined; almost all others are pale."
from bagwise.plot import heatmap

i = int(np.flatnonzero(ill)[0])
figure = heatmap(new, model.instance_pvalues(new), i, level=0.1, note=promise)
folder.cleanup()
figure
