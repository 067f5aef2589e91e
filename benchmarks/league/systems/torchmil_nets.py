"""torchmil: ABMIL, CLAM, DSMIL and TransMIL with their default sizes, one bag per step.

torchmil leaves the optimizer to its user: Adam at 1e-3, at most 100 epochs, and an end after 10
epochs without a lower loss on a held-out fifth of the training bags, or when the budget is spent.
CLAM samples one instance per side (``k_sample``) and not ten: its instance loss fails as soon as
three sampled instances have large margins.
"""

import copy
import time
from functools import partial

import numpy as np
import torch
from scaled import standardizer
from torchmil.models import ABMIL, CLAM_SB, DSMIL, TransMIL

PACKAGES = ("torchmil", "torch")
torch.set_num_threads(1)


def train(model, bags, y, seed, until):
    """Return the model at its lowest held-out loss."""
    rng, optimizer = np.random.default_rng(seed), torch.optim.Adam(model.parameters(), lr=1e-3)
    shuffled = [rng.permutation(np.flatnonzero(y == label)) for label in (0, 1)]
    held = np.concatenate([numbers[: len(numbers) // 5] for numbers in shuffled])
    kept, best, wait = np.setdiff1d(np.arange(len(y)), held), (np.inf, None), 0

    def loss_of(i):
        label = torch.tensor([float(y[i])], device=bags[i].device)
        return sum(model.compute_loss(label, bags[i])[1].values())

    for _ in range(100):
        model.train()
        for i in rng.permutation(kept):
            optimizer.zero_grad()
            loss_of(i).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss = float(np.mean([float(loss_of(i)) for i in held]))
        wait = 0 if loss < best[0] else wait + 1
        best = (loss, copy.deepcopy(model.state_dict())) if loss < best[0] else best
        if wait == 10 or time.process_time() > until:
            break
    model.load_state_dict(best[1])
    return model.eval()


def entry(make):
    """Return an entry for a network."""

    def fit(bags, y, seed, budget):
        until = time.process_time() + budget
        scale = standardizer(bags)
        torch.manual_seed(seed)
        model = make((bags[0].shape[1],)).to(_device())
        model = train(model, [_tensor(b) for b in scale(bags)], y, seed, until)

        def predict(new):
            with torch.no_grad():
                found = [model.predict(_tensor(b), return_inst_pred=True) for b in scale(new)]
            score = np.array([float(bag) for bag, _ in found])
            chance = 1 / (1 + np.exp(-score))
            instances = [inst.cpu().numpy().reshape(-1) for _, inst in found]
            return {"score": score, "probability": chance, "label": score > 0,
                    "instances": lambda: instances}  # fmt: skip

        return predict

    return fit


def _tensor(bag):
    return torch.tensor(bag, dtype=torch.float32, device=_device())[None]


def _device():
    return "cuda" if torch.cuda.is_available() else "cpu"


NETS = {"ABMIL": ABMIL, "CLAM": partial(CLAM_SB, k_sample=1), "DSMIL": DSMIL, "TransMIL": TransMIL}
SYSTEMS = {f"torchmil {name}": entry(net) for name, net in NETS.items()}
RANDOM = set(SYSTEMS)
