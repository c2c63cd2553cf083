"""The zoo's truncated Gumbel: a space in which Theorem 1 of Xu et al. 2021 is false, and a mechanism that keeps it."""

import numpy as np

from deniable.auditing.verification import verify
from deniable.core.guarantees import Verdict
from deniable.core.numbers import format_exact
from deniable.published.entry import ZooEntry
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel
from deniable.space import Space
from deniable.words import WordMechanism
from deniable.words.tem import TEM

_WORDS, _FAR = 200, 1.15
"""Words of the space, and how far the last of them is from all others, which are 1 apart from each other."""
_EPSILON = 15.76
"""Claimed; slightly above the least epsilon that gives truncated Gumbel a scale for so many words, which is 15.597."""


def build_crowd(words: int = _WORDS, far: float = _FAR) -> Space:
    """Return a crowd of words at distance 1 from each other, and one more at distance ``far`` from each of them.

    For the one word to come out in place of one of the crowd, all others of the crowd, which are nearer, must lose: the
    probability falls exponentially with their number, while the claim allows epsilon times ``far``.

    Args:
        words: of the space, all in all.
        far: distance of the last one, >= 1.
    """
    vectors = np.eye(words) / np.sqrt(2)
    centre = vectors[:-1].mean(axis=0)
    height = np.sqrt(far**2 - ((vectors[0] - centre) ** 2).sum())
    vectors[-1] = centre + height * np.eye(words)[-1]
    return Space([f"w{number:03}" for number in range(words)], vectors, source="a crowd", metric="euclidean")


def _make_entry(kind: type[WordMechanism], name: str, source: str, flaw: str = "") -> ZooEntry:
    def verify_law() -> Verdict:
        return verify(kind(build_crowd(), epsilon=_EPSILON))

    claim = f"{format_exact(_EPSILON)}-metric-DP, {_WORDS} words"
    # Outputs of probability 10^-10 decide it, which samples do not show.
    return ZooEntry(name, source, claim, flaw, verify_law=verify_law)


ENTRIES = (
    _make_entry(
        TruncatedGumbel,
        "truncated-gumbel",
        "Xu et al. 2021, Theorem 1",
        "a word comes out only if every word nearer to the input loses: its probability falls with their number, "
        "whatever the distance",
    ),
    _make_entry(TEM, "tem-in-a-crowd", "control of truncated-gumbel: the same words, the same claim"),
)
