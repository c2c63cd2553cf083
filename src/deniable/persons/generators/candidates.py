"""Texts that a user's own generator proposes, such as a language model, chosen and labelled by the released classifier.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, and the callable uses nothing of
the private records but its request, so are the texts with their labels: they are a randomized function of
``knowledge`` (post-processing, Dwork and Roth 2014, Proposition 2.1). The premise on the callable cannot be checked:
a language model that was trained on the private records, or a callable that reads their file, breaks it.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from deniable.core.arrays import IntArray
from deniable.core.errors import InputError, check_count, is_interruption, shorten_text
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.persons.generators.knowledge import ReleasedKnowledge, SyntheticTexts, count_drafts, label_texts

_CLASS_WORDS = 50


@dataclasses.dataclass(frozen=True, eq=False)
class CandidateRequest:
    """What a generator of candidates is told: all of it is public or released.

    Attributes:
        classes: K names.
        class_words: for each class the words that it raises most, the first one most.
        codes: (n,) the class that each text should be of.
        lengths: (n,) the number of tokens that each text should have.
        seed: public.
    """

    classes: tuple[str, ...]
    class_words: tuple[tuple[str, ...], ...]
    codes: IntArray
    lengths: IntArray
    seed: int

    @property
    def count(self) -> int:
        """n, the number of texts to return."""
        return len(self.codes)


CandidateGenerator = Callable[[CandidateRequest], list[str]]


def generate_candidate_texts(
    knowledge: ReleasedKnowledge, propose: CandidateGenerator, rows: int, *, seed: int
) -> SyntheticTexts:
    """Return those of the proposed texts of whose class the classifier is most certain.

    Args:
        knowledge: what was released.
        propose: returns one text for each class and length of its request, in this order.
        rows: number of texts.
        seed: public; the request follows from it.

    Raises:
        InputError: no row is asked for, or the callable fails or returns anything but that many texts.
    """
    check_count("generate_candidate_texts", "rows", rows)
    generator = make_generator(derive_key_from_seed(seed), "proposed texts")
    codes = knowledge.draw_codes(count_drafts(rows), generator)
    lengths = knowledge.draw_lengths(len(codes), generator)
    request = CandidateRequest(knowledge.classes, list_class_words(knowledge), codes, lengths, seed)
    return label_texts(knowledge, _propose_texts(propose, request), rows)


def list_class_words(knowledge: ReleasedKnowledge, count: int = _CLASS_WORDS) -> tuple[tuple[str, ...], ...]:
    """Return the words that each class raises most, at most ``count``."""
    order = np.argsort(-knowledge.word_weights, axis=0, kind="stable")[:count]
    return tuple(
        tuple(knowledge.words[place] for place in column.tolist() if knowledge.word_weights[place, code] > 0)
        for code, column in enumerate(order.T)
    )


def _propose_texts(propose: CandidateGenerator, request: CandidateRequest) -> list[str]:
    """Return what the callable returns, if these are texts."""
    name = getattr(propose, "__name__", type(propose).__name__)
    try:
        texts: object = propose(request)
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
            raise InputError(f"The generator {name!r} must return texts with words. Got {value} at place {number:,}.")
    return texts
