"""Certificates of a classifier of texts whose words a metric-DP mechanism replaces before it sees them."""

import dataclasses
import math
from collections.abc import Sequence

from deniable.auditing import verify
from deniable.core.errors import InputError
from deniable.core.guarantees import PROVED_IDEAL, Guarantee, Status, find_weakest_status, limit_status
from deniable.core.randomness import generate_key
from deniable.measure.intervals import DEFAULT_CONFIDENCE, Estimate
from deniable.models.intervals import bound_both_classes, bound_by_complement, measure_certified_accuracy, select_class
from deniable.models.tally import PredictionTally
from deniable.models.text.documents import IndexedTexts, WordIds
from deniable.models.text.networks.base import Scorer
from deniable.models.text.smoothing.bounds import (
    ReplacementCosts,
    compute_max_loss,
    compute_replacement_costs,
    count_changes_by_randomized_response,
    count_changes_by_renyi,
)
from deniable.models.text.smoothing.sampling import count_votes
from deniable.models.text.substitutions import Substitutions
from deniable.words import WordMechanism
from deniable.words.laws import tables

_BINARY_CLASSES = 2
_MIN_PROBABILITY = 2.0**-50
"""Probabilities are kept this far from 0 and 1: closer to 1, float64 could not distinguish them from it."""
_INWARD_FACTOR = 1 - 1e-12
"""Covers the few roundings of a distance."""


@dataclasses.dataclass(frozen=True)
class SmoothingOptions:
    """How a smoothed classifier is certified.

    Attributes:
        alpha: upper bound on the probability that the certificate of one text is wrong, in (0, 1).
        selection: draws that choose the class.
        estimation: other draws, which bound the probabilities.
    """

    alpha: float = 0.001
    selection: int = 100
    estimation: int = 10_000


@dataclasses.dataclass(frozen=True)
class CertifiedText:
    """What is certified of one text.

    Attributes:
        label: the likeliest class of the text and of every text that the certificate covers; None where it abstains.
        distance: the certificate covers every text of the same length whose total distance over all positions from the
            text is less than this; 0 where it abstains.
        changes: it covers every text that differs in at most this number of words, each replaced by one of its
            replacements; the length of the text where all words may be replaced; 0 where it abstains.
        words: number of words of the text, L.
        own: lower bound on the probability of the class.
        rival: upper bound on the probability of every other class.
    """

    label: int | None
    distance: float
    changes: int
    words: int
    own: float
    rival: float


@dataclasses.dataclass(frozen=True, eq=False)
class TextCertificates:
    """What is certified of n texts.

    Attributes:
        texts: (n,) one for each.
        alpha: upper bound on the probability that anything certified of a text is false.
        guarantee: the guarantee that ``distance`` rests on.
        status: of the guarantee, for the mechanism's draws. Only what is proved is a certificate.
        replacements: name of the words that may replace a word within ``changes``.
        source: the basis of ``changes``.
        is_noise_fresh: whether the draws were fresh; otherwise alpha holds for classifiers made without knowledge of
            them.
    """

    texts: tuple[CertifiedText, ...]
    alpha: float
    guarantee: Guarantee
    status: Status
    replacements: str
    source: str
    is_noise_fresh: bool = False

    def accuracy_at_distances(
        self, labels: Sequence[int], distances: Sequence[float], confidence: float = DEFAULT_CONFIDENCE
    ) -> list[Estimate]:
        """Return the share of texts that are classified correctly at every text within each total distance."""
        return measure_certified_accuracy(
            labels, [text.label for text in self.texts], [text.distance for text in self.texts], distances, confidence
        )

    def accuracy_at_changes(
        self, labels: Sequence[int], change_counts: Sequence[int], confidence: float = DEFAULT_CONFIDENCE
    ) -> list[Estimate]:
        """Return the share of texts classified correctly whichever words are replaced, for each number of words.

        A text with all its words certified counts at larger numbers too: no more of its words can be replaced.
        """
        refutable_changes = [math.inf if text.changes == text.words else text.changes + 1 for text in self.texts]
        return measure_certified_accuracy(
            labels, [text.label for text in self.texts], refutable_changes, change_counts, confidence
        )


def certify_texts(
    mechanism: WordMechanism,
    scorer: Scorer,
    texts: IndexedTexts,
    options: SmoothingOptions | None = None,
    *,
    key: bytes | None = None,
    replacements: Substitutions | None = None,
    guarantee: Guarantee | None = None,
) -> TextCertificates:
    """Return what is certified of each text, for the smoothed classifier: the likeliest class over the noise.

    Args:
        mechanism: that replaces every word, one draw a word.
        scorer: of the classifier that sees the noisy texts.
        texts: n texts.
        options: number of draws, and how sure a certificate is; None for the defaults.
        key: 32 bytes, which determine all draws, to repeat a run: its ``alpha`` then holds for classifiers made without
            knowledge of them. None for fresh draws.
        replacements: the words that may replace a word within ``changes``; None for any word of the space.
        guarantee: one that was verified for this mechanism and is sharper than its own; by default its own, which is
            verified here.

    Raises:
        InputError: no texts, alpha or draws outside their domains, a guarantee about another metric, or as
            `count_votes`.
    """
    if not len(texts):
        raise InputError("There are no texts to certify. Got 0: give at least 1.")
    options = options or SmoothingOptions()
    claim = limit_status(mechanism.guarantee, verify(mechanism)) if guarantee is None else guarantee
    if claim.metric != mechanism.space.metric_name:
        raise InputError(
            f"The guarantee is about the metric {claim.metric}, that of the space is {mechanism.space.metric_name}: "
            "verify it over this space."
        )
    purposes = {"selection": options.selection, "estimation": options.estimation}
    tallies = count_votes(mechanism, scorer, texts, purposes, key=key or generate_key())
    costs = compute_replacement_costs(mechanism, texts, replacements, guarantee=claim)
    rounding = 2 / tables.TABLE_FLOOR if mechanism.law.is_tabulated else 0.0
    certified_texts = tuple(
        certify_from_votes(text, selection_tally, estimation_tally, options.alpha, claim.epsilon, costs, rounding)
        for text, selection_tally, estimation_tally in zip(
            texts, tallies["selection"], tallies["estimation"], strict=True
        )
    )
    return TextCertificates(
        certified_texts,
        options.alpha,
        claim,
        get_certificate_status(mechanism, claim),
        costs.replacements,
        costs.source,
        is_noise_fresh=key is None,
    )


def certify_from_votes(
    text: WordIds,
    selection: PredictionTally,
    estimation: PredictionTally,
    alpha: float,
    epsilon: float,
    costs: ReplacementCosts,
    rounding: float = 0.0,
) -> CertifiedText:
    """Return what is certified of one text from the votes on its noisy versions.

    Args:
        text: (L,) words.
        selection: draws that choose the class.
        estimation: other, independent draws, that bound the probabilities.
        alpha: upper bound on the probability that the result is false.
        epsilon: of the guarantee, per unit of distance.
        costs: of replacing each of the words.
        rounding: bound on the loss that the integer tables add to each word, nats.

    Raises:
        InputError: alpha outside (0, 1), or tallies of different classes.
    """
    label = select_class(selection, estimation, alpha)
    bound_probabilities = bound_by_complement if len(estimation.votes) == _BINARY_CLASSES else bound_both_classes
    own, rival = bound_probabilities(estimation, label, alpha)
    return certify_from_probabilities(text, label, own, rival, epsilon, costs, rounding)


def certify_from_probabilities(
    text: WordIds, label: int, own: float, rival: float, epsilon: float, costs: ReplacementCosts, rounding: float = 0.0
) -> CertifiedText:
    """Return what is certified of one text whose class probabilities are known, or bounded.

    ``distance``: the draws of different words are independent, so that the losses of the words add up: with words at
    distances d_1, ..., d_L the law of the whole noisy text changes by a factor of at most
    e^(epsilon (d_1 + ... + d_L)), and so does the probability of every class. `compute_max_loss` is the largest such
    exponent under which the class stays the likeliest.

    ``changes``: the same with the largest loss of each word, or its largest Renyi divergences, of the k words for which
    they are largest. Both numbers are certified, so the larger one is.

    Args:
        text: (L,) words.
        label: of the class.
        own: lower bound on its probability.
        rival: upper bound on the probability of every other class.
        epsilon: of the guarantee.
        costs: of replacing each of the words.
        rounding: see `certify_from_votes`.
    """
    own, rival = min(own, 1 - _MIN_PROBABILITY), max(rival, _MIN_PROBABILITY)
    if own <= rival:
        return CertifiedText(None, 0.0, 0, len(text), own, rival)
    loss = max(compute_max_loss(own, rival) - len(text) * rounding, 0.0)
    losses, divergences = costs.look_up(text)
    changes = 0 if divergences is None else count_changes_by_renyi(own, rival, divergences)
    if changes < len(text):
        changes = max(changes, count_changes_by_randomized_response(own, rival, losses))
    return CertifiedText(label, loss / epsilon * _INWARD_FACTOR, changes, len(text), own, rival)


def get_certificate_status(mechanism: WordMechanism, claim: Guarantee) -> Status:
    """Return the status of a certificate that rests on a guarantee of a mechanism."""
    if mechanism.law.is_tabulated:
        return claim.status
    # A guarantee is not proved for the draws of a foreign subclass, and only nearly for draws in floating point.
    return find_weakest_status(claim.status, PROVED_IDEAL if mechanism.is_builtin else "claimed")
