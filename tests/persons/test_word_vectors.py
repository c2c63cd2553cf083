"""Word vectors of private texts: what a unit adds, noise, the budget, and the certificate that names both budgets."""

import json

import numpy as np
import pytest

import deniable as dn
from deniable.persons import word_vectors
from deniable.persons.budget import NOISE_STEPS
from deniable.persons.collection import group_rows
from tests.refusals import refuses

WORDS = ("the", "film", "was", "good", "bad", "plot", "actor", "and")
PUBLIC = dn.Space(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)))
TEXTS = ["the film was good", "the plot was bad and the actor was bad", "zork film", "good", None, " "] * 20
BUDGET = {"epsilon": 2.0, "delta": 1e-6}


def adapt(texts=TEXTS, public=PUBLIC, persons=None, ledger=None, **changes):
    """Return vectors."""
    options = dn.VectorOptions(**{**BUDGET, "seed": 3, **changes})
    return dn.adapt_vectors(texts, public, options, persons=persons, ledger=ledger)


def sum_directly(texts, window):
    """Return the sum (n, d) over texts of their contexts, each scaled to norm 1, from the formula."""
    contexts, weights = word_vectors.build_contexts(PUBLIC)
    total = np.zeros(contexts.shape)
    for text in texts:
        numbers = [WORDS.index(word) if word in WORDS else -1 for word in text.split()]
        own = np.zeros(contexts.shape)
        for i, word in enumerate(numbers):
            for j, other in enumerate(numbers):
                if 0 < abs(i - j) <= window and word >= 0 and other >= 0:
                    own[word] += weights[word] * contexts[other]
        norm = np.linalg.norm(own)
        total += own / norm if norm > 0 else 0
    return total


@pytest.mark.parametrize("window", [1, 3, 50])
def test_sums_are_those_of_the_formula(window):
    """Each text adds its contexts, scaled to the bound; a text with one known word adds nothing."""
    texts, bound = [text for text in TEXTS if text and text.strip()], 1 << 30
    sums = word_vectors.sum_contexts(texts, PUBLIC, group_rows(len(texts)), window, bound)
    np.testing.assert_allclose(sums / bound, sum_directly(texts, window), atol=len(texts) * 1e-8)


def test_a_unit_adds_no_more_than_its_bound():
    """Whatever a person wrote, however much, the norm of what they add is within the bound, exactly."""
    texts = ["film", "the film the film " * 500, "good bad", " ".join(WORDS) * 3]
    for persons in (None, ["a"] * 4, ["a", "b", "a", "b"]):
        for bound in (1, 7, 10**6, 1 << 39):
            for unit, rows in enumerate([[0], [1], [2], [3]] if persons is None else [*_rows_by_person(persons)]):
                own = [texts[row] for row in rows]
                units = group_rows(len(own), None if persons is None else [str(unit)] * len(own))
                sums = word_vectors.sum_contexts(own, PUBLIC, units, 5, bound)
                assert sum(int(value) ** 2 for value in sums.ravel().tolist()) <= bound**2


def _rows_by_person(persons):
    return [[row for row, other in enumerate(persons) if other == person] for person in dict.fromkeys(persons)]


def test_noise_is_added_once_and_nothing_else_of_the_texts_is_read(monkeypatch):
    """What is released follows from sums and noise alone: with equal noisy sums vectors are equal."""
    drawn = []

    def add_noise(sums, generator):
        del generator
        drawn.append(sums.copy())
        return np.full_like(sums, 5 * NOISE_STEPS)

    monkeypatch.setattr(word_vectors, "add_noise", add_noise)
    first, second = adapt(), adapt(["good film"])
    np.testing.assert_array_equal(first.vectors, second.vectors)
    assert len(drawn) == 2
    assert not np.array_equal(*drawn)


def test_noise_has_the_scale_of_the_budget():
    """Without a pair of words all that is left is noise: its deviation is that of the discrete Gaussian."""
    many = dn.Space([f"w{number}" for number in range(2_000)], np.random.default_rng(1).normal(size=(2_000, 5)))
    released = dn.adapt_vectors(["none"], many, dn.VectorOptions(**BUDGET, seed=5))
    (measurement,) = released.facts["measurements"]
    assert (measurement["noise"], measurement["coordinates"], measurement["sums"]) == (NOISE_STEPS, 10_000, 1)
    lengths = np.linalg.norm(released.vectors[:, 5:], axis=1)
    assert (lengths == 0).mean() > 0.3  # what noise explains is taken out
    assert lengths.max() < 1


def test_combined_vectors():
    """Public vectors of norm 1 beside sums that are shrunk by what noise explains; none left of a short sum."""
    sums = np.zeros((len(WORDS), 4))
    sums[0], sums[1] = [3, 0, 0, 4], [0.1, 0, 0, 0]
    vectors = word_vectors.combine_vectors(PUBLIC, sums, 0.5)
    np.testing.assert_allclose(np.linalg.norm(vectors[:, :4], axis=1), 1)
    np.testing.assert_allclose(vectors[0, 4:], (1 - 4 * 0.25 / 25) * np.array([0.6, 0, 0, 0.8]))
    assert not vectors[1:, 4:].any()
    exact = word_vectors.combine_vectors(PUBLIC, sums, 0.0)
    np.testing.assert_allclose(np.linalg.norm(exact[:2, 4:], axis=1), 1)


def test_both_budgets_stand_on_one_certificate():
    """Words drawn in such a space have the guarantee of words, and the certificate names that of the vectors too."""
    released = adapt(seed=None)
    assert (released.guarantee.epsilon, released.guarantee.delta, released.guarantee.unit) == (2.0, 1e-6, "record")
    assert released.verdict.status == "proved"
    space = released.make_space("euclidean", hide=())
    assert space.guarantee == released.guarantee
    release = dn.Release(dn.TEM(space, epsilon=1.5))
    tally = release.batch(["the film"]).tally
    certificate = dn.Certificate.of(release, tally)
    read = json.loads(certificate.to_json())
    assert read["guarantee"]["epsilon"] == 1.5
    assert read["space"]["vectors"]["guarantee"] == released.guarantee.to_dict()
    assert "private texts too: (2, 1e-06)-DP, unit record, proved" in certificate.summary()
    assert dn.check_certificate(read, space).overall == "recomputed"
    assert adapt(persons=["a", "b"] * 60).guarantee.unit == "person"


def test_a_public_seed_is_not_private():
    """Vectors under a seed carry a refuted guarantee into the certificate."""
    released = adapt()
    assert released.guarantee.status == "refuted"
    np.testing.assert_array_equal(released.vectors, adapt().vectors)
    assert not np.array_equal(adapt(seed=None).vectors, adapt(seed=None).vectors)
    mechanism = dn.TEM(released.make_space("euclidean", hide=()), epsilon=1.0)
    vectors = json.loads(dn.Certificate.of(dn.Release(mechanism), dn.Tally()).to_json())["space"]["vectors"]
    assert vectors["guarantee"]["status"] == "refuted"


def test_a_ledger_is_charged(tmp_path):
    """Each person pays once, before anything is measured; who is not covered stops the release."""
    place = str(tmp_path / "spent.ledger")
    dn.create_ledger(place, 2.6, delta=1e-6, unit="person", secret=bytes(32), key_path=tmp_path / "key")
    ledger = dn.Ledger(place, bytes(32))
    released = adapt(persons=["a", "b"] * 60, ledger=ledger, seed=None)
    assert released.facts["ledger"]
    with pytest.raises(dn.BudgetExceeded):
        adapt(persons=["a", "b"] * 60, ledger=ledger, seed=None)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"window": 0}, "0"),
        ({"window": 51}, "51"),
        ({"epsilon": 0.0}, "0"),
        ({"delta": 1.0}, "1"),
        ({"texts": []}, "No row"),
        ({"texts": [None, "  "]}, "No row"),
        ({"persons": ["a"]}, "Got 1"),
        ({"max_records": 3}, "max_records"),
        ({"records": 120}, "records=120"),
        ({"public": None}, "None"),
        ({"texts": ["a"], "persons": [None]}, "No row"),
    ],
)
def test_what_is_refused(given, value):
    """Numbers out of range, columns of other lengths and collections without a text are named."""
    with refuses(value):
        adapt(**given)


def test_private_vectors_are_no_public_ones():
    """Vectors that came from private texts are no ground on which others are measured without a word."""
    with refuses("private texts already"):
        adapt(public=adapt().make_space("euclidean", hide=()))
