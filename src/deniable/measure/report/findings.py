"""What a survey of a table found: frozen records, and their numbers as JSON can hold them."""

import dataclasses
from typing import Any, Self

import numpy as np

from deniable.core.evidence import encode_nonfinite_numbers
from deniable.core.guarantees import Status
from deniable.core.intervals import Estimate
from deniable.measure.authorship import AuthorshipResult
from deniable.measure.batches import RowExample
from deniable.measure.recovery import RecoveryResult
from deniable.measure.roc import MembershipResult
from deniable.measure.similarity import TextSimilarity
from deniable.measure.utility import UtilityResult
from deniable.text.certificate import Certificate

_OMITTED_FIELDS = {"examples", "false_positive_rates", "true_positive_rates"}
"""Fields that `SurveyResult.to_dict` leaves out: private text, and curves of hundreds of points."""


@dataclasses.dataclass(frozen=True)
class GuaranteeSummary:
    """What is guaranteed at one epsilon.

    Attributes:
        asked: epsilon per unit of distance, as the mechanism claims it.
        proven: upper bound on the true one; None where none is known for the arithmetic of the draws.
        least: lower bound on the true one.
        status: how far the claim is known to be true, as its certificate has it: the weaker of what its theorem and
            its verification say.
        method: how that was found.
        record: for the record of median length the guarantee of all of its words: ``words``, and the
            guarantees ``pure`` and ``approximate``; None where nothing is guaranteed, or it has no words.
        meaning: what one output word can tell, in plain words.
    """

    asked: float
    proven: float | None
    least: float
    status: Status
    method: str
    record: dict[str, Any] | None
    meaning: tuple[str, ...]

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Self:
        """Return what a certificate says."""
        verification = certificate.verification
        upper_bound, is_bounded = verification["epsilon"], verification["status"] in {"proved", "undecided"}
        return cls(
            asked=certificate.guarantee["epsilon"],
            proven=upper_bound if is_bounded and not isinstance(upper_bound, str) else None,
            least=verification["lower_bound"],
            status=certificate.guarantee["status"],
            method=verification["method"],
            record=certificate.documents[0] if certificate.documents else None,
            meaning=tuple(certificate.meaning),
        )


@dataclasses.dataclass(frozen=True)
class EpsilonResult:
    """Everything measured at one epsilon.

    Attributes:
        epsilon: privacy parameter per unit of distance.
        mechanism: its name.
        promise: what is guaranteed.
        expected: share of words that stay as they are where words follow the public prior.
        public: attack on words that follow that prior; it tells nothing of this table.
        alone: attack on this table's private words, one at a time.
        context: attack on this table's private words by an attacker who knows how people write; None where
            there were no texts to learn that from.
        similarity: what is left of the texts.
        utility: of classifiers; None without labels.
        membership: attacks on a classifier trained on the private records: with the ``original`` records in hand,
            and with the ``private`` ones. Empty without labels.
        authorship: attacks on who wrote the texts; None without authors.
        examples: rows as they were and as they became.
    """

    epsilon: float
    mechanism: str
    promise: GuaranteeSummary
    expected: Estimate
    public: RecoveryResult
    alone: RecoveryResult
    context: RecoveryResult | None
    similarity: TextSimilarity
    utility: UtilityResult | None
    membership: dict[str, MembershipResult]
    authorship: AuthorshipResult | None
    examples: tuple[RowExample, ...]

    @property
    def strongest_recovery(self) -> Estimate:
        """Share of this table's words that the better of the two attackers on it names."""
        shares = [attack.share for attack in (self.alone, self.context) if attack is not None]
        return max(shares, key=lambda share: share.value)


@dataclasses.dataclass(frozen=True)
class TableSummary:
    """The table that was measured.

    Attributes:
        rows: that were measured.
        whole: rows of the whole table, of which they are a sample if they are fewer.
        empty: rows without text, which are kept.
        words: in all rows.
        unknown: words that the vocabulary lacks.
        median: words of the row of median length.
        longest: words of the longest row.
        learned: rows that classifiers learn from; 0 without labels.
        alone: rows left out there, which have no label, or whose class has no other row.
        classes: how many; 0 without labels.
    """

    rows: int
    whole: int
    empty: int
    words: int
    unknown: int
    median: int
    longest: int
    learned: int
    alone: int
    classes: int


@dataclasses.dataclass(frozen=True)
class SurveyResult:
    """All measures of one table.

    Attributes:
        table: what was measured.
        space: source, words, dimensions, metric and fingerprint of the vocabulary.
        readings: one an epsilon, ascending.
        prior: what public words follow: "Zipf's law by the space's ranks".
        blind: share of words that a guess without any output names, under that prior.
        originals: the membership attack on a classifier trained on the original records; None without labels.
        not_protected: what private text shows of the original in any case.
        about: how it was measured: versions, sizes, seconds.
    """

    table: TableSummary
    space: dict[str, Any]
    readings: tuple[EpsilonResult, ...]
    prior: str
    blind: float
    originals: MembershipResult | None
    not_protected: tuple[str, ...]
    about: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON can hold them: without examples, so that no text of the table is in it."""
        figures: dict[str, Any] = _to_json_value(dataclasses.asdict(self))
        return figures


def _to_json_value(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {
            f"{name:g}" if isinstance(name, float) else str(name): _to_json_value(item)
            for name, item in value.items()
            if name not in _OMITTED_FIELDS
        }
    if isinstance(value, list | tuple):
        return [_to_json_value(item) for item in value]
    return encode_nonfinite_numbers(value.item() if isinstance(value, np.generic) else value)
