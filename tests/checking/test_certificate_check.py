"""A certificate is read by the letter, and what its check is told as, to people and to programs."""

import json

import pytest

import deniable as dn
from tests.checking.mutations import list_leaves, try_check
from tests.checking.test_words import make
from tests.refusals import refuses
from tests.text.helpers import SPACE


def test_a_document():
    """Objects, arrays, texts of any script, numbers, truth values and null are read as they stand."""
    fields = {"a": [1, 2.5, -3, None, True, "日本 \u202e"], "b": {"c": {}}, "d": 2**62}
    assert dn.parse_certificate(json.dumps(fields).encode()) == fields
    assert dn.parse_certificate(json.dumps(fields, ensure_ascii=False).encode()) == fields


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"{} {}", "JSON"),
        (b'{"a": 1,}', "JSON"),
        (b"{'a': 1}", "JSON"),
        (b"3", "object"),
        (b"[]", "object"),
        (b'{"a": {"b": 1, "b": 1}}', "'b'"),
        (b'{"a": Infinity}', "Infinity"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1e400}', "finite"),
        (b'{"a": ' + str(2**62 + 1).encode() + b"}", "19 digits"),
        (b'{"a": -' + b"9" * 100_000 + b"}", "100,001 digits"),
        (b'{"a": ' + b"[" * 12 + b"]" * 12 + b"}", "12 deep"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"a": {"' + b"x" * 201 + b'": 1}}', "200 characters"),
        (b'{"a": [[' + b"1," * 200_000 + b"1]]}", "200,000"),
        (b" " * (2**22 + 1), "4,194,304"),
        # The search for a field that is there twice is not quadratic, or this would take hours.
        (b"{" + b", ".join(b'"%d": 0' % number for number in range(199_000)) + b', "7": 0}', "'7'"),
    ],
)
def test_what_no_command_writes(content, value):
    """Each is refused in one line that says what was found."""
    with refuses(value):
        dn.parse_certificate(content)


@pytest.mark.parametrize(
    ("statuses", "unchecked", "signature", "overall"),
    [
        (["recomputed", "stated"], "", "unsigned", "recomputed"),
        (["recomputed", "stated"], "", "valid", "recomputed"),
        (["recomputed"], "", "invalid", "contradicted"),
        (["recomputed"], "no space", "not checked", "stated"),
        (["recomputed", "contradicted"], "no space", "valid", "contradicted"),
    ],
)
def test_the_result_of_all(statuses, unchecked, signature, overall):
    """One contradiction, or an invalid signature, contradicts the whole; without the law it is only stated."""
    fields = tuple(dn.FieldCheck(str(number), 0, status) for number, status in enumerate(statuses))
    check_signature = type(dn.check_certificate(make(), SPACE).signature)
    check = dn.CertificateCheck("a table", {}, fields, unchecked, check_signature(signature, "why"))
    assert check.overall == overall
    assert ("CONTRADICTED" in str(check)) == (overall == "contradicted")


def test_for_programs_and_people():
    """JSON holds every field in order; guarantee, unit and what is not protected are told; a page escapes them."""
    document = make(key="seed:1")
    content = json.loads(dn.check_certificate(document, SPACE).to_json())
    assert (content["overall"], content["kind"]) == ("recomputed", "privatized words")
    assert len(content["fields"]) == len(list_leaves(document))
    assert content["fields"][0] == {"path": "schema", "value": document["schema"], "status": "recomputed", "note": ""}
    check = dn.check_certificate({**document, "<script>": "<script>alert(1)</script>"}, SPACE)
    for part in ("MetricDP, epsilon 1, distance euclidean", "any two words", "'id', 'ward'", "unsigned\n"):
        assert part in str(check)
    page = check.make_report().to_html()
    assert "<script>" not in page.partition("<title>")[2]
    assert "&lt;script&gt;" in page


def test_a_flood_of_fields():
    """A document with very many fields, long ones too, is told in some hundred lines, each of them short."""
    document = {**make(), **{f"{'x' * 2_000}{number}": "y" * 10_000 for number in range(500)}}
    text = str(dn.check_certificate(document, SPACE))
    assert len(text.splitlines()) < 600
    assert max(map(len, text.splitlines())) < 1_000


def test_paths_are_told_apart():
    """Names with dots, brackets, quotes or nothing in them are written so that two fields never share a path."""
    odd = {"a": {"b": 1, "": {"b": 1}}, "a.b": 1, "b": [1], "b[0]": 1, "a b": 1, " a": 1, "": 1, '"': 1, "0": 1}
    fields = dn.check_certificate({**make(), **odd}, SPACE).fields
    assert len({field.path for field in fields}) == len(fields)


@pytest.mark.parametrize("document", [None, [], "{}", b"{}", 3])
def test_what_is_no_document(document):
    """Anything but the fields of a document is refused in one line."""
    with refuses("parse_certificate"):
        dn.check_certificate(document)


@pytest.mark.parametrize(
    "schema", ["deniable-certificate/8", "deniable-model-card/2", "deniable-synthesis-certificate/1"]
)
def test_nearly_nothing(schema):
    """A document with little more than a schema gives a result or one line."""
    for others in ({}, {"mechanism": []}, {"measurements": {}, "training records": 3, "model": "dp-linear"}):
        check = try_check({"schema": schema, **others})
        assert check is None or check.overall != "recomputed"
