"""Linear models on four million half-precision instances on one GPU, beside attention MIL.

    python benchmarks/scale_gpu.py --out docs/results/scale_gpu.jsonl [--only AL AW ...]

Planted bags: 4,000 ragged bags of 500 to 1,500 instances with 1,024 float16 features, a mixture of
8 tissues that differ from bag to bag, and 1 to 5 % witnesses in positive bags, shifted along one
direction. 400 more bags are for testing. Seconds are those of ``fit`` with the instances on the GPU
already (their transfer is its own line), after a fit of 20 bags that compiles what is compiled.
C is fixed; "AW with C chosen" includes the choice among three C by three folds. Attention MIL
(ABMIL, Ilse et al. 2018, 128 units) trains 50 epochs, one bag at a time, with Adam.
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
from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, Bags, InstanceSVC, WitnessSVC
from bagwise.rowstores.device import DeviceRows

RANK, TISSUES, SHIFT = 16, 8, 2.5
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

    def _AL(self) -> None:
        self._fit("AL", AnnealedLabelSVC(kernel="linear", C=self.C))
        self._fit("AL, one step", AnnealedLabelSVC(kernel="linear", C=self.C, newton_steps=1))

    def _AW(self) -> None:
        self._fit("AW", AnnealedWitnessSVC(kernel="linear", C=self.C))
        self._fit("AW, one step", AnnealedWitnessSVC(kernel="linear", C=self.C, newton_steps=1))

    def _W(self) -> None:
        self._fit("WitnessSVC", WitnessSVC(kernel="linear", C=self.C))

    def _I(self) -> None:
        self._fit("InstanceSVC", InstanceSVC(kernel="linear", C=self.C))

    def _MIMN(self) -> None:
        self._fit("MIMN", bagwise.MarkovNetworkClassifier())

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
        part, y = self.bags[:100], self.y[:100]
        exact = part.replace(X=DeviceRows(part.X.tensor.double(), True))
        for model in (InstanceSVC(kernel="linear", C=self.C), AnnealedLabelSVC(kernel="linear")):
            half = model.set_params(C=6 * self.C).fit(part, y).objective_[0]
            full = model.fit(exact, y).objective_[0]
            self._say(
                what=f"float16 against float64, {type(model).__name__}", change=half / full - 1
            )

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
        torch.manual_seed(0)
        d, hidden = self.bags.n_features, 128
        body = torch.nn.Sequential(torch.nn.Linear(d, hidden), torch.nn.ReLU())
        attention = torch.nn.Sequential(
            torch.nn.Linear(hidden, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1)
        )
        net = torch.nn.ModuleList([body, attention, torch.nn.Linear(hidden, 1)]).to(DEVICE)
        torch.set_float32_matmul_precision("high")
        adam = torch.optim.Adam(
            net.parameters(), lr=2e-4, weight_decay=1e-5, fused=DEVICE == "cuda"
        )

        def forward(rows: Any) -> tuple[Any, Any]:
            h = net[0](rows.float())
            weights = torch.softmax(net[1](h)[:, 0], 0)
            return net[2](weights @ h)[0], weights

        X, offsets, began = self.bags.X.tensor, self.bags.offsets, sync()
        y = torch.as_tensor(self.y, device=DEVICE).float()
        epochs = 0
        while epochs < 50:
            epochs += 1
            for i in torch.randperm(len(self.y)).tolist():
                score, _ = forward(X[offsets[i] : offsets[i + 1]])
                loss = torch.nn.functional.binary_cross_entropy_with_logits(score, y[i])
                adam.zero_grad(set_to_none=True)
                loss.backward()
                adam.step()
            if sync() - began > 240:
                break
        seconds = sync() - began
        with torch.no_grad():
            T, cuts = self.test.X.tensor, self.test.offsets
            seen = [forward(T[cuts[i] : cuts[i + 1]]) for i in range(len(self.t))]
        scores = torch.stack([score for score, _ in seen]).cpu().numpy()
        inside = torch.cat([weights for _, weights in seen]).cpu().numpy()
        auc, deep = roc_auc_score(self.t, scores), roc_auc_score(self.witness.cpu().numpy(), inside)
        self._say(what="ABMIL", epochs=epochs, seconds=seconds, auc=auc, instance_auc=deep)


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
