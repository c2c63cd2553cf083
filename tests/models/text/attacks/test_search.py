"""What all attacks keep: counts, early stops, keyed draws, and the texts they end with."""

import numpy as np
import pytest

import deniable as dn
from deniable.core.progress import report_progress_to
from deniable.core.randomness import derive_key_from_seed
from deniable.models.text.attacks import TEXT_ATTACKS, search
from tests.models.text.attacks.toy import KEY, Asked, documents, linear, rough, sets

SETS = sets({word: [word + 20, word + 40] for word in range(20)})
TEXTS = np.split(np.random.default_rng(5).integers(0, 20, 60), np.cumsum([9, 3, 12, 1, 7, 5, 8]))


@pytest.fixture(params=TEXT_ATTACKS)
def attack(request):
    """Return each of the attacks."""
    return TEXT_ATTACKS[request.param]


@pytest.fixture(params=["sets", "mechanism"])
def source(request, small_space):
    """Return sets of substitutions, or a mechanism."""
    return SETS if request.param == "sets" else dn.TEM(small_space, epsilon=2.0)


def test_result_is_what_was_scored(attack, source):
    """Counts are those of the scorer, and text and margin are the lowest of what it was asked, the first of equals."""
    scorer = rough()
    found = attack(scorer, documents(TEXTS), source, KEY)
    for row, text in enumerate(TEXTS):
        asked = scorer.of(row)
        margins = np.array([scorer.margin(words) for words in asked])
        assert found.queries[row] == len(asked)
        np.testing.assert_array_equal(asked[0], text)
        np.testing.assert_array_equal(found.texts[row], asked[margins.argmin()])
        assert found.margins[row] == margins.min()
        assert found.changed_words[row] == (asked[margins.argmin()] != text).sum()
    assert found.correct_before.all()
    assert not found.flipped.any()


def test_draws_follow_from_key_and_document(attack, source):
    """The same texts are asked about, document by document, in any order, in any company, and under no other key."""
    runs = [rough() for _ in range(4)]
    attack(runs[0], documents(TEXTS), source, KEY)
    attack(runs[1], documents(TEXTS[::-1]), source, KEY, workers=2)
    attack(runs[2], documents(TEXTS[2:3]), source, KEY)
    attack(runs[3], documents(TEXTS), source, derive_key_from_seed(2))
    for row in range(len(TEXTS)):
        np.testing.assert_array_equal(runs[0].of(row), runs[1].of(len(TEXTS) - 1 - row))
    np.testing.assert_array_equal(runs[0].of(2), runs[2].of(0))
    listed = attack is TEXT_ATTACKS["greedy"] and source is SETS  # draws nothing
    assert np.array_equal(runs[0].of(2), runs[3].of(2)) == listed


def test_windows_change_nothing(attack, source, monkeypatch):
    """However few words are drawn or scored together, the result is the same, and the bounds are kept."""
    whole, parts = rough(), rough()
    expected = attack(whole, documents(TEXTS), source, KEY)
    monkeypatch.setattr(search, "MAX_SCORED_WORDS", 700)
    monkeypatch.setattr(search, "MAX_DRAWN_WORDS", 5000)
    found = attack(parts, documents(TEXTS), source, KEY)
    for name in ("margins", "flipped", "queries", "changed_words"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.texts.words, expected.texts.words)
    assert len(parts.calls) > len(whole.calls)
    for call in parts.calls:
        assert sum(len(text) for _, text in call) <= 700 or len({row for row, _ in call}) == 1


def test_a_flip_ends_the_search(attack, source):
    """Once a text has flipped a document, nothing more is asked about it, while others go on."""
    scorer = Asked(lambda text: 1.0 if len(text) == 3 or (text < 20).all() else -1.0)
    found = attack(scorer, documents(TEXTS), source, KEY)
    others = [row for row, text in enumerate(TEXTS) if len(text) != 3]
    assert found.flipped[others].all()
    assert not found.flipped[1]
    for row in others:
        flips = [[(text >= 20).any() for asked, text in call if asked == row] for call in scorer.calls]
        rounds = [any(held) for held in flips if held]
        assert rounds[-1]
        assert not any(rounds[:-1])
    resisted = {"genetic": 2421, "resampling": 2421, "greedy": 1 + len(scorer.texts(1) - {tuple(TEXTS[1])})}
    assert found.queries[1] == resisted[next(name for name, run in TEXT_ATTACKS.items() if run is attack)]


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
    assert found.clean_accuracy().value == 0.25
    assert found.adversarial_accuracy().value == (0.0 if found.flipped[0] else 0.25)


def test_accuracies_are_shares_with_intervals(attack):
    """Accuracy before and after counts documents, with the interval of a share."""
    values = np.ones(60)
    values[20:] = -9
    held = documents([[1, 2], [50, 51], [2, 3], [50, 1]], labels=[0, 1, 1, 0])
    found = attack(linear(values), held, SETS, KEY)
    before, after = found.clean_accuracy(), found.adversarial_accuracy()
    assert (before.value, after.value, before.count) == (0.5, 0.25, 4)
    assert 0 < after.low < after.value < after.high < 1
    np.testing.assert_array_equal(found.flipped, [True, False, False, False])


def test_documents_that_cannot_change_resist(attack):
    """A document none of whose words has a choice costs one query."""
    found = attack(linear(np.ones(60)), documents([[50, 30], [1], [20]]), SETS, KEY)
    np.testing.assert_array_equal(found.queries[[0, 2]], 1)
    np.testing.assert_array_equal(found.changed_words[[0, 2]], 0)
    assert found.queries[1] > 1


def test_margin_is_against_the_nearest_class(attack):
    """With three classes the margin is the label's logit less the larger of the others."""

    def scorer(versions, rows):
        del rows
        return np.array([[text[0] % 20, 5.0, float(text[0] >= 40) * 30] for text in versions])

    found = attack(scorer, documents([[9], [3], [1]], labels=[0, 0, 1], classes=3), SETS, KEY)
    np.testing.assert_array_equal(found.correct_before, [True, False, True])
    np.testing.assert_array_equal(found.margins, [-21, -2, -25])
    np.testing.assert_array_equal(found.texts.words, [49, 3, 41])


def test_scorer_is_told_the_document(attack):
    """Each version comes with the number of its document, for the premise that stands beside it."""
    held = documents([[1, 2, 3], [4], [5, 6]], premises=[[1], [2], [3]])
    scorer = rough()
    attack(scorer, held, SETS, KEY)
    for call in scorer.calls:
        for row, text in call:
            assert (text % 20 == held.texts[row] % 20).all()


def test_logits_are_not_written_to(attack):
    """What the scorer returns stays its own."""
    kept = []

    def scorer(versions, rows):
        del rows
        kept.append(np.ones((len(versions), 2)) * [2.0, 1.0])
        return kept[-1]

    attack(scorer, documents([[1]]), SETS, KEY)
    assert all((logits == [2.0, 1.0]).all() for logits in kept)


def test_progress_is_reported(attack):
    """Whoever watches hears of every window of documents, the last time of all."""
    seen = []
    with report_progress_to(lambda done, total: seen.append((done, total))):
        attack(linear(np.ones(60)), documents(TEXTS), SETS, KEY)
    assert seen[-1] == (len(TEXTS), len(TEXTS))


@pytest.mark.parametrize(
    ("words", "key", "message"),
    [
        ([[1]], bytes(3), "A key must be 32 bytes. Got 3 bytes."),
        (
            [[1], [60]],
            KEY,
            "The documents have a word with id 60, and the replacements have 60 words: read both with the same space.",
        ),
        (
            [[30], [50]],
            KEY,
            "No word of the documents can be replaced: choose other substitutions, or other documents.",
        ),
        ([], KEY, "No word of the documents can be replaced: choose other substitutions, or other documents."),
    ],
)
def test_bad_input_is_refused(attack, words, key, message):
    """What cannot be attacked is refused before the scorer is asked."""
    scorer = linear(np.ones(60))
    with pytest.raises(dn.InputError) as caught:
        attack(scorer, documents(words), SETS, key)
    assert str(caught.value) == message
    assert not scorer.calls


@pytest.mark.parametrize(
    ("logits", "got"), [(np.ones((2, 3)), "6 finite ones of shape (2, 3)"), (np.full((2, 2), np.nan), "0 finite ones")]
)
def test_bad_logits_are_refused(attack, logits, got):
    """Logits of another shape, or that are no numbers, are refused."""
    with pytest.raises(dn.InputError) as caught:
        attack(lambda *_: logits, documents([[1], [2]]), SETS, KEY)
    assert got in str(caught.value)
    assert "A scorer must return finite logits of shape (2, 2)" in str(caught.value)
