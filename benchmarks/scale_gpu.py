"""Linear models on four million half-precision instances on one GPU, beside attention MIL.

    python benchmarks/scale_gpu.py --out docs/results/scale_gpu.jsonl [--only AL AW ...]

Planted bags: 4,000 ragged bags of 500 to 1,500 instances with 1,024 float16 features, a mixture of
8 tissues that differ from bag to bag, and 1 to 5 % witnesses in positive bags, shifted along one
direction. 400 more bags are for testing. Seconds are those of ``fit`` with the instances on the GPU
already (their transfer is its own line), after a fit of 20 bags that compiles what is compiled.
C is fixed; "AW with C chosen" includes the choice among three C by three folds. Attention MIL
(ABMIL, Ilse et al. 2018, 128 units) trains 50 epochs with Adam in bfloat16, eight bags per step.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import bagwise
from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, Annealing, Bags, InstanceSVC, WitnessSVC
from bagwise.rowstores.device import DeviceRows

RANK, TISSUES, SHIFT = 16, 8, 2.5
STEP = 8  # bags per step of Adam: one bag a step took 9 s per epoch, whatever the arithmetic
LONGEST = 200.0  # seconds for attention MIL
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def world(d: int) -> tuple[Any, Any, Any]:
    """Return the direction of witnesses, the loadings and the tissues."""
    draw = torch.Generator(device=DEVICE).manual_seed(7)
    basis = torch.linalg.qr(torch.randn(d, RANK + 1, device=DEVICE, generator=draw))[0]
    loadings = (basis[:, 1:] * torch.linspace(3, 0.5, RANK, device=DEVICE)).T
    tissues = torch.randn(TISSUES, RANK, device=DEVICE, generator=draw) @ loadings
    return basis[:, 0], loadings, tissues


def make(n_bags: int, d: int, seed: int, smallest: int, largest: int) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, instance labels and offsets."""
    draw = torch.Generator(device=DEVICE).manual_seed(seed)
    direction, loadings, tissues = world(d)
    sizes = torch.randint(smallest, largest + 1, (n_bags,), device=DEVICE, generator=draw)
    offsets = torch.cat([torch.zeros(1, dtype=torch.long, device=DEVICE), sizes.cumsum(0)])
    X = torch.empty(int(offsets[-1]), d, device=DEVICE, dtype=torch.float16)
    y = torch.rand(n_bags, device=DEVICE, generator=draw) < 0.5
    witness = torch.zeros(len(X), dtype=torch.bool, device=DEVICE)

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device=DEVICE, generator=draw)

    for i in range(n_bags):
        a, b = int(offsets[i]), int(offsets[i + 1])
        m = b - a
        shares = torch._sample_dirichlet(torch.ones(1, TISSUES, device=DEVICE), generator=draw)[0]
        kind = torch.multinomial(shares, m, replacement=True, generator=draw)
        rows = tissues[kind] + normal(m, RANK) @ (0.5 * loadings) + normal(m, d)
        rows += (0.35 * normal(1, RANK)) @ loadings
        rate = 0.01 + 0.04 * torch.rand(1, device=DEVICE, generator=draw)
        is_witness = (torch.rand(m, device=DEVICE, generator=draw) < rate) & y[i]
        rows += (is_witness * SHIFT * (1 + 0.3 * normal(m)))[:, None] * direction
        X[a:b], witness[a:b] = rows.half(), is_witness
    return X, y, witness, offsets.cpu().numpy()


def sync() -> float:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


class Bench:
    """The data, and a line of JSON per measurement."""

    def __init__(self, out: Path | None, n_bags: int, d: int, sizes: tuple[int, int]) -> None:
        self.out = out
        X, y, _, offsets = make(n_bags, d, 1, *sizes)
        T, t, self.witness, test_offsets = make(max(2, n_bags // 10), d, 2, *sizes)
        self.bags, self.y = Bags(DeviceRows(X, True), offsets), y.cpu().numpy().astype(int)
        self.test, self.t = Bags(DeviceRows(T, True), test_offsets), t.cpu().numpy().astype(int)
        self.C = 1e-3 * max(1.0, (4e6 / len(X)) ** 0.5)

    def _say(self, **record: Any) -> None:
        line = json.dumps(
            {k: round(v, 6) if isinstance(v, float) else v for k, v in record.items()}
        )
        print(line, flush=True)
        if self.out:
            with self.out.open("a") as stream:
                stream.write(line + "\n")

    def _judge(self, model: Any) -> dict[str, float]:
        scores = model.decision_function(self.test)
        inside = model.instance_decision_function(self.test)
        witness = self.witness.cpu().numpy()
        return {
            "auc": roc_auc_score(self.t, scores),
            "instance_auc": roc_auc_score(witness, inside),
        }

    def _fit(self, name: str, model: Any, bags: Any = None, y: Any = None) -> Any:
        bags, y = (self.bags, self.y) if bags is None else (bags, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = sync()
            model.fit(bags, y)
            seconds = sync() - began
        history = model.history_ if isinstance(model.history_, list) else []
        self._say(
            what=name,
            rows=bags.n_instances,
            features=bags.n_features,
            seconds=seconds,
            objective=float(model.objective_[0]),
            gap=float(model.gap_[0]),
            steps=sum(r.get("factorizations", r.get("solver_steps", 0)) for r in history),
            outer=len(history),
            warnings=len(caught),
            **(self._judge(model) if bags.n_features == self.test.n_features else {}),
        )
        return model

    # The parts -----------------------------------------------------------------------------------

    def _warm(self) -> None:
        small = self.bags[:20]
        for model in (AnnealedLabelSVC, AnnealedWitnessSVC, WitnessSVC, InstanceSVC):
            model(kernel="linear", C=self.C).fit(small, self.y[:20])
        passes = self.bags[:60]  # enough rows for passes
        bagwise.MarkovNetworkClassifier(max_iter=1).fit(passes, self.y[:60])

    def _AL(self) -> None:
        self._fit("AL", AnnealedLabelSVC(kernel="linear", C=self.C))
        self._fit(
            "AL, one step",
            AnnealedLabelSVC(kernel="linear", C=self.C, annealing=Annealing(newton_steps=1)),
        )

    def _AW(self) -> None:
        self._fit("AW", AnnealedWitnessSVC(kernel="linear", C=self.C))
        self._fit(
            "AW, one step",
            AnnealedWitnessSVC(kernel="linear", C=self.C, annealing=Annealing(newton_steps=1)),
        )

    def _W(self) -> None:
        self._fit("WitnessSVC", WitnessSVC(kernel="linear", C=self.C))

    def _I(self) -> None:
        self._fit("InstanceSVC", InstanceSVC(kernel="linear", C=self.C))

    def _MIMN(self) -> None:
        self._fit("MIMN, one start", bagwise.MarkovNetworkClassifier(init=["instances"]))
        self._fit("MIMN", bagwise.MarkovNetworkClassifier())
        for name, rule in {"MIMN": "any", "RMIMN": "ratio", "GMIMN": "learned"}.items():
            model = bagwise.MarkovNetworkClassifier(cardinality=rule, fit_intercept=True)
            self._fit(f"{name} with an intercept", model)

    def _chosen(self) -> None:
        began, found = sync(), {}
        for C in (0.1 * self.C, self.C, 10 * self.C):
            aucs = []
            for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(
                self.y, self.y
            ):
                model = AnnealedWitnessSVC(kernel="linear", C=C).fit(
                    self.bags[train], self.y[train]
                )
                aucs.append(roc_auc_score(self.y[test], model.decision_function(self.bags[test])))
            found[C] = float(np.mean(aucs))
        best = max(found, key=lambda C: found[C])
        model = AnnealedWitnessSVC(kernel="linear", C=best).fit(self.bags, self.y)
        self._say(what="AW with C chosen", seconds=sync() - began, C=best, **self._judge(model))

    def _precision(self) -> None:
        """Compare with float64: the whole fit, and the objective at the same point."""
        part, y = self.bags[:400], self.y[:400]
        exact = part.replace(X=DeviceRows(part.X.tensor.double(), True))
        for model in (InstanceSVC(kernel="linear"), AnnealedLabelSVC(kernel="linear")):
            half = model.set_params(C=3 * self.C).fit(part, y)
            name, objective, gap = type(model).__name__, half.objective_[0], half.gap_[0]
            there = self._objective(half, exact.X.tensor, part, y)
            full = model.fit(exact, y).objective_[0]
            self._say(
                what=f"float16 against float64, {name}",
                float16=f"{objective:.15g}",
                same_point_in_float64=f"{there:.15g}",
                change=f"{objective / there - 1:.1e}",
                own_fit_in_float64=f"{full:.15g}",
                change_of_fit=f"{objective / full - 1:.1e}",
                relative_gap=f"{gap / objective:.1e}",
            )

    def _objective(self, model: Any, X: Any, bags: Any, y: Any) -> float:
        """Return the objective of a model at its own assignment, in float64 throughout."""
        w = torch.as_tensor(model.coef_[0], device=DEVICE)
        z = X @ w + float(model.intercept_[0])
        p = torch.as_tensor(model.instance_weights_, device=DEVICE).double()
        positive = np.repeat(y.astype(bool), bags.sizes)
        up = torch.where(torch.as_tensor(positive, device=DEVICE), p, 0.0)
        losses = up * (1 - z).clamp(min=0) ** 2 + (1 - up) * (1 + z).clamp(min=0) ** 2
        return float(0.5 * w @ w + model.C * losses.sum())

    def _transfer(self) -> None:
        part = np.asarray(self.bags[: len(self.bags) // 8].X)
        began = sync()
        DeviceRows.of(part, DEVICE)
        seconds = sync() - began
        self._say(what="transfer and check", gigabytes=part.nbytes / 1e9, seconds=seconds)

    def _rbf(self) -> None:
        count = int(np.searchsorted(self.bags.offsets, 40_000, side="right")) - 1
        part, y = self.bags[:count], self.y[:count]
        self._fit("AL, rbf", AnnealedLabelSVC(C=1.0), part, y)

    def _abmil(self) -> None:
        net = Attention(self.bags.n_features)
        began, epochs = sync(), 0
        while epochs < 50 and sync() - began < LONGEST:
            net.epoch(self.bags, self.y, epochs)
            epochs += 1
        seconds = sync() - began
        scores, inside = net.scores(self.test)
        auc, deep = roc_auc_score(self.t, scores), roc_auc_score(self.witness.cpu().numpy(), inside)
        self._say(what="ABMIL", epochs=epochs, seconds=seconds, auc=auc, instance_auc=deep)


class Attention:
    """Attention MIL (Ilse et al. 2018), ``STEP`` bags per step of Adam, softmax by segments."""

    def __init__(self, d: int, hidden: int = 128) -> None:
        torch.manual_seed(0)
        layers = torch.nn
        attention = layers.Sequential(
            layers.Linear(hidden, hidden), layers.Tanh(), layers.Linear(hidden, 1)
        )
        body = layers.Sequential(layers.Linear(d, hidden), layers.ReLU())
        self.net = layers.ModuleList([body, attention, layers.Linear(hidden, 1)]).to(DEVICE)
        self.adam = torch.optim.Adam(
            self.net.parameters(), lr=2e-4 * STEP**0.5, weight_decay=1e-5, fused=DEVICE == "cuda"
        )

    def forward(self, rows: Any, sizes: Any) -> tuple[Any, Any]:
        """Return the scores of bags and the attention of instances."""
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            h = self.net[0](rows)
            logits = self.net[1](h)[:, 0]
        bag = torch.repeat_interleave(torch.arange(len(sizes), device=DEVICE), sizes)
        logits, n = logits.float(), len(sizes)
        top = torch.full((n,), -torch.inf, device=DEVICE)
        top = top.scatter_reduce(0, bag, logits.detach(), "amax")
        weights = torch.exp(logits - top[bag])
        weights = weights / torch.zeros(n, device=DEVICE).index_add(0, bag, weights)[bag]
        shape = n, h.shape[1]
        pooled = torch.zeros(shape, device=DEVICE).index_add(0, bag, weights[:, None] * h.float())
        return self.net[2](pooled)[:, 0], weights

    def epoch(self, bags: Any, y: Any, seed: int) -> None:
        """Take one step per ``STEP`` bags, in random order."""
        X, truth = bags.X.tensor, torch.as_tensor(y, device=DEVICE).float()
        offsets, order = bags.offsets, np.random.default_rng(seed).permutation(len(y))
        for i in range(0, len(order), STEP):
            chosen = order[i : i + STEP]
            rows = torch.cat([X[offsets[k] : offsets[k + 1]] for k in chosen])
            sizes = torch.as_tensor(np.diff(offsets)[chosen], device=DEVICE)
            score, _ = self.forward(rows, sizes)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(score, truth[chosen])
            self.adam.zero_grad(set_to_none=True)
            loss.backward()
            self.adam.step()

    def scores(self, bags: Any) -> tuple[Any, Any]:
        """Return the scores of bags and the attention of their instances."""
        seen = []
        with torch.no_grad():
            for i in range(0, len(bags), STEP):
                part = bags[i : i + STEP]
                sizes = torch.as_tensor(part.sizes, device=DEVICE)
                seen.append(self.forward(part.X.tensor, sizes))
        return tuple(torch.cat(part).cpu().numpy() for part in zip(*seen, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=["I", "W", "AW", "AL", "precision", "rbf"])
    parser.add_argument("--bags", type=int, default=4000)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--sizes", type=int, nargs=2, default=(500, 1500))
    options = parser.parse_args()
    bench = Bench(options.out, options.bags, options.features, tuple(options.sizes))
    bench._say(what="data", rows=bench.bags.n_instances, bags=len(bench.bags), device=_device())
    bench._warm()
    for name in options.only:
        getattr(bench, f"_{name}")()


def _device() -> str:
    return torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU"


if __name__ == "__main__":
    main()
