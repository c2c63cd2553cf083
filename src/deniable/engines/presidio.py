"""Presidio: the spans that a recognizer finds in a text are privatized, by an operator of Presidio's anonymizer.

Only what the recognizer finds is privatized. All other text stays as it is, and so does what it misses: where a whole
text is private, privatize the whole text.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from deniable.core.errors import InputError
from deniable.engines.tasks import check_repeatable
from deniable.text.batches import DEFAULT_COLUMN, CellBatch, Tally, check_record_ids, read_batch_texts
from deniable.text.certificate import Certificate
from deniable.text.release import Release

try:
    from presidio_anonymizer import AnonymizerEngine, ConflictResolutionStrategy
    from presidio_anonymizer.entities import EngineResult, OperatorConfig, RecognizerResult
    from presidio_anonymizer.operators import Operator, OperatorType
except ImportError:
    raise InputError(
        "deniable.engines.presidio needs presidio-anonymizer, which is missing: install deniable[presidio]."
    ) from None

_OPERATOR_NAME = "deniable"


class _SpanOperator(Operator):  # type: ignore[misc] # Presidio's class need not be known
    """Puts private texts in the place of spans: ``new_texts`` yields them in the order in which Presidio asks."""

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:  # noqa: ARG002 - it is drawn already
        """Return the private text of a span."""
        new_text: str = next((params or {})["new_texts"])
        return new_text

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Take any parameters: they are of this module."""

    def operator_name(self) -> str:
        """Return the name that a configuration gives."""
        return _OPERATOR_NAME

    def operator_type(self) -> OperatorType:
        """Return that it anonymizes."""
        return OperatorType.Anonymize


@dataclasses.dataclass(frozen=True)
class AnonymizedRecords:
    """Records whose spans were privatized.

    Attributes:
        results: what Presidio gives for each record: its new text, and the new spans with their places.
        tally: counts over the privatized spans, record by record; for the owner, and for `certify_spans`.
    """

    results: list[EngineResult]
    tally: Tally


def anonymize_records(
    engine: AnonymizerEngine,
    texts: Sequence[str],
    analyzer_results: Sequence[Sequence[RecognizerResult]],
    release: Release,
    *,
    ids: Sequence[str] | None = None,
    column: str = DEFAULT_COLUMN,
    fresh: bool = False,
    operators: Mapping[str, OperatorConfig] | None = None,
) -> AnonymizedRecords:
    """Return records with the spans that a recognizer found privatized, each with noise of its own.

    The noise of a span is named by the record, the column and the number of characters before it. Under a key the
    same record gives the same result; two equal spans of a record have noise of their own. Where spans overlap, the one
    with the higher score keeps the overlap, so that no word is drawn twice.

    Args:
        engine: Presidio's anonymizer.
        texts: one for each record.
        analyzer_results: the spans of each record, from Presidio's analyzer or another recognizer.
        release: how texts are released.
        ids: one public id for each record, unique in the data set; needed with a key.
        column: name of the column that the texts are from.
        fresh: True for a release without a key, which draws new noise whenever it is asked.
        operators: other operators for some entity types; every other span is privatized.

    Raises:
        InputError: the release does not suit, a text is missing, ids are missing or repeated, or the key cannot be
            read.
    """
    check_repeatable("Presidio", release, has_ids=ids is not None, fresh=fresh, is_pickled=False)
    records = [text for text in read_batch_texts(texts) if text is not None]
    if len(records) < len(texts):
        raise InputError(f"Each record needs a text. Got {len(texts) - len(records)} without: leave them out.")
    if len(records) != len(analyzer_results):
        raise InputError(
            f"Each text has a list of recognizer results. Got {len(analyzer_results)} lists for {len(records)} texts."
        )
    # All ids are checked before the first draw.
    record_ids = [""] * len(records) if ids is None else check_record_ids(ids, len(records))
    engine.add_anonymizer(_SpanOperator)
    results, tally = [], Tally()
    for text, spans, record_id in zip(records, analyzer_results, record_ids, strict=True):
        found = _resolve_spans(engine, text, spans)
        private = [span for span in found if span.entity_type not in (operators or {})]
        cells = dataclasses.replace(
            CellBatch.of_texts([text[span.start : span.end] for span in private], [record_id] * len(private)),
            columns=[column] * len(private),
            ordinals=[span.start for span in private],
        )
        batch = release.privatize_cells(cells)
        own = OperatorConfig(_OPERATOR_NAME, {"new_texts": iter(batch.texts)})
        kinds = dict.fromkeys((span.entity_type for span in private), own)
        results.append(_run_engine(engine, text, spans, {**kinds, **(operators or {})}))
        tally += Tally.count([sum(batch.lengths)], batch)
    return AnonymizedRecords(results, tally)


def certify_spans(release: Release, tally: Tally) -> Certificate:
    """Return the certificate of records of which only the spans that were found are privatized; it says so.

    Args:
        release: how the spans were released.
        tally: of all records, see `AnonymizedRecords`.
    """
    certificate = Certificate.of(release, tally)
    limits = (
        "all text outside the spans that the recognizer found, and with it whatever the recognizer missed",
        "number, places and entity types of those spans",
        "spans given to other operators: this certificate says nothing of them",
    )
    return dataclasses.replace(certificate, not_protected=[*limits, *certificate.not_protected])


def _resolve_spans(engine: AnonymizerEngine, text: str, spans: Sequence[RecognizerResult]) -> list[Any]:
    """Return the spans of a text of which no two overlap, the last one first, as the engine asks for them."""
    found = _run_engine(engine, text, spans, {"DEFAULT": OperatorConfig("keep")}).items
    places = {place for span in spans for place in range(span.start, span.end)}
    if places.difference(*(range(span.start, span.end) for span in found)):  # where three overlap, before 2.2.365
        raise InputError(
            "Presidio leaves out a part of the spans that were found, which would stay as it is: install "
            "presidio-anonymizer 2.2.365 or a later one."
        )
    return sorted(found, key=lambda span: span.start, reverse=True)


def _run_engine(
    engine: AnonymizerEngine, text: str, spans: Sequence[RecognizerResult], operators: dict[str, OperatorConfig]
) -> EngineResult:
    """Run Presidio on spans of which no two overlap: what two of them have in common would be drawn twice."""
    return engine.anonymize(
        text, list(spans), operators, conflict_resolution=ConflictResolutionStrategy.REMOVE_INTERSECTIONS
    )
