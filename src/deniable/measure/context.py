"""The attacker who knows how people write: he guesses the words of a text from all that was released of it."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import InputError, bad_parameter, positive
from deniable.measure.attackers.decoding import decode
from deniable.measure.attackers.guesses import Guesses, guesses, likelihood
from deniable.measure.attackers.language import LanguageModel, Tables, Words
from deniable.measure.attackers.lookup import powered
from deniable.measure.recovery import Recovered, check, counted
from deniable.parallel import each
from deniable.randomness import Streams, key_from_seed, stream_start
from deniable.space.metrics import Array
from deniable.text.release import Drawn
from deniable.words import WordMechanism

BEAM, CANDIDATES = 32, 64
WEIGHTS = (0.3, 0.5, 0.7, 0.85, 1.0)
"""Weights of the language model that the attacker tries; 0 would be the attacker without context."""
_TUNING = 2_000
"""Words, at most, of the texts on which he tries them."""
_MARGIN = 12.0
"""Nats below the likeliest candidate, by its score without context, from which one is left out."""
_PIECE = 4_096
"""Words of a text guessed at a time, which bounds memory."""
_SHARE = 10
"""One text in so many is kept for that."""


def contextual(
    mechanism: WordMechanism,
    drawn: Drawn,
    model: LanguageModel,
    *,
    weight: float = 1.0,
    beam: int = BEAM,
    candidates: int = CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
) -> Recovered:
    """Return the share of words that an attacker names who knows a language, and reads each text as a whole.

    At every place he names the word w_i of the largest posterior given all outputs y_1 ... y_L, where a text has
    the prior probability

        product over i of  P(w_i)^(1 - weight)  P(w_i | w_i-2, w_i-1)^weight

    with the frequencies P(w) and the trigram model, and P(y_i | w_i) is the mechanism's. With weight 1 that is
    Bayes' rule under the model, which recovers the most words if the model is true. Better models exist: the
    share is a lower bound on what context gives away. Punctuation, which is released too, is not used.

    Args:
        mechanism: what the attacker takes the texts to be drawn by.
        drawn: the texts.
        model: of texts other than these, over the words of the mechanism's space.
        weight: of the language model; n-gram models are too sure of themselves, see `learn`.
        beam: pairs of words kept at a time.
        candidates: words tried at each place, the likeliest without context.
        seed: public, of the attacker's own draws where he needs a surrogate.
        workers: threads.

    Raises:
        InputError: no text holds a word that the vocabulary knows, or a parameter outside its domain.
    """
    check(mechanism, drawn)
    rows = np.arange(len(drawn.lengths))
    named = _read(mechanism, drawn, rows, model, (weight,), beam, candidates, seed, workers)[0]
    return counted(drawn, named, optimal=False)


def learn(
    mechanism: WordMechanism,
    sequences: Sequence[npt.ArrayLike],
    *,
    beam: int = BEAM,
    candidates: int = CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
) -> tuple[LanguageModel, float]:
    """Return a language model of texts that the attacker has, and the weight that serves him best.

    He keeps one text in ten from the model, privatizes those himself, tries every weight of `WEIGHTS` on them, and
    learns from all texts in the end. With a single text there is nothing to try, and the weight is 1.

    Args:
        mechanism: known to the attacker.
        sequences: texts as word numbers, see `deniable.measure.attackers.language.read`.
        beam: see `contextual`.
        candidates: see `contextual`.
        seed: public, of his choice and his draws.
        workers: threads.

    Raises:
        InputError: no words to learn from, or a parameter outside its domain.
    """
    size = len(mechanism.space)
    texts = [text for text in map(np.asarray, sequences) if text.size]
    model = LanguageModel.fit(texts, size)
    if len(texts) < 2:  # noqa: PLR2004 - one text to learn from and one to try on
        return model, 1.0
    order = np.random.default_rng(seed).permutation(len(texts))
    kept = order[: max(len(texts) // _SHARE, 1)]
    kept = kept[np.cumsum([texts[row].size for row in kept]) <= max(_TUNING, texts[kept[0]].size)]
    trial = LanguageModel.fit([texts[row] for row in np.setdiff1d(order, kept)], size)
    own = _own(mechanism, [texts[row] for row in kept], seed, workers)
    rows = np.arange(len(kept))
    found = _read(mechanism, own, rows, trial, WEIGHTS, beam, candidates, seed, workers)
    return model, WEIGHTS[int(np.argmax([((named == own.words) & ~own.stand_ins).sum() for named in found]))]


def crossfitted(
    mechanism: WordMechanism,
    drawn: Drawn,
    *,
    beam: int = BEAM,
    candidates: int = CANDIDATES,
    seed: int = 0,
    workers: int | None = None,
) -> Recovered:
    """Return what `contextual` does, where the attacker's model is learnt from the other half of the originals.

    That stands for an attacker who has seen other texts of the same kind. Equal texts fall in one half, so that no
    text is guessed by a model that has read it.

    Args:
        mechanism: what the attacker takes the texts to be drawn by.
        drawn: the texts, at least two different ones.
        beam: see `contextual`.
        candidates: see `contextual`.
        seed: public, of the halves and all his draws.
        workers: threads.

    Raises:
        InputError: fewer than two different texts with words, none that the vocabulary knows, or a parameter
            outside its domain.
    """
    check(mechanism, drawn)
    symbols = np.where(drawn.stand_ins, len(mechanism.space), drawn.words)
    texts = np.split(symbols, drawn.offsets[1:-1])
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(text.tobytes(), len(kinds)) for text in texts])
    if len(kinds) - (b"" in kinds) < 2:  # noqa: PLR2004 - one half each
        raise InputError(
            "Two halves need at least 2 different texts with words. Got fewer: give more, or a model of other texts."
        )
    filled = [number for text, number in kinds.items() if text]
    half = np.zeros(len(kinds), dtype=np.int64)
    half[np.random.default_rng(seed).permutation(filled)[: len(filled) // 2]] = 1
    named = drawn.words.copy()
    for side in (0, 1):
        others = [text for text, place in zip(texts, half[kind], strict=True) if place != side]
        model, weight = learn(mechanism, others, beam=beam, candidates=candidates, seed=seed, workers=workers)
        rows = np.flatnonzero((half[kind] == side) & (np.diff(drawn.offsets) > 0))
        read = _read(mechanism, drawn, rows, model, (weight,), beam, candidates, seed, workers)[0]
        for row in rows:
            place = slice(drawn.offsets[row], drawn.offsets[row + 1])
            named[place] = read[place]
    return counted(drawn, named, optimal=False)


def _read(
    mechanism: WordMechanism,
    drawn: Drawn,
    rows: npt.NDArray[np.int64],
    model: LanguageModel,
    weights: Sequence[float],
    beam: int,
    candidates: int,
    seed: int,
    workers: int | None,
) -> list[Words]:
    """Return the guesses (N,) for the texts of some rows, one array for each weight; those of other texts are void."""
    if isinstance(beam, bool) or not isinstance(beam, int) or beam < 1:
        raise bad_parameter("the beam search", "beam", "an int of at least 1", beam)
    trusts = [positive("the beam search", "weight", weight) for weight in weights]
    size = len(mechanism.space)
    if len(model.prior) != size:
        raise InputError(
            f"The language model knows {len(model.prior)} words, the mechanism {size}: learn it from texts read with "
            "the mechanism's own space."
        )
    ends = drawn.offsets.tolist()
    pieces = [
        slice(at, min(at + _PIECE, ends[row + 1])) for row in rows for at in range(ends[row], ends[row + 1], _PIECE)
    ]
    outputs = np.concatenate([drawn.outputs[piece] for piece in pieces])
    likely = likelihood(mechanism, model.prior, seed=seed, workers=workers)
    found = guesses(likely, model.frequencies, outputs, candidates, workers)
    words, chances = _sorted(found, size)
    places = found.row_of[mechanism.space.point_of[drawn.outputs]]
    # A guess that a word is unknown names none: then the likeliest word on its own is named.
    single = found.words[np.arange(len(found.words)), np.argmax(found.words != size, axis=1)]
    out = []
    for trust in trusts:
        # Its weight tempers what the model makes of context; how frequent a word is counts in full.
        alone = model.frequencies**trust
        shares = chances * (model.frequencies / alone)[words]
        search = functools.partial(_search, places, words, shares, powered(model.tables, trust), alone, beam, size)
        named = single[places]
        for piece, guess in zip(pieces, each(search, pieces, workers), strict=True):
            named[piece] = np.where(guess < 0, named[piece], guess)
        out.append(named)
    return out


def _sorted(found: Guesses, size: int) -> tuple[Words, Array]:
    """Return candidates (m, K), ascending by number, and P(y|w) up to a factor; negligible ones are last, with 0."""
    near = found.scores > found.scores[:, :1] - _MARGIN
    chances = np.where(near, np.exp(found.logs - found.logs.max(axis=1, keepdims=True)), 0.0)
    order = np.argsort(np.where(chances > 0, found.words, size + 1), axis=1, kind="stable")
    return np.take_along_axis(found.words, order, axis=1), np.take_along_axis(chances, order, axis=1)


def _search(
    places: npt.NDArray[np.int64],
    words: Words,
    chances: Array,
    tables: Tables,
    alone: Array,
    beam: int,
    unknown: int,
    piece: slice,
) -> Words:
    """Return the guesses for the words of one piece; see `deniable.measure.attackers.decoding.decode`."""
    out = np.empty(piece.stop - piece.start, dtype=np.int32)
    decode(places[piece], words, chances, tables, alone, beam, unknown, out)
    return out


def _own(mechanism: WordMechanism, texts: Sequence[Words], seed: int, workers: int | None) -> Drawn:
    """Return texts (see `deniable.measure.attackers.language.read`) that the attacker has privatized himself."""
    space, key = mechanism.space, key_from_seed(seed)
    starts = [stream_start(key, "attacker", mechanism.fingerprint, "text", str(row)) for row in range(len(texts))]
    lengths = [len(text) for text in texts]
    words = np.concatenate(texts)
    unknown = words == len(space)
    words = np.where(unknown, space.number(space.unknown), words).astype(np.int32)
    outputs = mechanism.draw(words, Streams(key, starts, lengths), workers)
    kept = np.zeros(len(lengths), dtype=np.int64)
    return Drawn([], np.cumsum([0, *lengths]), words, outputs, unknown, int(unknown.sum()), kept)
