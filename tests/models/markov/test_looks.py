"""Looks at a network's rows: shards, blocks, where they are and who passes over do not matter."""

from dataclasses import asdict

import numpy as np
import pytest

from bagwise.models.markov.looks import NetworkLook
from bagwise.rows import host
from bagwise.rows.host import HostBlock, add_up
from bagwise.rowstores import device
from bagwise.rowstores.device import DeviceRows
from bagwise.solvers.soft_newton import Frozen, Softness
from reference.soft_networks import RULES, Network

SOFT = Softness(0.8, 0.6)
every_rule = pytest.mark.parametrize("rule", RULES, ids=str)


def look_of(network, way=0, **options):
    w, v = np.random.default_rng(1).normal(size=(2, len(network.units)))
    frozen = [None, Frozen(), network.freeze(v, 0.5)][way]
    soft = SOFT, Softness(0.4, 0.3), network.centers
    return NetworkLook(network.labels, *network._split(w), *soft, frozen=frozen, **options)


def sums_of(rule, way=0, **options):
    network = Network(rule, n_bags=40, largest=9, **options)
    (sums,) = network.rows.run_pass([look_of(network, way, renew=True)])
    return sums


def assert_close(found, expected, atol=1e-12):
    scale = max(1.0, float(np.abs(expected.hessian).max()))
    for name, value in asdict(expected).items():
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-12, atol=atol * scale)


@every_rule
def test_shards_and_blocks_add_up(rule, monkeypatch):
    whole = sums_of(rule)
    monkeypatch.setattr(host, "_FEWEST_ROWS", 1)
    assert_close(sums_of(rule, block_bytes=200), whole)


@every_rule
def test_parts_on_workers_have_the_same_bits(rule, monkeypatch):
    monkeypatch.setattr(host, "_FEWEST_ROWS", 1)
    network = Network(rule, n_bags=40, largest=9, block_bytes=200)
    look, rows = look_of(network, renew=True), network.rows
    (whole,) = rows.run_pass([look])
    parts = []
    for i in range(0, len(rows.shards), 4):  # groups of a power of two
        shards = rows.shards[i : i + 4]
        bags = slice(shards[0][0].bag, shards[-1][-1].end)
        part = look.part(bags, slice(*rows.offsets[[bags.start, bags.stop]].tolist()))
        parts += rows.part(shards).run_pass([part])
    found = add_up(parts)
    for name, value in asdict(whole).items():
        np.testing.assert_array_equal(getattr(found, name), value)


@every_rule
def test_starts_that_share_a_pass_see_what_one_sees(rule):
    network = Network(rule)
    looks = [look_of(network, way) for way in range(3)]
    for found, look in zip(network.rows.run_pass(looks), looks, strict=True):
        (alone,) = network.rows.run_pass([look])
        np.testing.assert_array_equal(found.hessian, alone.hessian)
        np.testing.assert_array_equal(found.gradient, alone.gradient)


def test_sums_of_some_bags_are_those_of_their_rows():
    rng = np.random.default_rng(0)
    network = Network(RULES[0])
    rows, sizes = network.rows.X, network.rows.sizes
    known = network.labels.know(np, sizes, np.asarray)
    weights, used = rng.normal(size=len(rows)) * (rng.random(len(rows)) < 0.5), sizes > 2
    found = HostBlock(rows, sizes).bag_sums(weights, known.rows.segments, used)
    expected = np.add.reduceat(weights[:, None] * rows, network.rows.offsets[:-1])[used]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def on_cpu(X):
    return DeviceRows.of(X, "cpu")


@pytest.mark.torch
@pytest.mark.parametrize("way", range(3))
@every_rule
def test_sums_on_tensors_are_those_on_arrays(rule, way, monkeypatch):
    here = sums_of(rule, way)
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1000)
    monkeypatch.setattr("bagwise.rows.device.BLOCK_ROWS", 5)
    there = sums_of(rule, way, place=on_cpu)
    assert_close(there.bring(), here)
    right, units = np.arange(1.0, len(here.gradient) + 1), np.ones(len(here.gradient))
    for longest in (np.inf, 0.1):
        steps = [sums.step(right, 1.0, units, longest) for sums in (here, there)]
        np.testing.assert_allclose(*steps, rtol=1e-6, atol=1e-8)


@pytest.mark.torch
def test_half_precision_rows_have_their_exact_gradient():
    halves = Network(RULES[0], place=lambda X: on_cpu(X.astype(np.float16)))
    assert halves.rows.X.tensor.element_size() == 2
    full = Network(RULES[0], place=lambda X: X.astype(np.float16).astype(float))
    w = np.random.default_rng(0).normal(size=len(full.units))
    found, expected = (each.see(w, SOFT, SOFT, each.centers) for each in (halves, full))
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-6)
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)


def test_an_indefinite_hessian_takes_less_of_its_concave_part():
    sums, n = sums_of(RULES[0]), 8
    units, right = np.ones(n), np.arange(1.0, n + 1)
    full = sums.system(1.0, units) + 50.0 * np.eye(n)
    np.testing.assert_allclose(sums.step(right, 50.0, units), np.linalg.solve(full, right))
    sums.concave = 0.7 * sums.hessian + 10.0 * np.eye(n)  # positive at a share of .5 at most
    less = sums.system(0.0, units) + np.eye(n)
    np.testing.assert_allclose(sums.step(right, 1.0, units), np.linalg.solve(less, right))
    sums.hessian = sums.hessian - 100.0 * np.eye(n)  # not even the convex part is positive
    assert right @ sums.step(right, 1.0, units) > 0
