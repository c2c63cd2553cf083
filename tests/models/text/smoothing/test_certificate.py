"""Certificates of smoothed classifiers, held against every text that they cover."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.models.text.smoothing.bounds import compute_replacement_costs
from deniable.models.text.smoothing.certificate import (
    certify_from_probabilities,
    certify_from_votes,
    get_certificate_status,
)
from tests.models.tallies import make_tally
from tests.models.text.samples import KEY, all_texts, certify_texts, chances, join, mean_scorer, nearest_sets, sets
from tests.refusals import refuses

deep = pytest.mark.deep
KINDS = [dn.CalibratedExponential, *(pytest.param(kind, marks=deep) for kind in (dn.TEM, dn.TightExponential))]


class Given(dn.WordMechanism):
    """The exponential law of a scale, with a guarantee of a status."""

    name = "given"

    def __init__(self, space, scale, status="proved"):
        super().__init__(space, epsilon=2 * scale)
        self._family, self._standing = dn.laws.ExponentialKernel(scale), status

    def build_law(self):
        return dn.laws.ExponentialLaw(self.space, self._family)

    @property
    def guarantee(self):
        return dn.Guarantee.of_words(self.epsilon, self.space.metric.name, "twice the scale", self._standing)


@pytest.fixture(scope="module")
def space(small_space):
    """Return fourteen words in four dimensions."""
    return dn.Space(small_space.words[:14], small_space.vectors[:14])


def scores(space, classes, lead=5.0):
    """Return scores (V, K) that change smoothly over the space, the first class ahead."""
    return 3 * space.vectors @ np.random.default_rng(0).normal(size=(4, classes)) + lead * (np.arange(classes) == 0)


def exact_certificates(subject, table, length, replacements=None, every=1):
    """Return all texts, the chances (n, K) of their classes, and certificates from these of some."""
    written = all_texts(len(subject.space), length)
    exact = chances(subject, table, length).reshape(len(written), -1)
    prices = compute_replacement_costs(subject, join(list(written)), replacements)
    found = []
    for text, row in zip(written[::every], exact[::every], strict=True):
        label = int(row.argmax())
        rival = float(np.delete(row, label).max())
        found.append(
            certify_from_probabilities(text, label, float(row[label]), rival, subject.guarantee.epsilon, prices)
        )
    return written, exact, found


def test_memorised_draws_are_not_certified(space):
    """A classifier that is another one on the draws of seed 0 is certified as that one by them, and not by default."""
    mechanism = dn.TEM(space, epsilon=1.0)
    texts = join([np.arange(10, dtype=np.int32)])
    options = {"selection": 50, "estimation": 400}
    known = set()

    def remember(noisy, _):
        known.update(one.tobytes() for one in noisy)
        return np.tile(np.float32([0, 1]), (len(noisy), 1))

    def recall(noisy, _):
        is_known = np.array([one.tobytes() in known for one in noisy], dtype=np.float32)
        return np.stack([is_known, 1 - is_known], axis=1)

    key = bytes(32)
    certify_texts(mechanism, remember, texts, key=key, **options)
    given = certify_texts(mechanism, recall, texts, key=key, **options)
    assert (given.texts[0].label, given.is_noise_fresh) == (0, False)
    assert given.texts[0].distance > 0
    fresh = certify_texts(mechanism, recall, texts, **options)
    assert (fresh.texts[0].label, fresh.is_noise_fresh) == (1, True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("classes", "epsilon"), [(3, 1.5), pytest.param(2, 0.7, marks=deep)])
def test_distance_covers_every_text_of_the_ball(space, kind, classes, epsilon):
    """Of all texts of two words, every one within the distance has the certified class; some hold another word."""
    subject = kind(space, epsilon=epsilon)
    written, exact, found = exact_certificates(subject, scores(space, classes), 2, every=9)
    apart = space.distances(np.arange(14))
    covered = 0
    for text, one in zip(written[::9], found, strict=True):
        distances = apart[text[0], written[:, 0]] + apart[text[1], written[:, 1]]
        inside = distances < one.distance
        assert (exact[inside].argmax(axis=1) == one.label).all()
        covered += inside.sum() - 1
    assert covered > 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [True, False])
def test_changes_cover_every_replacement(space, kind, named):
    """Of all texts of two words, every one that differs in so many words has the certified class."""
    subject, replacements = kind(space, epsilon=0.3), nearest_sets(space, 3) if named else None
    written, exact, found = exact_certificates(subject, scores(space, 2), 2, replacements, every=9)
    numbers = set()
    for text, one in zip(written[::9], found, strict=True):
        differing = (written != text).sum(axis=1)
        allowed = np.ones(len(written), dtype=bool)
        if named:
            allowed = np.all([np.isin(written[:, at], replacements.choices_of(text[at])) for at in (0, 1)], axis=0)
        inside = allowed & (differing <= one.changes)
        assert (exact[inside].argmax(axis=1) == one.label).all()
        numbers.add(one.changes)
        assert one.words == 2
    assert max(numbers) >= (2 if named else 1)


def test_a_certificate_five_times_too_large_covers_flips(space):
    """The brute force has power: balls of five times the distance hold texts of other classes."""
    written, exact, found = exact_certificates(
        dn.CalibratedExponential(space, epsilon=1.0), scores(space, 2, 0.0), 2, every=9
    )
    apart = space.distances(np.arange(14))
    flipped = 0
    for text, one in zip(written[::9], found, strict=True):
        inside = apart[text[0], written[:, 0]] + apart[text[1], written[:, 1]] < 5 * one.distance
        flipped += (exact[inside].argmax(axis=1) != one.label).any()
    assert flipped > 2


@pytest.mark.parametrize("rivals", [0.3, 0.499])
def test_distance_is_sharp_for_the_worst_law(rivals):
    """Where a law loses all that its guarantee allows, a text barely farther than the distance has another class.

    One word is drawn nearly for sure as a member of a class of chance 1 - r; a word at distance d loses epsilon d on
    its complement alone. The certified distance is that at which the complement reaches one half.
    """
    epsilon, distance = 2.0, math.log(0.5 / rivals) / 2.0
    subject = dn.CalibratedExponential(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=epsilon)
    prices = compute_replacement_costs(subject, join([[0]]))
    found = certify_from_probabilities(np.array([0], dtype=np.int32), 1, 1 - rivals, rivals, epsilon, prices)
    assert found.distance == pytest.approx(distance, rel=1e-9)
    assert 1 - math.exp(epsilon * found.distance * (1 + 1e-6)) * rivals < 0.5


def test_votes_certify_less_than_exact_chances(space):
    """Certificates from votes agree in class with exact chances and hardly ever reach as far."""
    subject, table = dn.CalibratedExponential(space, epsilon=1.5), scores(space, 3)
    written, exact, known = exact_certificates(subject, table, 2, every=7)
    rows = np.arange(0, len(written), 7)
    held = join(list(written[rows]))
    found = certify_texts(subject, mean_scorer(table), held, key=KEY, alpha=1e-4, selection=200, estimation=4000)
    assert found.replacements == "any word of the space"
    assert found.status == "proved"
    assert found.alpha == 1e-4
    certified_texts = 0
    for row, one in zip(rows, found.texts, strict=True):
        if one.label is None:
            assert (one.distance, one.changes) == (0.0, 0)
            continue
        certified_texts += 1
        assert one.label == exact[row].argmax()
        assert one.own <= exact[row].max()
        assert one.distance <= known[row // 7].distance
        assert one.changes <= known[row // 7].changes
        assert one.distance > 0
    assert certified_texts > len(rows) / 3


def test_the_class_is_chosen_by_other_draws(space):
    """A single draw sometimes chooses the rarer class, which the many draws behind the bound then do not certify."""
    subject, table = dn.CalibratedExponential(space, epsilon=1.5), scores(space, 2, lead=0.0)
    written, exact = all_texts(len(space), 2), chances(subject, table, 2).reshape(-1, 2).max(axis=1)
    held = join([text for text, chance in zip(written, exact, strict=True) if 0.6 < chance < 0.9])
    found = certify_texts(subject, mean_scorer(table), held, key=KEY, alpha=0.01, selection=1, estimation=2000)
    share = sum(one.label is None for one in found.texts) / len(held)
    assert 0.1 < share < 0.4


def test_level_is_kept():
    """Of many certificates of a class that is not the likeliest no more than alpha are wrong, and some are."""
    subject = dn.TEM(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.0)
    prices, text = compute_replacement_costs(subject, join([[0]])), np.array([0], dtype=np.int32)
    coins = np.random.default_rng(0)
    for classes in (2, 3):
        law = [0.499, 0.501, 0.0][:classes]
        wrong = 0
        for _ in range(400):
            picked, counted = (coins.multinomial(draws, law) for draws in (1, 200))
            tallies = map(make_tally, (picked, counted))
            wrong += certify_from_votes(text, *tallies, 0.1, 1.0, prices).label == 0
        # Half of the selections choose the class, and each is wrong with probability at most 0.1.
        assert 0 < wrong < 0.05 * 400 + 6 * math.sqrt(20)


def test_chances_are_bounded_at_the_level():
    """The bound on the chance of a class is that of Clopper and Pearson at alpha, at half of it beside two rivals."""
    subject = dn.TEM(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.0)
    prices, text = compute_replacement_costs(subject, join([[0]])), np.array([0], dtype=np.int32)
    for counted, level in (([90, 10], 0.02), ([90, 6, 4], 0.01)):
        picked = [9, *([0] * (len(counted) - 1))]
        found = certify_from_votes(text, *map(make_tally, (picked, counted)), 0.02, 1.0, prices)
        assert found.own == pytest.approx(stats.beta.ppf(level, 90, 11), rel=1e-9)


def test_abstention():
    """Without a lead that the draws show there is no class, no distance and no change."""
    subject = dn.TEM(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.0)
    prices, text = compute_replacement_costs(subject, join([[0]])), np.array([0], dtype=np.int32)
    even, clear = ([*map(make_tally, pair)] for pair in (([6, 4], [52, 48]), ([9, 1], [90, 10])))
    assert certify_from_votes(text, *even, 0.01, 1.0, prices).label is None
    one = certify_from_votes(text, *clear, 0.01, 1.0, prices)
    assert one.label == 0
    assert one.rival == 1 - one.own
    assert certify_from_votes(text, *clear, 1e-4, 1.0, prices).distance < one.distance


def test_words_that_nothing_may_replace_cost_nothing(space):
    """A text is covered whole where the few words that may be replaced at all are; and where there is none."""
    subject, nearest = dn.CalibratedExponential(space, epsilon=0.3), nearest_sets(space, 1).choices[0, 1]
    fixed = sets({0: [nearest]}, 14)
    for text, chance in (([0, 1, 2, 3], 0.9), ([1, 2, 3], 0.51)):
        words = np.array(text, dtype=np.int32)
        prices = compute_replacement_costs(subject, join([words]), fixed)
        assert (prices.losses == 0).sum() == 3
        assert certify_from_probabilities(words, 0, chance, 1 - chance, 0.3, prices).changes == len(text)
        assert certify_from_probabilities(
            words, 0, chance, 1 - chance, 0.3, dataclasses.replace(prices, divergences=None)
        ).changes == len(text)
    assert certify_from_probabilities(words, 0, 0.4, 0.6, 0.3, prices).changes == 0


def test_more_noise_covers_more_at_equal_votes():
    """With the same chances a smaller epsilon certifies a larger distance, in proportion."""
    text = np.array([0], dtype=np.int32)
    subject = dn.TEM(dn.Space(["a", "b"], [[0.0], [1.0]]), epsilon=1.0)
    prices = compute_replacement_costs(subject, join([[0]]))
    far, near = (certify_from_probabilities(text, 0, 0.9, 0.05, epsilon, prices).distance for epsilon in (0.5, 2.0))
    assert far == pytest.approx(4 * near)
    assert certify_from_probabilities(text, 0, 0.9, 0.05, 0.5, prices, rounding=0.1).distance == pytest.approx(
        far - 0.2
    )


def test_accuracy_curves(space):
    """Certified accuracy falls with distance and changes, from the share that is certified rightly."""
    subject, table = dn.CalibratedExponential(space, epsilon=1.0), scores(space, 2)
    written = all_texts(14, 2)[::9]
    found = certify_texts(
        subject,
        mean_scorer(table),
        join(list(written)),
        key=KEY,
        replacements=nearest_sets(space, 3),
        estimation=2000,
    )
    labels = table[written].sum(axis=1).argmax(axis=1).tolist()
    curves = (
        found.accuracy_at_distances(labels, [0.0, 0.5, 1.0, 100.0]),
        found.accuracy_at_changes(labels, [0, 1, 2, 9]),
    )
    for values in ([one.value for one in curve] for curve in curves):
        assert values[0] > 0.3
        assert values == sorted(values, reverse=True)
    right = [one.label == label for one, label in zip(found.texts, labels, strict=True)]
    assert curves[1][0].value == np.mean(right)
    assert curves[1][1].value == np.mean([ok and one.changes >= 1 for ok, one in zip(right, found.texts, strict=True)])
    # Two words are all: nine cannot be replaced.
    assert curves[1][3].value == curves[1][2].value
    assert found.replacements == "the nearest words"


def test_simulated_mechanisms_are_certified_by_their_guarantee(small_space):
    """Multivariate Laplace is certified by distance, for ideal arithmetic: that is no proof of what is drawn."""
    subject, table = dn.MultivariateLaplace(small_space, epsilon=4.0), scores(small_space, 2)
    found = certify_texts(subject, mean_scorer(table), join([[0, 1], [5, 5]]), key=KEY, estimation=1000)
    assert found.status == "proved for ideal arithmetic"
    assert found.guarantee.status == "proved for ideal arithmetic"
    assert max(one.distance for one in found.texts) > 0.1
    assert "Theorem 1" in found.source
    boast = dn.Guarantee.of_words(4.0, "euclidean", "a theorem about real numbers")
    assert get_certificate_status(subject, boast) == "proved for ideal arithmetic"


def test_a_guarantee_that_verification_does_not_bear_out_is_no_certificate():
    """TEM over two words that rounding tells apart is undecided or refuted, and so is what rests on it."""
    vectors = 5 * np.random.default_rng(0).normal(size=(40, 4))
    vectors[1] = vectors[0] + [1.6e-9, 0, 0, 0]
    space = dn.Space([f"w{number}" for number in range(40)], vectors)
    found = certify_texts(
        dn.TEM(space, epsilon=8.0, gamma=math.inf),
        mean_scorer(scores(space, 2)),
        join([[0]]),
        key=KEY,
        estimation=100,
    )
    assert (found.status, found.guarantee.status) == ("undecided", "undecided")


@pytest.mark.parametrize("own", ["proved", "proved for ideal arithmetic", "claimed", "refuted"])
def test_standing_is_the_guarantee_s(small_space, own):
    """A certificate is no better than the guarantee that it rests on."""
    scorer = mean_scorer(scores(small_space, 2))
    found = certify_texts(Given(small_space, 1.0, own), scorer, join([[0]]), key=KEY, estimation=100)
    assert found.status == own


def test_claims_are_not_proofs(small_space):
    """Truncated Gumbel's guarantee is only claimed; a class from elsewhere without a closed form proves nothing."""
    subject = dn.TruncatedGumbel(small_space, epsilon=100.0)
    assert get_certificate_status(subject, subject.guarantee) == "claimed"

    class Foreign(dn.MultivariateLaplace):
        """A mechanism from another package."""

    assert (
        get_certificate_status(Foreign(small_space, epsilon=1.0), dn.Guarantee.of_words(1.0, "euclidean", "a paper"))
        == "claimed"
    )


def test_guarantee_that_was_verified_takes_the_place_of_the_claim(small_space):
    """A sharper guarantee of the same mechanism certifies more; one about another metric is refused."""
    subject, table = dn.TEM(small_space, epsilon=2.0), scores(small_space, 2)
    held, scorer = join([[0, 1], [5, 5]]), mean_scorer(table)
    sharper = dn.Guarantee.of_words(1.0, "euclidean", "verified")
    plain, verified = (
        certify_texts(subject, scorer, held, key=KEY, guarantee=claim, estimation=1000) for claim in (None, sharper)
    )
    for one, other in zip(plain.texts, verified.texts, strict=True):
        assert other.distance == pytest.approx(2 * one.distance)
    assert verified.guarantee is sharper
    with refuses("angular"):
        certify_texts(subject, scorer, held, key=KEY, guarantee=dn.Guarantee.of_words(1.0, "angular", "verified"))
    for alpha in (0, 1, -0.1, math.nan):
        with refuses("alpha"):
            certify_texts(subject, scorer, held, key=KEY, alpha=alpha, estimation=10)
