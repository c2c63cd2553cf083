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

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.numbers import bisect
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator, balance_probabilities
from deniable.persons.ngrams import MAX_LOG_WEIGHT, InterpolatedModel, build_text_model

AGREEMENT = 0.8
"""Share of the texts whose label is the class that they were drawn for."""
_TRIALS, _TRIAL_TEXTS = 8, 600
_LARGEST_MEAN_WEIGHT = 4.0
"""Root of the mean square of the log weights, at most."""


@dataclasses.dataclass(frozen=True)
class TiltedTexts(TextGenerator):
    """Texts of a tilted model of public texts.

    Attributes:
        public_texts: what the model of the language is built from.

    Raises:
        InputError: public texts have no words.
    """

    public_texts: Sequence[str]

    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """See `TextGenerator`."""
        model = build_text_model(self.public_texts)
        weights = knowledge.classifier.word_weights
        places = {word: place for place, word in enumerate(knowledge.classifier.feature_map.words)}
        # The words of the model that the classifier does not know have no weight.
        padded = np.vstack([weights, np.zeros(weights.shape[1])])
        log_weights: FloatArray = padded[[places.get(word, -1) for word in model.words]]
        generator = make_generator(derive_key_from_seed(seed), "tilted texts")
        log_weights *= find_strength(knowledge, model, log_weights, generator)
        codes = knowledge.draw_codes(count, generator)
        return _write_drafts(knowledge, model, log_weights, codes, generator)


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


def _write_drafts(
    knowledge: ReleasedKnowledge,
    model: InterpolatedModel,
    log_weights: FloatArray,
    codes: IntArray,
    generator: np.random.Generator,
) -> list[str]:
    """Return a text for each class number (n,), of drawn lengths."""
    return knowledge.draft_by_class(
        codes, generator, lambda code, lengths: model.write_texts(log_weights[:, code], lengths, generator)
    )
