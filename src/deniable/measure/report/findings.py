"""The results of a survey: frozen records, and their numbers as JSON."""

import dataclasses
from typing import Any, Self

import numpy as np

from deniable.core.guarantees import Status, encode_nonfinite_numbers
from deniable.measure.authorship import AuthorshipResult
from deniable.measure.entities.survival import EntitySurvival
from deniable.measure.intervals import Estimate
from deniable.measure.recovery import RecoveryResult
from deniable.measure.report.advice import Advice, EpsilonFigures
from deniable.measure.report.examples import RowExample
from deniable.measure.roc import MembershipResult
from deniable.measure.similarity import TextSimilarity
from deniable.measure.utility import UtilityResult
from deniable.text.certificate import Certificate
from deniable.words.outcomes import Outcomes

_OMITTED_FIELDS = {"examples", "false_positive_rates", "true_positive_rates"}
"""Fields that `SurveyResult.to_dict` leaves out: private text, and curves of hundreds of points."""


@dataclasses.dataclass(frozen=True)
class GuaranteeSummary:
    """The guarantee at one epsilon.

    Attributes:
        asked: claimed epsilon per unit of distance.
        proven: upper bound on the true epsilon; None where none is known for the arithmetic of the draws.
        least: lower bound on the true epsilon.
        status: status of the claim in its certificate: the weaker of those of its theorem and its verification.
        method: method of the verification.
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
        """Return the guarantee of a certificate."""
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
    """All measures at one epsilon.

    Attributes:
        epsilon: claimed per unit of distance, as its guarantee says.
        mechanism: name of the mechanism.
        promise: the guarantee.
        outcomes: what words become by their frequency, under the public prior; None where no law is known.
        expected: expected share of unchanged words, for words that follow the public prior.
        public: attack on words that follow that prior; it tells nothing of this table.
        alone: attack on this table's private words, one at a time.
        context: attack on this table's private words by an attacker with a language model; None where there are no
            texts to train it on.
        similarity: similarity of the private texts to their originals.
        utility: scores of classifiers; None without labels.
        membership: attacks on a classifier trained on the private records, by an attacker who has the ``original``
            records and by one who has the ``private`` ones. Empty without labels.
        authorship: attacks on authorship; None without authors.
        entities: labelled words that come out; None without labelled spans.
        examples: rows before and after.
    """

    epsilon: float
    mechanism: str
    promise: GuaranteeSummary
    outcomes: Outcomes | None
    expected: Estimate
    public: RecoveryResult
    alone: RecoveryResult
    context: RecoveryResult | None
    similarity: TextSimilarity
    utility: UtilityResult | None
    membership: dict[str, MembershipResult]
    authorship: AuthorshipResult | None
    entities: EntitySurvival | None
    examples: tuple[RowExample, ...]

    @property
    def strongest_recovery(self) -> Estimate:
        """Share of this table's words that the better of its two attackers guesses, as far as is certain.

        The attackers may have tried different numbers of words: the share that counts is the one that may be highest.
        """
        shares = [attack.share for attack in (self.alone, self.context) if attack is not None]
        return max(shares, key=lambda share: share.high)

    @property
    def deciding_figures(self) -> EpsilonFigures:
        """What the advice is made from."""
        is_refuted = self.promise.status == "refuted"
        record = self.promise.record
        whole_record = None if record is None else (record["words"], record["pure"]["epsilon"])
        return EpsilonFigures(self.epsilon, self.strongest_recovery, is_refuted, self.utility, whole_record)


@dataclasses.dataclass(frozen=True)
class TableSummary:
    """The table that was measured.

    Attributes:
        rows: number of measured rows.
        whole: number of rows of the whole table; where it is larger, the measured ones are a sample.
        empty: number of rows without text, which are kept.
        words: number of words in all rows.
        unknown: number of words that the vocabulary lacks.
        median: number of words of the row of median length.
        longest: number of words of the longest row.
        learned: number of rows that classifiers are trained on; 0 without labels.
        unlabelled: number of rows without a label; 0 where no labels were given.
        alone: number of rows whose class no other row has.
        classes: number of classes; 0 without labels.
    """

    rows: int
    whole: int
    empty: int
    words: int
    unknown: int
    median: int
    longest: int
    learned: int
    unlabelled: int
    alone: int
    classes: int


@dataclasses.dataclass(frozen=True)
class SurveyResult:
    """All measures of one table.

    Attributes:
        table: the measured table.
        space: source, words, dimensions, metric and fingerprint of the vocabulary.
        readings: one result for each epsilon, ascending.
        prior: name of the public prior, such as "Zipf's law by the space's ranks".
        blind: share of words that a guess without any output is right about, under that prior.
        advice: whether a measured epsilon gives both protection and use, and what to do.
        originals: the membership attack on a classifier trained on the original records; None without labels.
        not_protected: what private text shows of the original in any case.
        about: versions, sizes and seconds of the survey.
    """

    table: TableSummary
    space: dict[str, Any]
    readings: tuple[EpsilonResult, ...]
    prior: str
    blind: float
    advice: Advice
    originals: MembershipResult | None
    not_protected: tuple[str, ...]
    about: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON values, without examples, so that no text of the table is among them."""
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
