"""Spans that a recognizer finds are privatized by a named operator of Presidio's own engine."""

import logging
import subprocess
import sys
from collections import Counter

import pytest

from deniable import InputError, Release
from deniable.text.batches import Tally, TextCell
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM

pytest.importorskip("presidio_anonymizer", reason="presidio-anonymizer is not installed")

from presidio_anonymizer import AnonymizerEngine, OperatorConfig, RecognizerResult

from deniable.engines.presidio import (
    DeniableOperator,
    anonymize_record,
    anonymize_records,
    certify_spans,
    register_operator,
)

FRESH = Release(MECHANISM)
SPAN = "london paris red blue good bad dog cat"
TEXT = f"call Bo on 555: {SPAN}, and {SPAN} again"
FIRST, SECOND = TEXT.index(SPAN), TEXT.rindex(SPAN)


def spans_of(text=TEXT):
    """Return where the span stands twice, and a telephone number."""
    return [
        RecognizerResult("PLACE", FIRST, FIRST + len(SPAN), 0.9),
        RecognizerResult("PLACE", SECOND, SECOND + len(SPAN), 0.9),
        RecognizerResult("PHONE", text.index("555"), text.index("555") + 3, 0.9),
    ]


def draw(record_id, offset, text=SPAN, column="text", release=KEYED):
    """Return what the release gives for a text at a place."""
    return release.privatize_cells([TextCell(record_id, column, offset, text)]).texts[0]


MASK = {"PHONE": OperatorConfig("mask", {"masking_char": "*", "chars_to_mask": 3, "from_end": False})}


def test_each_span_has_noise_of_its_own():
    """Equal spans of a record are drawn apart, each at its place; all else stays; other operators serve beside it."""
    anonymized = anonymize_record(AnonymizerEngine(), TEXT, spans_of(), KEYED, record_id="7", operators=MASK)
    (result,) = anonymized.results
    first, second = draw("7", FIRST), draw("7", SECOND)
    assert first != second
    assert result.text == f"call Bo on ***: {first}, and {second} again"
    assert {(item.operator, item.entity_type, item.text) for item in result.items} == {
        ("deniable", "PLACE", first),
        ("deniable", "PLACE", second),
        ("mask", "PHONE", "***"),
    }


def test_noise_follows_record_place_and_column():
    """The same record gives the same text again; another record, column or key, or a longer beginning, another."""
    engine = AnonymizerEngine()

    def run(**options):
        options = {"record_id": "7", "release": KEYED, **options}
        return anonymize_record(engine, TEXT, spans_of(), operators=MASK, **options).results[0].text

    assert run() == run()
    assert len({run(), run(record_id="8"), run(column="note"), run(release=Release(MECHANISM, key="seed:8"))}) == 4
    shuffled = anonymize_record(engine, TEXT, spans_of()[::-1], KEYED, record_id="7", operators=MASK)
    assert shuffled.results[0].text == run()


def test_overlapping_spans_are_drawn_once():
    """Words that two spans have in common are read once: the span with the higher score has them."""
    text = "in london paris tokyo"
    spans = [RecognizerResult("A", 3, 15, 0.9), RecognizerResult("B", 10, 21, 0.5)]
    anonymized = anonymize_record(AnonymizerEngine(), text, spans, KEYED, record_id="7")
    assert anonymized.results[0].text == f"in {draw('7', 3, 'london paris')}{draw('7', 15, ' tokyo')}"
    assert anonymized.tally.words == 3


def test_whatever_was_found_is_privatized():
    """No place of a span is left as it is where three overlap, and an engine that leaves one out is refused."""
    text = "in london paris tokyo"
    spans = [RecognizerResult(kind, 3, end, score) for kind, end, score in (("A", 9, 0.2), ("B", 14, 0.9))]
    spans += [RecognizerResult("C", 8, 15, 0.5), RecognizerResult("D", 9, 21, 0.2)]
    (result,) = anonymize_record(AnonymizerEngine(), text, spans, KEYED, record_id="7").results
    assert sum(draw("7", place, word) in result.text for place, word in ((3, "london pari"), (15, " tokyo"))) == 2

    class ForgetfulEngine(AnonymizerEngine):
        def anonymize(self, text, spans, *args, **options):
            return super().anonymize(text, spans[:1], *args, **options)

    with pytest.raises(InputError, match=r"leaves out a part of the spans .* install presidio-anonymizer"):
        anonymize_record(ForgetfulEngine(), TEXT, spans_of(), KEYED, record_id="7")


@pytest.mark.parametrize(
    ("texts", "spans", "message"),
    [
        ("ab", [[], []], "A batch is a list of texts. Got one str"),
        (["good", None], [[], []], "Each record needs a text. Got 1 without"),
        (["good", 5], [[], []], "Texts must be str or None. Got int in row 1"),
        (["good", "bad"], [[], None], "Each text has a list of Presidio's RecognizerResult"),
        (["good", "bad"], [[], [("PLACE", 0, 3)]], "Each text has a list of Presidio's RecognizerResult"),
    ],
)
def test_records_that_are_none_are_refused(monkeypatch, texts, spans, message):
    """What is no text or no span is named in one line before the first draw."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(InputError, match=message):
        anonymize_records(AnonymizerEngine(), texts, spans, KEYED, ids=["7", "8"])


def test_records_are_counted_each_once():
    """The counts are those of the private spans, record by record, and the certificate says what it leaves."""
    texts, spans = [TEXT, "nothing here"], [spans_of(), []]
    anonymized = anonymize_records(AnonymizerEngine(), texts, spans, KEYED, ids=["7", "8"], operators=MASK)
    assert anonymized.results[1].text == "nothing here"
    batch = KEYED.privatize_cells([TextCell("7", "text", FIRST, SPAN), TextCell("7", "text", SECOND, SPAN)])
    assert anonymized.tally == Tally.count([16], batch) + Tally(records=1, lengths=Counter([0]))
    certificate = certify_spans(KEYED, anonymized.tally)
    assert certificate.records == 2
    assert "whatever the recognizer missed" in certificate.not_protected[0]


def test_the_operator_serves_the_plain_engine():
    """Registered under its name, it takes release, record id and offset; equal names share their noise."""
    engine = AnonymizerEngine()
    register_operator(engine)
    assert "deniable" in engine.get_anonymizers()
    tallies = []
    parameters = {"release": KEYED, "record_id": "7", "offset": 3, "tallies": tallies}
    config = {"PLACE": OperatorConfig("deniable", parameters), **MASK}
    result = engine.anonymize(TEXT, spans_of(), config)
    assert result.text == f"call Bo on ***: {draw('7', 3)}, and {draw('7', 3)} again"
    assert [tally.words for tally in tallies] == [8, 8]


def test_fresh_noise_must_be_asked_for():
    """Without a key each span is drawn anew, and is refused unless it is asked for."""
    engine = AnonymizerEngine()
    with pytest.raises(InputError, match="fresh=True"):
        anonymize_record(engine, TEXT, spans_of(), FRESH, record_id="7")
    one, other = (
        anonymize_record(engine, TEXT, spans_of(), FRESH, fresh=True, operators=MASK).results[0].text for _ in "ab"
    )
    assert one != other


def test_ids_are_checked_before_the_first_draw(monkeypatch):
    """Repeated, missing and too few ids are refused before a span is drawn."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    texts, spans = [TEXT, TEXT], [spans_of(), spans_of()]
    for ids, message in ((["7", "7"], "must be unique"), (None, "name the column"), (["7"], "one record id per text")):
        with pytest.raises(InputError, match=message):
            anonymize_records(AnonymizerEngine(), texts, spans, KEYED, ids=ids)
    with pytest.raises(InputError, match="Got 1 lists for 2 texts"):
        anonymize_records(AnonymizerEngine(), texts, spans[:1], KEYED, ids=["7", "8"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"release": None}, "'release' parameter .* must be a Release. Got NoneType"),
        ({"release": b"private key"}, "'release' parameter .* Got bytes"),
        ({"release": FRESH}, "fresh=True"),
        ({"record_id": None}, "'record_id' parameter .* Got NoneType"),
        ({"record_id": 7}, "'record_id' parameter .* Got int"),
        ({"offset": None}, "'offset' parameter .* Got NoneType"),
        ({"offset": -1}, "'offset' parameter .* Got a negative number"),
        ({"column": 1}, "'column' parameter"),
        ({"tallies": ()}, "'tallies' parameter"),
        ({"key": b"private key"}, "has no parameter 'key'"),
    ],
)
def test_wrong_parameters_are_named_in_one_line(changes, message):
    """Whatever is missing or of another kind is named, and no value is shown."""
    engine = AnonymizerEngine()
    register_operator(engine)
    parameters = {"release": KEYED, "record_id": "7", "offset": 0, **changes}
    with pytest.raises(InputError, match=message) as caught:
        engine.anonymize(TEXT, spans_of(), {"DEFAULT": OperatorConfig("deniable", parameters)})
    assert "\n" not in str(caught.value)
    assert "private" not in str(caught.value)
    assert "london" not in str(caught.value)


def test_neither_key_nor_text_is_logged(caplog):
    """What Presidio logs and shows of its configuration has neither the key nor a private text."""
    key = bytes(range(100, 132))
    release = Release(MECHANISM, key=key)
    with caplog.at_level(logging.DEBUG):
        anonymize_record(AnonymizerEngine(), TEXT, spans_of(), release, record_id="7")
    config = OperatorConfig("deniable", {"release": release, "record_id": "7", "offset": 0})
    assert caplog.text
    for shown in (caplog.text, repr(config), repr(DeniableOperator())):
        assert "london" not in shown
        assert key.hex() not in shown
        assert repr(key)[2:-1] not in shown


def test_odd_texts_pass():
    """Scripts of other directions, emoji, NULs and lone surrogates are read as in a batch."""
    span = "red \u202e👩‍👩‍👧\0 שלום \ud800 blue"
    text = f"> {span} <"
    anonymized = anonymize_record(
        AnonymizerEngine(), text, [RecognizerResult("X", 2, 2 + len(span), 1.0)], KEYED, record_id="7"
    )
    assert anonymized.results[0].text == f"> {draw('7', 2, span)} <"


def test_a_missing_presidio_is_named():
    """One line names what to install."""
    code = "import sys; sys.modules['presidio_anonymizer'] = None\nimport deniable.engines.presidio"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "deniable.engines.presidio needs presidio-anonymizer, which is missing: install deniable[presidio]."
    )
