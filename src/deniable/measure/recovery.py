"""Recovery: the share of private words that an attacker guesses from privatized texts.

The attacker knows the mechanism with all its parameters, reads the released words and guesses the private ones. One
attacker knows how frequent words are, and looks at one word at a time; the other also has a language model, and guesses
the words of a text from all of its released words.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, NotTractable, check_count, check_positive
from deniable.core.parallel import parallel_map
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure.attackers.decoding import decode_words
from deniable.measure.attackers.guesses import build_likelihood, draw_from_prior, rank_guesses
from deniable.measure.attackers.language_model import TrigramModel, WordNumbers, number_words
from deniable.measure.intervals import Estimate, as_exact_estimate, estimate_clustered_share, estimate_share
from deniable.text.batches import PrivatizedBatch
from deniable.text.encoded import EncodedTexts
from deniable.words import WordMechanism, recovery
from deniable.words.outcomes import GuessedWords, weigh_rare_words
from deniable.words.prior import Prior, PriorLike, build_prior

_SIMULATED_DRAWS = 20_000
_BEAM_WIDTH, _MAX_CANDIDATES = 32, 64
"""Pairs of words kept at a time, and words tried at each place, the likeliest without context."""
LANGUAGE_MODEL_WEIGHTS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""Weights of the language model that are tried; weight 0 would use no context."""
_MAX_TUNING_WORDS = 2_000
"""Maximum number of words of the texts on which weights are tried."""
_SCORE_MARGIN = 12.0
"""Candidates that score so many nats below the likeliest one, without context, are left out."""
_PIECE_WORDS = 4_096
"""Words of a text guessed at a time; bounds memory."""
_TUNING_FRACTION = 10
"""One text in so many is held out to try weights on."""


@dataclasses.dataclass(frozen=True)
class RecoveryResult:
    """How many private words an attacker guesses.

    Attributes:
        share: share of the words of the vocabulary that the attacker guesses.
        left_out: number of words that the vocabulary lacks, which no guess can hit; they are not in the share.
        optimal: True where no attacker who sees one word at a time, and knows no more than the prior, does better on
            average; False where the share is a lower bound on what an attacker with the same knowledge can reach.
    """

    share: Estimate
    left_out: int
    optimal: bool


def measure_recovery(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    *,
    prior: PriorLike = None,
    seed: int = 0,
) -> RecoveryResult:
    """Return the share of words of privatized texts that the best guesser guesses, one word at a time.

    Args:
        mechanism: the mechanism that the attacker believes the texts were drawn by.
        batch: the texts; for the interval the words of one text are a cluster.
        prior: the word frequencies that the attacker assumes, see `deniable.recovery`; None for Zipf's law.
        seed: public; the attacker's own draws follow from it, where they need a surrogate likelihood.

    Raises:
        InputError: no text holds a word that the vocabulary knows, or an invalid prior.
    """
    _check_attackable(mechanism, batch)
    weights = build_prior(mechanism.space, prior).weights
    guessed_words, is_exact = _guess_words(mechanism, weights, batch.outputs, seed)
    return _count_recovered_words(batch, guessed_words, optimal=is_exact)


def simulate_recovery(
    mechanism: WordMechanism,
    *,
    prior: PriorLike = None,
    among: FloatArray | None = None,
    draws: int = _SIMULATED_DRAWS,
    seed: int = 0,
    always_simulate: bool = False,
) -> RecoveryResult:
    """Return an attacker's success on words that follow a prior, for every mechanism: exact where a law is known.

    Elsewhere it is simulated, with a surrogate likelihood fitted to other draws than those that are guessed.

    Args:
        mechanism: the mechanism, known to the attacker.
        prior: see `measure_recovery`.
        among: (n,) how likely each word is to be guessed at, which the attacker does not know; None for the prior.
        draws: number of guessed words, where the success is not known exactly.
        seed: public; all draws follow from it.
        always_simulate: simulate also where the exact success could be computed, which may take a minute.

    Raises:
        InputError: fewer than 1 draw, or an invalid prior.
    """
    check_count("simulate_recovery", "draws", draws)
    if not always_simulate and among is None:
        try:
            return RecoveryResult(as_exact_estimate(recovery(mechanism, prior)), 0, optimal=True)
        except NotTractable:
            pass  # no law is known, or too many words for an exact sum
    weights = build_prior(mechanism.space, prior).weights
    words, outputs = draw_from_prior(mechanism, weights if among is None else among, draws, seed, "count")
    guessed_words, is_exact = _guess_words(mechanism, weights, outputs, seed)
    return RecoveryResult(estimate_share(int((guessed_words == words).sum()), draws), 0, optimal=is_exact)


def _guess_words(
    mechanism: WordMechanism, prior: FloatArray, outputs: WordNumbers, seed: int
) -> tuple[WordNumbers, bool]:
    """Return the likeliest word behind each output (N,) by itself, and whether no other guess is right more often."""
    likelihood = build_likelihood(mechanism, prior, seed=seed)
    best = rank_guesses(likelihood, prior, outputs, 1)
    return best.words[best.row_of[mechanism.space.point_by_word[outputs]], 0], likelihood.is_exact


def estimate_success(mechanism: WordMechanism, prior: Prior, words: GuessedWords) -> Estimate:
    """Return the share of some words that an attacker guesses, exact where draws come from a law.

    Raises:
        InputError: no single word's share is known, as no law is.
    """
    if mechanism.law.is_tabulated:
        return as_exact_estimate(mechanism.outcomes(prior).get_success(words) or 0.0)
    if words == "every":
        raise InputError(
            f"The law of {mechanism.name} is not known, and so no share of a single word: tune for 'average' or "
            "'rare', or take another mechanism."
        )
    among = weigh_rare_words(mechanism.space, prior.weights) if words == "rare" else None
    share = simulate_recovery(mechanism, prior=prior, among=among, always_simulate=True).share
    if among is None:
        return share
    drawn, outputs = draw_from_prior(mechanism, among, _SIMULATED_DRAWS, 0, "kept")
    kept = estimate_share(int((drawn == outputs).sum()), _SIMULATED_DRAWS)
    return max(share, kept, key=lambda estimate: estimate.high)


def estimate_kept(mechanism: WordMechanism, prior: Prior) -> Estimate:
    """Return the share of words that are kept, exact where draws come from a law."""
    kept = mechanism.expected_kept_share(prior)
    return estimate_share(round(kept.value * kept.draws), kept.draws) if kept.draws else as_exact_estimate(kept.value)


def _check_attackable(mechanism: WordMechanism, batch: PrivatizedBatch) -> None:
    """Check that texts hold a word of the vocabulary, and were not drawn from a larger space.

    Raises:
        InputError: they cannot be attacked.
    """
    if batch.unknown_mask.all():
        raise InputError("An attack needs texts with words of the vocabulary. Got none: give other texts.")
    if max(int(batch.words.max()), int(batch.outputs.max())) >= len(mechanism.space):
        raise InputError(
            f"The texts hold word numbers beyond the {len(mechanism.space)} words of the mechanism: give a mechanism "
            "over the space of the texts."
        )


def _count_recovered_words(batch: PrivatizedBatch, guessed_words: WordNumbers, *, optimal: bool) -> RecoveryResult:
    """Return the share of words that are guessed, clustered by text, unknown words left out.

    Args:
        batch: N words of R texts.
        guessed_words: (N,) the guesses.
        optimal: see `RecoveryResult`.
    """
    is_known = ~batch.unknown_mask
    hits, counts = (
        np.diff(np.append(0, np.cumsum(mask))[batch.offsets])
        for mask in (is_known & (guessed_words == batch.words), is_known)
    )
    share = estimate_clustered_share(hits, counts)
    return RecoveryResult(share, int(batch.unknown_mask.sum()), optimal)


def measure_contextual_recovery(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    model: TrigramModel,
    *,
    weight: float = 1.0,
    seed: int = 0,
) -> RecoveryResult:
    """Return the share of words that an attacker guesses who has a language model and reads each text as a whole.

    At every place the guess is the word w_i of the largest posterior given all outputs y_1 ... y_L, where a text has
    the prior probability

        product over i of  P(w_i)^(1 - weight)  P(w_i | w_i-2, w_i-1)^weight

    with the frequencies P(w), the trigram model, and P(y_i | w_i) of the mechanism. With weight 1 that is Bayes'
    rule under the model, which recovers the most words if the model is true. Better models exist: the share is a
    lower bound on what context gives away. Punctuation, which is released too, is not used.

    Args:
        mechanism: the mechanism that the attacker believes the texts were drawn by.
        batch: the texts.
        model: language model of other texts, over the words of the mechanism's space.
        weight: weight of the language model; n-gram models are overconfident, see `fit_weighted_language_model`.
        seed: public; the attacker's own draws follow from it, where they need a surrogate likelihood.

    Raises:
        InputError: no text holds a word of the vocabulary, or the weight is not positive.
    """
    _check_attackable(mechanism, batch)
    rows = np.arange(len(batch.lengths))
    named_words = _guess_texts(mechanism, batch, rows, model, (weight,), seed)[0]
    return _count_recovered_words(batch, named_words, optimal=False)


def fit_weighted_language_model(
    mechanism: WordMechanism, sequences: Sequence[npt.ArrayLike], *, seed: int = 0
) -> tuple[TrigramModel, float]:
    """Return a language model of texts that the attacker has, and the weight with which it recovers the most words.

    One text in ten is held out and privatized by the attacker, every weight of `LANGUAGE_MODEL_WEIGHTS` is tried on
    those, and the model returned is of all texts. With a single text there is nothing to try, and the weight is 1.

    Args:
        mechanism: the mechanism, known to the attacker.
        sequences: texts as word numbers, see `deniable.measure.attackers.language_model.number_texts`.
        seed: public; the texts held out and the draws for them follow from it.

    Raises:
        InputError: no text has words.
    """
    size = len(mechanism.space)
    texts = [text for text in map(np.asarray, sequences) if text.size]
    model = TrigramModel.fit(texts, size)
    if len(texts) < 2:  # noqa: PLR2004 - one text to learn from and one to try on
        return model, 1.0
    order = np.random.default_rng(seed).permutation(len(texts))
    tuning_rows = order[: max(len(texts) // _TUNING_FRACTION, 1)]
    tuning_rows = tuning_rows[
        np.cumsum([texts[row].size for row in tuning_rows]) <= max(_MAX_TUNING_WORDS, texts[tuning_rows[0]].size)
    ]
    trial_model = TrigramModel.fit([texts[row] for row in np.setdiff1d(order, tuning_rows)], size)
    own_batch = _privatize_own_texts(mechanism, [texts[row] for row in tuning_rows], seed)
    rows = np.arange(len(tuning_rows))
    guesses_by_weight = _guess_texts(mechanism, own_batch, rows, trial_model, LANGUAGE_MODEL_WEIGHTS, seed)
    is_known = ~own_batch.unknown_mask
    hit_counts = [((guesses == own_batch.words) & is_known).sum() for guesses in guesses_by_weight]
    return model, LANGUAGE_MODEL_WEIGHTS[int(np.argmax(hit_counts))]


def measure_crossfitted_recovery(mechanism: WordMechanism, batch: PrivatizedBatch, *, seed: int = 0) -> RecoveryResult:
    """Return the recovery of each half of the texts by an attacker with a language model of the other half.

    It stands for an attacker who has seen other texts of the same kind; see `measure_contextual_recovery`. Equal texts
    fall in one half, so that no text is guessed with a model that was trained on it.

    Args:
        mechanism: the mechanism that the attacker believes the texts were drawn by.
        batch: the texts, at least two different ones.
        seed: public; the halves and the attacker's draws follow from it.

    Raises:
        InputError: fewer than two different texts with words, or no word of the vocabulary.
    """
    _check_attackable(mechanism, batch)
    symbols = number_words(mechanism.space, batch.words, batch.unknown_mask)
    texts = np.split(symbols, batch.offsets[1:-1])
    group_numbers: dict[bytes, int] = {}
    group_of_text = np.array([group_numbers.setdefault(text.tobytes(), len(group_numbers)) for text in texts])
    if len(group_numbers) - (b"" in group_numbers) < 2:  # noqa: PLR2004 - one half each
        raise InputError(
            "Crossfitted recovery needs at least 2 different texts with words. Got fewer: give more texts, or attack "
            "with a model of other texts."
        )
    nonempty_groups = [number for text, number in group_numbers.items() if text]
    half_of_group = np.zeros(len(group_numbers), dtype=np.int64)
    half_of_group[np.random.default_rng(seed).permutation(nonempty_groups)[: len(nonempty_groups) // 2]] = 1
    half_of_text, lengths = half_of_group[group_of_text], np.diff(batch.offsets)
    named_words = batch.words.copy()
    for side in (0, 1):
        other_texts = [texts[row] for row in np.flatnonzero(half_of_text != side)]
        model, weight = fit_weighted_language_model(mechanism, other_texts, seed=seed)
        rows = np.flatnonzero((half_of_text == side) & (lengths > 0))
        is_guessed = np.repeat(half_of_text == side, lengths)
        named_words[is_guessed] = _guess_texts(mechanism, batch, rows, model, (weight,), seed)[0][is_guessed]
    return _count_recovered_words(batch, named_words, optimal=False)


def _guess_texts(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    rows: npt.NDArray[np.int64],
    model: TrigramModel,
    weights: Sequence[float],
    seed: int,
) -> list[WordNumbers]:
    """Return guesses (N,) for each weight; only those for the texts of the rows have a meaning."""
    size = len(mechanism.space)
    if len(model.prior) != size:
        raise InputError(
            f"The language model knows {len(model.prior)} words, the mechanism {size}: fit it to texts numbered "
            "with the mechanism's own space."
        )
    ends = batch.offsets.tolist()
    pieces = [
        slice(start, min(start + _PIECE_WORDS, ends[row + 1]))
        for row in rows
        for start in range(ends[row], ends[row + 1], _PIECE_WORDS)
    ]
    outputs = np.concatenate([batch.outputs[piece] for piece in pieces])
    word_likelihood = build_likelihood(mechanism, model.prior, seed=seed)
    ranked = rank_guesses(word_likelihood, model.frequencies, outputs, _MAX_CANDIDATES)
    # Candidates (m, K), ascending by number, and P(y|w) up to a factor; negligible ones come last, with 0.
    is_near = ranked.scores > ranked.scores[:, :1] - _SCORE_MARGIN
    chances = np.where(is_near, np.exp(ranked.log_likelihoods - ranked.log_likelihoods.max(axis=1, keepdims=True)), 0.0)
    order = np.argsort(np.where(chances > 0, ranked.words, size + 1), axis=1, kind="stable")
    words, chances = np.take_along_axis(ranked.words, order, axis=1), np.take_along_axis(chances, order, axis=1)
    places = ranked.row_of[mechanism.space.point_by_word[batch.outputs]]
    # "Unknown" is no guess: the likeliest word without context stands in.
    unigram_words = ranked.words[np.arange(len(ranked.words)), np.argmax(ranked.words != size, axis=1)]

    def guess(weight: float) -> WordNumbers:
        # The weight tempers the model's use of context; word frequencies count in full.
        unigram_chances, tables = model.frequencies**weight, model.tables.temper(weight)
        candidate_chances = chances * (model.frequencies / unigram_chances)[words]

        def guess_piece(piece: slice) -> WordNumbers:
            out = np.empty(piece.stop - piece.start, dtype=np.int32)
            decode_words(places[piece], words, candidate_chances, tables, unigram_chances, _BEAM_WIDTH, size, out)
            return out

        guesses: WordNumbers = unigram_words[places]
        for piece, guessed_words in zip(pieces, parallel_map(guess_piece, pieces), strict=True):
            guesses[piece] = np.where(guessed_words < 0, guesses[piece], guessed_words)
        return guesses

    return [guess(check_positive("the attack in context", "weight", weight)) for weight in weights]


def _privatize_own_texts(mechanism: WordMechanism, texts: Sequence[WordNumbers], seed: int) -> PrivatizedBatch:
    """Return a batch of the attacker's own texts, given as word numbers, privatized by the attacker."""
    space, key = mechanism.space, derive_key_from_seed(seed)
    starts = [
        derive_stream_start(key, "attacker", mechanism.fingerprint, "text", str(row)) for row in range(len(texts))
    ]
    lengths = [len(text) for text in texts]
    words = np.concatenate(texts)
    is_unknown = words == len(space)
    words = np.where(is_unknown, space.index_of(space.unknown_word), words).astype(np.int32)
    outputs = mechanism.draw_words(words, Streams(key, starts, lengths))
    kept_counts = np.zeros(len(lengths), dtype=np.int64)
    return PrivatizedBatch(
        EncodedTexts.of([]), np.cumsum([0, *lengths]), words, outputs, is_unknown, int(is_unknown.sum()), kept_counts
    )
