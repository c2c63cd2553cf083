"""Attacks on certificates of smoothed texts: a covered text with another class refutes the certificate."""

import dataclasses
from typing import Literal

import numpy as np
from scipy import stats

from deniable.core.errors import InputError, check_positive, make_parameter_error
from deniable.core.numbers import format_upper
from deniable.core.randomness import Streams, derive_stream_start, generate_key, make_generator
from deniable.models.shared.refutation import Refutation, conclude_refutation
from deniable.models.shared.tally import PredictionTally
from deniable.models.text.documents import IndexedTexts, WordIds, concatenate_texts
from deniable.models.text.networks.base import Scorer
from deniable.models.text.smoothing.certificate import CertifiedText, TextCertificates
from deniable.models.text.smoothing.sampling import count_votes
from deniable.models.text.smoothing.search import (
    SmoothedSearch,
    list_replacements_among,
    list_replacements_within,
    search_hardest_text,
)
from deniable.models.text.substitutions import Substitutions
from deniable.words import WordMechanism

CertifiedRegion = Literal["distance", "changes"]


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


def refute_text_certificates(
    mechanism: WordMechanism,
    scorer: Scorer,
    texts: IndexedTexts,
    certificates: TextCertificates,
    *,
    key: bytes | None = None,
    within: CertifiedRegion,
    replacements: Substitutions | None = None,
    alpha: float = 0.01,
    choices_per_position: int = 16,
    draws: int = 100,
    tries: int = 30,
    samples: int = 10_000,
    workers: int | None = None,
) -> Refutation[AttackedText]:
    """Attack every certified text within its certificate, and test on fresh draws whether its class flips.

    The attack tries single replacements, all with the same noise, then combines the most effective ones within the
    budget, and random ones as well. One half of the samples of the attacked text chooses the rival, and the other half
    tests that the certified class is at least as likely. A sound certificate flips a text with probability at most its
    alpha, and the test is wrong with probability at most alpha / (2 n). The certificate is refuted if this number of
    flips or more among n texts has a probability of at most alpha under that. No refutation is no proof.

    Args:
        mechanism: that replaces every word.
        scorer: of the classifier of the noisy texts.
        texts: n texts.
        certificates: of these texts.
        key: 32 bytes, other than that of the certificates, to repeat a run; None for fresh draws.
        within: which of the two certificates is attacked.
        replacements: those of the certificates; None for any word of the space; used for ``changes`` alone.
        alpha: level of the refutation.
        choices_per_position: number of replacements tried at each position.
        draws: number of draws of the noise in the search.
        tries: number of random combinations.
        samples: number of draws at each attacked text, at least 2.
        workers: threads.

    Raises:
        InputError: a level or a count outside its domain, certificates of other texts, or as `count_votes`.
    """
    _check_refutation(texts, certificates, within, alpha, samples)
    key = key or generate_key()
    rows = np.array(
        [row for row, certified in enumerate(certificates.texts) if certified.label is not None], dtype=np.int64
    )
    if not len(rows):
        return conclude_refutation([], alpha, certificates.alpha)
    options = _SearchOptions(key, within, replacements, choices_per_position, draws, tries, workers)
    hardest_texts = [
        _search_certified_text(mechanism, scorer, texts[row], certificates.texts[row], int(row), options)
        for row in rows
    ]
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


@dataclasses.dataclass(frozen=True)
class _SearchOptions:
    """The options of `refute_text_certificates` that the search for one text takes."""

    key: bytes = dataclasses.field(repr=False)
    within: CertifiedRegion
    replacements: Substitutions | None
    choices_per_position: int
    draws: int
    tries: int
    workers: int | None


def _search_certified_text(
    mechanism: WordMechanism,
    scorer: Scorer,
    text: WordIds,
    certified: CertifiedText,
    row: int,
    options: _SearchOptions,
) -> tuple[WordIds, float]:
    """Return the hardest text that a certificate covers, of those that the search tries, and its distance."""
    rng = make_generator(options.key, "refute", options.within, str(row))
    space, choices = mechanism.space, options.choices_per_position
    candidates = (
        list_replacements_within(space, text, certified.distance, choices, rng)
        if options.within == "distance"
        else list_replacements_among(space, text, options.replacements, certified.changes, choices, rng)
    )
    start = derive_stream_start(options.key, "refute", "search", str(row))
    search = SmoothedSearch(
        mechanism,
        _score_versions_of(scorer, row),
        int(certified.label or 0),
        Streams(options.key, [start], []),
        options.draws,
        options.workers,
    )
    return search_hardest_text(search, candidates, options.tries, rng)


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
    p_value = (
        float(stats.binomtest(rival_count, certified_count + rival_count, alternative="greater").pvalue)
        if rival_count
        else 1.0
    )
    return AttackedText(
        row, certified, words, distance, int((words != text).sum()), rival, certified_count, rival_count, p_value
    )


def _score_versions_of(scorer: Scorer, row: int) -> Scorer:
    """Return a scorer for texts that are all versions of one document."""
    return lambda versions, rows: scorer(versions, np.full(len(rows), row))


def _check_refutation(
    texts: IndexedTexts, certificates: TextCertificates, within: str, alpha: float, samples: int
) -> None:
    check_positive("refute_text_certificates", "alpha", alpha, 1.0)
    if len(certificates.texts) != len(texts):
        raise InputError(f"Give one certificate for each of the {len(texts)} texts. Got {len(certificates.texts)}.")
    if within not in {"distance", "changes"}:
        raise make_parameter_error("refute_text_certificates", "within", "'distance' or 'changes'", within)
    if samples < 2:  # noqa: PLR2004 - one to choose the rival, one to test it
        raise make_parameter_error("refute_text_certificates", "samples", "an integer of at least 2", samples)
