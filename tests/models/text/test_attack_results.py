"""What attacks on texts find, and what all of them keep: counts, early stops, keyed draws, texts that are allowed."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.models.text.samples import KEY, Asked, documents, everything, linear, rough, sets
from tests.refusals import refuses

ATTACKS = dn.texts.TEXT_ATTACKS
greedy, genetic, resampling = (ATTACKS[name] for name in ("greedy", "genetic", "resampling"))
SETS = sets({word: [word + 20, word + 40] for word in range(20)})
TEXTS = np.split(np.random.default_rng(5).integers(0, 20, 60), np.cumsum([9, 3, 12, 1, 7, 5, 8]))
SHORT = TEXTS[:4]
deep = pytest.mark.deep


def run(attack, *given, **options):
    """Return the result of an attack with other options."""
    return dataclasses.replace(attack, **options)(*given)


@pytest.fixture(params=ATTACKS)
def attack(request):
    """Return each of the attacks."""
    return ATTACKS[request.param]


@pytest.fixture(params=["sets", pytest.param("mechanism", marks=deep)])
def source(request, small_space):
    """Return sets of substitutions, or a mechanism."""
    return SETS if request.param == "sets" else dn.TEM(small_space, epsilon=2.0)


def test_result_is_what_was_scored(attack, source):
    """Counts are those of the scorer, and text and margin are the lowest of what it was asked, the first of equals."""
    scorer, held = rough(), documents(SHORT, premises=SHORT[::-1])
    found = attack(scorer, held, source, KEY)
    for row, text in enumerate(SHORT):
        asked = scorer.of(row)
        margins = np.array([scorer.margin(words) for words in asked])
        assert found.queries[row] == len(asked)
        np.testing.assert_array_equal(asked[0], text)
        np.testing.assert_array_equal(found.texts[row], asked[margins.argmin()])
        assert found.margins[row] == margins.min()
        assert found.changed_words[row] == (asked[margins.argmin()] != text).sum()
        if source is SETS:
            assert (asked % 20 == text % 20).all()
    assert found.correct_before.all()
    assert not found.flipped.any()


def test_draws_follow_from_key_and_document(attack, source):
    """The same texts are asked about, document by document, in any order, in any company, and under no other key."""
    runs = [rough() for _ in range(4)]
    attack(runs[0], documents(SHORT), source, KEY)
    attack(runs[1], documents(SHORT[::-1]), source, KEY, workers=2)
    attack(runs[2], documents(SHORT[2:3]), source, KEY)
    attack(runs[3], documents(SHORT), source, bytes(32))
    for row in range(len(SHORT)):
        np.testing.assert_array_equal(runs[0].of(row), runs[1].of(len(SHORT) - 1 - row))
    np.testing.assert_array_equal(runs[0].of(2), runs[2].of(0))
    listed = attack is greedy and source is SETS  # draws nothing
    assert np.array_equal(runs[0].of(2), runs[3].of(2)) == listed


def test_a_flip_ends_the_search(attack, source):
    """Once a text has flipped a document, nothing more is asked about it, while others go on."""
    scorer = Asked(lambda text: 1.0 if len(text) == 3 or (text < 20).all() else -1.0)
    found = attack(scorer, documents(SHORT), source, KEY)
    others = [row for row, text in enumerate(SHORT) if len(text) != 3]
    assert found.flipped[others].all()
    assert not found.flipped[1]
    for row in others:
        flips = [[(text >= 20).any() for asked, text in call if asked == row] for call in scorer.calls]
        rounds = [any(held) for held in flips if held]
        assert rounds[-1]
        assert not any(rounds[:-1])
    resisted = 1 + len(scorer.texts(1) - {tuple(SHORT[1])}) if attack is greedy else 1 + 60 + 40 * 59
    assert found.queries[1] == resisted


def test_documents_classified_wrongly_are_left_alone(attack, source):
    """Those of another class, and those on the border, cost one query and stay as they are."""
    values = np.full(60, 1.0)
    values[7], values[8] = -5, -1
    held = documents([[1, 2], [7, 1], [8, 1], [1, 2]], labels=[0, 0, 0, 1])
    found = attack(linear(values), held, source, KEY)
    np.testing.assert_array_equal(found.correct_before, [True, False, False, False])
    np.testing.assert_array_equal(found.queries[1:], 1)
    np.testing.assert_array_equal(found.margins[1:], [-4, 0, -2])
    assert not found.flipped[1:].any()
    np.testing.assert_array_equal(found.texts.words[2:], [7, 1, 8, 1, 1, 2])


def test_accuracies_are_shares_with_intervals(attack):
    """Accuracy before and after counts documents; one none of whose words has a choice costs one query."""
    values = np.ones(60)
    values[20:] = -9
    held = documents([[1, 2], [50, 51], [2, 3], [50, 1]], labels=[0, 1, 1, 0])
    found = attack(linear(values), held, SETS, KEY)
    before, after = found.clean_accuracy(), found.adversarial_accuracy()
    assert (before.value, after.value, before.count) == (0.5, 0.25, 4)
    assert 0 < after.low < after.value < after.high < 1
    np.testing.assert_array_equal(found.flipped, [True, False, False, False])
    assert (found.queries[1], found.changed_words[1]) == (1, 0)


def test_margin_is_against_the_nearest_class(attack):
    """With three classes the margin is the label's logit less the larger of the others, which are not written to."""
    kept = []

    def scorer(some, rows):
        del rows
        kept.append(np.array([[text[0] % 20, 5.0, float(text[0] >= 40) * 30] for text in some]))
        before.append(kept[-1].copy())
        return kept[-1]

    before = []
    found = attack(scorer, documents([[9], [3], [1]], labels=[0, 0, 1], classes=3), SETS, KEY)
    np.testing.assert_array_equal(found.correct_before, [True, False, True])
    np.testing.assert_array_equal(found.margins, [-21, -2, -25])
    np.testing.assert_array_equal(found.texts.words, [49, 3, 41])
    assert all(np.array_equal(one, other) for one, other in zip(kept, before, strict=True))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=deep) for seed in range(1, 5))])
def test_greedy_finds_the_worst_text_of_a_linear_classifier(seed):
    """Where the margin is a sum over words, the least margin of all texts is found, and with it every flip."""
    source = np.random.default_rng(seed)
    texts = source.integers(0, 20, (20, 4)).tolist()
    scorer = linear(source.normal(size=60).round(2), bias=4)
    found = greedy(scorer, documents(texts), SETS, KEY)
    can = np.array([min(map(scorer.margin, everything(text, SETS))) <= 0 for text in texts])
    np.testing.assert_array_equal(found.flipped, can & found.correct_before)
    assert 1 < found.flipped.sum() < found.correct_before.sum()
    sure = linear(source.integers(0, 50, 60).astype(float), bias=1)
    found = greedy(sure, documents(texts), SETS, KEY)
    assert found.margins.tolist() == [min(map(sure.margin, everything(text, SETS))) for text in texts]


def test_greedy_makes_changes_in_order_of_their_gain():
    """With the greatest gain first, a flip takes as few words as can be; a change that hurts others is left out."""
    values = np.zeros(60)
    values[[0, 2, 4, 6]] = 10
    values[[20, 22, 24, 26, 40, 42, 44, 46]] = [9, 1, 3, 8, 9, 5, 2, 8]
    found = greedy(linear(values, bias=-23), documents([[0, 2, 4, 6]]), SETS, KEY)
    # Gains are 1, 9, 8 and 2 of a margin of 17: the two greatest do.
    np.testing.assert_array_equal(found.texts[0], [0, 22, 44, 6])
    assert (found.changed_words[0], found.queries[0]) == (2, 1 + 8 + 1)
    margins = {(0, 2): 5, (20, 2): 3, (40, 2): 9, (0, 22): 4, (0, 42): 9, (20, 22): 8}
    found = greedy(Asked(lambda text: margins[tuple(text.tolist())]), documents([[0, 2]]), SETS, KEY)
    np.testing.assert_array_equal(found.texts[0], [20, 2])
    assert (found.margins[0], found.queries[0]) == (3, 1 + 4 + 1)


def test_greedy_changes_come_from_draws_of_a_mechanism(small_space):
    """Under a mechanism no more than the given draws are tried for a position, and the best are put together."""
    mechanism, values, text = dn.TEM(small_space, epsilon=1.0), np.arange(60.0), [50, 55, 59]
    margins = []
    for tries in (1, 40):
        scorer = linear(values, bias=1)
        found = run(greedy, scorer, documents([text]), mechanism, KEY, tries=tries)
        margins.append(found.margins[0])
    singles = scorer.of(0)[1:]
    np.testing.assert_array_equal(found.texts[0], [min(singles[:, column].tolist()) for column in range(3)])
    assert len({tuple(words) for words in singles.tolist()}) <= 3 * 40 + 2
    assert margins[1] < margins[0]


def test_nothing_flips_where_nothing_can(attack):
    """Where no text that the sets allow flips, none is found, and no text outside them is asked about."""
    scorer, texts = rough(), np.random.default_rng(4).integers(0, 20, (3, 4)).tolist()
    found = attack(scorer, documents(texts), SETS, KEY)
    assert not found.flipped.any()
    for row, text in enumerate(texts):
        allowed = everything(text, SETS)
        assert scorer.texts(row) <= {tuple(words) for words in allowed.tolist()}
        if attack is genetic:
            assert found.margins[row] == min(map(scorer.margin, allowed)) > 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=deep) for seed in range(1, 5))])
def test_genetic_finds_the_one_worst_text(seed):
    """Where one text of 81 flips, the attack, which scores 2,420, finds it; and one word of twenty that flips."""
    text, inner = [0, 1, 2, 3], rough(seed)
    worst = min(everything(text, SETS).tolist(), key=lambda words: inner.margin(np.array(words)))
    scorer = Asked(lambda words: -1 if words.tolist() == worst else inner.margin(words))
    found = genetic(scorer, documents([text]), SETS, bytes([seed] * 32))
    assert found.flipped.all() == (worst != text)
    np.testing.assert_array_equal(found.texts[0], worst)
    values = np.ones(60)
    values[47] = -100
    found = genetic(linear(values), documents([list(range(20))]), SETS, KEY)
    assert found.flipped.all()
    assert found.texts[0][7] == 47


def test_genetic_goes_on_from_one_change_each():
    """The first population has one change each; margins never rise with the generations; twelve words go together."""
    scorer = linear(np.ones(60))
    run(genetic, scorer, documents([list(range(12))]), SETS, KEY, population=30, generations=1)
    assert ((scorer.of(0)[1:31] != np.arange(12)).sum(axis=1) == 1).all()
    values = np.random.default_rng(3).integers(0, 9, 60).astype(float)
    held = documents([list(range(20)), list(range(19, 4, -1))])
    margins = [
        run(genetic, linear(values, bias=500), held, SETS, KEY, population=6, generations=count).margins
        for count in range(1, 12, 2)
    ]
    assert (np.diff(margins, axis=0) <= 0).all()
    assert (margins[-1] < margins[0]).all()
    found = genetic(linear(np.where(np.arange(60) < 20, 1.0, -1.0)), documents([list(range(12))]), SETS, KEY)
    assert found.flipped.all()
    assert found.changed_words[0] >= 6
    resists = run(genetic, linear(np.ones(60)), documents([[0, 1, 2]]), SETS, KEY, population=5, generations=7)
    assert resists.queries[0] == 1 + 5 + 7 * 4


def test_resampling_tries_whole_draws(small_space):
    """As many as asked for, of every text that the sets allow and no other, as often as a mechanism's law says."""
    assert run(resampling, linear(np.ones(60)), documents([[0, 1]]), SETS, KEY, draws=61).queries[0] == 62
    text, worst = [0, 1, 2], [20, 41, 2]
    scorer = linear(np.ones(60))
    run(resampling, scorer, documents([text]), SETS, KEY, draws=500)
    assert scorer.texts(0) == {tuple(words) for words in everything(text, SETS).tolist()}
    found = resampling(Asked(lambda words: 1 - 2 * (words.tolist() == worst)), documents([text]), SETS, KEY)
    assert found.flipped.all()
    np.testing.assert_array_equal(found.texts[0], worst)
    mechanism, text, scorer = dn.TEM(small_space, epsilon=4.0), [5, 40], linear(np.ones(60))
    run(resampling, scorer, documents([text]), mechanism, KEY, draws=5_000)
    same = int((scorer.of(0)[1:] == text).all(axis=1).sum())
    law = mechanism.law.rows(text)
    expected = law[0, 5] * law[1, 40]
    assert 0.1 < expected < 0.9
    assert stats.binomtest(same, 5_000, expected).pvalue > 1e-6
    assert stats.binomtest(same, 5_000, expected / 1.3).pvalue < 1e-6


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [([[1]], bytes(3), "3 bytes"), ([[1], [60]], KEY, "id 60"), ([[30], [50]], KEY, "No word"), ([], KEY, "No word")],
)
def test_what_cannot_be_attacked(attack, words, key, value):
    """Keys, words of another space and documents without a choice are refused before the scorer is asked."""
    scorer = linear(np.ones(60))
    with refuses(value):
        attack(scorer, documents(words), SETS, key)
    assert not scorer.calls


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("genetic", {"population": 1}, "Got 1"),
        ("genetic", {"population": 2.0}, "Got 2.0"),
        ("genetic", {"generations": 0}, "Got 0"),
        ("genetic", {"generations": True}, "Got True"),
        ("greedy", {"tries": 0}, "'tries'"),
        ("resampling", {"draws": 0}, "'draws'"),
    ],
)
def test_options_that_cannot_be_used(name, options, value):
    """An option outside its domain is named."""
    with refuses(value):
        dataclasses.replace(ATTACKS[name], **options)


@pytest.mark.parametrize(("logits", "value"), [(np.ones((2, 3)), "(2, 3)"), (np.full((2, 2), np.nan), "0 finite")])
def test_bad_logits_are_refused(attack, logits, value):
    """Logits of another shape, or that are no numbers, are refused."""
    with refuses(value):
        attack(lambda *_: logits, documents([[1], [2]]), SETS, KEY)
