"""``deniable certificate check``: what a privacy officer is told, and the exit codes that programs read."""

import json

import pytest

from tests.cli.commands.train.helpers import fails

CERTIFICATE = "out.csv.certificate.json"


@pytest.fixture
def check(call):
    """Return a function that checks a certificate, with its space at hand."""
    return lambda *options: call("certificate", "check", CERTIFICATE, "--space", "space.npz", *options)


@pytest.fixture
def released(call, privatize, place):
    """Return the fields of the certificate of out.csv, which is signed by the key ``sign``."""
    assert call("key", "sign", "--sign").code == 0
    assert call("key", "other", "--sign").code == 0
    assert privatize("--hide", "none", "--sign-key", "sign").code == 0
    return json.loads((place / CERTIFICATE).read_bytes())


def test_a_true_certificate(released, check):
    """It is read with guarantee, unit and what is not protected, and exits with 0; it is unsigned to who has no key."""
    result = check()
    assert result.code == 0
    for text in (
        "the guarantee was recomputed",
        "any two words",
        "proved: exact over all",
        "Only stated by the owner",
        "the columns copied unchanged: 'id', 'note'",
        "0 contradicted",
        "give the owner's public key",
        released["mechanism"]["name"],
    ):
        assert text in result.text


def test_an_unsigned_certificate(privatize, call, check, place):
    """Without a signature the check says so plainly; who asks for one gets exit code 1."""
    privatize("--hide", "none")
    result = check()
    assert result.code == 0
    assert "signature  unsigned\n           the author cannot be verified" in result.text
    call("key", "sign", "--sign")
    result = check("--public-key", "sign.pub")
    assert (result.code, "there is no signature" in result.text) == (1, True)
    assert not list(place.glob("*.sig"))


def test_json_holds_every_field(released, check, call):
    """Programs get every field with its status, as plain ASCII; without the words nothing is said to be recomputed."""
    content = json.loads(check("--json", "--no-cache").out.decode("ascii"))
    assert (content["schema"], content["overall"]) == ("deniable-certificate-check/1", "recomputed")
    statuses = {field["path"]: field["status"] for field in content["fields"]}
    assert (statuses["guarantee.epsilon"], statuses["records"]) == ("recomputed", "stated")
    assert content["signature"]["status"] == "not checked"
    assert set(statuses.values()) == {"recomputed", "stated"}
    assert released["schema"] == content["fields"][0]["value"]
    assert released["space"]["source"] == "space.npz"
    result = call("certificate", "check", CERTIFICATE)  # space.npz is there, and is not opened
    assert result.code == 0
    assert "not recomputed  the space is not at hand" in result.text


@pytest.mark.usefixtures("released")
def test_a_page(check, place):
    """--html writes the result as a page as well, and overwrites nothing unasked."""
    assert check("--html", "page.html").code == 0
    assert "<h2>Only stated by the owner</h2>" in (place / "page.html").read_text()
    assert check("--html", "page.html").code == 2
    assert check("--html", "page.html", "--force").code == 0
    assert check("--html", CERTIFICATE, "--force").code == 2


def test_a_false_certificate(released, check, place):
    """A changed figure exits with 1, and the result says what it should be; text of a stranger moves no cursor."""
    released["guarantee"]["epsilon"] = 1.0
    released["noise"], released["\x1b[2J"] = "\x1b[31mfresh\u202e", "\ud800"
    (place / CERTIFICATE).write_text(json.dumps(released))
    result = check("--html", "p.html")
    assert result.code == 1
    assert "CONTRADICTED" in result.text
    assert "recomputed: 2.0" in result.text
    assert "\\u001b[31mfresh\\u202e" in result.text
    assert not {"\x1b", "\u202e"} & {*result.text}


@pytest.mark.usefixtures("released")
def test_a_table_without_a_key(check, place):
    """Rows, words and columns are compared, and nobody takes that for a signature; what differs exits with 1."""
    result = check("--table", "out.csv")
    assert (result.code, "agrees with the certificate\n           not authenticated" in result.text) == (0, True)
    (place / "less.csv").write_bytes((place / "out.csv").read_bytes().rpartition(b"b2")[0])
    result = check("--table", "less.csv")
    assert (result.code, "differs from the certificate in records" in result.text) == (1, True)
    (place / "out.txt").write_bytes((place / "out.csv").read_bytes())
    assert check("--table", "out.txt", "--format", "csv").code == 0


def test_a_table_whose_texts_have_lines(privatize, check, place):
    """Texts with line breaks and delimiters are read as texts, before it is known which column has them."""
    (place / "lines.csv").write_text('id,text,note\n1,"the, good\nfood, was, red",a\n2,"a, b, c\nd, e, f",b\n')
    assert privatize("--hide", "none", source="lines.csv").code == 0
    assert check("--table", "out.csv").code == 0


@pytest.mark.usefixtures("released")
def test_signatures(check, place):
    """A signature passes with its key and table; another key, table or white space, and it is invalid: exit code 1."""
    result = check("--public-key", "sign.pub", "--table", "out.csv")
    assert (result.code, "this certificate and this table; neither was changed" in result.text) == (0, True)
    assert check("--public-key", "sign.pub").code == 0
    for options in (("other.pub",), ("sign.pub", "--table", "in.csv"), ("sign.pub", "--signature", "out.csv")):
        assert check("--public-key", *options).code == 1
    (place / CERTIFICATE).write_bytes((place / CERTIFICATE).read_bytes() + b"\n")
    result = check("--public-key", "sign.pub", "--table", "out.csv")
    assert (result.code, "signature  invalid" in result.text) == (1, True)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", "JSON"),
        (b"[" * 100_000, "deep"),
        (b'{"schema": 1, "schema": 2}', "'schema' twice"),
        (b'{"schema": NaN}', "NaN"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "5,000"),
        (b'{"schema": "deniable-certificate/6"}', "version"),
        (b'{"schema": "deniable-certificate/10"}', "mechanism.name"),
        (b"\xff\xfe", "UTF-8"),
        (b" " * (5 << 20), "4,194,304"),
        (
            json.dumps(
                {"schema": "deniable-synthesis-certificate/2", "mechanism": {"classes": ["\x1b[2J"] * 9}}
            ).encode(),
            "",
        ),
    ],
)
def test_files_that_cannot_be_checked(call, place, content, value):
    """Whatever stands in the file, the answer is one line and exit code 2, which moves no cursor."""
    (place / "c.json").write_bytes(content)
    fails(call("certificate", "check", "c.json"), value)


def test_options_that_cannot_be_used(call, place):
    """Files that are missing or of another kind are named in one line."""
    for name, content in (("c.json", b"{}"), ("c.json.sig", b"x"), ("noise", bytes(32))):
        (place / name).write_bytes(content)
    for options, value in (
        (("none.json",), "none.json"),
        ((".",), "directory"),
        (("c.json", "--table", "in.csv"), "schema"),
        (("c.json", "--public-key", "noise"), "noise key"),
        (("c.json", "--public-key", "noise", "--signature", "c.sig"), "'c.sig'"),
    ):
        fails(call("certificate", "check", *options), value)
