"""Spans that a recognizer finds are privatized by a named operator of Presidio's own engine."""

import dataclasses
import logging

import pytest

import deniable as dn
from tests.engines.helpers import FRESH, KEYED
from tests.refusals import refuses
from tests.text.helpers import MECHANISM

pytest.importorskip("presidio_anonymizer", reason="presidio-anonymizer is not installed")

from presidio_anonymizer import AnonymizerEngine, OperatorConfig, RecognizerResult

from deniable.engines.presidio import anonymize_records, certify_spans
from deniable.text.batches import CellBatch

SPAN = "london paris red blue good bad dog cat"
TEXT = f"call Bo on 555: {SPAN}, and {SPAN} again"
FIRST, SECOND = TEXT.index(SPAN), TEXT.rindex(SPAN)
MASK = {"PHONE": OperatorConfig("mask", {"masking_char": "*", "chars_to_mask": 3, "from_end": False})}


def spans_of(text=TEXT):
    """Return where the span stands twice, and a telephone number."""
    return [
        RecognizerResult("PLACE", FIRST, FIRST + len(SPAN), 0.9),
        RecognizerResult("PLACE", SECOND, SECOND + len(SPAN), 0.9),
        RecognizerResult("PHONE", text.index("555"), text.index("555") + 3, 0.9),
    ]


def draw(record_id, offset, text=SPAN, release=KEYED):
    """Return the private text of a span at a place."""
    cells = dataclasses.replace(CellBatch.of_texts([text], [record_id]), ordinals=[offset])
    return release.privatize_cells(cells).texts[0]


def anonymize_record(engine, text, spans, record_id="7", release=KEYED, **options):
    """Return one record after the engine."""
    ids = None if record_id is None else [record_id]
    return anonymize_records(engine, [text], [spans], release, ids=ids, **options)


def anonymize(release=KEYED, spans=None, record_id=None, **options):
    """Return the record of all tests after the engine."""
    spans = spans_of() if spans is None else spans
    return anonymize_record(AnonymizerEngine(), TEXT, spans, record_id, release, operators=MASK, **options)


def test_each_span_has_noise_of_its_own():
    """Equal spans of a record are drawn apart, each at its place; all else stays; other operators serve beside it."""
    (result,) = anonymize(record_id="7").results
    first, second = draw("7", FIRST), draw("7", SECOND)
    assert first != second
    assert draw("7", 0) == KEYED.batch([SPAN], ["7"]).texts[0]
    assert result.text == f"call Bo on ***: {first}, and {second} again"
    assert {(item.operator, item.entity_type, item.text) for item in result.items} == {
        ("deniable", "PLACE", first),
        ("deniable", "PLACE", second),
        ("mask", "PHONE", "***"),
    }


def test_noise_follows_record_place_and_column():
    """The same record gives the same text again, in any order of spans; another record, column or key another."""
    texts = [
        anonymize(**{"record_id": "7", **options}).results[0].text
        for options in (
            {},
            {"spans": spans_of()[::-1]},
            {"record_id": "8"},
            {"column": "note"},
            {"release": dn.Release(MECHANISM, key="seed:8")},
        )
    ]
    assert texts[0] == texts[1]
    assert len({*texts}) == 4


def test_overlapping_spans_are_drawn_once():
    """Words that two spans have in common are read once: the span with the higher score has them."""
    text = "in london paris tokyo"
    spans = [RecognizerResult("A", 3, 15, 0.9), RecognizerResult("B", 10, 21, 0.5)]
    anonymized = anonymize_record(AnonymizerEngine(), text, spans)
    assert anonymized.results[0].text == f"in {draw('7', 3, 'london paris')}{draw('7', 15, ' tokyo')}"
    assert anonymized.tally.words == 3


def test_whatever_was_found_is_privatized():
    """No place of a span is left as it is where three overlap, and an engine that leaves one out is refused."""
    text = "in london paris tokyo"
    spans = [RecognizerResult(kind, 3, end, score) for kind, end, score in (("A", 9, 0.2), ("B", 14, 0.9))]
    spans += [RecognizerResult("C", 8, 15, 0.5), RecognizerResult("D", 9, 21, 0.2)]
    (result,) = anonymize_record(AnonymizerEngine(), text, spans).results
    assert sum(draw("7", place, word) in result.text for place, word in ((3, "london pari"), (15, " tokyo"))) == 2

    class ForgetfulEngine(AnonymizerEngine):
        def anonymize(self, text, spans, *args, **options):
            return super().anonymize(text, spans[:1], *args, **options)

    with refuses("presidio-anonymizer"):
        anonymize_record(ForgetfulEngine(), TEXT, spans_of())


def test_records_are_counted_each_once():
    """The counts are those of the private spans, record by record, and the certificate says what it leaves."""
    texts, spans = [TEXT, "nothing here"], [spans_of(), []]
    anonymized = anonymize_records(AnonymizerEngine(), texts, spans, KEYED, ids=["7", "8"], operators=MASK)
    assert anonymized.results[1].text == "nothing here"
    drawn = f"{draw('7', FIRST)} {draw('7', SECOND)}".split()
    changed = sum(word != old for word, old in zip(drawn, (f"{SPAN} " * 2).split(), strict=True))
    tally = anonymized.tally
    assert (tally.records, tally.words, tally.lengths, tally.changed) == (2, 16, {16: 1, 0: 1}, changed)
    certificate = certify_spans(KEYED, tally)
    assert (certificate.records, certificate.words) == (2, 16)
    assert len(certificate.not_protected) > len(dn.Certificate.of(KEYED, tally).not_protected)


def test_fresh_noise_must_be_asked_for():
    """Without a key each span is drawn anew, and is refused unless it is asked for."""
    with refuses("fresh=True"):
        anonymize(FRESH, record_id="7")
    assert anonymize(FRESH, fresh=True).results[0].text != anonymize(FRESH, fresh=True).results[0].text


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize(
    ("texts", "spans", "ids", "value"),
    [
        ("ab", [[], []], ["7", "8"], "str"),
        (["good", None], [[], []], ["7", "8"], "without"),
        (["good", 5], [[], []], ["7", "8"], "row 1"),
        ([TEXT, TEXT], [spans_of(), spans_of()], ["7", "7"], "'7'"),
        ([TEXT, TEXT], [spans_of(), spans_of()], None, "id"),
        ([TEXT, TEXT], [spans_of(), spans_of()], ["7"], "1 for 2"),
        ([TEXT, TEXT], [spans_of()], ["7", "8"], "1"),
    ],
)
def test_records_that_are_none_are_refused(texts, spans, ids, value):
    """What is no text, no span or no id is named in one line before the first draw."""
    with refuses(value):
        anonymize_records(AnonymizerEngine(), texts, spans, KEYED, ids=ids)


def test_neither_key_nor_text_is_logged(caplog):
    """What Presidio logs and shows of its configuration has neither the key nor a private text."""
    key = bytes(range(100, 132))
    release = dn.Release(MECHANISM, key=key)
    with caplog.at_level(logging.DEBUG):
        anonymize(release, record_id="7")
    assert caplog.text
    assert not any(secret in caplog.text for secret in ("london", key.hex(), repr(key)[2:-1]))
