r"""Texts of whole public sentences that the released classifier chooses: fluent, and every sentence is public.

With p(y|s) what the released classifier says of sentence s alone, a text for class y is a sequence of sentences that
are drawn independently, until its length is reached::

    P(s|y)  is proportional to  p(y|s)^strength

The label of a text is what the released classifier says of the whole.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, so are the texts with their
labels: they are a function of ``knowledge``, public texts and a seed (post-processing, Dwork and Roth 2014,
Proposition 2.1).
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator
from deniable.text.tokens import split_tokens

STRENGTH = 2.0
"""Power of the classifier's probability with which sentences are drawn."""
_SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+(?=\w)")
_DETACHED_MARK = re.compile(r"\s+(?=[.,!?;:)\]])|(?<=[(\[])\s+")
_FRESH_DRAWS = 64
"""Sentences drawn at a time."""


@dataclasses.dataclass(frozen=True)
class RecombinedTexts(TextGenerator):
    """Texts of public sentences.

    Attributes:
        public_texts: all of their sentences may occur, as they are written.

    Raises:
        InputError: the public texts hold no word.
    """

    public_texts: Sequence[str]

    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """See `TextGenerator`."""
        sentences = [part for text in self.public_texts for part in split_sentences(text) if split_tokens(part)]
        if not sentences:
            raise InputError("Texts cannot be put together from public texts without words: give texts with words.")
        sentence_lengths = np.array([len(split_tokens(sentence)) for sentence in sentences])
        logs = STRENGTH * np.log(np.maximum(knowledge.classifier.predict_probabilities(sentences), 1e-12))
        generator = make_generator(derive_key_from_seed(seed), "recombined texts")

        def draft(code: int, lengths: IntArray) -> list[str]:
            chances = np.exp(logs[:, code] - logs[:, code].max())
            cumulative = np.cumsum(chances / chances.sum())
            draws = (_draw_sentences(cumulative, sentence_lengths, length, generator) for length in lengths.tolist())
            return [" ".join(sentences[number] for number in numbers) for numbers in draws]

        return knowledge.draft_by_class(knowledge.draw_codes(count, generator), generator, draft)


def split_sentences(text: str) -> list[str]:
    """Return a text cut at white space after a full stop, question or exclamation mark and before a word.

    White space before punctuation, which tokenized corpora have, is left out, and other white space is one space.
    """
    return [_DETACHED_MARK.sub("", " ".join(part.split())) for part in _SENTENCE_GAP.split(text)]


def _draw_sentences(
    cumulative: FloatArray, lengths: IntArray, length: int, generator: np.random.Generator
) -> list[int]:
    """Return independent draws of sentences until they have as many tokens; the last stays where that is nearer.

    Args:
        cumulative: (m,) chances of the sentences, summed.
        lengths: (m,) tokens of each.
        length: tokens of all that are drawn.
        generator: of the draws, which are made in blocks.
    """
    numbers: list[int] = []
    while True:
        uniforms = generator.random(_FRESH_DRAWS) * cumulative[-1]
        for number in np.searchsorted(cumulative, uniforms, side="right").tolist():
            size = int(lengths[number])
            if numbers and size > 2 * length:
                return numbers
            numbers.append(number)
            length -= size
            if length <= 0:
                return numbers
