"""Presidio: the spans that a recognizer finds in a text are privatized, by a named operator of Presidio's anonymizer.

Only what the recognizer finds is privatized. All other text stays as it is, and so does what it misses: where a whole
text is private, privatize the whole text.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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

OPERATOR_NAME = "deniable"
_HOST = "Presidio"
_PARAMETERS = ("release", "record_id", "offset", "column", "fresh", "tallies", "entity_type")
"""What the operator takes; Presidio adds the last one."""


class DeniableOperator(Operator):  # type: ignore[misc] # Presidio's class need not be known
    """Privatizes a span of a text: ``OperatorConfig("deniable", parameters)``, after `register_operator`.

    Presidio tells an operator neither the record nor the place of a span, by which its noise is named; so both are
    parameters. `anonymize_record` fills them in for every span of a record, which Presidio alone does not: one
    configuration serves all spans of one entity type, and two spans with one text and one name have one outcome.

    Parameters:

    - ``release``: a `Release`;
    - ``record_id``: public id of the record, a text; not needed with ``fresh``;
    - ``offset``: number of characters before the span, int, or an iterator that yields that of each span in turn;
    - ``column``: name of the column that the text is from, by default ``text``;
    - ``fresh``: True for a release without a key, which draws new noise whenever it is asked;
    - ``tallies``: a list to which the `Tally` of each span is added, for the owner only.
    """

    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """Return the text of a span privatized.

        Raises:
            InputError: a parameter is missing or unknown, or the key cannot be read.
        """
        parameters = _check_parameters(params)
        offset = parameters["offset"]
        record_id = parameters.get("record_id")
        cells = dataclasses.replace(
            CellBatch.of_texts([text], ["" if record_id is None else check_record_ids([record_id], 1)[0]]),
            columns=[parameters.get("column", DEFAULT_COLUMN)],
            ordinals=[next(offset) if isinstance(offset, Iterator) else offset],
        )
        batch = parameters["release"].privatize_cells(cells)
        if parameters.get("tallies") is not None:
            parameters["tallies"].append(Tally.count(batch.lengths, batch))
        new_text: str = batch.texts[0]
        return new_text

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Check the parameters.

        Raises:
            InputError: one is missing, unknown or of another kind. The message shows no value: it may be private.
        """
        _check_parameters(params)

    def operator_name(self) -> str:
        """Return the name that a configuration gives."""
        return OPERATOR_NAME

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


def register_operator(engine: AnonymizerEngine) -> None:
    """Make the operator known to an engine under its name."""
    engine.add_anonymizer(DeniableOperator)


def anonymize_record(
    engine: AnonymizerEngine,
    text: str,
    analyzer_results: Sequence[RecognizerResult],
    release: Release,
    *,
    record_id: str | None = None,
    column: str = DEFAULT_COLUMN,
    fresh: bool = False,
    operators: Mapping[str, OperatorConfig] | None = None,
) -> AnonymizedRecords:
    """Return a record with the spans that a recognizer found privatized, each with noise of its own.

    The noise of a span is named by the record, the column and the number of characters before it. Under a key the
    same record gives the same result; two equal spans of a record have noise of their own. Where spans overlap, the one
    with the higher score keeps the overlap, so that no word is drawn twice.

    Args:
        engine: Presidio's anonymizer.
        text: of the record.
        analyzer_results: the spans, from Presidio's analyzer or another recognizer.
        release: how texts are released.
        record_id: public id of the record, unique in the data set; needed with a key.
        column: name of the column that the text is from.
        fresh: True for a release without a key, which draws new noise whenever it is asked.
        operators: other operators for some entity types; every other span is privatized.

    Raises:
        InputError: the release does not suit, an id is missing, or the key cannot be read.
    """
    ids = None if record_id is None else [record_id]
    return anonymize_records(
        engine, [text], [analyzer_results], release, ids=ids, column=column, fresh=fresh, operators=operators
    )


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
    """Return records with the spans that a recognizer found privatized; see `anonymize_record`.

    Args:
        engine: see `anonymize_record`.
        texts: one for each record.
        analyzer_results: the spans of each record.
        release: see `anonymize_record`.
        ids: one public id for each record, unique in the data set; needed with a key.
        column: see `anonymize_record`.
        fresh: see `anonymize_record`.
        operators: see `anonymize_record`.

    Raises:
        InputError: the release does not suit, a text is missing, ids are missing or repeated, or the key cannot be
            read.
    """
    check_repeatable(_HOST, release, has_ids=ids is not None, fresh=fresh, is_pickled=False)
    records = [text for text in read_batch_texts(texts) if text is not None]
    if len(records) < len(texts):
        raise InputError(f"Each record needs a text. Got {len(texts) - len(records)} without: leave them out.")
    if len(records) != len(analyzer_results):
        raise InputError(
            f"Each text has a list of recognizer results. Got {len(analyzer_results)} lists for {len(records)} texts."
        )
    # All ids are checked before the first draw.
    names = [{}] * len(records) if ids is None else [{"record_id": one} for one in check_record_ids(ids, len(records))]
    if OPERATOR_NAME not in engine.get_anonymizers():
        register_operator(engine)
    results, tally = [], Tally()
    for spans in analyzer_results:
        if not isinstance(spans, Sequence) or not all(hasattr(span, "entity_type") for span in spans):
            raise InputError(
                "Each text has a list of Presidio's RecognizerResult. Got something else: pass [] for none."
            )
    for text, spans, name in zip(records, analyzer_results, names, strict=True):
        parameters = {"release": release, "column": column, "fresh": fresh, **name}
        result, counts = _anonymize(engine, text, spans, parameters, dict(operators or {}))
        results.append(result)
        tally += counts
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


def _anonymize(
    engine: AnonymizerEngine,
    text: str,
    spans: Sequence[RecognizerResult],
    parameters: Mapping[str, Any],
    operators: dict[str, OperatorConfig],
) -> tuple[EngineResult, Tally]:
    """Return what becomes of one record, and its counts."""
    offsets: dict[str, list[int]] = {}
    places = {place for span in spans for place in range(span.start, span.end)}
    for span in _run_engine(engine, text, spans, {"DEFAULT": OperatorConfig("keep")}).items:
        places -= set(range(span.start, span.end))
        offsets.setdefault(span.entity_type, []).append(span.start)
    if places:  # versions before 2.2.365 do so where three spans overlap
        raise InputError(
            "Presidio leaves out a part of the spans that were found, which would stay as it is: install "
            "presidio-anonymizer 2.2.365 or a later one."
        )
    tallies: list[Tally] = []
    for entity_type in offsets.keys() - operators.keys():
        # The engine works from the end of a text to its beginning.
        starts = iter(sorted(offsets[entity_type], reverse=True))
        operators[entity_type] = OperatorConfig(OPERATOR_NAME, {**parameters, "offset": starts, "tallies": tallies})
    result = _run_engine(engine, text, spans, operators)
    total = sum(tallies, Tally())
    return result, dataclasses.replace(total, records=1, lengths=Counter([total.words]))


def _run_engine(
    engine: AnonymizerEngine, text: str, spans: Sequence[RecognizerResult], operators: dict[str, OperatorConfig]
) -> EngineResult:
    """Run Presidio on spans of which no two overlap: what two of them have in common would be drawn twice."""
    return engine.anonymize(
        text, list(spans), operators, conflict_resolution=ConflictResolutionStrategy.REMOVE_INTERSECTIONS
    )


def _check_parameters(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the parameters of the operator, checked."""
    parameters = params or {}
    unknown = [name for name in parameters if name not in _PARAMETERS]
    if unknown:
        raise InputError(f"The operator 'deniable' has no parameter {unknown[0]!r}: it takes {', '.join(_PARAMETERS)}.")
    release, fresh = parameters.get("release"), parameters.get("fresh", False)
    if not isinstance(release, Release):
        raise InputError(
            f"The 'release' parameter of the operator 'deniable' must be a Release. Got {type(release).__name__}."
        )
    check_repeatable(_HOST, release, has_ids=True, fresh=fresh, is_pickled=False)
    if "record_id" in parameters or not fresh:
        _check_kind("record_id", parameters.get("record_id"), str, "the record's public id, a str")
    _check_kind("offset", parameters.get("offset"), (int, Iterator), "the number of characters before the span")
    _check_kind("column", parameters.get("column", DEFAULT_COLUMN), str, "the name of a column, a str")
    _check_kind("tallies", parameters.get("tallies"), (list, type(None)), "a list")
    return parameters


def _check_kind(name: str, value: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raise `InputError` unless a parameter is of a kind; the message never shows its value."""
    is_of_kind = isinstance(value, kind)
    if not is_of_kind or (isinstance(value, int) and value < 0):
        got = "a negative number" if is_of_kind else type(value).__name__
        raise InputError(f"The {name!r} parameter of the operator 'deniable' must be {expected}. Got {got}.")
