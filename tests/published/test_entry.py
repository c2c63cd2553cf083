"""Entries of the zoo: what counts as expected, what their audits are made of, and the controls."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import deniable as dn
from deniable.published.controls import ENTRIES
from deniable.published.entry import (
    ZooEntry,
    audit_nearest_words,
    find_nearest_pairs,
    make_matrix_sampler,
)
from tests.contracts.statistics import THRESHOLD, fit

SPACE = dn.Space(["one", "two", "three"], np.array([[0.0], [1.0], [3.0]]))


LAW = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]])


def test_a_law_is_examined_without_samples_and_the_seed_reaches_the_audit():
    """Evidence that an entry lacks has no verdict, and an audit runs under the seed that was given."""
    seeds = []
    entry = ZooEntry("law", "", "", "flaw", verify_law=lambda: dn.verify(LAW, space=SPACE, epsilon=1.0))
    verdicts = entry.examine(3)
    assert verdicts.sampled_verdict is None
    assert verdicts.is_as_expected
    sampled = dataclasses.replace(entry, audit_samples=lambda seed: seeds.append(seed) or verdicts.exact_verdict)
    assert sampled.examine(7).is_as_expected
    assert not dataclasses.replace(sampled, expected_of_samples="not refuted").examine(8).is_as_expected
    assert seeds == [7, 8]


def test_a_matrix_sampler_follows_the_row_of_its_word():
    """Draws fit the row of the input and no other, even of rows that do not sum to 1, and repeat under a seed."""
    words = ["two"] * 20_000
    drawn = make_matrix_sampler(5 * LAW, SPACE, 1)(words)
    counts = np.array([drawn.count(word) for word in SPACE.words])
    assert fit(counts, LAW[1]) > THRESHOLD
    assert fit(counts, LAW[0]) < THRESHOLD
    assert make_matrix_sampler(LAW, SPACE, 1)(words) == drawn
    assert make_matrix_sampler(LAW, SPACE, 2)(words) != drawn
    assert "one" not in make_matrix_sampler(LAW, SPACE, 1)(["three"] * 1000)


def test_nearest_pairs_are_the_nearest_of_all(small_space):
    """Pairs come nearest first with their own distances, and no more of them than there are."""
    pairs, distances = find_nearest_pairs(small_space, 4)
    assert distances == pytest.approx(sorted(pdist(small_space.vectors))[:4], rel=1e-9)
    assert [small_space.distance(*pair) for pair in pairs] == pytest.approx(distances, rel=1e-9)
    assert len(find_nearest_pairs(SPACE, 10)[0]) == 3


@pytest.mark.parametrize(("scale", "status"), [(0.5, "not refuted"), (4.0, "refuted")])
def test_the_audit_of_nearest_words_tells_a_false_claim(scale, status):
    """Words drawn by exp(-d / 2) pass a claim of 1, and those drawn eight times as steeply do not."""
    space = dn.Space([f"w{number}" for number in range(5)], np.arange(5.0)[:, None])
    weights = np.exp(-scale * space.distances(range(5)))
    sampler = make_matrix_sampler(weights, space, 3)
    verdict = audit_nearest_words(sampler, space, 1.0, 0)
    assert verdict.status == status
    assert verdict.confidence == pytest.approx(0.999)
    assert verdict.lower_bound <= 2 * scale < math.inf


BY_NAME = {entry.name: entry for entry in ENTRIES if not entry.flaw}


VECTOR_CONTROLS = [
    "random",
    "laplace",
    "gaussian",
    "adept-l1",
    "adept-true",
    "adept-norm",
    "dptext-corrected",
    "dptext-norm",
]


def test_a_control_has_no_flaw_and_is_never_expected_to_be_refuted():
    """Every control says what it is a control of, expects no refutation, and has a name of its own."""
    assert len(BY_NAME) == len(ENTRIES) - 1  # and a copy of the input
    for entry in BY_NAME.values():
        assert entry.source.startswith("control")
        assert "refuted" not in {entry.exact_status, entry.sampled_status}


@pytest.mark.parametrize("name", VECTOR_CONTROLS)
def test_the_law_of_a_vector_control_keeps_its_claim(name):
    """The epsilon verified is the one that the claim names, and at most that is spent."""
    verdict = BY_NAME[name].verify_law()
    assert verdict.status == "proved"
    assert verdict.lower_bound <= verdict.claim == (0.0 if name == "random" else 1.0)
    assert BY_NAME[name].claim.startswith("0-" if name == "random" else ("(1, 1e-05)" if name == "gaussian" else "1-"))


@pytest.mark.deep
def test_half_of_a_private_sum_is_private():
    """Halving what was released is post-processing: the audit finds no more than the claim, under any seed."""
    entry = BY_NAME["half-sum"]
    assert entry.verify_law is None
    for seed in np.random.default_rng(5).integers(1 << 30, size=2).tolist():
        verdict = entry.audit_samples(seed)
        assert verdict.status == "not refuted"
        assert verdict.lower_bound <= 1.0
