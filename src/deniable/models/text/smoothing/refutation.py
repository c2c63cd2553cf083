"""Attacks on certificates of smoothed texts: a covered text with another class refutes the certificate."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_count, check_positive, make_parameter_error
from deniable.core.numbers import format_upper
from deniable.core.randomness import Streams, derive_stream_start, generate_key, make_generator
from deniable.models.refutation import Refutation, compute_rival_p_value, conclude_refutation
from deniable.models.tally import PredictionTally
from deniable.models.text.documents import IndexedTexts, RowIndices, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.smoothing.certificate import CertifiedText, TextCertificates
from deniable.models.text.smoothing.sampling import count_votes, draw_noisy_versions, score_in_parts
from deniable.models.text.substitutions import Substitutions
from deniable.space import Space
from deniable.words import WordMechanism

CertifiedRegion = Literal["distance", "changes"]
_MAX_DRAWN_WORDS = 1 << 21
"""Maximum number of words drawn at a time, which bounds memory."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class AttackedText:
    """A certified text after the attack, and the votes of fresh draws.

    Attributes:
        text: its index.
        certified: what was certified of it.
        words: (L,) of the attacked text.
        distance: total distance of its words from the text's own.
        changes: number of words that differ.
        rival: the other class, tested against the certified one.
        votes_certified: number of fresh draws for the certified class.
        votes_rival: number of the same draws for the rival.
        p_value: of the hypothesis that the certified class is at least as likely as the rival.
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
            f"{self.votes_certified:,} with {self.changes} words changed by {format_upper(self.distance, 4)} in all"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class BudgetedReplacements:
    """Candidate changes of one text: m single replacements with costs, and a budget.

    Attributes:
        text: (L,) words.
        positions: (m,) positions in the text.
        words: (m,) the new words.
        distances: (m,) of the new words from the old ones.
        costs: (m,) of the replacements.
        budget: upper bound on the total cost of the replacements of a text.
    """

    text: WordIds
    positions: npt.NDArray[np.int64]
    words: WordIds
    distances: FloatArray
    costs: FloatArray
    budget: float

    def apply(self, chosen: Sequence[int]) -> WordIds:
        """Return the text with some of the replacements."""
        words = self.text.copy()
        words[self.positions[list(chosen)]] = self.words[list(chosen)]
        return words

    def fill_budget(self, order: Sequence[int]) -> list[int]:
        """Return replacements taken in an order, at most one for a position, within the budget."""
        remaining, replacements, used_positions = self.budget, [], set()
        for replacement in order:
            if self.costs[replacement] <= remaining and self.positions[replacement] not in used_positions:
                remaining -= self.costs[replacement]
                used_positions.add(self.positions[replacement])
                replacements.append(replacement)
        return replacements


@dataclasses.dataclass(frozen=True)
class TextCertificateAttack:
    """An attack on certificates: on every certified text within its certificate, with a test whether its class flips.

    It tries single replacements, all with the same noise, then combines the most effective ones within the budget, and
    random ones as well. One half of the samples of the attacked text chooses the rival, and the other half tests that
    the certified class is at least as likely. A sound certificate flips a text with probability at most its alpha, and
    the test is wrong with probability at most alpha / (2 n). The certificate is refuted if this number of flips or more
    among n texts has a probability of at most alpha under that. No refutation is no proof.

    Attributes:
        within: which of the two certificates is attacked.
        alpha: level of the refutation.
        choices_per_position: number of replacements tried at each position.
        draws: number of draws of the noise in the search.
        tries: number of random combinations.
        samples: number of draws at each attacked text, at least 2.

    Raises:
        InputError: a level or a count outside its domain.
    """

    within: CertifiedRegion
    alpha: float = 0.01
    choices_per_position: int = 16
    draws: int = 100
    tries: int = 30
    samples: int = 10_000

    def __post_init__(self) -> None:
        check_positive("an attack on certificates", "alpha", self.alpha, 1.0)
        if self.within not in get_args(CertifiedRegion):
            raise make_parameter_error("an attack on certificates", "within", "'distance' or 'changes'", self.within)
        check_count("an attack on certificates", "samples", self.samples, minimum=2)  # to choose the rival, and to test

    def refute(
        self,
        mechanism: WordMechanism,
        scorer: Scorer,
        texts: IndexedTexts,
        certificates: TextCertificates,
        *,
        replacements: Substitutions | None = None,
        key: bytes | None = None,
        workers: int | None = None,
    ) -> Refutation[AttackedText]:
        """Return what attacks within certificates find.

        Args:
            mechanism: that replaces every word.
            scorer: of the classifier of the noisy texts.
            texts: n texts.
            certificates: of these texts.
            replacements: those of the certificates; None for any word of the space; used for ``changes`` only.
            key: 32 bytes, other than that of the certificates, to repeat a run; None for fresh draws.
            workers: threads.

        Raises:
            InputError: certificates of other texts, or as `count_votes`.
        """
        if len(certificates.texts) != len(texts):
            raise InputError(f"Give one certificate for each of the {len(texts)} texts. Got {len(certificates.texts)}.")
        key, draw = key or generate_key(), functools.partial(draw_noisy_versions, mechanism, workers=workers)
        certified_rows = [row for row, certified in enumerate(certificates.texts) if certified.label is not None]
        rows = np.array(certified_rows, dtype=np.int64)
        if not len(rows):
            return conclude_refutation([], self.alpha, certificates.alpha)
        hardest = []
        for row in certified_rows:
            certified, rng = certificates.texts[row], make_generator(key, "refute", self.within, str(row))
            candidates = self._list_candidates(mechanism.space, texts[row], certified, replacements, rng)

            def score_row(versions: IndexedTexts, rows: RowIndices, row: int = row) -> npt.NDArray[np.float32]:
                return scorer(versions, np.full(len(rows), row))

            compute_leads = functools.partial(
                self._compute_leads,
                draw=draw,
                scorer=score_row,
                label=certified.label or 0,
                streams=Streams(key, [derive_stream_start(key, "refute", "search", str(row))], []),
            )
            hardest.append(search_hardest_text(compute_leads, candidates, self.tries, rng))
        tallies = count_votes(
            mechanism,
            lambda versions, places: scorer(versions, rows[places]),
            concatenate_texts([words for words, _ in hardest]),
            {"rival": self.samples // 2, "flip": self.samples // 2},
            key=key,
            workers=workers,
        )
        pairs = zip(tallies["rival"], tallies["flip"], strict=True)
        attempts = [
            _test_attacked_text(row, certificates.texts[row], texts[row], *found, *pair)
            for row, found, pair in zip(certified_rows, hardest, pairs, strict=True)
        ]
        return conclude_refutation(attempts, self.alpha, certificates.alpha)

    def _list_candidates(
        self,
        space: Space,
        text: WordIds,
        certified: CertifiedText,
        replacements: Substitutions | None,
        rng: np.random.Generator,
    ) -> BudgetedReplacements:
        """Return single replacements to combine: within a distance by near words, else by any that are allowed."""
        limit, is_near = self.choices_per_position, self.within == "distance"
        distinct_words, inverse = np.unique(text, return_inverse=True)
        distances = space.distances(space.point_by_word[distinct_words])[:, space.point_by_word]  # (kinds, V)
        chosen_words = []
        for word, row in zip(text.tolist(), distances[inverse], strict=True):
            if is_near:  # half of them the nearest, the others at random
                near_words = np.argsort(row, kind="stable")[: int((row < certified.distance).sum())]
                near_words = near_words[(row[near_words] > 0) & (near_words != word)]
                far_words = rng.permutation(near_words[limit // 2 :])[: limit - limit // 2]
                chosen_words.append(np.concatenate([near_words[: limit // 2], far_words]))
            else:
                allowed_words = np.arange(len(row)) if replacements is None else replacements.choices_of(word)
                chosen_words.append(rng.permutation(allowed_words[allowed_words != word])[:limit])
        positions = np.repeat(np.arange(len(text)), [len(words) for words in chosen_words])
        words = np.concatenate(chosen_words).astype(np.int32)
        moved = distances[inverse[positions], words]
        if is_near:
            return BudgetedReplacements(text, positions, words, moved, moved, certified.distance * (1 - _TINY))
        return BudgetedReplacements(text, positions, words, moved, np.ones(len(moved)), certified.changes)

    def _compute_leads(
        self,
        candidates: IndexedTexts,
        *,
        draw: Callable[[IndexedTexts, list[int], Streams], IndexedTexts],
        scorer: Scorer,
        label: int,
        streams: Streams,
    ) -> FloatArray:
        """Return the lead (n,) of a label, in [-1, 1]: the mean of tanh of half the margin of logits over one noise."""
        leads = np.empty(len(candidates))
        batch_size = max(1, _MAX_DRAWN_WORDS // (self.draws * max(int(candidates.lengths.max()), 1)))
        for first in range(0, len(candidates), batch_size):
            batch = candidates.take(np.arange(first, min(first + batch_size, len(candidates))))
            # The same stream for each: candidates differ by their replacements, not by the noise.
            same_streams = dataclasses.replace(streams, starts=[streams.starts[0]] * len(batch))
            noisy_texts = draw(batch, [self.draws] * len(batch), same_streams)
            parts = score_in_parts(scorer, noisy_texts, np.zeros(len(noisy_texts), np.int64))
            logits = np.concatenate([part for _, part in parts])
            rival_logits = np.delete(logits, label, axis=1).max(axis=1)
            margins = np.tanh((logits[:, label] - rival_logits) / 2)
            leads[first : first + len(batch)] = margins.reshape(len(batch), self.draws).mean(axis=1)
        return leads


def _test_attacked_text(
    row: int,
    certified: CertifiedText,
    text: WordIds,
    words: WordIds,
    distance: float,
    selection: PredictionTally,
    test_votes: PredictionTally,
) -> AttackedText:
    """Return the attacked text with an exact binomial test of the rival's share of the votes for both classes."""
    rival_votes = selection.votes.astype(float)
    rival_votes[certified.label] = -1
    rival = int(rival_votes.argmax())
    certified_count, rival_count = int(test_votes.votes[certified.label or 0]), int(test_votes.votes[rival])
    p_value = compute_rival_p_value(rival_count, certified_count)
    return AttackedText(
        row, certified, words, distance, int((words != text).sum()), rival, certified_count, rival_count, p_value
    )


def search_hardest_text(
    compute_leads: Callable[[IndexedTexts], FloatArray],
    replacements: BudgetedReplacements,
    tries: int,
    rng: np.random.Generator,
) -> tuple[WordIds, float]:
    """Return the text with the least lead among those tried, and its distance."""
    if not len(replacements.positions):
        return replacements.text, 0.0
    singles = [replacements.apply([replacement]) for replacement in range(len(replacements.positions))]
    gains = compute_leads(concatenate_texts([replacements.text]))[0] - compute_leads(concatenate_texts(singles))  # (m,)
    rates = gains / np.maximum(replacements.costs, _TINY)
    # The largest gains first, then the largest gains per cost, then the latter with random factors.
    orders = [np.argsort(-gains), *(np.argsort(-rates * odds) for odds in (1, *rng.random((tries, len(rates)))))]
    effective_orders = [[int(replacement) for replacement in order if gains[replacement] > 0] for order in orders]
    plans = [replacements.fill_budget(order) for order in effective_orders]
    leads = compute_leads(concatenate_texts([replacements.apply(plan) for plan in plans]))
    best = plans[int(np.argmin(leads))]
    return replacements.apply(best), float(replacements.distances[best].sum())
