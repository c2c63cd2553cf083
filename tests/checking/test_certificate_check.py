"""A certificate is read by the letter, and what its check is told as, to people and to programs."""

import html
import json
from collections import Counter

import pytest

import deniable as dn
from deniable.checking.certificate_check import describe_caution
from deniable.checking.document import Statements
from deniable.learning.card import CARD_SCHEMA
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


@pytest.mark.parametrize(
    ("document", "tone", "said"),
    [
        (make(tally=dn.Tally(2, 4, Counter([2]))), "good", ""),
        (
            make(tally=dn.Tally(2, 800, Counter([400, 400]))),
            "caution",
            "epsilon of the median record is ",
        ),
        (make(key="seed:1"), "caution", "nothing is protected"),
        ({**make(), "records": -1}, "bad", ""),
    ],
)
def test_what_is_true_is_not_always_good_news(document, tone, said):
    """A certificate is shown in green only where whole records are protected; why not is one sentence on every page."""
    check = dn.check_certificate(document, SPACE)
    assert check.tone == tone
    assert said in check.caution
    assert bool(check.caution) == (tone == "caution")
    page = check.make_report().to_html()
    assert page.count(f'<section class="{tone}">') == 1
    assert html.escape(check.caution) in page
    content = check.to_dict()
    assert (content["tone"], content["caution"]) == (tone, check.caution)


@pytest.mark.parametrize(
    ("changes", "tone", "said"),
    [
        ({}, "good", ""),
        ({"seed": 1}, "caution", "vectors were made from are not protected: they are private texts too: (2, 1e-06)-DP"),
        ({"epsilon": 50.0}, "caution", "(50, 1e-06)-DP"),
        ({"delta": 0.5}, "caution", "(2, 0.5)-DP"),
    ],
)
def test_vectors_of_private_texts_are_protected_too(changes, tone, said):
    """Words may be protected by vectors that show the texts they came from: a page says so before anybody signs."""
    options = dn.VectorOptions(**{"epsilon": 2.0, "delta": 1e-6, **changes})
    space = dn.adapt_vectors(["a cat", "a dog"], SPACE, options).make_space("euclidean", hide=())
    check = dn.check_certificate(make(dn.TEM(space, epsilon=1.0), dn.Tally(2, 4, Counter([2]))), space)
    assert (check.tone, check.overall) == (tone, "recomputed")
    assert said in check.caution


def test_a_large_delta_protects_no_text():
    """Showing every text whole with a chance of a half keeps any epsilon with that delta, and is no good news."""
    check = describe_caution(Statements({"guarantee": {"epsilon": 1.0, "delta": 0.5, "unit": "record"}}))
    assert "delta of one record is 0.5" in check
    assert not describe_caution(Statements({"guarantee": {"epsilon": 1.0, "delta": 1e-5, "unit": "record"}}))


def test_a_refuted_guarantee_protects_nothing():
    """The card of a model whose training breaks its claim says so first, whatever epsilon was claimed."""
    card = {"schema": CARD_SCHEMA, "training records": {"guarantee": "8-DP", "status": "refuted"}}
    assert "refuted" in describe_caution(Statements(card))
    card["training records"]["status"] = "proved"
    assert not describe_caution(Statements(card))


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
    "schema", ["deniable-certificate/10", "deniable-model-card/2", "deniable-synthesis-certificate/2"]
)
def test_nearly_nothing(schema):
    """A document with little more than a schema gives a result or one line."""
    for others in ({}, {"mechanism": []}, {"measurements": {}, "training records": 3, "model": "dp-linear"}):
        check = try_check({"schema": schema, **others})
        assert check is None or check.overall != "recomputed"
