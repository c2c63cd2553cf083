"""The search for refutations: it finds what is false, and seldom what is sound."""

import dataclasses

import numpy as np
import pytest

import deniable as dn
from deniable.models.text.smoothing.refutation import TextCertificateAttack
from tests.models.text.samples import certify_texts, join, mean_scorer, nearest_sets
from tests.refusals import refuses


def refute(mechanism, scorer, texts, certificates, *, within, replacements=None, **settings):
    """Return what attacks within certificates find."""
    attack = TextCertificateAttack(within, **settings)
    return attack.refute(mechanism, scorer, texts, certificates, replacements=replacements, key=ATTACKED)


CERTIFIED, ATTACKED = bytes([5] * 32), bytes([6] * 32)
QUICK = {"samples": 2000, "draws": 40, "tries": 10}


@pytest.fixture(scope="module")
def subject(small_space):
    """Return a mechanism over sixty words."""
    return dn.CalibratedExponential(small_space, epsilon=1.5)


@pytest.fixture(scope="module")
def scorer(small_space):
    """Return a classifier that follows the first coordinate of the vectors."""
    return mean_scorer(small_space.vectors[:, :1] * np.array([[4.0, -4.0]]))


@pytest.fixture(scope="module")
def held(small_space):
    """Return eight texts of three words of one sign of the first coordinate each."""
    order = np.argsort(small_space.vectors[:, 0])
    return join([order[at : at + 3] for at in (0, 3, 6, 9)] + [order[-at - 3 :][:3] for at in (0, 3, 6, 9)])


@pytest.fixture(scope="module")
def short(small_space):
    """Return eight texts of one word or two of one sign of the first coordinate each."""
    order = np.argsort(small_space.vectors[:, 0])
    return join([order[:1], order[1:2], order[2:4], order[4:5], order[-1:], order[-2:-1], order[-4:-2], order[-5:-4]])


@pytest.fixture(scope="module")
def sound(subject, scorer, short):
    """Return certificates of the short texts against any word."""
    return certify_texts(subject, scorer, short, key=CERTIFIED, estimation=4000)


def stretched(certificates, **factors):
    """Return certificates with numbers multiplied."""
    return dataclasses.replace(
        certificates,
        texts=tuple(
            dataclasses.replace(one, **{name: type(getattr(one, name))(times * getattr(one, name))
                                        for name, times in factors.items()})
            for one in certificates.texts
        ),
    )  # fmt: skip


def test_a_sound_certificate_stands(subject, scorer, short, sound):
    """Attacks inside distances that are certified rightly flip nothing."""
    found = refute(subject, scorer, short, sound, within="distance", **QUICK)
    assert found.tested >= 6
    assert not found.is_refuted
    assert found.flips == 0
    assert found.p_value == 1


def test_distances_five_times_too_large_are_refuted(subject, scorer, short, sound):
    """A certificate of five times the distance is refuted, by a text inside what it claims."""
    found = refute(subject, scorer, short, stretched(sound, distance=5), within="distance", **QUICK)
    assert found.is_refuted
    assert found.flips >= 2
    assert found.p_value < 1e-3
    witness = found.witness
    assert witness.votes_rival > witness.votes_certified
    assert witness.rival == 1 - witness.certified.label
    own = short[witness.text]
    apart = subject.space.distances(own)[np.arange(len(own)), witness.words]
    assert witness.distance == pytest.approx(apart.sum())
    assert witness.distance < witness.certified.distance
    assert witness.changes == (own != witness.words).sum() > 0
    assert str(found).startswith("refuted: ")


def test_an_epsilon_that_is_understated_is_refuted(subject, scorer, short):
    """A guarantee of a fifth of the true epsilon gives certificates that are refuted."""
    false = dn.Guarantee.of_words(subject.epsilon / 5, "euclidean", "a false claim")
    claimed = certify_texts(subject, scorer, short, key=CERTIFIED, guarantee=false, estimation=4000)
    assert refute(subject, scorer, short, claimed, within="distance", **QUICK).is_refuted


@pytest.mark.parametrize("named", [True, False])
def test_changes_are_refuted_where_they_are_false(small_space, scorer, held, named):
    """Certified changes stand; that all words may be replaced does not, neither by any word nor by those of sets."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.5)
    replacements = nearest_sets(small_space, 40) if named else None
    right = certify_texts(subject, scorer, held, key=CERTIFIED, replacements=replacements, estimation=4000)
    wrong = dataclasses.replace(right, texts=tuple(dataclasses.replace(one, changes=3) for one in right.texts))
    for certificates, expected in ((right, False), (wrong, True)):
        found = refute(subject, scorer, held, certificates, within="changes", replacements=replacements, **QUICK)
        assert found.is_refuted is expected
    assert found.witness.changes <= 3
    if named:
        own = held[found.witness.text]
        assert all(word in replacements.choices_of(at) for word, at in zip(found.witness.words, own, strict=True))


def test_the_classifier_is_told_which_document_is_attacked(subject, short, sound):
    """Versions of a document keep its number, in the search as in the test."""
    seen = set()

    def watched(some, rows):
        seen.update(zip(some.lengths.tolist(), rows.tolist(), strict=True))
        return np.zeros((len(some), 2), dtype=np.float32)

    only = dataclasses.replace(
        sound, texts=tuple(dataclasses.replace(one, label=0 if at == 5 else None) for at, one in enumerate(sound.texts))
    )
    refute(subject, watched, short, only, within="distance", samples=4, draws=2, tries=1)
    assert seen == {(1, 5)}


def test_nothing_certified_is_nothing_to_refute(subject, scorer, short, sound):
    """Where every text abstains nothing is tested."""
    none = dataclasses.replace(sound, texts=tuple(dataclasses.replace(one, label=None) for one in sound.texts))
    found = refute(subject, scorer, short, none, within="distance")
    assert (found.is_refuted, found.tested, found.witness) == (False, 0, None)


@pytest.mark.parametrize(
    ("change", "value"), [({"alpha": 1.0}, "alpha"), ({"within": "radius"}, "within"), ({"samples": 1}, "samples")]
)
def test_what_cannot_be_refuted(subject, scorer, short, sound, change, value):
    """Levels, kinds and counts outside their domains, and certificates of other texts, are refused."""
    given = {"within": "distance"}
    with refuses(value):
        refute(subject, scorer, short, sound, **{**given, **change})
    with refuses("2 texts"):
        refute(subject, scorer, short.take(np.arange(2)), sound, **given)
