r"""Texts of whole public sentences that the released classifier chooses: fluent, and every sentence is public.

With p(y|s) what the released classifier says of sentence s alone, a text for class y is a sequence of sentences that
are drawn independently, until its length is reached::

    P(s|y)  is proportional to  p(y|s)^strength

The label of a text is what the released classifier says of the whole.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, so are the texts with their
labels: they are a function of ``knowledge``, public texts and a seed (post-processing, Dwork and Roth 2014,
Proposition 2.1).
"""

import re
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count, check_positive
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import ReleasedKnowledge, SyntheticTexts, count_drafts, label_texts
from deniable.text.tokens import split_tokens

STRENGTH = 2.0
"""Power of the classifier's probability with which sentences are drawn."""
_SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+(?=\w)")
_DETACHED_MARK = re.compile(r"\s+(?=[.,!?;:)\]])|(?<=[(\[])\s+")
_FRESH_DRAWS = 64
"""Sentences drawn at a time."""


def generate_recombined_texts(
    knowledge: ReleasedKnowledge, public_texts: Sequence[str], rows: int, *, strength: float = STRENGTH, seed: int
) -> SyntheticTexts:
    """Return texts of public sentences.

    Args:
        knowledge: what was released.
        public_texts: all of their sentences may occur, as they are written.
        rows: number of texts.
        strength: how strongly a class prefers its sentences, > 0.
        seed: public; the texts follow from it.

    Raises:
        InputError: no row is asked for, or the public texts hold no word.
    """
    check_count("generate_recombined_texts", "rows", rows)
    check_positive("generate_recombined_texts", "strength", strength)
    sentences = [sentence for text in public_texts for sentence in split_sentences(text) if split_tokens(sentence)]
    if not sentences:
        raise InputError("Texts cannot be put together from public texts without words: give texts with words.")
    sentence_lengths = np.array([len(split_tokens(sentence)) for sentence in sentences])
    logs = strength * np.log(np.maximum(knowledge.classifier.predict_probabilities(sentences), 1e-12))
    generator = make_generator(derive_key_from_seed(seed), "recombined texts")
    codes = knowledge.draw_codes(count_drafts(rows), generator)
    lengths = knowledge.draw_lengths(len(codes), generator)
    drafts = [""] * len(codes)
    for code in range(len(knowledge.classes)):
        chances = np.exp(logs[:, code] - logs[:, code].max())
        draws = _SentenceDraws(chances / chances.sum(), sentence_lengths, generator)
        for place in np.flatnonzero(codes == code).tolist():
            drafts[place] = " ".join(sentences[number] for number in draws.draw_until(int(lengths[place])))
    return label_texts(knowledge, drafts, rows)


def split_sentences(text: str) -> list[str]:
    """Return a text cut at white space after a full stop, question or exclamation mark and before a word.

    White space before punctuation, which tokenized corpora have, is left out, and other white space is one space.
    """
    return [_DETACHED_MARK.sub("", " ".join(part.split())) for part in _SENTENCE_GAP.split(text)]


class _SentenceDraws:
    """Independent draws of sentences, made in blocks.

    Args:
        chances: (m,) of each sentence.
        lengths: (m,) tokens of each.
        generator: of the draws.
    """

    def __init__(self, chances: FloatArray, lengths: IntArray, generator: np.random.Generator) -> None:
        self._cumulative, self._lengths, self._generator = np.cumsum(chances), lengths, generator

    def draw_until(self, length: int) -> list[int]:
        """Return sentences until they have as many tokens; the last stays where that is nearer to the length."""
        numbers: list[int] = []
        missing = length
        while True:
            uniforms = self._generator.random(_FRESH_DRAWS) * self._cumulative[-1]
            for number in np.searchsorted(self._cumulative, uniforms, side="right").tolist():
                size = int(self._lengths[number])
                if numbers and size > 2 * missing:
                    return numbers
                numbers.append(number)
                missing -= size
                if missing <= 0:
                    return numbers
