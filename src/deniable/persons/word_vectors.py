r"""Word vectors of private texts: what is measured is a noisy sum, and everything after it is post-processing.

Whoever trains word vectors on private texts and then draws words by metric DP in them protects each word, and publishes
the texts: support and probabilities depend on every one of them. Here a word w gets the sum of the public vectors of
the words that it stands beside in private texts (Khodak et al. 2018 take their mean), with p and a public::

    s_w = a_w * sum over texts, places i of w, places j with 0 < |i - j| <= window, of p_j,     a_w = sqrt(rank of w)

A unit's part of s (n, d) is an integer matrix of bounded norm, and gets discrete Gaussian noise of deviation sigma, as
every sum of `deniable.persons`. What the noise explains is taken out (James and Stein)::

    v_w = [g_w / |g_w|,  (1 - d sigma^2 / |s_w|^2)_+  s_w / |s_w|],     g_w the public vector of w

so that a word that few texts hold stays where public vectors have it.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, check_count
from deniable.core.guarantees import Guarantee, Verdict
from deniable.core.parallel import compile_loop
from deniable.ledger import Ledger
from deniable.persons.budget import NOISE_STEPS, Budget, Measurement, judge_budget
from deniable.persons.charging import charge_persons
from deniable.persons.collection import PERSON, RECORD, UnitRows, group_rows
from deniable.persons.noisy_sums import add_noise, find_factor
from deniable.persons.options import CollectionPrivacy
from deniable.space import Space
from deniable.space.metrics import MetricChoice
from deniable.space.word_classes import DEFAULT_CLASSES, HideChoice
from deniable.text.batches import read_batch_texts
from deniable.text.columns import read_identities
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA, list_ledger_steps
from deniable.text.tokens import Lexer
from deniable.vectors.discrete_noise import make_noise_generator

CONTEXT_MEASUREMENT = "word contexts"
_MAX_WINDOW = 50
_LEAST_NORM = 1e-9
"""Norm of a unit from which on it is scaled, up or down, to the bound: every text counts alike."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorOptions(CollectionPrivacy):
    """What word vectors of private texts are made with; see `CollectionPrivacy` for the budget.

    Attributes:
        window: words before and after a word that count as its neighbours, 1 to 50.
        seed: for tests only: public, so that the noise hides nothing; None for fresh noise.

    Raises:
        InputError: a window out of range, or a number of records, which no vector depends on.
    """

    window: int = 5
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("word vectors", "window", self.window, maximum=_MAX_WINDOW)
        if self.records is not None:
            raise InputError(
                f"Word vectors are made without a number of records. Got records={self.records}: leave it out."
            )


@dataclasses.dataclass(frozen=True, eq=False)
class PrivateVectors:
    """Word vectors that may be published: all of them together have the guarantee.

    Attributes:
        words: n public words.
        vectors: (n, 2 d).
        guarantee: for each record, or each person, of the private texts.
        verdict: on it.
        facts: what was measured, and how epsilon was chosen.
    """

    words: tuple[str, ...]
    vectors: FloatArray
    guarantee: Guarantee
    verdict: Verdict
    facts: dict[str, Any]

    def make_space(self, metric: MetricChoice = "steps", hide: HideChoice = DEFAULT_CLASSES) -> Space:
        """Return the words as a space, whose certificates name the guarantee of its vectors next to that of words."""
        source = f"{len(self.words):,} public words, vectors adapted to private texts"
        return Space(self.words, self.vectors, metric=metric, hide=hide, source=source, guarantee=self.guarantee)


def adapt_vectors(
    texts: Sequence[str | None],
    public: Space,
    options: VectorOptions,
    *,
    persons: Sequence[Any] | None = None,
    ledger: Ledger | None = None,
) -> PrivateVectors:
    """Return public words with vectors that also say how private texts use them, under central differential privacy.

    Args:
        texts: n private texts; null ones are left out.
        public: words with public vectors, most frequent first; its metric does not matter.
        options: the budget, and the window.
        persons: to whom each text belongs; None to hide each text by itself.
        ledger: counts what each person has spent, and is charged before anything is measured.

    Raises:
        InputError: a parameter outside its domain, no text, words without vectors or with private ones, or a maximum of
            records or a ledger without `persons`.
        BudgetExceeded: the ledger's budget does not cover some people; nothing was charged or measured then.
    """
    if not isinstance(public, Space):
        raise InputError(f"Private texts are added to the vectors of public words. Got {public!r}: give a Space.")
    if public.guarantee is not None:
        raise InputError("The vectors of these words were made from private texts already: give public ones.")
    cells = read_batch_texts(texts)
    owners = None if persons is None else [owner or "" for owner in read_identities("Persons", persons)]
    if owners is not None and len(owners) != len(cells):
        raise InputError(f"{len(cells):,} texts need as many people. Got {len(owners):,}: give one for each.")
    if owners is None and (options.max_records is not None or ledger is not None):
        raise InputError("max_records and a ledger are for people: say whose each text is, or leave them out.")
    rows = [row for row, text in enumerate(cells) if text and text.strip() and (owners is None or owners[row])]
    if not rows:
        raise InputError("No row has both a text and the person that is needed: give texts with words.")
    measurement = Measurement(CONTEXT_MEASUREMENT, 1.0, public.vectors.size)
    unit = RECORD if owners is None else PERSON
    budget = Budget(options.epsilon, options.delta, unit, (measurement,))
    steps: Sequence[str] = ()
    kept_owners = None if owners is None else [owners[row] for row in rows]
    if ledger is not None and kept_owners is not None:
        if options.seed is not None:
            raise InputError("A public seed hides nothing, and a ledger counts what is hidden: leave out one of them.")
        charge_persons(ledger, budget, "adapt-vectors", kept_owners)
        steps = list_ledger_steps(ledger.facts.describe_caps(), drops_rows=False)
    units = group_rows(len(rows), kept_owners, options.max_records)
    bound = budget.compute_norm_bound(CONTEXT_MEASUREMENT)
    sums = sum_contexts([str(cells[row]) for row in rows], public, units, options.window, bound)
    noisy_sums = add_noise(sums, make_noise_generator(options.seed))
    guarantee, verdict = judge_budget(budget, options.seed)
    facts = {
        "measurements": budget.describe_measurements(),
        "window": options.window,
        "epsilon chosen": CHOSEN_FROM_DATA if options.chosen_from_data else CHOSEN_BY_OWNER,
        **({"ledger": list(steps)} if steps else {}),
    }
    vectors = combine_vectors(public, noisy_sums.astype(np.float64), float(NOISE_STEPS))
    return PrivateVectors(public.words, vectors, guarantee, verdict, facts)


def build_contexts(public: Space) -> tuple[FloatArray, FloatArray]:
    """Return the public vectors p (n, d) of words as neighbours, and the weights a (n,) of words.

    p_j is the unit vector of g_j less the mean of all g, weighted by Zipf's law, times r / (r + 100) for the rank r: a
    word that stands beside every other says little.
    """
    ranks = np.arange(1.0, len(public) + 1)
    zipf = 1 / ranks
    centred = public.vectors - (zipf / zipf.sum()) @ public.vectors
    return _normalize(centred) * (ranks / (ranks + 100))[:, None], np.sqrt(ranks)


def sum_contexts(texts: Sequence[str], public: Space, units: UnitRows, window: int, bound: int) -> IntArray:
    """Return the sum (n, d) of all units' contributions, integers, the norm of each at most ``bound``.

    Args:
        texts: private.
        public: words with public vectors.
        units: of the texts.
        window: words on either side.
        bound: B.
    """
    contexts, weights = build_contexts(public)
    lexer = Lexer(public, "draw", "lower", ())
    lexed = [lexer.lex(text) for text in texts]
    offsets = np.cumsum([0, *[len(text.words) for text in lexed]], dtype=np.int64)
    numbers = np.empty(offsets[-1], dtype=np.int64)
    for text, start in zip(lexed, offsets.tolist(), strict=False):
        numbers[start : start + len(text.words)] = np.where(text.unknown_mask, -1, text.words)
    sums = np.zeros(contexts.shape, dtype=np.int64)
    _add_contexts((numbers, offsets), (units.rows, units.offsets), contexts, weights, window, float(bound), sums)
    return sums


def combine_vectors(public: Space, sums: FloatArray, deviation: float) -> FloatArray:
    """Return (n, 2 d) public vectors and sums (n, d), as the module's docstring has them.

    Args:
        public: words with public vectors.
        sums: of contexts, noisy or exact.
        deviation: of the noise on each coordinate; 0 for none.
    """
    squares = (sums**2).sum(axis=1)
    shares = np.maximum(1 - sums.shape[1] * deviation**2 / np.maximum(squares, 1e-300), 0.0) * (squares > 0)
    return np.hstack([_normalize(public.vectors), shares[:, None] * _normalize(sums)])


def _normalize(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = vectors / np.where(lengths > 0, lengths, 1.0)
    return unit


@compile_loop
def _add_contexts(
    texts: tuple[IntArray, IntArray],
    units: tuple[IntArray, IntArray],
    contexts: FloatArray,
    weights: FloatArray,
    window: int,
    bound: float,
    sums: IntArray,
) -> None:
    """Add the integer contribution of every unit to ``sums`` (n, d), which its own texts decide to the last bit.

    ``texts`` are word numbers, -1 for an unknown word, and where each text begins; ``units`` are text numbers, and
    where those of each unit begin.
    """
    numbers, text_offsets = texts
    rows, unit_offsets = units
    count, dimensions = contexts.shape
    own = np.empty((count, dimensions))
    last_unit, touched = np.full(count, -1, dtype=np.int64), np.empty(count, dtype=np.int64)
    for unit in range(len(unit_offsets) - 1):
        touched_count = 0
        for place in range(unit_offsets[unit], unit_offsets[unit + 1]):
            text = numbers[text_offsets[rows[place]] : text_offsets[rows[place] + 1]]
            for word in text:
                if word >= 0 and last_unit[word] != unit:
                    last_unit[word] = unit
                    touched[touched_count] = word
                    touched_count += 1
                    own[word] = 0.0
            _add_neighbours(text, contexts, weights, window, own)
        factor = find_factor(own, touched[:touched_count], _LEAST_NORM, bound)
        if factor == 0:
            continue
        for word in touched[:touched_count]:
            for k in range(dimensions):
                sums[word, k] += np.int64(np.trunc(own[word, k] * factor))


@compile_loop
def _add_neighbours(text: IntArray, contexts: FloatArray, weights: FloatArray, window: int, own: FloatArray) -> None:
    """Add to each word of a text the vectors of the words beside it; -1 stands for an unknown word."""
    for i in range(len(text)):
        if text[i] < 0:
            continue
        for j in range(max(0, i - window), min(len(text), i + window + 1)):
            if j != i and text[j] >= 0:
                for k in range(contexts.shape[1]):
                    own[text[i], k] += weights[text[i]] * contexts[text[j], k]
