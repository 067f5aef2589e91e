"""The tasks of benchmarks/auto.py, all of two classes."""

from __future__ import annotations

import numpy as np

from bagwise.datasets import fetch, load_digits_bags, make_slide_bags

DOGS = 10  # class of corel2000
N_OTHERS = 300  # bags of other classes beside the dogs


def dogs():
    bags, y = fetch("corel2000")
    is_dog = np.asarray(y) == np.unique(y)[DOGS]
    others = np.random.default_rng(0).choice(np.flatnonzero(~is_dog), N_OTHERS, replace=False)
    chosen = np.sort(np.concatenate([np.flatnonzero(is_dog), others]))
    return bags[chosen], is_dog[chosen].astype(int)


def digits(seed=0, subset="train"):
    n_bags = 100 if subset == "train" else 300
    return load_digits_bags(9, n_bags=n_bags, subset=subset, random_state=seed)


def slides(seed=0, n_bags=100):
    """Return slides of 50 to 400 patches, of which one percent, at least one, is tumor."""
    return make_slide_bags(n_bags, witness_rate=0.01, dtype=np.float32, random_state=seed)


GENERATED = {"digits": digits, "dogs": dogs}


def load(task):
    """Return bags and labels 0 or 1."""
    bags, y = GENERATED[task]() if task in GENERATED else fetch(task)
    return bags, (np.asarray(y) == np.unique(y)[1]).astype(int)
