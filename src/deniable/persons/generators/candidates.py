"""Texts that a user's own generator proposes, such as a language model, chosen and labelled by the released classifier.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, and the callable uses nothing of
the private records but its request, so are the texts with their labels: they are a randomized function of
``knowledge`` (post-processing, Dwork and Roth 2014, Proposition 2.1). The premise on the callable cannot be checked:
a language model that was trained on the private records, or a callable that reads their file, breaks it.
"""

import dataclasses

import numpy as np

from deniable.core.errors import InputError, is_interruption, shorten_text
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.classifier import LinearClassifier
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator
from deniable.persons.options import CandidateGenerator, CandidateRequest

_CLASS_WORDS = 50


@dataclasses.dataclass(frozen=True)
class CandidateTexts(TextGenerator):
    """Those of the proposed texts of whose class the classifier is most certain.

    Attributes:
        propose: returns one text for each class and length of its request, in this order.

    Raises:
        InputError: the callable fails, or returns anything but that many texts.
    """

    propose: CandidateGenerator

    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """See `TextGenerator`; the request follows from the seed."""
        generator = make_generator(derive_key_from_seed(seed), "proposed texts")
        codes = knowledge.draw_codes(count, generator)
        lengths = knowledge.draw_lengths(count, generator)
        classifier = knowledge.classifier
        request = CandidateRequest(classifier.classes, list_class_words(classifier), codes, lengths, seed)
        name = getattr(self.propose, "__name__", type(self.propose).__name__)
        try:
            texts: object = self.propose(request)
        except (Exception, SystemExit) as error:  # a callable that exits would end the command as if all were well
            if is_interruption(error):
                raise
            raise InputError(
                f"The generator {name!r} failed: {type(error).__name__}: {shorten_text(str(error))}."
            ) from error
        if not isinstance(texts, list):
            raise InputError(f"The generator {name!r} must return a list of texts. Got {type(texts).__name__}.")
        if len(texts) != request.count:
            raise InputError(
                f"The generator {name!r} must return {request.count:,} texts, one for each class and length asked for. "
                f"Got {len(texts):,}."
            )
        for number, text in enumerate(texts):
            if not isinstance(text, str) or not text.strip():
                value = "an empty text" if isinstance(text, str) else type(text).__name__
                raise InputError(
                    f"The generator {name!r} must return texts with words. Got {value} at place {number:,}."
                )
        return texts


def list_class_words(classifier: LinearClassifier, count: int = _CLASS_WORDS) -> tuple[tuple[str, ...], ...]:
    """Return the words that each class raises most, at most ``count``."""
    words, weights = classifier.feature_map.words, classifier.word_weights
    order = np.argsort(-weights, axis=0, kind="stable")[:count]
    return tuple(
        tuple(words[place] for place in column.tolist() if weights[place, code] > 0)
        for code, column in enumerate(order.T)
    )
