"""The zoo: every verdict as expected, and the numbers behind them computed a second way."""

import functools
import math
import pkgutil

import numpy as np
import pytest
from scipy import integrate, spatial, special

import deniable as dn
from deniable.published import trainers
from deniable.published.entry import EntryVerdicts, ZooEntry, examine_entry, find_nearest_pairs, make_matrix_sampler
from deniable.published.packages import laplace_in_ball, tem_wrong_bottom
from deniable.registry import zoo
from deniable.registry.zoo import (
    TORCH_ENTRY_NAMES,
    TRAINER_ENTRIES,
    ZOO_ENTRIES,
    load_trainer_entries,
    load_zoo_entries,
)

BY_NAME = {entry.name: entry for entry in ZOO_ENTRIES}
BROKEN = {
    "adept", "adept-unclipped", "dptext", "laplace-in-ball", "tem-wrong-bottom", "tem-input-for-bottom",
    "own-output-sets", "public-seed", "unknown-unchanged", "numpy-laplace", "copy",
}  # fmt: skip
CONTROLS = {
    "half-sum", "random", "laplace", "gaussian", "adept-l1", "adept-true", "dptext-corrected", "tem", "calibrated",
}  # fmt: skip


@functools.cache
def finding(name):
    """Return the verdicts under seed 0, examined once."""
    return examine_entry(BY_NAME[name], 0)


def test_what_lives_in_the_zoo():
    """Every mechanism is here, and each is either broken, and says how, or a control."""
    assert len(ZOO_ENTRIES) == len(BY_NAME)
    assert {entry.name for entry in ZOO_ENTRIES if entry.flaw} >= BROKEN
    assert {entry.name for entry in ZOO_ENTRIES if not entry.flaw} == CONTROLS
    assert all(entry.source and entry.claim for entry in ZOO_ENTRIES)


def test_the_list_names_what_needs_torch(monkeypatch):
    """With torch all entries are there, and the names listed are those of the rest; without it they are left out."""
    entries, missing = load_zoo_entries()
    assert missing == ()
    assert entries[: len(ZOO_ENTRIES)] == ZOO_ENTRIES
    assert tuple(entry.name for entry in entries[len(ZOO_ENTRIES) :]) == TORCH_ENTRY_NAMES
    assert len({entry.name for entry in entries}) == len(entries)
    monkeypatch.setattr(zoo.importlib.util, "find_spec", lambda _: None)
    assert load_zoo_entries() == (ZOO_ENTRIES, TORCH_ENTRY_NAMES)


def test_trainers_and_their_twins():
    """Every file of trainers is listed, each trainer stands before its twin, and names are unlike those of the zoo."""
    names = [entry.name for entry in TRAINER_ENTRIES]
    files = {module.name for module in pkgutil.iter_modules(trainers.__path__)} - {"dp_sgd"}
    assert sorted(names[::2]) == sorted(name.replace("_", "-") for name in files)
    assert names[1::2] == [f"{name}-mended" for name in names[::2]]
    assert not {*names} & {*BY_NAME}
    assert [bool(entry.flaw) for entry in TRAINER_ENTRIES] == [True, False] * len(files)


def test_trainers_without_an_accountant(monkeypatch):
    """Without dp-accounting samples are left, and the names are those of the trainers whose facts are left out."""
    assert load_trainer_entries() == (TRAINER_ENTRIES, ())
    monkeypatch.setattr(zoo.importlib.util, "find_spec", lambda _: None)
    entries, missing = load_trainer_entries()
    assert missing == tuple(entry.name for entry in TRAINER_ENTRIES if entry.verify_law)
    assert [entry.name for entry in entries] == [entry.name for entry in TRAINER_ENTRIES]
    assert all(entry.audit_samples and entry.verify_law is entry.exact_status is None for entry in entries)


@pytest.mark.slow
@pytest.mark.parametrize("entry", TRAINER_ENTRIES, ids=lambda entry: entry.name)
def test_trainers_are_as_expected(entry):
    """Facts and samples of every trainer and twin say what its entry expects, with the runs of the zoo."""
    found = examine_entry(entry, 0)
    assert found.is_as_expected, str(found.exact_verdict) + str(found.sampled_verdict)
    statuses = [verdict.status for verdict in (found.exact_verdict, found.sampled_verdict) if verdict]
    assert ("refuted" in statuses) == bool(entry.flaw)


@pytest.mark.parametrize("name", BY_NAME)
def test_verdicts_are_as_expected(name):
    """Law and samples of every entry say what it expects of them."""
    found = finding(name)
    assert found.is_as_expected, str(found.exact_verdict) + str(found.sampled_verdict)
    verdicts = [verdict.status for verdict in (found.exact_verdict, found.sampled_verdict) if verdict]
    assert ("refuted" in verdicts) == bool(BY_NAME[name].flaw)
    assert not BY_NAME[name].flaw or (found.exact_verdict or found.sampled_verdict).witness is not None


@pytest.mark.parametrize("name", [entry.name for entry in ZOO_ENTRIES if entry.audit_samples])
def test_verdicts_hold_under_another_seed(name):
    """Samples say the same under another seed, so that no expectation is luck."""
    entry = BY_NAME[name]
    verdict = entry.audit_samples(20_220_524)
    assert verdict.status == entry.sampled_status
    assert verdict.confidence == pytest.approx(0.999)
    assert verdict.lower_bound <= (finding(name).exact_verdict or verdict).epsilon


def test_an_unexpected_verdict_shows():
    """A finding whose verdict differs from what its entry expects, or lacks one, is not as expected."""
    control, broken = finding("random"), finding("copy")
    assert not EntryVerdicts(control.entry, control.exact_verdict, broken.sampled_verdict).is_as_expected
    assert not EntryVerdicts(control.entry, None, control.sampled_verdict).is_as_expected
    assert EntryVerdicts(ZooEntry("none", "", "", ""), None, None).is_as_expected


# The exact values, by other ways.


@pytest.mark.parametrize(("name", "loss"), [("adept", math.sqrt(8)), ("adept-unclipped", 8.0)])
def test_the_losses_of_adept(name, loss):
    """ADePT as published loses epsilon sqrt(n), its stand-in epsilon n, in n = 8 dimensions."""
    found = finding(name).exact_verdict
    assert found.lower_bound == pytest.approx(loss, rel=1e-9)
    assert found.lower_bound <= found.epsilon == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("name", ["dptext", "copy", "tem-input-for-bottom", "own-output-sets", "unknown-unchanged"])
def test_infinite_losses(name):
    """Where an output of one input never comes from another, the loss is infinite."""
    assert math.isinf(finding(name).exact_verdict.lower_bound)


@pytest.mark.parametrize(("apart", "ratio"), [(0.02, 5.0), (0.2, 2.8), (1.0, 1.6)])
def test_directions_from_the_ball(apart, ratio):
    """Noise that is U(-1, 1) times a Gamma passes half the distance so often that 5.0, 2.8 and 1.6 times is lost."""
    crossed = integrate.quad(lambda u: 0.5 * math.exp(-apart / (2 * u)), 0, 1)[0]
    assert crossed == pytest.approx(special.expn(2, apart / 2) / 2, rel=1e-9)
    lost = math.log((1 - crossed) / crossed) / apart
    assert round(lost, 1) == ratio
    if apart == laplace_in_ball._EPSILON:
        assert finding("laplace-in-ball").exact_verdict.lower_bound == pytest.approx(lost, rel=1e-9)


def test_the_wrong_bottom_of_tem():
    """The law of the published package, written anew from its formula, loses the same: about twice the claim."""
    space, epsilon, beta = dn.Space.glove(1_000, hide=()), 4.0, 0.001
    apart = spatial.distance.cdist(space.vectors, space.vectors)
    gamma = 2 / epsilon * math.log((1 - beta) * 999 / beta)
    logs = np.empty((1000, 1000))
    for w in range(1000):
        near = apart[w] <= gamma
        scores = {int(y): -apart[w, y] for y in np.flatnonzero(near)}
        mass = {y: math.exp(epsilon / 2 * score) for y, score in scores.items()}
        bottom = (
            math.exp(epsilon / 2 * (-gamma + 2 / epsilon * math.log(1000 / len(scores)))) if len(mass) < 1000 else 0
        )
        total = sum(mass.values()) + bottom
        share = bottom / max(1000 - len(mass), 1)
        logs[w] = [math.log(mass.get(y, share) / total) for y in range(1000)]
    most = max(float(((logs[w] - logs[w + 1 :]).__abs__().max(axis=1) / apart[w, w + 1 :]).max()) for w in range(999))
    found = finding("tem-wrong-bottom").exact_verdict
    assert found.lower_bound == pytest.approx(most, rel=1e-6)
    assert 1.9 < found.lower_bound / found.claim < 2.2


def test_the_published_law_is_a_law():
    """Its rows sum to one and draws follow it: a chi-square that a law 30 % off fails."""
    law, space = tem_wrong_bottom.compute_wrong_bottom_law(), tem_wrong_bottom.load_frequent_words()
    assert law.sum(axis=1) == pytest.approx(np.ones(1000), rel=1e-12)
    word, draws = space.words[17], 20_000
    drawn = make_matrix_sampler(law, space, 5)([word] * draws)
    own = law[17, 17]
    seen = drawn.count(word)
    spread = math.sqrt(draws * own * (1 - own))
    assert abs(seen - draws * own) < 4 * spread < 0.3 * draws * own


def test_closest_pairs_are_closest():
    """The pairs of `find_nearest_pairs` are the nearest of all, nearest first, with their distances."""
    space = dn.Space.glove(60, hide=())
    pairs, distances = find_nearest_pairs(space, 5)
    every = sorted(spatial.distance.pdist(space.vectors))
    assert distances == pytest.approx(every[:5], rel=1e-6)
    assert [space.distance(*pair) for pair in pairs] == pytest.approx(distances, rel=1e-9)
