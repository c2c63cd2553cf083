r"""A reader who sees only a release: the likeliest readings of each text, found word by word, the best few at a time.

With y_1 ... y_L the outputs, and all that is released besides them known, a text w_1 ... w_L has the score::

    sum over i of  a ln P(w_i | w_1 ... w_i-1)  +  (1 - a) ln P(w_i)  +  ln P(y_i | w_i)

where a is the weight of the model: it reads its own guesses, and a model that trusts them says less than frequencies.
At each place the word is guessed that has most of the probability of the readings that are left at the end.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import BoolArray, IntArray
from deniable.core.parallel import get_progress_reporter, hide_progress
from deniable.language.readings import Readings
from deniable.language.spelling import MAX_PIECE
from deniable.measure.attackers.guesses import WordLikelihood, rank_guesses
from deniable.measure.attackers.language_model import WordNumbers
from deniable.measure.attackers.reader import Guesses, Reader, ReadTexts
from deniable.space.space import PointNumbers

MODEL_WEIGHTS = (0.3, 0.6)
"""Weights a that are tried; the two rules after them guess by frequencies, and the output itself."""
_CPU_LOGITS, _GPU_LOGITS = 6_000_000, 60_000_000
"""Readings that are continued at a time, times the vocabulary."""
_MAX_WORDS = 128
"""Words of a text after which a reader begins anew; fewer where the model may not read so many."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Piece:
    """Consecutive words of a text: what stands before each, in tokens, and what came out.

    Attributes:
        start: number of its first word among all.
        gaps: tokens before each word.
        is_spaced: (L,) whether a word is spelled as after a space.
        points: (L,) of the outputs.
    """

    start: int
    gaps: list[list[int]]
    is_spaced: BoolArray
    points: PointNumbers


def guess_from_release(
    reader: Reader, texts: ReadTexts, likelihood: WordLikelihood, is_asked: BoolArray, width: int
) -> Guesses:
    """Return the guesses of a reader who has the release alone, in the texts that hold a word asked for.

    Args:
        reader: with the model.
        texts: R of them, with N words; of the private words none is looked at.
        likelihood: P(y|w), as the reader computes it.
        is_asked: (N,) the words that are guessed.
        width: number of readings that are kept of each text.
    """
    pieces = sorted(_cut_texts(reader, texts, is_asked), key=lambda piece: len(piece.points))
    is_cpu = str(reader.model.network.device.type) == "cpu"
    count = max((_CPU_LOGITS if is_cpu else _GPU_LOGITS) // reader.model.card.vocabulary // width, 1)
    groups = [pieces[first : first + count] for first in range(0, len(pieces), count)]
    rules = np.full((len(MODEL_WEIGHTS) + 2, len(texts.numbers)), -1, dtype=np.int32)
    ranked = rank_guesses(likelihood, reader.prior, texts.outputs, 1)
    rules[-2] = ranked.words[ranked.row_of[reader.space.point_by_word[texts.outputs]], 0]
    rules[-1] = texts.outputs
    report = get_progress_reporter()
    total = len(MODEL_WEIGHTS) * len(groups)
    report(0, total)
    for rule, weight in enumerate(MODEL_WEIGHTS):
        for number, group in enumerate(groups, 1):
            with hide_progress():
                found = _search(reader, group, likelihood, weight, width)
            for piece, words in zip(group, found, strict=True):
                rules[rule, piece.start : piece.start + len(words)] = words
            report(rule * len(groups) + number, total)
    frequent = np.full(len(texts.numbers), int(np.argmax(reader.prior)), dtype=np.int32)
    told = frequent.copy()
    classes = reader.space.class_by_word[texts.numbers]
    for number, hidden in enumerate(reader.space.hidden_classes):
        told[classes == number] = hidden.members[np.argmax(reader.prior[hidden.members])]
    return Guesses(rules, frequent, told)


def _cut_texts(reader: Reader, texts: ReadTexts, is_asked: BoolArray) -> list[_Piece]:
    """Return the parts of the texts in which a word is asked for, none of them longer than the context."""
    pieces = []
    points, speller = reader.space.point_by_word[texts.outputs], reader.speller
    longest = max(len(tokens) for spelling in (speller.spaced, speller.bare) for tokens in spelling.tokens)
    # What pads the last step has room too.
    room = reader.model.card.context - len(speller.opening) - longest - MAX_PIECE
    for text, gaps in enumerate(texts.gaps):
        first, last = int(texts.offsets[text]), int(texts.offsets[text + 1])
        if not is_asked[first:last].any():
            continue
        spelled = [speller.spell_gap(gap, is_first=not place) for place, gap in enumerate(gaps)]
        tokens, is_spaced = [one for one, _ in spelled], np.array([spaced for _, spaced in spelled], dtype=np.bool_)
        for start, stop in _cut_words([len(gap) + longest for gap in tokens], room):
            own = slice(first + start, first + stop)
            if is_asked[own].any():
                pieces.append(_Piece(first + start, tokens[start:stop], is_spaced[start:stop], points[own]))
    return pieces


def _cut_words(sizes: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield where parts of a text begin and end, whose words have together no more tokens than there is room for."""
    start, size = 0, 0
    for place, own in enumerate(sizes):
        if place > start and (place - start == _MAX_WORDS or size + own > room):
            yield start, place
            start, size = place, 0
        size += own
    yield start, len(sizes)


def _search(
    reader: Reader, pieces: Sequence[_Piece], likelihood: WordLikelihood, weight: float, width: int
) -> list[WordNumbers]:
    """Return the guesses of each piece."""
    import torch

    device = reader.model.network.device
    lengths = np.array([len(piece.points) for piece in pieces])
    point_by_word = torch.as_tensor(reader.space.point_by_word.astype(np.int64), device=device)
    rest = torch.as_tensor((1 - weight) * np.log(np.maximum(reader.prior, 1e-300)), device=device).float()
    scores = torch.full((len(pieces), width), -torch.inf, device=device)
    scores[:, 0] = 0.0
    parents, words = np.zeros((2, lengths.max(), len(pieces), width), dtype=np.int64)
    with torch.inference_mode():
        readings = Readings(reader.model.network, len(pieces))
        logits = readings.read([[*reader.speller.opening, *piece.gaps[0]] for piece in pieces])
        logs = torch.log_softmax(logits.float(), dim=1).repeat_interleave(width, dim=0)
        readings = readings.choose(np.repeat(np.arange(len(pieces)), width).tolist())
        for place in range(int(lengths.max())):
            is_open = lengths > place
            is_spaced = np.array([bool(one.is_spaced[min(place, len(one.points) - 1)]) for one in pieces])
            outputs = np.array([one.points[min(place, len(one.points) - 1)] for one in pieces])
            columns = torch.as_tensor(likelihood.compute_columns(outputs), device=device)[:, point_by_word]
            expected = reader.expect(logs, np.repeat(is_spaced, width)).mul_(weight).add_(rest)
            expected = expected.view(len(pieces), width, -1).add_(columns[:, None])
            tops, leading = torch.topk(expected, min(width, expected.shape[2]), dim=2)
            best, chosen = torch.topk((scores[:, :, None] + tops).flatten(1), width, dim=1)
            taken = torch.as_tensor(is_open, device=device)[:, None]
            own = torch.arange(width, device=device).expand(len(pieces), width)
            parent = torch.where(taken, chosen // tops.shape[2], own)
            scores = torch.where(taken, best, scores)
            parents[place], words[place] = parent.cpu().numpy(), leading.flatten(1).gather(1, chosen).cpu().numpy()
            if place + 1 == lengths.max():
                break
            readings = readings.choose((parents[place] + width * np.arange(len(pieces))[:, None]).ravel().tolist())
            tokens = [
                _spell(reader, piece, place, int(word))
                for piece, own_words in zip(pieces, words[place], strict=True)
                for word in own_words
            ]
            logs[np.flatnonzero(list(map(len, tokens)))] = torch.log_softmax(readings.read(tokens).float(), dim=1)
    shares = torch.softmax(scores.double(), dim=1).cpu().numpy()
    return [
        _vote(parents[:length, number], words[:length, number], shares[number], len(reader.space))
        for number, length in enumerate(lengths.tolist())
    ]


def _spell(reader: Reader, piece: _Piece, place: int, word: int) -> list[int]:
    """Return the tokens of a word in its place, and of what stands before the next one; none after the last word."""
    if place + 1 >= len(piece.points):
        return []
    spelling = reader.speller.spaced if piece.is_spaced[place] else reader.speller.bare
    return [*spelling.tokens[word], *piece.gaps[place + 1]]


def _vote(parents: IntArray, words: IntArray, shares: Any, size: int) -> WordNumbers:  # noqa: ANN401 - (width,) floats
    """Return the word (L,) of each place that has the largest share of the readings left at the end."""
    guessed = np.empty(len(words), dtype=np.int32)
    reading = np.arange(len(shares))
    for place in range(len(words) - 1, -1, -1):
        guessed[place] = np.bincount(words[place][reading], shares, size).argmax()
        reading = parents[place][reading]
    return guessed
