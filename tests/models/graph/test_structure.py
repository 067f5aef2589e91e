"""What the graph methods share, against loops; which edges take part, and what is refused."""

import numpy as np
import pytest

from bagwise.designs import matrix_design
from bagwise.losses import SquaredHinge
from bagwise.models.graph.structure import Structure, mean_scores, true_objective, witnesses_of
from bagwise.solvers.cutting_plane import cutting_plane
from reference.program import reference_solution
from reference.structured import draw


def structure_of(case):
    edges = (case.bag_edges,), (case.row_edges,)
    return Structure(matrix_design(case.X), case.offsets, *edges)


@pytest.mark.parametrize("seed", range(4))
def test_the_true_objective_at_a_solution(seed):
    case = draw(seed)
    terms = case.terms(10.0, 2.0, 0)
    found = cutting_plane(matrix_design(case.X), case.offsets, terms, case.witnesses)
    f = case.X @ found.coef + found.intercept
    top = np.array([part.max() for part in np.split(f, case.offsets[1:-1])])
    value = 0.5 * (found.coef @ found.coef + found.intercept**2)
    slack = np.maximum(0, 1 - np.where(case.positive, 1, -1) * top)
    value += 10.0 * case.share @ slack
    edges, s = case.bag_edges, terms[1].scale
    rough = np.abs(top[edges.source] * s[edges.source] - top[edges.target] * s[edges.target])
    value += 2.0 * np.mean(edges.weight * rough)
    assert true_objective(structure_of(case), terms, found) == pytest.approx(value, rel=1e-10)
    assert found.objective >= value - 1e-9  # the convex problem is an upper bound


@pytest.mark.parametrize("negatives", ["bags", "instances", "witnesses"])
def test_witnesses_are_the_tops_where_a_term_needs_them(negatives):
    case = draw(3)
    scores = np.random.default_rng(0).normal(size=len(case.X))
    top = np.array(
        [
            a + int(np.argmax(scores[a:b]))
            for a, b in zip(case.offsets[:-1], case.offsets[1:], strict=True)
        ]
    )
    loss_only = case.terms(1.0, 0, 0, negatives=negatives)
    found = witnesses_of(structure_of(case), loss_only, scores)
    needed = case.positive | (negatives == "witnesses")
    np.testing.assert_array_equal(found, np.where(needed, top, case.offsets[:-1]))
    with_edges = witnesses_of(structure_of(case), case.terms(1.0, 1.0, 0), scores)
    ends = np.union1d(case.bag_edges.source, case.bag_edges.target)
    np.testing.assert_array_equal(with_edges[ends], top[ends])


def test_means_of_labeled_bags_score_all_rows():
    case = draw(5)
    scores = mean_scores(structure_of(case), case.share, case.positive)
    labeled = np.flatnonzero(case.share)
    means = np.array([case.X[case.offsets[i] : case.offsets[i + 1]].mean(axis=0) for i in labeled])
    up = case.share[labeled] * case.positive[labeled]
    down = case.share[labeled] * ~case.positive[labeled]
    found = reference_solution(means, up, down, SquaredHinge())
    np.testing.assert_allclose(scores, case.X @ found.coef, atol=1e-5)
