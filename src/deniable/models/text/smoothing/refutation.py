"""The search for texts that a certificate covers and whose class is another one: one that is found refutes it."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.randomness import Streams, derive_stream_start, make_generator
from deniable.models.shared.refutation import Refutation, conclude_refutation
from deniable.models.shared.tally import PredictionTally
from deniable.models.text.documents import IndexedTexts, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.smoothing.certificate import CertifiedText, TextCertificates
from deniable.models.text.smoothing.sampling import count_votes, draw_noisy_versions, score_in_parts
from deniable.models.text.substitutions import Substitutions
from deniable.space import Space
from deniable.words import WordMechanism

_MAX_DRAWN_WORDS = 1 << 21
"""Words drawn at a time, which bounds memory."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class BudgetedReplacements:
    """What may be done to one text: m single replacements, and how much of them.

    Attributes:
        text: (L,) words.
        positions: (m,) positions.
        words: (m,) what is put there.
        distances: (m,) from the word that was there.
        costs: (m,) of the budget.
        budget: what the prices of a text's replacements may add up to.
    """

    text: WordIds
    positions: npt.NDArray[np.int64]
    words: WordIds
    distances: FloatArray
    costs: FloatArray
    budget: float

    def apply(self, chosen: Sequence[int]) -> WordIds:
        """Return the text after some moves."""
        words = self.text.copy()
        words[self.positions[list(chosen)]] = self.words[list(chosen)]
        return words

    def fill_budget(self, order: Sequence[int]) -> list[int]:
        """Return moves taken in an order, at most one for a position, while the budget lasts."""
        remaining, replacements, used_positions = self.budget, [], set()
        for replacement in order:
            if self.costs[replacement] <= remaining and self.positions[replacement] not in used_positions:
                remaining -= self.costs[replacement]
                used_positions.add(self.positions[replacement])
                replacements.append(replacement)
        return replacements


@dataclasses.dataclass(frozen=True, eq=False)
class SmoothedSearch:
    """How versions of one text are compared: by their mean margin over the same noise."""

    mechanism: WordMechanism
    scorer: Scorer
    label: int
    streams: Streams
    draws: int
    workers: int | None

    def compute_leads(self, candidates: IndexedTexts) -> FloatArray:
        """Return (n,) by how much the label leads, in [-1, 1]: the mean of tanh of half the margin of logits."""
        leads = np.empty(len(candidates))
        batch_size = max(1, _MAX_DRAWN_WORDS // (self.draws * max(int(candidates.lengths.max()), 1)))
        for first in range(0, len(candidates), batch_size):
            batch = candidates.take(np.arange(first, min(first + batch_size, len(candidates))))
            # The same stream for each: what differs between two of them is the replacement, not the noise.
            streams = dataclasses.replace(self.streams, starts=[self.streams.starts[0]] * len(batch))
            noisy_texts = draw_noisy_versions(self.mechanism, batch, [self.draws] * len(batch), streams, self.workers)
            logits = np.concatenate(
                [part for _, part in score_in_parts(self.scorer, noisy_texts, np.zeros(len(noisy_texts), np.int64))]
            )
            rival_logits = np.delete(logits, self.label, axis=1).max(axis=1)
            margins = np.tanh((logits[:, self.label] - rival_logits) / 2)
            leads[first : first + len(batch)] = margins.reshape(len(batch), self.draws).mean(axis=1)
        return leads


def search_hardest_text(
    search: SmoothedSearch, replacements: BudgetedReplacements, tries: int, rng: np.random.Generator
) -> tuple[WordIds, float]:
    """Return the text with the least lead that was found, and its distance."""
    if not len(replacements.positions):
        return replacements.text, 0.0
    singles = [replacements.apply([replacement]) for replacement in range(len(replacements.positions))]
    gains = search.compute_leads(concatenate_texts([replacements.text]))[0] - search.compute_leads(
        concatenate_texts(singles)
    )  # (m,)
    rates = gains / np.maximum(replacements.costs, _TINY)
    # The best first, then the best for their price, then these with the odds changed at random.
    orders = [np.argsort(-gains), *(np.argsort(-rates * odds) for odds in (1, *rng.random((tries, len(rates)))))]
    effective_orders = [[int(replacement) for replacement in order if gains[replacement] > 0] for order in orders]
    plans = [replacements.fill_budget(order) for order in effective_orders]
    leads = search.compute_leads(concatenate_texts([replacements.apply(plan) for plan in plans]))
    best = plans[int(np.argmin(leads))]
    return replacements.apply(best), float(replacements.distances[best].sum())


def list_replacements_within(
    space: Space, text: WordIds, distance: float, choices_per_position: int, rng: np.random.Generator
) -> BudgetedReplacements:
    """Return replacements by any word, of a total distance below one: the nearest, and others at random.

    Args:
        space: of the mechanism.
        text: (L,) words.
        distance: that may be used up.
        choices_per_position: most replacements of one position.
        rng: choose among them.
    """

    def choose_near(word: int, row: FloatArray) -> WordIds:
        order = np.argsort(row, kind="stable")[: int((row < distance).sum())]
        order = order[(row[order] > 0) & (order != word)]
        far_words = rng.permutation(order[choices_per_position // 2 :])
        return np.concatenate(
            [order[: choices_per_position // 2], far_words[: choices_per_position - choices_per_position // 2]]
        )

    positions, words, distances = _list_replacements(space, text, choose_near)
    return BudgetedReplacements(text, positions, words, distances, distances, distance * (1 - _TINY))


def list_replacements_among(
    space: Space,
    text: WordIds,
    replacements: Substitutions | None,
    changes: int,
    choices_per_position: int,
    rng: np.random.Generator,
) -> BudgetedReplacements:
    """Return replacements by the words of sets, or by any, of so many words of a text; see `list_replacements_within`."""

    def choose_allowed(word: int, row: FloatArray) -> WordIds:
        allowed_words = np.arange(len(row)) if replacements is None else replacements.choices_of(word)
        return rng.permutation(allowed_words[allowed_words != word])[:choices_per_position]

    positions, words, distances = _list_replacements(space, text, choose_allowed)
    return BudgetedReplacements(text, positions, words, distances, np.ones(len(positions)), changes)


def _list_replacements(
    space: Space, text: WordIds, choose_words: Callable[[int, FloatArray], WordIds]
) -> tuple[npt.NDArray[np.int64], WordIds, FloatArray]:
    """Return places, words and distances of all replacements of every position, from those of a word (V,)."""
    distinct_words, inverse = np.unique(text, return_inverse=True)
    rows = space.distances(space.point_by_word[distinct_words])[:, space.point_by_word]  # (kinds, V)
    chosen_words = [choose_words(int(distinct_words[index]), rows[index]) for index in inverse]
    distances = [rows[index, words] for index, words in zip(inverse, chosen_words, strict=True)]
    positions = np.repeat(np.arange(len(text)), [len(words) for words in chosen_words])
    return positions, np.concatenate(chosen_words).astype(np.int32), np.concatenate(distances)


CertifiedRegion = Literal["distance", "changes"]


@dataclasses.dataclass(frozen=True, eq=False)
class AttackedText:
    """A certified text after the attack, and what fresh draws say of it.

    Attributes:
        text: its number.
        certified: what was certified of it.
        words: (L,) of the attacked text.
        distance: of all its words from the text's own, added up.
        changes: how many words differ.
        rival: the other class that was tested against the certified one.
        votes_certified: of the fresh draws.
        votes_rival: of the same draws.
        p_value: of the certified class being at least as likely as the rival.
    """

    text: int
    certified: CertifiedText
    words: WordIds
    distance: float
    changes: int
    rival: int
    votes_certified: int
    votes_rival: int
    p_value: float

    def __str__(self) -> str:
        """Return the text in one line."""
        return self.describe(f"text {self.text}", str(self.certified.label), str(self.rival))

    def describe(self, text: str, certified: str, rival: str) -> str:
        """Return the text in one line, with the caller's names for it and for the two classes."""
        return (
            f"{text}, certified as {certified}, has {self.votes_rival:,} votes for {rival} against "
            f"{self.votes_certified:,} with {self.changes} words changed by {self.distance:.4g} in all"
        )


def refute_text_certificates(
    mechanism: WordMechanism,
    scorer: Scorer,
    texts: IndexedTexts,
    certificates: TextCertificates,
    *,
    key: bytes,
    within: CertifiedRegion,
    replacements: Substitutions | None = None,
    alpha: float = 0.01,
    choices_per_position: int = 16,
    draws: int = 100,
    tries: int = 30,
    samples: int = 10_000,
    workers: int | None = None,
) -> Refutation[AttackedText]:
    """Attack every certified text inside what its certificate covers, and test on fresh draws whether its class flips.

    The attack tries single replacements, the same noise for all of them, then takes the most effective ones together
    until the budget is used, and random ones besides. Of the attacked text one half of the samples chooses the rival,
    and the other half tests that the certified class is at least as likely. A sound certificate flips a text with
    probability at most its alpha, and the test says so falsely with at most alpha / (2 n). The certificate is refuted
    if so many flips or more among n texts have a probability of at most alpha under that. Nothing found is no proof.

    Args:
        mechanism: that replaces every word.
        scorer: of the classifier that sees the noisy texts.
        texts: n texts.
        certificates: of these texts.
        key: 32 bytes, other than that of the certificates.
        within: which of the certificates is attacked.
        replacements: of ``changes``, the same as the certificates'; None for any word of the space.
        alpha: level of the refutation.
        choices_per_position: replacements tried at each position.
        draws: of the noise in the search.
        tries: random combinations.
        samples: draws at each attacked text, at least 2.
        workers: threads.

    Raises:
        InputError: a level or a count outside its domain, certificates of other texts, or what `count_votes` refuses.
    """
    _check_refutation(texts, certificates, within, alpha, samples)
    rows = np.array(
        [row for row, certified in enumerate(certificates.texts) if certified.label is not None], dtype=np.int64
    )
    if not len(rows):
        return conclude_refutation([], alpha, certificates.alpha)
    hardest_texts: list[tuple[WordIds, float]] = []
    for row in rows:
        certified = certificates.texts[row]
        rng = make_generator(key, "refute", within, str(row))
        if within == "distance":
            candidates = list_replacements_within(
                mechanism.space, texts[row], certified.distance, choices_per_position, rng
            )
        else:
            candidates = list_replacements_among(
                mechanism.space, texts[row], replacements, certified.changes, choices_per_position, rng
            )
        stream_name = derive_stream_start(key, "refute", "search", str(row))
        search = SmoothedSearch(
            mechanism,
            _score_versions_of(scorer, row),
            int(certified.label or 0),
            Streams(key, [stream_name], []),
            draws,
            workers,
        )
        hardest_texts.append(search_hardest_text(search, candidates, tries, rng))
    attacked_texts = concatenate_texts([words for words, _ in hardest_texts])
    tallies = count_votes(
        mechanism,
        lambda versions, at: scorer(versions, rows[at]),
        attacked_texts,
        {"rival": samples // 2, "flip": samples // 2},
        key=key,
        workers=workers,
    )
    tested = [
        _test_attacked_text(
            int(row), certificates.texts[row], texts[row], *hardest_texts[at], tallies["rival"][at], tallies["flip"][at]
        )
        for at, row in enumerate(rows)
    ]
    return conclude_refutation(tested, alpha, certificates.alpha)


def _test_attacked_text(
    row: int,
    certified: CertifiedText,
    text: WordIds,
    words: WordIds,
    distance: float,
    selection: PredictionTally,
    test_votes: PredictionTally,
) -> AttackedText:
    """Return the attacked text with an exact binomial test: of the votes for both, the rival has at most one half."""
    rival_votes = selection.votes.astype(float)
    rival_votes[certified.label] = -1
    rival = int(rival_votes.argmax())
    certified_count, rival_count = int(test_votes.votes[certified.label or 0]), int(test_votes.votes[rival])
    p_value = (
        float(stats.binomtest(rival_count, certified_count + rival_count, alternative="greater").pvalue)
        if rival_count
        else 1.0
    )
    return AttackedText(
        row, certified, words, distance, int((words != text).sum()), rival, certified_count, rival_count, p_value
    )


def _score_versions_of(scorer: Scorer, row: int) -> Scorer:
    """Return a scorer all of whose texts are versions of one document."""
    return lambda versions, rows: scorer(versions, np.full(len(rows), row))


def _check_refutation(
    texts: IndexedTexts, certificates: TextCertificates, within: str, alpha: float, samples: int
) -> None:
    check_positive("refute", "alpha", alpha, 1.0)
    if len(certificates.texts) != len(texts):
        raise InputError(f"Give one certificate for each of the {len(texts)} texts. Got {len(certificates.texts)}.")
    if within not in {"distance", "changes"}:
        raise make_parameter_error("refute", "within", "'distance' or 'changes'", within)
    if samples < 2:  # noqa: PLR2004 - one to choose the rival, one to test it
        raise make_parameter_error("refute", "samples", "an integer of at least 2", samples)
