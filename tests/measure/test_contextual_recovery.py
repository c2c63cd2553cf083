"""The attacker who knows a language, against brute force and against the one who does not."""

import numpy as np
import pytest

import deniable as dn
from deniable.measure.attackers.language_model import LanguageModel, number_texts
from deniable.measure.batches import privatize_texts
from deniable.measure.contextual_recovery import (
    fit_weighted_language_model,
    measure_contextual_recovery,
    measure_crossfitted_recovery,
)
from deniable.measure.recovery import measure_recovery


def chain(space, count, length, seed=0, loyal=0.9):
    """Return texts in which a word is mostly followed by the one that is its partner's number."""
    generator = np.random.default_rng(seed)
    size = len(space)
    partner = np.random.default_rng(99).permutation(size)
    out = []
    for _ in range(count):
        words = [int(generator.integers(size))]
        for _ in range(length - 1):
            words.append(int(partner[words[-1]]) if generator.random() < loyal else int(generator.integers(size)))
        out.append(" ".join(space.words[word] for word in words))
    return out


@pytest.fixture(scope="module")
def strong(small_space):
    """Return a mechanism, texts of a language with strong bigrams, and those privatized."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    texts = chain(small_space, 120, 25)
    return subject, texts, privatize_texts(subject, texts, seed=5)


def test_context_helps(small_space, strong):
    """Where words follow each other closely, the attacker who knows it recovers far more, and a flat beam less."""
    subject, _, drawn = strong
    model, weight = fit_weighted_language_model(subject, number_texts(small_space, chain(small_space, 300, 25, seed=1)))
    alone = measure_recovery(subject, drawn, prior=model.prior)
    found = measure_contextual_recovery(subject, drawn, model, weight=weight)
    assert not found.optimal
    assert found.share.low > 1.5 * alone.share.high
    narrow = measure_contextual_recovery(subject, drawn, model, weight=weight, beam=1, candidates=2)
    assert narrow.share.high < found.share.low


def test_model_of_another_language_is_not_trusted(small_space, strong):
    """Words in random order teach nothing about the order, and the attacker is then as good as without context."""
    subject, _, _ = strong
    texts = chain(small_space, 120, 25, seed=2, loyal=0.0)
    drawn = privatize_texts(subject, texts, seed=6)
    model, weight = fit_weighted_language_model(
        subject, number_texts(small_space, chain(small_space, 300, 25, seed=3, loyal=0.0))
    )
    alone = measure_recovery(subject, drawn, prior=model.prior)
    found = measure_contextual_recovery(subject, drawn, model, weight=weight)
    assert found.share.high > alone.share.low
    assert found.share.low < alone.share.high


def test_two_halves(strong):
    """Models of the other half serve nearly as well as one of public texts, and a seed repeats the figure."""
    subject, _, drawn = strong
    found = measure_crossfitted_recovery(subject, drawn, seed=3)
    assert found.share.low > 1.3 * measure_recovery(subject, drawn).share.high
    assert found == measure_crossfitted_recovery(subject, drawn, seed=3, workers=1)


def test_equal_texts_do_not_teach_their_own_words(small_space):
    """Copies of a text fall in one half: texts in random order stay as hard to guess as they are."""
    subject = dn.CalibratedExponential(small_space, epsilon=1.2)
    texts = chain(small_space, 40, 25, loyal=0.0) * 4
    drawn = privatize_texts(subject, texts, seed=7)
    alone, found = measure_recovery(subject, drawn, prior=np.ones(60)), measure_crossfitted_recovery(subject, drawn)
    assert found.share.value < 1.15 * alone.share.value


def test_unknown_words_are_left_out(small_space):
    """Words beyond the vocabulary are counted apart, and the model knows them as one symbol more."""
    subject = dn.TEM(small_space, epsilon=200.0)
    texts = [f"nonesuch {small_space.words[3]} strange {small_space.words[4]}"] * 5
    model = LanguageModel.fit(number_texts(small_space, texts), len(small_space))
    found = measure_contextual_recovery(subject, privatize_texts(subject, texts, seed=1), model)
    assert (found.left_out, found.share.value) == (10, 1.0)


def test_bad_inputs_are_refused(small_space, strong):
    """What cannot be attacked is refused in one line that names it."""
    subject, _, drawn = strong
    model = LanguageModel.fit([[1, 2]], len(small_space))
    strangers = privatize_texts(subject, ["nonesuch", ""], seed=1)
    same = privatize_texts(subject, [small_space.words[0]] * 3, seed=1)
    cases = {
        "texts with words of the vocabulary": lambda: measure_contextual_recovery(subject, strangers, model),
        "'candidates' parameter of rank_guesses must be an int": lambda: measure_contextual_recovery(
            subject, drawn, model, candidates=0
        ),
        "'beam' parameter of the beam search must be an int": lambda: measure_contextual_recovery(
            subject, drawn, model, beam=0
        ),
        "'weight' parameter of the beam search must be a": lambda: measure_contextual_recovery(
            subject, drawn, model, weight=-1.0
        ),
        "knows 5 words, the mechanism 60": lambda: measure_contextual_recovery(
            subject, drawn, LanguageModel.fit([[1]], 5)
        ),
        "at least 2 different texts": lambda: measure_crossfitted_recovery(subject, same),
        "needs words to learn from": lambda: fit_weighted_language_model(subject, []),
    }
    for message, attack in cases.items():
        with pytest.raises(dn.InputError, match=message) as caught:
            attack()
        assert "\n" not in str(caught.value)
