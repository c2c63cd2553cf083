"""The search for texts that a certificate covers and whose class is another one: one that is found refutes it."""

import dataclasses
from typing import Literal

import numpy as np
from scipy import stats

from deniable.errors import InputError, check_positive, make_parameter_error
from deniable.randomness import Streams, derive_stream_start, make_generator
from deniable.robust.certificates.refutation import Refutation, conclude_refutation
from deniable.robust.certificates.tally import PredictionTally
from deniable.robust.text.documents import IndexedTexts, WordIds, concatenate_texts
from deniable.robust.text.network import Scorer
from deniable.robust.text.smoothing.certificate import CertifiedText, TextCertificates
from deniable.robust.text.smoothing.sampling import count_votes
from deniable.robust.text.smoothing.search import (
    SmoothedSearch,
    list_replacements_among,
    list_replacements_within,
    search_hardest_text,
)
from deniable.robust.text.substitutions import Substitutions
from deniable.words import WordMechanism

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
