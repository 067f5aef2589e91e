"""Where the work is done: here, on a GPU, or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bagwise.cli.output import say

_LOCAL = re.compile(r"local(?::([1-9]\d{0,2}))?")
_TIMEOUT = "10s"  # to reach a scheduler: it answers at once, or is not there
_THERE = ("MI-SVM", "AW-SVM", "AL-SVM", "mi-SVM", "SIL")  # compared unless others are named
_WORD = 'cuda, cuda:1, ... for GPUs, or cpu: "cuda" needs PyTorch'


def _check_device(device: str | None) -> str | None:
    if device is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise typer.BadParameter(f"--device {device}: give {_WORD}.")
    return device


def _check_dask(address: str | None) -> str | None:
    if address is not None and not _LOCAL.fullmatch(address) and "://" not in address:
        raise typer.BadParameter(
            f"--dask {address}: give the address of a scheduler, such as tcp://10.0.0.1:8786, or "
            "local, or local:4 for four processes on this computer."
        )
    return address


@dataclass(frozen=True)
class Place:
    """Where the instances are while a model works on them."""

    device: Annotated[
        str | None,
        typer.Option(
            help="Work on a GPU: cuda, cuda:1, ... (needs PyTorch).",
            metavar="NAME",
            callback=_check_device,
        ),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(
            help="Work on a Dask cluster: tcp://HOST:PORT, or local, local:4 for processes here. "
            "DATA is then a .bags store.",
            metavar="ADDRESS",
            callback=_check_dask,
        ),
    ] = None

    def __bool__(self) -> bool:
        return self.dask is not None or self.device not in (None, "cpu")

    @property
    def flag(self) -> str:
        """The option, as the user wrote it."""
        return f"--dask {self.dask}" if self.dask is not None else f"--device {self.device}"

    def jobs(self, jobs: int) -> int:
        """Return the number of processes here: one, where others do the work."""
        return 1 if self else jobs

    def check(self, estimator: Any, scale: str | None = None, impute: str | None = None) -> None:
        """Refuse what would be done here in spite of the option."""
        if not self:
            return
        self._refuse_copies(scale, impute)
        name = type(estimator).__name__
        if not getattr(estimator, "_follows_rows", False) and not self._with_linear(estimator):
            raise typer.BadParameter(
                f"{self.flag}: {name} works in one process only. SIL, mi-SVM, MI-SVM, AL-SVM, "
                "AW-SVM, ALP-SVM and MIMN work there."
            )
        if self.dask is not None and not self._is_linear(estimator):
            raise typer.BadParameter(
                f"{self.flag}: only linear models with the squared hinge are spread over a "
                f"cluster. Add --param kernel=linear{self._loss(estimator)}."
            )

    def _refuse_copies(self, scale: str | None, impute: str | None) -> None:
        if scale == "steps":
            raise typer.BadParameter(
                f"{self.flag}: this model scales or imputes features, which happens in memory here."
            )
        if scale not in (None, "raw") or impute is not None:
            what = "--impute" if impute is not None else "--scale"
            raise typer.BadParameter(
                f"{what} makes a copy of the features in memory here, which {self.flag} is to "
                f"avoid: prepare the features before they are written, and leave {what} away."
            )

    def models(self, names: list[str] | None, scale: str | None, impute: str | None) -> Any:
        """Return models to compare that work there, by name."""
        from bagwise.catalog import make_estimator

        self._refuse_copies(scale, impute)
        linear = {"kernel": "linear"} if self.dask is not None else {}
        models = {}
        for name in names or _THERE:
            plain = make_estimator(name)
            known = {key: x for key, x in linear.items() if key in plain.get_params(deep=False)}
            models[name] = plain.set_params(**known)
            self.check(models[name])
        return models

    @staticmethod
    def _is_linear(estimator: Any) -> bool:
        given = estimator.get_params(deep=False)
        if "kernel" not in given:
            return True
        return given["kernel"] == "linear" and given.get("loss") in (None, "squared_hinge")

    @staticmethod
    def _with_linear(estimator: Any) -> bool:
        """Whether it would work there with another kernel."""
        given = estimator.get_params(deep=False)
        if "kernel" not in given:
            return False
        twin = type(estimator)(**{**given, "kernel": "linear"})
        return getattr(twin, "_follows_rows", False)

    @staticmethod
    def _loss(estimator: Any) -> str:
        loss = estimator.get_params(deep=False).get("loss")
        return "" if loss in (None, "squared_hinge") else " --param loss=squared_hinge"

    @contextmanager
    def moved(self, bags: Any) -> Iterator[Any]:
        """Yield the bags where they are to be; a local cluster ends with the block."""
        with ExitStack() as stack:
            if self.dask is not None:
                self._need_store(bags)
                stack.enter_context(_client(self.dask))
                yield bags.to("dask", device=self.device)
            else:
                yield self._on_device(bags)

    def _on_device(self, bags: Any) -> Any:
        if not self:
            return bags
        try:
            moved = bags.to(self.device)
        except RuntimeError as error:
            raise typer.BadParameter(f"{self.flag}: {str(error).partition(':')[0]}.") from error
        if moved.X.rest is not None:  # it will take longer
            say(f"{moved.X.where}.")
        return moved

    def _need_store(self, bags: Any) -> None:
        try:
            bags.to("dask")
        except ValueError as error:
            raise typer.BadParameter(
                f"{self.flag}: workers open the data by its path, as a .bags store of dense "
                "features. Write one first: bagwise convert DATA features.bags"
            ) from error


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    found = _LOCAL.fullmatch(address)
    with ExitStack() as stack:
        if found:
            n_workers = int(found.group(1) or os.cpu_count() or 1)
            local: Any = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=logging.ERROR,
            )
            stack.enter_context(local)
        try:
            client = Client(local if found else address, timeout=_TIMEOUT)
        except (OSError, ValueError) as error:
            raise typer.BadParameter(
                f"--dask {address}: no scheduler answers there ({error}). Start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS`."
            ) from error
        stack.enter_context(client)
        if not client.nthreads():
            raise typer.BadParameter(
                f"--dask {address}: the cluster has no workers. Start some with "
                f"`dask worker {address}`."
            )
        yield client
