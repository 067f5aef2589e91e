"""Whether the site gives the label away: numbers by brute force, and alarms, false or not."""

import json
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, PerInstance, WitnessSVC, audit, make_pipeline
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.crossfit.sites import count_patients, is_associated, leave_sites_out
from bagwise.metrics import bound_auc_of
from bagwise.model_selection import cross_validate_bags
from bagwise.model_selection.audit import _CHEAP, _describe
from bagwise.model_selection.by_site import rate_auc


def draw_study(n=80, n_sites=4, confounded=0.0, shift=0.0, signal=1.0, seed=0, slides=1):
    """Return patients of several sites; ``confounded`` ties labels to sites, ``shift`` features."""
    rng = np.random.default_rng([seed, 7])
    site = rng.permutation(np.arange(n) % n_sites)
    ill = rng.random(n) < 0.5 + confounded / 2 * np.where(site % 2, 1, -1)
    patient = np.repeat(np.arange(n), slides)
    X = rng.normal(size=(len(patient), 3, 5))
    X[..., 0] += shift * (site % 2)[patient, None]
    X[:, 0, 1] += signal * ill[patient]
    names = np.array(["north", "south", "east", "west", "far"])
    bags = Bags.from_padded(X, sites=names[site][patient], groups=[f"p{i}" for i in patient])
    return bags, ill[patient].astype(int)


@pytest.mark.parametrize("n", [6, 30, 200])
def test_pairs_of_one_site_agree_with_brute_force(n):
    rng = np.random.default_rng(n)
    truth, scores, sites = rng.random(n) < 0.4, rng.normal(size=n).round(1), rng.integers(0, 3, n)
    pairs = [
        (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])
        for i, j in product(np.flatnonzero(truth), np.flatnonzero(~truth))
        if sites[i] == sites[j]
    ]
    assert rate_auc(truth, scores, None, sites).value == pytest.approx(np.mean(pairs))
    np.testing.assert_allclose(rate_auc(truth, scores, None)[1:], bound_auc_of(truth, scores))


def test_whole_sites_are_left_out():
    bags, y = draw_study(60)
    _, splits = leave_sites_out(WitnessSVC(), bags, y)
    held = [{*bags.sites[test]} for _, test in splits]
    assert [len(one) for one in held] == [1, 1, 1, 1]
    assert not any({*bags.sites[train]} & one for (train, _), one in zip(splits, held, strict=True))
    model = make_pipeline(PerInstance(StandardScaler(), by="site"), WitnessSVC(kernel="linear"))
    found = cross_validate_bags(model, bags, y, cv="sites")  # whose own statistics are learned
    assert len(found.folds) == 4
    bags, _ = draw_study(20, 2)
    with pytest.raises(ValueError, match="no site can be left out"):
        cross_validate_bags(model, bags, bags.sites == "north", cv="sites")


def test_confounding_raises_an_alarm_and_its_absence_does_not():
    confounded = audit(*draw_study(120, confounded=0.9, shift=3.0, signal=0.3), n_permutations=39)
    assert confounded.alarm
    assert confounded.unseen.value < confounded.folds.value - 0.1
    assert confounded.predictability > 0.7
    assert "falls to" in confounded.verdict
    for options in ({"shift": 3.0}, {"confounded": 0.9}):
        found = audit(*draw_study(120, signal=2.0, **options), n_permutations=39)
        assert not found.alarm, options
    two = audit(*draw_study(120, 2, confounded=0.8, shift=2.0), n_permutations=39)
    assert two.alarm
    assert two.p_within <= 0.025  # by pairs of one site


def test_the_label_of_the_first_bag_does_not_matter():
    bags, y = draw_study(60, 2, signal=3.0)
    one, other = (audit(bags, label, n_permutations=9) for label in (y, 1 - y))
    assert one.folds.value == pytest.approx(other.folds.value, abs=1e-9)
    assert one.folds.value > 0.8
    assert (one.p_within, one.p_unseen) == (other.p_within, other.p_unseen)


def test_slides_of_a_patient_are_permuted_together_and_results_repeat():
    bags, y = draw_study(40, slides=3)
    one, other = (audit(bags, y, n_permutations=20, random_state=3) for _ in range(2))
    assert one == other
    assert json.loads(json.dumps(one.to_dict()))["verdict"] == one.verdict
    assert sum(sum(s.counts.values()) for s in one.sites) == len(bags)
    assert count_patients(bags, y).sum() == 40


def test_sites_of_one_class_are_listed_and_not_averaged():
    bags, y = draw_study(60, 3)
    y = np.where(bags.sites == "east", 1, y)
    found = audit(bags, np.array(["no", "yes"])[y], n_permutations=0)
    east = next(site for site in found.sites if site.name == "east")
    assert (east.note, east.known, east.unseen) == ("only bags of the class yes", None, None)
    assert found.p_unseen is None
    assert found.within is not None
    assert "east" in str(found)


def test_sites_that_are_the_label_leave_nothing_to_test():
    bags, y = draw_study(40, 2)
    found = audit(bags, (bags.sites == "south").astype(int), n_permutations=5)
    assert (found.within, found.unseen, found.p_unseen, found.alarm) == (None, None, None, False)
    assert "so that it tells the label" in found.verdict
    assert found.association == pytest.approx(1.0)
    assert is_associated(bags, bags.sites)
    assert not is_associated(bags, y)


def test_any_model_is_audited_in_a_pipeline():
    bags, y = draw_study(40, 2)
    model = make_pipeline(StandardScaler(), WitnessSVC(kernel="linear", pos_label="yes"))
    found = audit(bags, np.array(["no", "yes"])[y], model, n_permutations=2, n_jobs=1)
    assert found.model == repr(model)
    assert found.classes == ["no", "yes"]


def test_several_classes_are_averaged_one_against_the_rest():
    bags, y = draw_study(90, 3, signal=3.0)
    z = np.where(y == 1, "ill", np.where(np.arange(90) % 2, "well", "unclear"))
    found = audit(bags, z, n_permutations=3)
    labels = np.unique(z, return_inverse=True)[1]
    scores = out_of_fold_scores(_CHEAP, _describe(bags), labels, None, folds(bags, labels, 5, 0))
    each = [roc_auc_score(z == name, scores[:, k]) for k, name in enumerate(np.unique(z))]
    assert found.folds.value == pytest.approx(np.mean(each), abs=1e-9)
    one = [rate_auc(z == name, scores[:, k], bags.groups, bags.sites)
           for k, name in enumerate(np.unique(z))]  # fmt: skip
    np.testing.assert_allclose(found.within, np.mean(one, axis=0))
    assert found.unseen.low < found.unseen.value < found.unseen.high
    assert sum(sum(s.counts.values()) for s in found.sites) == 90
    assert sum(site.counts["ill"] for site in found.sites) == y.sum()
    model = WitnessSVC(kernel="linear")
    assert audit(bags, z, model, n_permutations=0, n_jobs=1).p_unseen is None
    tied = audit(bags, np.where(bags.sites == "north", z, "well"), n_permutations=1)
    assert {site.note for site in tied.sites} >= {"only bags of the class well"}


@pytest.mark.parametrize(
    ("error", "change"),
    [
        ("have no sites", lambda bags, y: (bags.replace(sites=None), y)),
        ("All bags come from the site 'a'", lambda bags, y: (bags.replace(sites=["a"] * 20), y)),
        ("All bags are of the class", lambda bags, y: (bags, np.zeros(20))),
        ("inconsistent numbers of samples", lambda bags, y: (bags, [0, 1, 1])),
        (
            "1 group has bags of different sites: 'p'",
            lambda bags, y: (bags.replace(groups=["p", "p", *map(str, range(18))]), y),
        ),
    ],
)
def test_bad_input_is_named(error, change):
    bags, y = draw_study(20)
    bags = bags.replace(sites=[*"ab"] * 10)
    with pytest.raises(ValueError, match=error):
        audit(*change(bags, y))
