"""mikit-learn: additive attention and a network of mean bags, with their own early stopping."""

import numpy as np
from milearn.network.classifier import AdditiveAttentionNetworkClassifier, BagNetworkClassifier
from scaled import standardizer

PACKAGES = ("mikit-learn", "torch")


def entry(network):
    """Return an entry for a network; its 1,000 epochs are cut to what the budget allows."""

    def fit(bags, y, seed, budget):
        scale = standardizer(bags)
        model = network(random_seed=seed, max_epochs=200)
        model.fit(scale(bags), y.astype(float))

        def predict(new):
            chance = np.asarray(model.predict(scale(new)), dtype=float)
            weights = getattr(network, "compute_attention", None) and model.get_instance_weights
            return {
                "score": chance,
                "probability": chance,
                "label": chance > 0.5,
                "instances": weights and (lambda: [np.ravel(w) for w in weights(scale(new))]),
            }

        return predict

    return fit


SYSTEMS = {
    "mikit additive attention": entry(AdditiveAttentionNetworkClassifier),
    "mikit bag network": entry(BagNetworkClassifier),
}
RANDOM = set(SYSTEMS)
