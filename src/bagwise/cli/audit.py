"""``bagwise audit``: whether a model would have learned the site instead of the label."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.cli.model import Positive, build_model, positive_label, scaler_for
from bagwise.cli.options import Folds, Jobs, Seed
from bagwise.cli.source import Site, Source


def audit(
    source: Source,
    site: Site = None,
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="Paper name or class. Default: a cheap model."),
    ] = None,
    positive: Positive = None,
    permutations: Annotated[
        int, typer.Option(min=0, max=100_000, help="Permutations of the test; 0: no test.")
    ] = 200,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: output.Json = False,
) -> None:
    """Find out whether labels are predicted by the site, such as the hospital.

    Shows how well the site can be predicted from the bags and how it is associated with the
    labels; the AUC of folds beside that of sites that were left out of the training, and beside
    pairs of bags of one site, between which the site cannot decide; each site with its interval,
    and a test: the sites of patients with the same label are permuted, and the model is fitted
    again each time.

    `bagwise audit slides.csv --bag slide --label diagnosis --unit patient --site hospital`
    """
    import bagwise
    from bagwise.model_selection.scaling import with_scaler

    built = None if model is None else build_model(model, {})
    bags, y = source.read_labeled(site=site)
    if bags.sites is None:
        raise typer.BadParameter(f"{source.data} has no column site: name yours with --site.")
    chosen: Any = None
    if built is not None:
        scaler = scaler_for(bags, "auto", source.impute)
        label = positive_label(positive, y, bags, built, scaler=scaler)
        chosen = with_scaler(built.set_params(pos_label=label), scaler)
    n_sites = len(set(bags.sites.tolist()))
    fits = folds + n_sites * (1 + permutations)
    output.say(f"{fits} fits: {folds} folds, {n_sites} sites, {permutations} permutations of them.")
    hint = "No results are kept: fewer --permutations take less time."
    with output.interruptible(hint), output.progress() as bar:
        steps = bar.add_task("permutations", total=permutations)
        options: dict[str, Any] = {"cv": folds, "random_state": seed, "n_jobs": jobs}
        options["callback"] = lambda: bar.advance(steps)
        found = bagwise.audit(bags, y, chosen, n_permutations=permutations, **options)
    if as_json:
        output.show_json(found.to_dict())
        return
    title = f"{found.model}: {found.n_bags} bags, {len(found.sites)} sites"
    output.show(output.fact_table(dict(found.lines()), title))
    output.show(_site_table(found.sites))
    output.say(escape(found.verdict))


def _site_table(sites: Any) -> Table:
    """Return the table of sites: bags by class, and the AUC known and unseen."""
    numbers = ("bags", "AUC of folds", "AUC unseen")
    table = output.plain_table("site", *numbers, right=numbers)
    for site in sites:
        known, unseen = (str(rate or "") for rate in (site.known, site.unseen))
        table.add_row(*map(escape, (str(site.name), site.by_class, known, unseen or site.note)))
    return table


def judge_unseen(found: Any, bags: Any, y: Any, impute: str | None, jobs: int) -> dict[str, Any]:
    """Return the AUC within sites of each compared model, trained without the site it scores.

    Parameters and scaling are those that the folds chose most often.
    """
    from sklearn.base import clone

    from bagwise.crossfit.sites import score_unseen
    from bagwise.model_selection.by_site import auc_within, split_classes
    from bagwise.model_selection.scaling import with_scaler

    rates, truth = {}, split_classes(bags, y)[1]
    for name, one in found.results.items():
        model = clone(found.models[name]).set_params(**one.usual_point)
        whole = with_scaler(model, scaler_for(bags, one.usual_scale, impute))
        scores = score_unseen(whole, bags, y, jobs)
        rates[name] = auc_within(truth, scores, bags.sites, bags.groups)
    return rates


def unseen_table(found: Any, unseen: dict[str, Any]) -> Table:
    """Return the table of compared models on the folds and on sites that were left out."""
    numbers = ("AUC of folds", "AUC of unseen sites")
    table = output.plain_table("model", *numbers, right=numbers, title="Sites left out one by one")
    for name, rate in unseen.items():
        known = found.results[name].estimates["auc"]
        folds = f"{known.value:.2f} ({known.low:.2f} to {known.high:.2f})"
        table.add_row(escape(name), folds, str(rate or "no site has both classes"))
    return table
