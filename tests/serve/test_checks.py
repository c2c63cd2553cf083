"""Certificates checked over HTTP, in memory."""

import hashlib
import json
from unittest import mock

import pytest

import deniable as dn
from deniable.serve.checks import MIN_CHECKED_EPSILON, check_document
from tests.commands import run
from tests.refusals import refuses
from tests.serve.helpers import STEPS


@pytest.fixture(scope="module")
def document():
    """Return the JSON of a certificate of a release on a space that comes with no package."""
    release = dn.Release(dn.TEM(STEPS, epsilon=2.0))
    return dn.Certificate.of(release, release.batch(["the dog was red"] * 3).tally).to_json()


def check(document, space=STEPS, **files):
    """Return the result of a check in this process."""
    return check_document(lambda _: None, document, space=space, **files)


def test_a_certificate_is_checked_over_http(fixed, document):
    """The service knows the words of its own release: their guarantee is computed again."""
    response = fixed.post("/v1/certificate/check", {"certificate": document})
    assert response.status_code == 200
    (line,) = response.text.splitlines()
    result = json.loads(line)["result"]
    assert (result["overall"], result["signature"]["status"]) == ("recomputed", "unsigned")
    assert {field["status"] for field in result["fields"]} == {"recomputed", "stated"}
    labels = [fact["label"] for section in result["sections"] for fact in section["facts"]]
    assert {"guarantee", "unit", "adjacency", "not protected"} <= set(labels)


def test_a_foreign_space_is_only_stated(document):
    """Where the words are not at hand nothing is said to be recomputed, and no file that the text names is opened."""
    changed = json.loads(document)
    changed["space"]["source"] = "/etc/passwd"
    with mock.patch("builtins.open") as opened, mock.patch("pathlib.Path.open") as path_opened:
        result = check(json.dumps(changed), None)
    assert not [call for call in (*opened.mock_calls, *path_opened.mock_calls) if "passwd" in str(call)]
    assert result["overall"] == "stated"
    assert "not at hand" in result["unchecked"]


def test_a_table_without_a_key_is_compared(fixed):
    """Its rows, words and columns are, and a hash that nothing was signed for says so; no key is asked for."""
    release = dn.Release(dn.TEM(STEPS, epsilon=2.0))
    batch = release.batch(["the dog was red and the food was good"] * 2)
    document = dn.Certificate.of(release, batch.tally, copied=["id"]).to_json()
    table = {"id": ["1", "2"], "text": list(batch.texts)}
    response = fixed.post("/v1/certificate/check", {"certificate": document, "table": table})
    result = json.loads(response.text)["result"]
    assert (result["overall"], result["tone"]) == ("recomputed", "caution")
    assert "agrees with the certificate; not authenticated" in result["table"]
    result = check(document, table={"id": ["1"], "text": ["food"]})
    assert (result["overall"], "differs from the certificate in records" in result["table"]) == ("contradicted", True)
    assert "not compared" in check(document, table_sha256="0" * 64)["table"]
    with refuses("one cell for each row"):
        check(document, table={"id": ["1"], "text": []})


def test_epsilons_that_only_the_command_line_checks(document):
    """Strangers cannot hold the service with an epsilon that no computation can tell from 0; the least one passes."""
    content = json.loads(document)
    for epsilon in (1e-300, MIN_CHECKED_EPSILON / 2):
        content["mechanism"]["epsilon"] = epsilon
        with refuses(f"{MIN_CHECKED_EPSILON:g}"):
            check(json.dumps(content))
    content["mechanism"]["epsilon"] = MIN_CHECKED_EPSILON
    assert check(json.dumps(content))["overall"] == "contradicted"
    for other in ("1e-300", None, [], 0, -1.0):
        content["mechanism"]["epsilon"] = other
        with refuses("epsilon"):
            check(json.dumps(content))


def test_a_signature_binds_certificate_and_table(tem, tmp_path, monkeypatch):
    """The owner's key vouches for both; each one changed, another key and a missing signature are invalid."""
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text\nfood\n")
    for name in ("owner", "other"):
        assert run("key", name, "--sign").code == 0
    assert run("privatize", "in.csv", *tem, "-o", "out.csv", "--sign-key", "owner").code == 0
    document = (tmp_path / "out.csv.certificate.json").read_text()
    keys = {name: (tmp_path / f"{name}.pub").read_text() for name in ("owner", "other")}
    signature = (tmp_path / "out.csv.certificate.json.sig").read_text()
    digest = hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
    signed = {"signature": signature, "public_key": keys["owner"], "table_sha256": digest}
    for change, status in (
        ({}, "valid"),
        ({"table_sha256": None}, "valid"),
        ({"table_sha256": "0" * 64}, "invalid"),
        ({"public_key": keys["other"]}, "invalid"),
        ({"signature": None}, "invalid"),
        ({"signature": signature.replace("table", "tables")}, "invalid"),
        ({"public_key": None, "table_sha256": None}, "not checked"),
        ({"public_key": None, "table_sha256": None, "signature": None}, "unsigned"),
    ):
        assert check(document, **{**signed, **change})["signature"]["status"] == status, change
    result = check(document + " ", **signed)
    assert (result["signature"]["status"], result["overall"]) == ("invalid", "contradicted")
