"""``deniable certificate check``: what a privacy officer is told, and the exit codes that programs read."""

import json

import pytest

CERTIFICATE = "out.csv.certificate.json"


@pytest.fixture
def released(call, privatize, place):
    """Return the fields of the certificate of out.csv, which is signed by the key ``sign``."""
    assert call("key", "sign", "--sign").code == 0
    assert call("key", "other", "--sign").code == 0
    assert privatize("--hide", "none", "--sign-key", "sign").code == 0
    return json.loads((place / CERTIFICATE).read_bytes())


def test_a_true_certificate(released, call):
    """It is read with guarantee, unit and what is not protected, and exits with 0; it is unsigned to who has no key."""
    result = call("certificate", "check", CERTIFICATE, "--space", "space.npz")
    assert (result.code, result.err) == (0, "")
    for text in (
        "the guarantee was recomputed",
        "any two words",
        "proved: exact over all",
        "Only stated by the owner",
        "the columns copied unchanged: 'id', 'note'",
        "0 contradicted",
        "give the owner's public key",
    ):
        assert text in result.text
    assert released["mechanism"]["name"] in result.text


def test_an_unsigned_certificate(privatize, call, place):
    """Without a signature the check says so plainly; who asks for one gets exit code 1."""
    privatize("--hide", "none")
    command = ["certificate", "check", CERTIFICATE, "--space", "space.npz"]
    result = call(*command)
    assert result.code == 0
    assert "signature  unsigned\n           who wrote it cannot be told" in result.text
    call("key", "sign", "--sign")
    result = call(*command, "--public-key", "sign.pub")
    assert (result.code, "there is no signature" in result.text) == (1, True)
    assert not list(place.glob("*.sig"))


def test_without_the_space(released, call):
    """Where the words are not at hand the certificate is read, and the result says that its law was not rebuilt."""
    assert released["space"]["source"] == "space.npz"
    result = call("certificate", "check", CERTIFICATE)  # space.npz is there, and is not opened
    assert result.code == 0
    assert "its guarantee could not be recomputed here" in result.text
    assert "not recomputed  the space is not at hand" in result.text


def test_json_holds_every_field(released, call):
    """Programs get every field with its status, as plain ASCII."""
    result = call("certificate", "check", CERTIFICATE, "--space", "space.npz", "--json", "--no-cache")
    content = json.loads(result.out.decode("ascii"))
    assert (content["schema"], content["overall"]) == ("deniable-certificate-check/1", "recomputed")
    statuses = {field["path"]: field["status"] for field in content["fields"]}
    assert statuses["guarantee.epsilon"] == "recomputed"
    assert statuses["records"] == "stated"
    assert content["signature"]["status"] == "not checked"
    assert set(statuses.values()) == {"recomputed", "stated"}
    assert released["schema"] == content["fields"][0]["value"]


def test_a_page(released, call, place):  # noqa: ARG001 - a certificate is there
    """--html writes the result as a page as well, and overwrites nothing unasked."""
    command = ["certificate", "check", CERTIFICATE, "--space", "space.npz", "--html", "page.html"]
    assert call(*command).code == 0
    assert "<h2>Only stated by the owner</h2>" in (place / "page.html").read_text()
    assert call(*command).code == 2
    assert call(*command, "--force").code == 0
    assert call(*command[:-1], CERTIFICATE, "--force").code == 2


def test_a_false_certificate(released, call, place):
    """A changed figure exits with 1, and the result says what it should be."""
    released["guarantee"]["epsilon"] = 1.0
    (place / CERTIFICATE).write_text(json.dumps(released))
    result = call("certificate", "check", CERTIFICATE, "--space", "space.npz")
    assert result.code == 1
    assert "CONTRADICTED" in result.text
    assert "guarantee.epsilon  1\n                     recomputed: 2.0" in result.text


def test_signatures(released, call, place):  # noqa: ARG001 - a certificate is there
    """A signature passes with its key and table; another key, table or white space, and it is invalid: exit code 1."""
    command = ["certificate", "check", CERTIFICATE, "--space", "space.npz", "--public-key"]
    result = call(*command, "sign.pub", "--table", "out.csv")
    assert (result.code, "this certificate and this table; neither was changed" in result.text) == (0, True)
    assert call(*command, "sign.pub").code == 0
    assert call(*command, "other.pub").code == 1
    assert call(*command, "sign.pub", "--table", "in.csv").code == 1
    assert call(*command, "sign.pub", "--signature", "out.csv").code == 1
    (place / CERTIFICATE).write_bytes((place / CERTIFICATE).read_bytes() + b"\n")
    result = call(*command, "sign.pub", "--table", "out.csv")
    assert (result.code, "signature  invalid" in result.text) == (1, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"[" * 100_000, "deep in each other"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "deep in each other"),
        (b'{"schema": 1, "schema": 2}', "field 'schema' twice"),
        (b'{"schema": NaN}', "holds NaN"),
        (b'{"schema": 1e999}', "not finite"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "5,000 digits"),
        (b'{"schema": "deniable-certificate/6"}', "check it with the version of deniable that wrote it"),
        (b'{"schema": "deniable-certificate/7"}', "mechanism.name must be one of"),
        (b"\xff\xfe", "is not UTF-8"),
        (b" " * (5 << 20), "more than 4,194,304 bytes"),
    ],
)
def test_files_that_cannot_be_checked(call, refused, content, message):
    """Whatever stands in the file, the answer is one line and exit code 2."""
    refused.given(**{"c.json": content})
    assert message in refused(call("certificate", "check", "c.json"))


def test_options_that_cannot_be_used(call, refused):
    """Files that are missing or of another kind are named in one line."""
    refused.given(**{"c.json": b"{}", "c.json.sig": b"x", "noise": bytes(32)})
    assert "cannot be read" in refused(call("certificate", "check", "none.json"))
    assert "Is a directory" in refused(call("certificate", "check", "."))
    assert "give the owner's --public-key too" in refused(call("certificate", "check", "c.json", "--table", "in.csv"))
    assert "noise key" in refused(call("certificate", "check", "c.json", "--public-key", "noise"))
    assert "'c.sig' cannot be read" in refused(
        call("certificate", "check", "c.json", "--public-key", "noise", "--signature", "c.sig")
    )


def test_terminal_control_characters(released, call, place):
    """Text of an untrusted certificate moves no cursor, and half a character is no traceback."""
    released["noise"], released["\x1b[2J"] = "\x1b[31mfresh\u202e", "\ud800"
    (place / CERTIFICATE).write_text(json.dumps(released))
    result = call("certificate", "check", CERTIFICATE, "--space", "space.npz", "--html", "p.html")
    assert result.code == 1
    assert "\\u001b[31mfresh\\u202e" in result.text
    assert not {"\x1b", "\u202e"} & {*result.text}


def test_an_error_moves_no_cursor(call, place):
    """What an error quotes of a certificate is shown without control characters, and cut."""
    document = {
        "schema": "deniable-synthesis-certificate/1",
        "guarantee": {"epsilon": 1, "delta": 1e-6},
        "mechanism": {"classes": ["\x1b[2J\u202e" * 1000] * 2},
    }
    (place / "c.json").write_text(json.dumps(document))
    result = call("certificate", "check", "c.json")
    assert (result.code, result.err.rstrip("\n").isprintable(), len(result.err) < 1000) == (2, True, True)
