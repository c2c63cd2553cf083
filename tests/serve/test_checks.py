"""Certificates checked over HTTP, in memory."""

import hashlib
import json
from unittest import mock

import pytest

from deniable import TEM, Certificate, InputError, Release
from deniable.serve.app import create_app
from deniable.serve.checks import MIN_CHECKED_EPSILON, CheckBody, CheckRequest, check_document
from tests.serve.test_measurements import post
from tests.text.helpers import SPACE


@pytest.fixture(scope="module")
def release():
    """Return a release on a space that comes with no package."""
    return Release(TEM(SPACE, epsilon=2.0))


@pytest.fixture(scope="module")
def document(release):
    """Return the JSON of a certificate of it."""
    return Certificate.of(release, release.batch(["the dog was red"] * 3).tally).to_json()


def check(document, space=SPACE, **files):
    """Return the result of a check in this process."""
    return check_document(CheckRequest(CheckBody(certificate=document, **files), space), lambda _: None)


def test_a_certificate_is_checked_over_http(release, document):
    """The service knows the words of its own release: their guarantee is computed again."""
    response = post(create_app(release), "/v1/certificate/check", certificate=document)
    assert response.status_code == 200
    (line,) = response.text.splitlines()
    result = json.loads(line)["result"]
    assert (result["overall"], result["signature"]["status"]) == ("recomputed", "unsigned")
    assert {field["status"] for field in result["fields"]} == {"recomputed", "stated"}
    labels = [fact["label"] for section in result["sections"] for fact in section["facts"]]
    assert {"guarantee", "unit", "adjacency", "not protected"} <= set(labels)


def test_a_foreign_space_is_only_stated(document):
    """Where the words are not at hand, nothing is said to be recomputed that was not."""
    result = check(document, None)
    assert result["overall"] == "stated"
    assert "not at hand" in result["unchecked"]


def test_epsilons_that_only_the_command_line_checks(document):
    """Strangers cannot hold the service with an epsilon that no computation can tell from 0; the least one passes."""
    content = json.loads(document)
    for epsilon in (1e-300, MIN_CHECKED_EPSILON / 2):
        content["mechanism"]["epsilon"] = epsilon
        with pytest.raises(InputError, match=r"at least 1e-09\. Got .*: use deniable certificate check FILE\.$"):
            check(json.dumps(content))
    content["mechanism"]["epsilon"] = MIN_CHECKED_EPSILON
    assert check(json.dumps(content))["overall"] == "contradicted"
    for other in ("1e-300", None, [], 0, -1.0):
        content["mechanism"]["epsilon"] = other
        with pytest.raises(InputError) as caught:
            check(json.dumps(content))
        assert "The service checks" not in str(caught.value)


def test_no_path_of_a_certificate_is_opened(document):
    """A certificate that names a file has no file opened for it."""
    changed = json.loads(document)
    changed["space"]["source"] = "/etc/passwd"
    with mock.patch("builtins.open") as opened, mock.patch("pathlib.Path.open") as path_opened:
        check(json.dumps(changed), None)
    assert not [call for call in (*opened.mock_calls, *path_opened.mock_calls) if "passwd" in str(call)]


def test_a_signature_binds_certificate_and_table(document, tmp_path):
    """The owner's key vouches for both; each one changed, another key and a missing signature are invalid."""
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    from deniable.core.files import open_outputs
    from deniable.core.signatures import read_signing_key, write_signing_key

    for name in ("owner", "other"):
        write_signing_key(tmp_path / name)
    certificate, table = tmp_path / "c.json", tmp_path / "t.csv"
    seal = read_signing_key(tmp_path / "owner").make_seal(str(certificate), ["table"])
    with open_outputs(str(certificate), str(table), force=False, seal=seal) as streams:
        streams[0].write(document.encode())
        streams[1].write(b"text\n")
    keys = {name: (tmp_path / f"{name}.pub").read_text() for name in ("owner", "other")}
    signature = (tmp_path / "c.json.sig").read_text()
    digest = hashlib.sha256(b"text\n").hexdigest()
    signed = {"signature": signature, "public_key": keys["owner"], "table_sha256": digest}
    expected = (
        ({}, "valid"),
        ({"table_sha256": None}, "valid"),
        ({"table_sha256": "0" * 64}, "invalid"),
        ({"public_key": keys["other"]}, "invalid"),
        ({"signature": None}, "invalid"),
        ({"signature": signature.replace("table", "tables")}, "invalid"),
        ({"public_key": None, "table_sha256": None}, "not checked"),
        ({"public_key": None, "table_sha256": None, "signature": None}, "unsigned"),
    )
    for change, status in expected:
        assert check(document, **{**signed, **change})["signature"]["status"] == status, change
    result = check(document + " ", **signed)
    assert (result["signature"]["status"], result["overall"]) == ("invalid", "contradicted")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"certificate": "{}"}, "no certificate"),
        ({"certificate": "[" * 5000}, "deep"),
        ({"certificate": "\ud800"}, "certificate: "),
        ({"certificate": "{}", "public_key": "x", "signature": "y"}, "holds no public key"),
        ({"certificate": "{}", "table_sha256": "x"}, "table_sha256"),
        ({"certificate": "{}", "table_sha256": "0" * 64}, "The table is compared with what was signed"),
        ({"certificate": 1}, "certificate: It must be a text."),
        ({"path": "/etc/passwd", "certificate": "{}"}, "a field that is not known"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_a_line(release, body, said):
    """A refusal is a problem with one line."""
    response = post(create_app(release), "/v1/certificate/check", **body)
    assert response.status_code == 422
    assert said in response.json()["detail"]
