r"""A reader with a language model, who guesses each word of a private text from what came out and the words about it.

With y the output at a place, h what the reader knows of the text, and P(w | h) the model's expectation of each word::

    guess  =  argmax over w of  t ln P(w | h) + ln P(y | w)

t = 1 is Bayes' rule, which is right most often on average; a smaller one trusts the output more, and is right about
more of the rare words. The leading words are scored again over all of their tokens, and by a reader who knows what
follows, over the tokens after them too.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import BoolArray, FloatArray, IntArray
from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter, hide_progress
from deniable.language.branches import Branch, Trunks, cut_trunks
from deniable.language.model import LanguageModel
from deniable.language.spelling import MAX_PIECE, Speller, Spelling, TokenizedText
from deniable.measure.attackers.guesses import WordLikelihood
from deniable.measure.attackers.language_model import WordNumbers
from deniable.space import Space
from deniable.space.grammar import fold_word

if TYPE_CHECKING:
    import torch

TEMPERS = (1.0, 0.6, 0.3)
"""Weights t of what the reader expects that are tried; two more rules guess without the output, or it itself."""
_MAX_WINDOW = 1_024
"""Tokens of a text that are read together, at most."""
_CPU_PLACES, _GPU_PLACES = 128, 2_048
"""Places at which all words are compared at a time."""
_LEADING, _LEADING_AROUND = 4, 24
"""Leading words that are compared by each rule, and those that a reader who knows what follows scores again."""
_AFTER = 12
"""Tokens after a word that this reader looks at."""
_EXACT, _MARGIN = 2, 1.0
"""Leading words that any other reader scores again, at most a nat below the first, where two are."""


@dataclasses.dataclass(frozen=True, eq=False)
class ReadTexts:
    """Texts as a reader has them, and what came out: N words of R texts.

    Attributes:
        gaps: of each text, what stands before each of its words.
        words: of each text, in lower case.
        offsets: (R + 1,) where each text begins.
        numbers: (N,) of the words.
        outputs: (N,) numbers of the words that came out.
        is_known: (N,) whether the vocabulary has the word: no others can be guessed.
    """

    gaps: list[list[str]]
    words: list[list[str]]
    offsets: IntArray
    numbers: WordNumbers
    outputs: WordNumbers
    is_known: BoolArray

    @property
    def text_of(self) -> IntArray:
        """(N,) the text of each word."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.offsets))


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """What a reader guesses of N words, -1 where no guess is made.

    Attributes:
        rules: (k, N) with the output, by each of k rules; the first one is the best on average.
        plain: (N,) without any output.
        told: (N,) the same, but of a word of a hidden class the reader knows the class.
    """

    rules: WordNumbers
    plain: WordNumbers
    told: WordNumbers


class Reader:
    """A language model that knows the words of a space.

    Args:
        model: public.
        space: of n words.
        prior: (n,) how frequent they are.
        opening: what stands before each text, such as "A film review:".

    Raises:
        InputError: the model has too small a context.
    """

    def __init__(self, model: LanguageModel, space: Space, prior: FloatArray, opening: str = "") -> None:
        self.model, self.space, self.prior = model, space, prior
        if model.card.context < 4 * MAX_PIECE:
            raise InputError(
                f"The model {model.card.name!r} reads {model.card.context} tokens, fewer than {4 * MAX_PIECE}: take "
                "another model."
            )
        self.speller = Speller(model, space.words, prior, opening)
        self.window = min(model.card.context, _MAX_WINDOW) - 2 * MAX_PIECE - len(self.speller.opening)
        self._classes = space.class_by_word

    def read(self, texts: Sequence[str], numbers: WordNumbers, outputs: WordNumbers, is_known: BoolArray) -> ReadTexts:
        """Return texts cut as a release cuts them, with the numbers (N,) of their words and of what came out."""
        pieces = [self.space.split_words(text) for text in texts]
        words = [[fold_word(word) for word in cut[1::2]] for cut in pieces]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in words], dtype=np.int64)])
        return ReadTexts([cut[0:-1:2] for cut in pieces], words, offsets, numbers, outputs, is_known)

    def tokenize(self, texts: ReadTexts) -> list[TokenizedText]:
        """Return the tokens of texts."""
        return [self.speller.tokenize(*text) for text in zip(texts.gaps, texts.words, strict=True)]

    def expect(self, logs: "torch.Tensor", is_spaced: BoolArray) -> "torch.Tensor":
        """Return ln P (k, n) of each word, from that of each token (k, V), by first tokens and shares of frequency."""
        import torch

        def expect_as(spelling: Spelling, rows: "torch.Tensor") -> "torch.Tensor":
            firsts = torch.as_tensor(spelling.firsts, device=rows.device)
            expected = rows.gather(1, firsts.expand(len(rows), -1))  # a third of the time of rows[:, firsts]
            return expected.add_(torch.as_tensor(spelling.log_shares, dtype=rows.dtype, device=rows.device))

        if is_spaced.all():
            return expect_as(self.speller.spaced, logs)
        chosen = torch.as_tensor(is_spaced, device=logs.device)
        expected = torch.empty(len(logs), len(self.space), dtype=logs.dtype, device=logs.device)
        expected[chosen] = expect_as(self.speller.spaced, logs[chosen])
        expected[~chosen] = expect_as(self.speller.bare, logs[~chosen])
        return expected

    def get_representatives(self, numbers: WordNumbers) -> WordNumbers:
        """Return the first word of the hidden class of each word (k,), which says the class; -1 for no class."""
        firsts = np.array([*(hidden.first_member for hidden in self.space.hidden_classes), -1], dtype=np.int32)
        return firsts[self._classes[numbers]]


def guess_in_context(
    reader: Reader, texts: ReadTexts, likelihood: WordLikelihood, is_asked: BoolArray, *, knows_after: bool
) -> Guesses:
    """Return the guesses of a reader who knows the true words before each word, and perhaps those after it.

    Args:
        reader: with the model.
        texts: R of them, with N words.
        likelihood: P(y|w), as the reader computes it.
        is_asked: (N,) the words that are guessed.
        knows_after: whether the reader knows what follows a word too, about ten words of it.
    """
    guesses = Guesses(*(np.full(shape, -1, dtype=np.int32) for shape in _shapes(texts)))
    windows = list(_list_windows(reader, texts, is_asked))
    report = get_progress_reporter()
    report(0, len(windows))
    for part in cut_trunks(reader.model, [window.places for window in windows]):
        with hide_progress():
            _guess_windows(reader, texts, likelihood, windows[part], guesses, knows_after=knows_after)
        report(part.stop, len(windows))
    return guesses


def _shapes(texts: ReadTexts) -> tuple[tuple[int, ...], ...]:
    count = len(texts.numbers)
    return (len(TEMPERS) + 2, count), (count,), (count,)


@dataclasses.dataclass(frozen=True, eq=False)
class _Window:
    """A part of a text: its tokens, and the words that are guessed in it.

    Attributes:
        tokens: the opening, and the tokens of the part.
        words: (k,) numbers of the guessed words among all N.
        places: (k,) of tokens before each of them.
        ends: (k,) of tokens before what follows each of them.
        is_spaced: (k,) see `TokenizedText`.
    """

    tokens: list[int]
    words: IntArray
    places: IntArray
    ends: IntArray
    is_spaced: BoolArray


def _list_windows(reader: Reader, texts: ReadTexts, is_asked: BoolArray) -> Iterator[_Window]:
    """Yield the parts of all texts; each but the first of a text begins with words that another one has asked for."""
    opening = reader.speller.opening
    for number, text in enumerate(reader.tokenize(texts)):
        starts, first = text.starts, 0
        stops = np.append(starts[1:], len(text.tokens))
        while first < len(starts):
            floor = starts[first] - reader.window // 2
            begin = int(np.searchsorted(starts, floor)) if first else 0
            base = int(starts[begin]) if begin else len(opening)
            end = max(int(np.searchsorted(starts, base + reader.window, side="right")), first + 1)
            asked = first + np.flatnonzero(is_asked[texts.offsets[number] + first : texts.offsets[number] + end])
            if len(asked):
                shift = len(opening) - base
                yield _Window(
                    [*opening, *text.tokens[base : int(stops[end - 1])]],
                    texts.offsets[number] + asked,
                    starts[asked] + shift,
                    stops[asked] + shift,
                    text.is_spaced[asked],
                )
            first = end


@dataclasses.dataclass(frozen=True, eq=False)
class _Leading:
    """The leading words at k places.

    Attributes:
        words: (k, C) their numbers; some may stand there twice.
        expected: (k, C) ln P(w | h).
        seen: (k, C) ln P(y | w), up to a number of the place's own.
        plain: (k, C) ln P(w | h) of the words that lead without any output; -infinity for the others.
        told: (k, C) the same within the word's hidden class, where it has one.
        is_close: (k, C) whether a word is scored again.
    """

    words: IntArray
    expected: FloatArray
    seen: FloatArray
    plain: FloatArray
    told: FloatArray
    is_close: BoolArray


def _guess_windows(
    reader: Reader,
    texts: ReadTexts,
    likelihood: WordLikelihood,
    windows: Sequence[_Window],
    guesses: Guesses,
    *,
    knows_after: bool,
) -> None:
    trunks = Trunks(reader.model, [window.tokens for window in windows], [window.places for window in windows])
    words = np.concatenate([window.words for window in windows])
    is_spaced = np.concatenate([window.is_spaced for window in windows])
    limit = _CPU_PLACES if str(reader.model.network.device.type) == "cpu" else _GPU_PLACES
    found: list[_Leading] = []
    for first in range(0, len(words), limit):
        part = slice(first, first + limit)
        expected = reader.expect(trunks.predict(part), is_spaced[part])
        found.append(_find_leading(reader, texts, likelihood, words[part], expected, knows_after=knows_after))
    leading = _Leading(*map(np.concatenate, zip(*(vars(one).values() for one in found), strict=True)))
    _score_again(reader, windows, trunks, leading, knows_after=knows_after)
    rows = np.arange(len(words))

    def choose(scores: FloatArray) -> WordNumbers:
        chosen: WordNumbers = leading.words[rows, scores.argmax(axis=1)].astype(np.int32)
        return chosen

    for rule, temper in enumerate(TEMPERS):
        guesses.rules[rule, words] = choose(temper * leading.expected + leading.seen)
    guesses.plain[words] = choose(leading.plain)
    guesses.rules[-2, words] = guesses.plain[words]
    guesses.rules[-1, words] = texts.outputs[words]
    guesses.told[words] = choose(leading.told)


def _find_leading(
    reader: Reader,
    texts: ReadTexts,
    likelihood: WordLikelihood,
    words: IntArray,
    expected: "torch.Tensor",
    *,
    knows_after: bool,
) -> _Leading:
    """Return the leading words at some places, by each rule, without output, and within a class."""
    import torch

    device, space = expected.device, reader.space
    outputs, inverse = np.unique(space.point_by_word[texts.outputs[words]], return_inverse=True)
    points = torch.as_tensor(space.point_by_word.astype(np.int64), device=device)
    columns = torch.as_tensor(likelihood.compute_columns(outputs), device=device)
    seen = columns[torch.as_tensor(inverse, device=device)][:, points]
    classes = torch.as_tensor(space.class_by_word.astype(np.int64), device=device)
    own_classes = classes[torch.as_tensor(texts.numbers[words].astype(np.int64), device=device)]
    is_hidden = own_classes >= 0

    def lead(scores: "torch.Tensor", count: int, exact: int) -> "tuple[torch.Tensor, torch.Tensor]":
        top, numbers = torch.topk(scores, min(count, scores.shape[1]), dim=1)
        is_close = top >= top[:, :1] - _MARGIN
        is_close[:, exact:] = False
        return numbers, is_close & (is_close.sum(dim=1, keepdim=True) > 1)

    most = _LEADING_AROUND if knows_after else _LEADING
    lists = [lead(expected, most, _EXACT), lead(expected + seen, most, _EXACT)]
    lists += [lead(temper * expected + seen, _LEADING, 0) for temper in TEMPERS[1:]]
    within = lists[0][0].clone(), lists[0][1].clone()
    if bool(is_hidden.any()):
        is_other = classes[None] != own_classes[is_hidden][:, None]
        within[0][is_hidden], within[1][is_hidden] = lead(
            expected[is_hidden].masked_fill(is_other, -torch.inf), most, _EXACT
        )
        del is_other
    numbers, is_close = (torch.cat([one[part] for one in (*lists, within)], dim=1) for part in (0, 1))
    leading = expected.gather(1, numbers)
    plain, told = torch.full((2, *leading.shape), -torch.inf, device=device)
    count = lists[0][0].shape[1]
    plain[:, :count] = leading[:, :count]
    is_own = ~is_hidden[:, None] | (classes[within[0]] == own_classes[:, None])  # a class may have fewer words
    told[:, -count:] = leading[:, -count:].masked_fill(~is_own, -torch.inf)
    parts = (numbers, leading, seen.gather(1, numbers), plain, told, is_close)
    return _Leading(*((one.double() if one.is_floating_point() else one).cpu().numpy() for one in parts))


def _score_again(
    reader: Reader, windows: Sequence[_Window], trunks: Trunks, leading: _Leading, *, knows_after: bool
) -> None:
    """Replace what is expected of leading words by what their tokens say, one after the other."""
    speller, branches = reader.speller, list[Branch]()
    targets: list[tuple[int, npt.NDArray[np.intp]]] = []
    place = 0
    for window in windows:
        for end, is_spaced in zip(window.ends.tolist(), window.is_spaced, strict=True):
            spelling = speller.spaced if is_spaced else speller.bare
            after = tuple(window.tokens[end : end + _AFTER]) if knows_after else ()
            words = leading.words[place]
            for word in np.unique(words if knows_after else words[leading.is_close[place]]).tolist():
                if knows_after or not spelling.is_certain[word]:
                    branches.append(Branch(place, spelling.tokens[word] + after))
                    targets.append((place, np.flatnonzero(words == word)))
            place += 1
    scores = trunks.score(branches, None if knows_after else speller.endings)
    for score, (row, columns) in zip(scores.tolist(), targets, strict=True):
        leading.expected[row, columns] = score
        for blind in (leading.plain, leading.told):  # the words they score again do not depend on the output
            blind[row, columns] = np.where(
                np.isfinite(blind[row, columns]) & (knows_after | leading.is_close[row, columns]),
                score,
                blind[row, columns],
            )
