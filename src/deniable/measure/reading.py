"""What a reader with a language model guesses of private texts, with and without what was released.

Three readers, each of whom knows the mechanism and how frequent words are: one who knows the true words before each
word, one who knows those after it too, and one who sees nothing but the release. What they guess without any output is
nothing that a release could hide; what the output adds is what it gives away.
"""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from deniable.core.arrays import BoolArray
from deniable.core.errors import InputError, check_count
from deniable.core.parallel import hide_progress
from deniable.language.model import LanguageModel
from deniable.measure.attackers.beam import guess_from_release
from deniable.measure.attackers.guesses import WordLikelihood, build_likelihood
from deniable.measure.attackers.language_model import WordNumbers
from deniable.measure.attackers.reader import Guesses, Reader, ReadTexts, guess_in_context
from deniable.measure.intervals import Estimate, estimate_by_bootstrap, estimate_clustered_mean
from deniable.space import Space
from deniable.space.grammar import fold_word
from deniable.text.batches import PrivatizedBatch
from deniable.words import WordMechanism
from deniable.words.outcomes import list_band_ranks, rank_words
from deniable.words.prior import PriorLike, build_prior

Knowledge = Literal["before", "around", "release"]
KNOWLEDGE: dict[Knowledge, str] = {
    "before": "knows the words before",
    "around": "knows the words before and after",
    "release": "sees only the release",
}
"""What a reader has beside the output at a place, and how it is called."""
ALL_WORDS, WATCHED = "all words", "watched words"
MAX_PERPLEXITY = 5_000.0
"""Perplexity of a word beyond which a model is said not to know a language. SmolLM2 has 60 to 500 on English sentences,
and 18,000 on German ones."""
_JUDGED_TEXTS, _JUDGED_CHARACTERS = 64, 800
"""What the perplexity is of: so much of the beginnings of so many texts."""
_OWNER = "a reading"


@dataclasses.dataclass(frozen=True)
class ReadingPlan:
    """How much is guessed, by whom.

    Attributes:
        knowledge: the readers.
        around: maximum number of words that the reader guesses who knows what follows.
        release: maximum number of words that the reader guesses who sees only the release; whole texts.
        beam: number of readings of a text that this one keeps.
        seed: public; which words are guessed, halves and intervals follow from it.

    Raises:
        InputError: a number out of range.
    """

    knowledge: tuple[Knowledge, ...] = ("before", "around", "release")
    around: int = 100
    release: int = 500
    beam: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("around", "release", "beam"):
            check_count(_OWNER, name, getattr(self, name))


DEFAULT_PLAN = ReadingPlan()


@dataclasses.dataclass(frozen=True)
class GroupGuesses:
    """How often words of a group are guessed; intervals by bootstrap over texts.

    Attributes:
        name: of a band of frequency, of a hidden class, or of another group.
        words: number of running words of it.
        blind: share that the reader guesses without any output. Of a word of a hidden class the reader knows the class,
            which a release does not hide.
        guessed: share that the reader guesses with the output, by the rule that guesses most of such words in other
            texts.
        added: the second less the first: what the output adds.
    """

    name: str
    words: int
    blind: Estimate
    guessed: Estimate
    added: Estimate


@dataclasses.dataclass(frozen=True)
class Reading:
    """What readers with a language model guess.

    Attributes:
        model: its name.
        perplexity: of a word of the texts after those before it; None where no text is longer than a token.
        groups: what each reader guesses of all words, bands of frequency, hidden classes and watched words, as far as
            the texts have any.
        left_out: number of words that the vocabulary lacks, which no guess can hit.
        cut: number of texts longer than the part that is read together.
        window: tokens of such a part.
        watched: number of watched words that the vocabulary has; None where none were named.
        unwatched: number of those that it lacks.
    """

    model: str
    perplexity: Estimate | None
    groups: dict[Knowledge, tuple[GroupGuesses, ...]]
    left_out: int
    cut: int
    window: int
    watched: int | None = None
    unwatched: int = 0

    @property
    def remarks(self) -> list[str]:
        """What must be known beside the figures, one line each."""
        lines = []
        if self.perplexity is not None and self.perplexity.value > MAX_PERPLEXITY:
            lines.append(
                f"the perplexity of a word is {self.perplexity.value:,.0f}: the model {self.model} does not know the "
                "language of these texts, and one that does guesses more"
            )
        if self.cut:
            lines.append(f"texts longer than {self.window:,} tokens, which are read in parts: {self.cut:,}")
        if self.unwatched:
            lines.append(f"watched words that are not in the vocabulary, and are never guessed: {self.unwatched:,}")
        if self.watched is not None and all(one.name != WATCHED for group in self.groups.values() for one in group):
            lines.append("none of the watched words is among those that were guessed")
        return lines


def build_reader(
    model: LanguageModel | str | Path, space: Space, prior: PriorLike = None, opening: str = "", *, device: str = "cpu"
) -> Reader:
    """Return a reader of the words of a space.

    Args:
        model: public: a model, or where it is, see `deniable.language.model.LanguageModel.load`.
        space: whose words are guessed.
        prior: how frequent they are, see `deniable.recovery`.
        opening: what stands before each text for the model, such as "A film review:".
        device: where a model that is read from files computes, for example ``cuda``.

    Raises:
        InputError: the model cannot be used, or an invalid prior.
    """
    if not isinstance(model, LanguageModel):
        model = LanguageModel.load(model, device=device)
    return Reader(model, space, build_prior(space, prior).weights, opening)


def measure_reading(
    mechanism: WordMechanism,
    texts: Sequence[str],
    batch: PrivatizedBatch,
    reader: Reader,
    *,
    watch: Collection[str] = (),
    plan: ReadingPlan = DEFAULT_PLAN,
) -> Reading:
    """Return what readers with a language model guess of private texts; guessed words are counted, and not kept.

    Args:
        mechanism: by which the reader believes that the words came out.
        texts: R private texts.
        batch: what came out of them, see `deniable.measure.privatize_texts`.
        reader: see `build_reader`.
        watch: words whose guesses are counted by themselves.
        plan: which readers, and how much they guess.

    Raises:
        InputError: no word of the vocabulary, a reader of other words, or texts that are not those of the batch.
    """
    space = mechanism.space
    if reader.space.fingerprint != space.fingerprint or len(reader.space) != len(space):
        raise InputError(
            f"The reader knows {len(reader.space)} words of another vocabulary: build one with this space."
        )
    read = reader.read(texts, batch.words, batch.outputs, ~batch.unknown_mask)
    if read.offsets.tolist() != batch.offsets.tolist():
        raise InputError("The words of the texts are not those that were privatized: give the texts of the batch.")
    if not read.is_known.any():
        raise InputError("A reader needs texts with words of the vocabulary. Got none: give other texts.")
    likelihood = build_likelihood(mechanism, reader.prior, seed=plan.seed)
    watched = _find_numbers(space, watch)
    groups: dict[Knowledge, tuple[GroupGuesses, ...]] = {}
    for knowledge in plan.knowledge:
        guesses, is_asked = _guess(reader, read, likelihood, knowledge, plan)
        masks = _list_groups(reader, read, watched)
        groups[knowledge] = tuple(
            _count(read, guesses, name, is_asked & mask, plan.seed) for name, mask in masks if (is_asked & mask).any()
        )
    lengths = [len(text.tokens) for text in reader.tokenize(read)]
    return Reading(
        model=reader.model.card.name,
        perplexity=measure_word_perplexity(reader, texts, plan.seed),
        groups=groups,
        left_out=int(batch.unknown_mask.sum()),
        cut=int((np.array(lengths) > reader.window).sum()),
        window=reader.window,
        watched=len(watched) if watch else None,
        unwatched=len({*map(fold_word, watch)}) - len(watched),
    )


def measure_word_perplexity(reader: Reader, texts: Sequence[str], seed: int = 0) -> Estimate | None:
    """Return the perplexity of a word of texts, in lower case, under a reader's model; None without two tokens."""
    order = np.random.default_rng(seed).permutation(len(texts))[:_JUDGED_TEXTS].tolist()
    judged = [texts[row][:_JUDGED_CHARACTERS].lower() for row in order]
    with hide_progress():
        losses, tokens = reader.model.sum_losses(judged)
    words = np.array([len(reader.space.split_words(text)) // 2 for text in judged])
    words[tokens == 0] = 0
    if not words.any():
        return None
    mean = estimate_clustered_mean(losses, words)
    with np.errstate(over="ignore"):
        value, low, high = np.exp([mean.value, mean.low, mean.high]).tolist()
    return dataclasses.replace(mean, value=value, low=low, high=high)


def _guess(
    reader: Reader, texts: ReadTexts, likelihood: WordLikelihood, knowledge: Knowledge, plan: ReadingPlan
) -> tuple[Guesses, BoolArray]:
    """Return the guesses of one reader, and which words (N,) were guessed."""
    generator = np.random.default_rng(plan.seed)
    is_asked = texts.is_known.copy()
    if knowledge == "around":
        known = np.flatnonzero(is_asked)
        is_asked[:] = False
        is_asked[generator.permutation(known)[: plan.around]] = True
    if knowledge == "release":
        has_known = np.bincount(texts.text_of[is_asked], minlength=len(texts.words)) > 0
        rows = generator.permutation(len(texts.words))
        rows = rows[has_known[rows]]
        lengths = np.diff(texts.offsets)[rows]
        chosen = rows[: max(int(np.searchsorted(np.cumsum(lengths), plan.release, side="right")), 1)]
        is_asked &= np.isin(texts.text_of, chosen)
        return guess_from_release(reader, texts, likelihood, is_asked, plan.beam), is_asked
    return guess_in_context(reader, texts, likelihood, is_asked, knows_after=knowledge == "around"), is_asked


def _find_numbers(space: Space, words: Collection[str]) -> WordNumbers:
    """Return the numbers of those of some words that a space has."""
    numbers = {space.index_by_word.get(fold_word(word)) for word in words} - {None}
    return np.array(sorted(number for number in numbers if number is not None), dtype=np.int32)


def _list_groups(reader: Reader, texts: ReadTexts, watched: WordNumbers) -> Iterator[tuple[str, BoolArray]]:
    """Yield the groups of words: name, and which (N,) belong to it."""
    space, numbers = reader.space, texts.numbers
    classes = space.class_by_word[numbers]
    ranks = rank_words(reader.prior)[numbers]
    yield ALL_WORDS, np.ones(len(numbers), dtype=np.bool_)
    for name, first, last in list_band_ranks(len(space)):
        yield name, (classes < 0) & (ranks > first) & (ranks <= last)
    for number, hidden in enumerate(space.hidden_classes):
        yield hidden.name, classes == number
    yield WATCHED, np.isin(numbers, watched)


def _count(texts: ReadTexts, guesses: Guesses, name: str, mask: BoolArray, seed: int) -> GroupGuesses:
    """Return how often the words of a group are guessed; the rule of each half of the texts is chosen on the other."""
    text_of, count = texts.text_of, len(texts.words)
    half_of_text = np.random.default_rng(seed).permutation(count) % 2
    hits = (guesses.rules == texts.numbers) & mask
    half = half_of_text[text_of]
    totals = np.stack([hits[:, half != side].sum(axis=1) for side in (0, 1)])  # of the other texts
    best = totals.argmax(axis=1)
    is_hit = np.where(half == 0, hits[best[0]], hits[best[1]])
    blind = ((guesses.plain if name == ALL_WORDS else guesses.told) == texts.numbers) & mask
    words, with_output, without = (np.bincount(text_of, one, count) for one in (mask, is_hit, blind))
    return GroupGuesses(
        name,
        int(mask.sum()),
        estimate_by_bootstrap(without, words, (0.0, 1.0), seed),
        estimate_by_bootstrap(with_output, words, (0.0, 1.0), seed),
        estimate_by_bootstrap(with_output - without, words, (-1.0, 1.0), seed),
    )
