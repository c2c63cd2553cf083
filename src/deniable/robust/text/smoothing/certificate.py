"""Certificates of a classifier of texts whose words a metric-DP mechanism replaces before it sees them."""

import dataclasses
import math
from collections.abc import Sequence

from deniable.auditing import limit_standing, verify
from deniable.errors import InputError
from deniable.guarantees import MetricDP
from deniable.measure.estimate import CONFIDENCE, Estimate
from deniable.robust.certificates.accuracy import certified_accuracy
from deniable.robust.certificates.intervals import both, chosen, complement
from deniable.robust.certificates.tally import Tally
from deniable.robust.text.documents import Texts, Words
from deniable.robust.text.network import Scorer
from deniable.robust.text.smoothing.bounds import changes_by_renyi, changes_by_responses, most_loss
from deniable.robust.text.smoothing.costs import Costs, costs
from deniable.robust.text.smoothing.sampling import votes
from deniable.robust.text.substitutions import Substitutions
from deniable.status import IDEAL, Status, weakest
from deniable.words import WordMechanism, law

SELECTION, ESTIMATION = 100, 10_000
"""Draws that choose the class of a text, and others that bound the probabilities of the classes."""
ALPHA = 0.001
_TWO = 2
_LEAST = 2.0**-50
"""Chances nearer to 0 or 1 are taken for this: near 1 float64 cannot tell them from it."""
_INWARD = 1 - 1e-12
"""Covers the few roundings of a distance."""


@dataclasses.dataclass(frozen=True)
class Certified:
    """What is certified of one text.

    Attributes:
        label: the likeliest class of the text and of every text that the certificate covers; None where it abstains.
        distance: every text of the same length is covered whose words are less than this away from the text's own, the
            distances of all positions added up; 0 where it abstains.
        changes: every text is covered that differs in at most so many words, each replaced by one of its replacements;
            the length of the text where all may be; 0 where it abstains.
        words: of the text, L.
        own: lower bound on the chance of the class.
        rival: upper bound on the chance of every other class.
    """

    label: int | None
    distance: float
    changes: int
    words: int
    own: float
    rival: float


@dataclasses.dataclass(frozen=True, eq=False)
class Certificates:
    """What is certified of n texts.

    Attributes:
        texts: (n,) one for each.
        alpha: all that is said of one text is wrong with at most this probability.
        guarantee: what ``distance`` rests on.
        standing: of the guarantee, for what the mechanism draws. Only what is proved is a certificate.
        replacements: what may replace a word within ``changes``.
        source: what ``changes`` rests on.
    """

    texts: tuple[Certified, ...]
    alpha: float
    guarantee: MetricDP
    standing: Status
    replacements: str
    source: str

    def accuracy_at_distances(
        self, labels: Sequence[int], at: Sequence[float], confidence: float = CONFIDENCE
    ) -> list[Estimate]:
        """Return the share of texts that are right, and stay so at each total distance, of the texts' own classes."""
        return certified_accuracy(
            labels, [one.label for one in self.texts], [one.distance for one in self.texts], at, confidence
        )

    def accuracy_at_changes(
        self, labels: Sequence[int], at: Sequence[int], confidence: float = CONFIDENCE
    ) -> list[Estimate]:
        """Return the share of texts that are right, and stay so whichever words are replaced, for each number of words.

        A text with all its words certified is counted at larger numbers too: no more of its words can be replaced.
        """
        least = [math.inf if one.changes == one.words else one.changes + 1 for one in self.texts]
        return certified_accuracy(labels, [one.label for one in self.texts], least, at, confidence)


def certify(
    mechanism: WordMechanism,
    scorer: Scorer,
    held: Texts,
    *,
    key: bytes,
    replacements: Substitutions | None = None,
    guarantee: MetricDP | None = None,
    alpha: float = ALPHA,
    selection: int = SELECTION,
    estimation: int = ESTIMATION,
    workers: int | None = None,
) -> Certificates:
    """Return what is certified of each text; with a certificate goes the smoothed classifier, the likeliest class.

    Args:
        mechanism: that replaces every word, one draw a word.
        scorer: of the classifier that sees the noisy texts.
        held: n texts.
        key: 32 bytes, from which all draws come.
        replacements: what may replace a word within ``changes``; None for any word of the space.
        guarantee: one that was verified for this mechanism and is sharper than its own, which is verified here and
            is the default.
        alpha: in (0, 1), of one text.
        selection: draws that choose the class.
        estimation: draws that bound the probabilities.
        workers: threads.

    Raises:
        InputError: alpha or draws outside their domains, a guarantee about another metric, or what `votes` refuses.
    """
    claim = limit_standing(mechanism.guarantee, verify(mechanism, workers=workers)) if guarantee is None else guarantee
    if claim.metric != mechanism.space.metric.name:
        raise InputError(
            f"The guarantee is about the {claim.metric} metric and the space has the {mechanism.space.metric} metric: "
            "verify it over this space."
        )
    counted = votes(
        mechanism, scorer, held, {"selection": selection, "estimation": estimation}, key=key, workers=workers
    )
    prices = costs(mechanism, held, replacements, guarantee=claim, workers=workers)
    rounding = 2 / law.FLOOR if mechanism.tabulated else 0.0
    found = tuple(
        certified(text, chosen_by, estimated, alpha, claim.epsilon, prices, rounding)
        for text, chosen_by, estimated in zip(held, counted["selection"], counted["estimation"], strict=True)
    )
    return Certificates(found, alpha, claim, standing(mechanism, claim), prices.replacements, prices.source)


def certified(
    text: Words,
    selection: Tally,
    estimation: Tally,
    alpha: float,
    epsilon: float,
    prices: Costs,
    rounding: float = 0.0,
) -> Certified:
    """Return what is certified of one text from the votes on its noisy versions.

    Args:
        text: (L,) words.
        selection: draws that choose the class.
        estimation: other, independent draws, that bound the probabilities.
        alpha: of all that is said.
        epsilon: of the guarantee, per unit of distance.
        prices: what replacing each of the words costs.
        rounding: what the integer tables can add to the loss of a word, nats.

    Raises:
        InputError: alpha outside (0, 1), or tallies of different classes.
    """
    label = chosen(selection, estimation, alpha)
    bounds = complement if len(estimation.votes) == _TWO else both
    own, rival = bounds(estimation, label, alpha)
    return exactly(text, label, own, rival, epsilon, prices, rounding)


def exactly(
    text: Words, label: int, own: float, rival: float, epsilon: float, prices: Costs, rounding: float = 0.0
) -> Certified:
    """Return what is certified of one text whose chances are known, or bounded.

    ``distance``: the draws of different words are independent, so that the losses of the words add up: with words that
    are d_1, ..., d_L away the law of the whole noisy text changes by a factor of at most e^(epsilon (d_1 + ... + d_L)),
    and so does the chance of every event that a classifier makes of it. `most_loss` is the largest such exponent under
    which the class stays the likeliest.

    ``changes``: the same with the largest loss of each word, or its largest Renyi divergences, of the k words for which
    they are largest. Both hold, so that the larger number does.

    Args:
        text: (L,) words.
        label: of the class.
        own: at most its chance.
        rival: at least the chance of every other class.
        epsilon: of the guarantee.
        prices: what replacing each of the words costs.
        rounding: see `certified`.
    """
    own, rival = min(own, 1 - _LEAST), max(rival, _LEAST)
    if own <= rival:
        return Certified(None, 0.0, 0, len(text), own, rival)
    loss = max(most_loss(own, rival) - len(text) * rounding, 0.0)
    losses, divergences = prices.of(text)
    changes = 0 if divergences is None else changes_by_renyi(own, rival, divergences)
    if changes < len(text):
        changes = max(changes, changes_by_responses(own, rival, losses))
    return Certified(label, loss / epsilon * _INWARD, changes, len(text), own, rival)


def standing(mechanism: WordMechanism, claim: MetricDP) -> Status:
    """Return the standing of a certificate that rests on a guarantee of a mechanism."""
    if mechanism.draws_from_law:
        return claim.standing
    # Draws of a subclass's own are not what a guarantee is proved for, and those in floating point only nearly.
    return weakest(claim.standing, IDEAL if mechanism.own else "claimed")
