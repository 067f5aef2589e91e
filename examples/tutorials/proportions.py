# %% [markdown]
# # Proportions: when you know how many, but not which
#
# A treated culture is known to contain about 30 % of cells that respond, an untreated one none. Which cells respond is not known. When the
# fraction of positives in each positive bag is known, even roughly, a model should use it.
#
# The data are generated. Responding cells overlap with the others, so that labels of bags alone leave much open.

# %%
import numpy as np

from bagwise import Bags

rng = np.random.default_rng(0)


def culture(fraction, n_cells=40):
    """Return cells, and which of them respond."""
    responds = rng.random(n_cells) < fraction
    cells = rng.normal(size=(n_cells, 8))
    cells[responds, :2] += 2.0
    return cells, responds


treated = np.arange(60) % 2
fractions = np.where(treated == 1, rng.uniform(0.1, 0.6, 60), 0.0)
cells, responds = zip(*(culture(f) for f in fractions), strict=True)
known = np.clip(fractions + rng.normal(scale=0.03, size=60) * treated, 0, 1)  # measured, with error
bags = Bags.from_list(cells, priors=known, instance_labels=np.concatenate(responds))
print(bags)

# %% [markdown]
# Three models: mi-SVM (`LabelSVC`) only knows that a treated culture has at least one responding cell. ALP-SVM (`AnnealedProportionSVC`) is
# told one fraction for all, or takes the fraction of each bag from `bags.priors`. We ask how well each finds the responding cells of
# treated cultures that it has not seen.

# %%
from bagwise import AnnealedProportionSVC, LabelSVC

models = {
    "at least one (mi-SVM)": LabelSVC(kernel="linear"),
    "30 % in all (ALP-SVM)": AnnealedProportionSVC(kernel="linear", positive_fraction=0.3),
    "fraction of each bag": AnnealedProportionSVC(kernel="linear", positive_fraction="bags"),
}
train, test = slice(0, 40), slice(40, 60)
new = bags[test][treated[test] == 1]
accuracy, estimated = {}, {}
for name, model in models.items():
    predicted = model.fit(bags[train], treated[train]).predict_instances(new)
    accuracy[name] = np.mean(predicted == new.instance_labels)
    estimated[name] = [p.mean() for p in np.split(predicted, new.offsets[1:-1])]
    print(f"{name:22} {accuracy[name]:.0%} of the cells are labeled correctly")

# %% [markdown]
# The labels of instances also estimate the fraction in a new culture, which was not given for these:

# %% alt="Estimated against true fraction of responding cells in new cultures. Models that know fractions lie near the diagonal."
import matplotlib.pyplot as plt

true = [part.mean() for part in np.split(new.instance_labels, new.offsets[1:-1])]
figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for (name, values), mark in zip(estimated.items(), "s^o", strict=True):
    ax.scatter(true, values, marker=mark, label=name)
ax.plot([0, 0.7], [0, 0.7], color="#8a8a8a", lw=0.8, ls="--")
ax.set(xlabel="true fraction of responding cells", ylabel="estimated fraction")
ax.legend()
plt.close(figure)
figure
