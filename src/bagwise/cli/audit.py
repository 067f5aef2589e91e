"""``bagwise audit``: whether a model would have learned the site instead of the label."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.cli.model import Positive, build_model, positive_label, scaler_for, settle_task
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
    if (task := settle_task(source, built and built.task)) not in (None, "classes"):
        raise typer.BadParameter(f"audit is for classes, not for {task}; --cut splits numbers.")
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
    typer.echo(found)


def judge_unseen(found: Any, bags: Any, y: Any, impute: str | None, jobs: int) -> dict[str, Any]:
    """Return the metric of each compared model on sites that were left out one by one.

    Parameters and scaling are those that the folds chose most often.
    """
    from sklearn.base import clone

    from bagwise.model_selection import cross_validate_bags
    from bagwise.model_selection.scaling import with_scaler

    rates = {}
    for name, one in found.results.items():
        model = clone(found.models[name]).set_params(**one.usual_point)
        whole = with_scaler(model, scaler_for(bags, one.usual_scale, impute))
        unseen = cross_validate_bags(whole, bags, y, cv="sites", n_jobs=jobs).summary()
        rates[name] = unseen[found.protocol.metric]
    return rates


def unseen_table(found: Any, unseen: dict[str, Any]) -> Table:
    """Return the table of compared models on the folds and on sites that were left out."""
    title = f"{found.protocol.metric.replace('_', ' ')}: sites left out one by one, in %"
    table = output.plain_table(
        "model", "folds", "unseen sites", right=("folds", "unseen sites"), title=title
    )
    for name, rate in unseen.items():
        known = found.results[name].estimates[found.protocol.metric].value
        texts = ("-" if value is None else f"{100 * value:.1f}" for value in (known, rate["mean"]))
        table.add_row(escape(name), *texts)
    return table
