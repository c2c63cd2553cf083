r"""Texts of a public trigram model, tilted towards the words by which the released classifier tells the classes apart.

With P the interpolated Kneser-Ney model of the public texts, v_y(w) what an occurrence of word w adds to the
classifier's score of class y, and h the two words before::

    P_y(w|h)  is proportional to  P(w|h) exp(strength v_y(w))

Every word is drawn from this law exactly (`deniable.persons.ngrams`). A text is drawn for a class, but its label is
what the classifier says of it. The strength is such that the two agree in four of five texts: with less, texts say
little of their classes, and with more, all of them are so clear that the labels say nothing beyond the words of the
tilt. It is found by bisection on texts that are not released, and needs nothing private.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, so are the texts with their
labels: they are a function of ``knowledge``, public texts and a seed (post-processing, Dwork and Roth 2014,
Proposition 2.1).
"""

import math
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import check_count
from deniable.core.numbers import bisect
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import (
    ReleasedKnowledge,
    SyntheticTexts,
    balance_probabilities,
    count_drafts,
    label_texts,
)
from deniable.persons.ngrams import MAX_LOG_WEIGHT, InterpolatedModel, build_text_model

AGREEMENT = 0.8
"""Share of the texts whose label is the class that they were drawn for."""
_TRIALS, _TRIAL_TEXTS = 8, 600
_LARGEST_MEAN_WEIGHT = 4.0
"""Root of the mean square of the log weights, at most."""


def generate_tilted_texts(
    knowledge: ReleasedKnowledge, public_texts: Sequence[str], rows: int, *, seed: int
) -> SyntheticTexts:
    """Return texts of a tilted model of public texts.

    Args:
        knowledge: what was released.
        public_texts: what the model of the language is built from.
        rows: number of texts.
        seed: public; the texts follow from it.

    Raises:
        InputError: no row is asked for, or public texts have no words.
    """
    check_count("generate_tilted_texts", "rows", rows)
    model = build_text_model(public_texts)
    log_weights = _look_up_weights(knowledge, model)
    generator = make_generator(derive_key_from_seed(seed), "tilted texts")
    log_weights *= find_strength(knowledge, model, log_weights, generator)
    codes = knowledge.draw_codes(count_drafts(rows), generator)
    return label_texts(knowledge, _write_drafts(knowledge, model, log_weights, codes, generator), rows)


def find_strength(
    knowledge: ReleasedKnowledge, model: InterpolatedModel, log_weights: FloatArray, generator: np.random.Generator
) -> float:
    """Return the factor for log weights (V, K) at which labels agree with classes in about `AGREEMENT` of the texts."""
    scale = math.sqrt(float(np.mean(log_weights**2)))
    if scale == 0:
        return 0.0
    top = min(_LARGEST_MEAN_WEIGHT / scale, MAX_LOG_WEIGHT / float(np.abs(log_weights).max()))
    codes = knowledge.draw_codes(_TRIAL_TEXTS, generator)

    def is_enough(strength: float) -> bool:
        drafts = _write_drafts(knowledge, model, strength * log_weights, codes, generator)
        probabilities = balance_probabilities(
            knowledge.classifier.predict_probabilities(drafts), knowledge.class_shares
        )
        return bool(np.mean(probabilities.argmax(axis=1) == codes) >= AGREEMENT)

    return sum(bisect(is_enough, 0.0, top, steps=_TRIALS)) / 2


def _look_up_weights(knowledge: ReleasedKnowledge, model: InterpolatedModel) -> FloatArray:
    """Return the weights (V, K) of the words of the model; those that the classifier does not know have none."""
    places = {word: place for place, word in enumerate(knowledge.words)}
    padded = np.vstack([knowledge.word_weights, np.zeros(len(knowledge.classes))])
    log_weights: FloatArray = padded[[places.get(word, -1) for word in model.words]]
    return log_weights


def _write_drafts(
    knowledge: ReleasedKnowledge,
    model: InterpolatedModel,
    log_weights: FloatArray,
    codes: IntArray,
    generator: np.random.Generator,
) -> list[str]:
    """Return a text for each class number (n,), of drawn lengths."""
    lengths = knowledge.draw_lengths(len(codes), generator)
    drafts = [""] * len(codes)
    for code in range(len(knowledge.classes)):
        members = np.flatnonzero(codes == code)
        texts = model.write_texts(log_weights[:, code], lengths[members], generator)
        for place, text in zip(members.tolist(), texts, strict=True):
            drafts[place] = text
    return drafts
