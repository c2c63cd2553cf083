"""A checked certificate: what it is told as, to people and to programs."""

import json

import pytest

from deniable import InputError, Space
from deniable.checking import CertificateCheck, FieldCheck, check_certificate
from deniable.checking.certificate_check import CHECK_SCHEMA
from deniable.core.signatures import SignatureCheck
from tests.checking.mutations import list_leaves, try_check
from tests.checking.test_words import make
from tests.text.helpers import SPACE


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
    fields = tuple(FieldCheck(str(number), 0, status) for number, status in enumerate(statuses))
    check = CertificateCheck("a table", {}, fields, unchecked, SignatureCheck(signature, "why"))
    assert check.overall == overall
    assert (f"signature       {signature}" in str(check)) == bool(unchecked)
    assert ("CONTRADICTED" in str(check)) == (overall == "contradicted")


def test_for_programs():
    """JSON holds every field, in the order of the certificate, and nothing that JSON lacks."""
    document = make()
    content = json.loads(check_certificate(document, SPACE).to_json())
    assert (content["schema"], content["overall"], content["kind"]) == (CHECK_SCHEMA, "recomputed", "privatized words")
    assert len(content["fields"]) == len(list_leaves(document))
    assert content["fields"][0] == {
        "path": "schema",
        "value": document["schema"],
        "status": "recomputed",
        "note": "",
    }


def test_for_people():
    """Guarantee, unit, adjacency, verdict and what is not protected come before the fields; a page escapes them."""
    document = make(key="seed:1")
    document["<script>"] = "<script>alert(1)</script>"
    check = check_certificate(document, SPACE)
    text, page = str(check), check.make_report().to_html()
    for part in (
        "MetricDP, epsilon 1, distance euclidean",
        "any two words",
        "verdict        proved: exact over all",
        "the columns copied unchanged: 'id', 'ward'",
        "the certificate itself says that nothing is protected",
        "unsigned\n",
        "who wrote it cannot be told",
    ):
        assert part in text
    assert "<script>" not in page.partition("<title>")[2]
    assert "&lt;script&gt;" in page


def test_a_flood_of_fields():
    """A document with very many fields, long ones too, is told in some hundred lines, each of them short."""
    document = {**make(), **{f"{'x' * 2_000}{number}": "y" * 10_000 for number in range(500)}}
    text = str(check_certificate(document, SPACE))
    assert len(text.splitlines()) < 600
    assert max(map(len, text.splitlines())) < 1_000
    assert "and 300 more" in text


@pytest.mark.parametrize("document", [None, [], "{}", b"{}", 3])
def test_what_is_no_document(document):
    """Anything but the fields of a document is refused in one line."""
    with pytest.raises(InputError, match="what parse_certificate returns"):
        check_certificate(document)


@pytest.mark.parametrize(
    "schema", ["deniable-certificate/7", "deniable-model-card/2", "deniable-synthesis-certificate/1"]
)
def test_nearly_nothing(schema):
    """A document with little more than a schema gives a result or one line."""
    for others in ({}, {"mechanism": []}, {"measurements": {}, "training records": 3, "model": "dp-linear"}):
        check = try_check({"schema": schema, **others})
        assert check is None or check.overall != "recomputed"


def test_the_default_space():
    """The space of the package is found by its name, and a proof in it is the one that the certificate states."""
    space = Space.glove(500)
    from deniable import CalibratedExponential

    document = make(CalibratedExponential(space, epsilon=3.0), copied=())
    check = check_certificate(document)
    assert (check.overall, check.select("contradicted")) == ("recomputed", [])
    assert {field.path for field in check.select("stated")} == {
        "deniable",
        "mechanism.name",
        "mechanism.epsilon",
        "verification.seconds",
        "noise",
        "chosen",
        "documents[0].words",
        "documents[1].words",
        "records",
        "words",
    }
