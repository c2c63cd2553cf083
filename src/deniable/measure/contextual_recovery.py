"""Recovery by an attacker with a language model, who guesses the words of a text from all of its released words."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_positive
from deniable.core.parallel import parallel_map
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.measure.attackers.decoding import decode_words
from deniable.measure.attackers.guesses import RankedGuesses, build_likelihood, rank_guesses
from deniable.measure.attackers.language_model import LanguageModel, WordNumbers, number_words
from deniable.measure.attackers.ngram_lookup import TemperedTables, temper_tables
from deniable.measure.recovery import RecoveryResult, check_attackable, count_recovered_words
from deniable.text.batches import PrivatizedBatch
from deniable.text.encoded import EncodedTexts
from deniable.words import WordMechanism

BEAM_WIDTH, MAX_CANDIDATES = 32, 64
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


def measure_contextual_recovery(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    model: LanguageModel,
    *,
    weight: float = 1.0,
    beam: int = BEAM_WIDTH,
    candidates: int = MAX_CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
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
        beam: maximum number of pairs of words kept at a time.
        candidates: number of words tried at each place, the likeliest without context.
        seed: public; the attacker's own draws follow from it, where they need a surrogate likelihood.
        workers: number of threads.

    Raises:
        InputError: no text holds a word of the vocabulary, or a parameter is outside its domain.
    """
    check_attackable(mechanism, batch)
    rows = np.arange(len(batch.lengths))
    named_words = _guess_texts(mechanism, batch, rows, model, (weight,), beam, candidates, seed, workers)[0]
    return count_recovered_words(batch, named_words, optimal=False)


def fit_weighted_language_model(
    mechanism: WordMechanism,
    sequences: Sequence[npt.ArrayLike],
    *,
    beam: int = BEAM_WIDTH,
    candidates: int = MAX_CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
) -> tuple[LanguageModel, float]:
    """Return a language model of texts that the attacker has, and the weight with which it recovers the most words.

    One text in ten is held out and privatized by the attacker, every weight of `LANGUAGE_MODEL_WEIGHTS` is tried on
    those, and the model returned is of all texts. With a single text there is nothing to try, and the weight is 1.

    Args:
        mechanism: the mechanism, known to the attacker.
        sequences: texts as word numbers, see `deniable.measure.attackers.language_model.number_texts`.
        beam: see `measure_contextual_recovery`.
        candidates: see `measure_contextual_recovery`.
        seed: public; the texts held out and the draws for them follow from it.
        workers: number of threads.

    Raises:
        InputError: no text has words, or a parameter is outside its domain.
    """
    size = len(mechanism.space)
    texts = [text for text in map(np.asarray, sequences) if text.size]
    model = LanguageModel.fit(texts, size)
    if len(texts) < 2:  # noqa: PLR2004 - one text to learn from and one to try on
        return model, 1.0
    order = np.random.default_rng(seed).permutation(len(texts))
    tuning_rows = order[: max(len(texts) // _TUNING_FRACTION, 1)]
    tuning_rows = tuning_rows[
        np.cumsum([texts[row].size for row in tuning_rows]) <= max(_MAX_TUNING_WORDS, texts[tuning_rows[0]].size)
    ]
    trial_model = LanguageModel.fit([texts[row] for row in np.setdiff1d(order, tuning_rows)], size)
    own_batch = _privatize_own_texts(mechanism, [texts[row] for row in tuning_rows], seed, workers)
    rows = np.arange(len(tuning_rows))
    guesses_by_weight = _guess_texts(
        mechanism, own_batch, rows, trial_model, LANGUAGE_MODEL_WEIGHTS, beam, candidates, seed, workers
    )
    is_known = ~own_batch.unknown_mask
    hit_counts = [((guesses == own_batch.words) & is_known).sum() for guesses in guesses_by_weight]
    return model, LANGUAGE_MODEL_WEIGHTS[int(np.argmax(hit_counts))]


def measure_crossfitted_recovery(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    *,
    beam: int = BEAM_WIDTH,
    candidates: int = MAX_CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
) -> RecoveryResult:
    """Return the recovery of each half of the texts by an attacker with a language model of the other half.

    It stands for an attacker who has seen other texts of the same kind; see `measure_contextual_recovery`. Equal texts
    fall in one half, so that no text is guessed with a model that was trained on it.

    Args:
        mechanism: the mechanism that the attacker believes the texts were drawn by.
        batch: the texts, at least two different ones.
        beam: see `measure_contextual_recovery`.
        candidates: see `measure_contextual_recovery`.
        seed: public; the halves and the attacker's draws follow from it.
        workers: number of threads.

    Raises:
        InputError: fewer than two different texts with words, no word of the vocabulary, or a parameter is outside
            its domain.
    """
    check_attackable(mechanism, batch)
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
    named_words = batch.words.copy()
    for side in (0, 1):
        other_texts = [text for text, half in zip(texts, half_of_group[group_of_text], strict=True) if half != side]
        model, weight = fit_weighted_language_model(
            mechanism, other_texts, beam=beam, candidates=candidates, seed=seed, workers=workers
        )
        rows = np.flatnonzero((half_of_group[group_of_text] == side) & (np.diff(batch.offsets) > 0))
        guessed_words = _guess_texts(mechanism, batch, rows, model, (weight,), beam, candidates, seed, workers)[0]
        for row in rows:
            text_range = slice(batch.offsets[row], batch.offsets[row + 1])
            named_words[text_range] = guessed_words[text_range]
    return count_recovered_words(batch, named_words, optimal=False)


def _guess_texts(
    mechanism: WordMechanism,
    batch: PrivatizedBatch,
    rows: npt.NDArray[np.int64],
    model: LanguageModel,
    weights: Sequence[float],
    beam: int,
    candidates: int,
    seed: int,
    workers: int | None,
) -> list[WordNumbers]:
    """Return guesses (N,) for each weight; only those for the texts of the rows have a meaning."""
    check_count("the beam search", "beam", beam)
    checked_weights = [check_positive("the beam search", "weight", weight) for weight in weights]
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
    word_likelihood = build_likelihood(mechanism, model.prior, seed=seed, workers=workers)
    ranked = rank_guesses(word_likelihood, model.frequencies, outputs, candidates, workers)
    words, chances = _sort_candidates(ranked, size)
    places = ranked.row_of[mechanism.space.point_by_word[batch.outputs]]
    # "Unknown" is no guess: the likeliest word without context stands in.
    unigram_words = ranked.words[np.arange(len(ranked.words)), np.argmax(ranked.words != size, axis=1)]
    words_by_weight = []
    for checked_weight in checked_weights:
        # The weight tempers the model's use of context; word frequencies count in full.
        unigram_chances = model.frequencies**checked_weight
        candidate_chances = chances * (model.frequencies / unigram_chances)[words]
        guess_piece = functools.partial(
            _search_piece,
            places,
            words,
            candidate_chances,
            temper_tables(model.tables, checked_weight),
            unigram_chances,
            beam,
            size,
        )
        named_words = unigram_words[places]
        for piece, guessed_words in zip(pieces, parallel_map(guess_piece, pieces, workers), strict=True):
            named_words[piece] = np.where(guessed_words < 0, named_words[piece], guessed_words)
        words_by_weight.append(named_words)
    return words_by_weight


def _sort_candidates(ranked: RankedGuesses, size: int) -> tuple[WordNumbers, FloatArray]:
    """Return candidates (m, K), ascending by number, and P(y|w) up to a factor; negligible ones come last, with 0."""
    is_near = ranked.scores > ranked.scores[:, :1] - _SCORE_MARGIN
    chances = np.where(is_near, np.exp(ranked.log_likelihoods - ranked.log_likelihoods.max(axis=1, keepdims=True)), 0.0)
    order = np.argsort(np.where(chances > 0, ranked.words, size + 1), axis=1, kind="stable")
    return np.take_along_axis(ranked.words, order, axis=1), np.take_along_axis(chances, order, axis=1)


def _search_piece(
    places: npt.NDArray[np.int64],
    words: WordNumbers,
    chances: FloatArray,
    tables: TemperedTables,
    unigram_chances: FloatArray,
    beam: int,
    unknown: int,
    piece: slice,
) -> WordNumbers:
    """Return the guesses for the words of one piece; see `deniable.measure.attackers.decoding.decode_words`."""
    out = np.empty(piece.stop - piece.start, dtype=np.int32)
    decode_words(places[piece], words, chances, tables, unigram_chances, beam, unknown, out)
    return out


def _privatize_own_texts(
    mechanism: WordMechanism, texts: Sequence[WordNumbers], seed: int, workers: int | None
) -> PrivatizedBatch:
    """Return a batch of the attacker's own texts, given as word numbers, privatized by the attacker."""
    space, key = mechanism.space, derive_key_from_seed(seed)
    starts = [
        derive_stream_start(key, "attacker", mechanism.fingerprint, "text", str(row)) for row in range(len(texts))
    ]
    lengths = [len(text) for text in texts]
    words = np.concatenate(texts)
    is_unknown = words == len(space)
    words = np.where(is_unknown, space.index_of(space.unknown_word), words).astype(np.int32)
    outputs = mechanism.draw_words(words, Streams(key, starts, lengths), workers)
    kept_counts = np.zeros(len(lengths), dtype=np.int64)
    return PrivatizedBatch(
        EncodedTexts.of([]), np.cumsum([0, *lengths]), words, outputs, is_unknown, int(is_unknown.sum()), kept_counts
    )
