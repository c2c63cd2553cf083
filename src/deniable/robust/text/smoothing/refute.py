"""The search for texts that a certificate covers and whose class is another one: one that is found refutes it."""

import dataclasses
from typing import Literal

import numpy as np
from scipy import stats

from deniable.errors import InputError, bad_parameter, positive
from deniable.randomness import Streams, generator, stream_start
from deniable.robust.certificates.refutation import Refutation, concluded
from deniable.robust.certificates.tally import Tally
from deniable.robust.text.documents import Texts, Words, texts
from deniable.robust.text.network import Scorer
from deniable.robust.text.smoothing.certificate import Certificates, Certified
from deniable.robust.text.smoothing.sampling import votes
from deniable.robust.text.smoothing.search import Search, attack, moves_among, moves_within
from deniable.robust.text.substitutions import Substitutions
from deniable.words import WordMechanism

Within = Literal["distance", "changes"]


@dataclasses.dataclass(frozen=True, eq=False)
class Attacked:
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
    certified: Certified
    words: Words
    distance: float
    changes: int
    rival: int
    votes_certified: int
    votes_rival: int
    p_value: float

    def __str__(self) -> str:
        """Return the text in one line."""
        return self.told(f"text {self.text}", str(self.certified.label), str(self.rival))

    def told(self, text: str, certified: str, rival: str) -> str:
        """Return the text in one line, with the caller's names for it and for the two classes."""
        return (
            f"{text}, certified as {certified}, has {self.votes_rival:,} votes for {rival} against "
            f"{self.votes_certified:,} with {self.changes} words changed by {self.distance:.4g} in all"
        )


def refute(
    mechanism: WordMechanism,
    scorer: Scorer,
    held: Texts,
    certificates: Certificates,
    *,
    key: bytes,
    within: Within,
    replacements: Substitutions | None = None,
    alpha: float = 0.01,
    options: int = 16,
    draws: int = 100,
    tries: int = 30,
    samples: int = 10_000,
    workers: int | None = None,
) -> Refutation[Attacked]:
    """Attack every certified text inside what its certificate covers, and test on fresh draws whether its class flips.

    The attack tries single replacements, the same noise for all of them, then takes the most effective ones together
    until the budget is used, and random ones besides. Of the attacked text one half of the samples chooses the rival,
    and the other half tests that the certified class is at least as likely. A sound certificate flips a text with
    probability at most its alpha, and the test says so falsely with at most alpha / (2 n). The certificate is refuted
    if so many flips or more among n texts have a probability of at most alpha under that. Nothing found is no proof.

    Args:
        mechanism: that replaces every word.
        scorer: of the classifier that sees the noisy texts.
        held: n texts.
        certificates: of these texts.
        key: 32 bytes, other than that of the certificates.
        within: which of the certificates is attacked.
        replacements: of ``changes``, the same as the certificates'; None for any word of the space.
        alpha: level of the refutation.
        options: replacements tried at each position.
        draws: of the noise in the search.
        tries: random combinations.
        samples: draws at each attacked text, at least 2.
        workers: threads.

    Raises:
        InputError: a level or a count outside its domain, certificates of other texts, or what `votes` refuses.
    """
    _check(held, certificates, within, alpha, samples)
    rows = np.array([row for row, one in enumerate(certificates.texts) if one.label is not None], dtype=np.int64)
    if not len(rows):
        return concluded([], alpha, certificates.alpha)
    found: list[tuple[Words, float]] = []
    for row in rows:
        one = certificates.texts[row]
        coins = generator(key, "refute", within, str(row))
        if within == "distance":
            moves = moves_within(mechanism.space, held[row], one.distance, options, coins)
        else:
            moves = moves_among(mechanism.space, held[row], replacements, one.changes, options, coins)
        start = stream_start(key, "refute", "search", str(row))
        search = Search(mechanism, _of(scorer, row), int(one.label or 0), Streams(key, [start], []), draws, workers)
        found.append(attack(search, moves, tries, coins))
    attacked = texts([words for words, _ in found])
    counted = votes(
        mechanism,
        lambda some, at: scorer(some, rows[at]),
        attacked,
        {"rival": samples // 2, "flip": samples // 2},
        key=key,
        workers=workers,
    )
    tested = [
        _tested(int(row), certificates.texts[row], held[row], *found[at], counted["rival"][at], counted["flip"][at])
        for at, row in enumerate(rows)
    ]
    return concluded(tested, alpha, certificates.alpha)


def _tested(
    row: int, one: Certified, text: Words, words: Words, distance: float, picked: Tally, fresh: Tally
) -> Attacked:
    """Return the attacked text with an exact binomial test: of the votes for both, the rival has at most one half."""
    others = picked.votes.astype(float)
    others[one.label] = -1
    rival = int(others.argmax())
    ours, theirs = int(fresh.votes[one.label or 0]), int(fresh.votes[rival])
    p_value = float(stats.binomtest(theirs, ours + theirs, alternative="greater").pvalue) if theirs else 1.0
    return Attacked(row, one, words, distance, int((words != text).sum()), rival, ours, theirs, p_value)


def _of(scorer: Scorer, row: int) -> Scorer:
    """Return a scorer all of whose texts are versions of one document."""
    return lambda some, at: scorer(some, np.full(len(at), row))


def _check(held: Texts, certificates: Certificates, within: str, alpha: float, samples: int) -> None:
    positive("refute", "alpha", alpha, 1.0)
    if len(certificates.texts) != len(held):
        raise InputError(f"Give one certificate for each of the {len(held)} texts. Got {len(certificates.texts)}.")
    if within not in {"distance", "changes"}:
        raise bad_parameter("refute", "within", "'distance' or 'changes'", within)
    if samples < 2:  # noqa: PLR2004 - one to choose the rival, one to test it
        raise bad_parameter("refute", "samples", "an integer of at least 2", samples)
