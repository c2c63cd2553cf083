"""``deniable privatize``: what is released, and what its owner and everybody else learn of it."""

import json
import re

import numpy as np
import pytest

import deniable as dn
from tests.cli.conftest import TABLE, WORDS, read_rows

deep = pytest.mark.deep
CERTIFICATE = "out.csv.certificate.json"


def read_certificate(place, name="out.csv"):
    return json.loads((place / f"{name}.certificate.json").read_text("utf-8"))


def test_a_table(privatize, place):
    """The private table, its certificate and nothing else appear; the owner's figures are marked, and in no file."""
    result = privatize("--hide", "none")
    assert (result.code, result.out) == (0, b"")
    assert {path.name for path in place.iterdir()} == {"in.csv", "space.npz", "out.csv", CERTIFICATE}
    before, after = read_rows(TABLE.encode()), read_rows((place / "out.csv").read_bytes())
    assert [[row[0], row[2]] for row in after] == [[row[0], row[2]] for row in before]
    assert after[0] == before[0]
    assert [len(row[1].replace(",", " ").split()) for row in after[1:]] == [6, 4]
    assert set(" ".join(row[1] for row in after[1:]).replace(",", " ").split()) <= set(WORDS)
    assert b"\r\n" in (place / "out.csv").read_bytes()
    assert (place / "in.csv").read_bytes() == TABLE.encode()
    certificate = read_certificate(place)
    assert (certificate["records"], certificate["words"]) == (2, 10)
    assert certificate["not_protected"][-1] == "the columns copied unchanged: 'id', 'note'"
    [private] = [line for line in result.err.splitlines() if line.startswith("for you only")]
    assert re.search(r" \d+ words changed \(\d+\.\d%\), 2 not in the vocabulary; ", private)
    assert "changed (" not in str(certificate)
    assert "not in the vocabulary" not in str(certificate)


def test_python_says_what_the_terminal_says(privatize, place):
    """The certificate and the tally of a release in Python read as the lines of the terminal, word for word."""
    texts = ["the food in london", "zork and the dog"]
    (place / "in.csv").write_text("text\n" + "\n".join(texts) + "\n")
    result = privatize("--mechanism", "tight", "--key", "seed:1", "--verbose")
    assert result.code == 0
    release = dn.Release(dn.TightExponential(dn.Space.load("space.npz"), epsilon=2.0), key="seed:1")
    released = release.batch(texts)
    certificate = dn.Certificate.of(release, released.tally)
    assert result.err == f"{certificate}\n{released.tally.summary()}\nwrote out.csv and {CERTIFICATE}\n"
    assert certificate.to_json() == (place / CERTIFICATE).read_text("utf-8")


def test_a_release_in_a_few_lines(privatize):
    """What is protected, guessed, not protected and copied, and the next step; --verbose says the rest."""
    result = privatize("--hide", "none")
    lines = dict(line.split(maxsplit=1) for line in result.err.splitlines())
    assert len(result.err.splitlines()) <= 10
    assert lines["protects"] == "each word, epsilon 2 (proved)"
    assert lines["attacker"].startswith("the best guess from one output word is right for ")
    assert "up to 7.39 times" in result.err  # e^2, of near words
    assert "protected  Whole records are not protected: epsilon of the median record is " in result.err
    assert lines["copied"] == "'id', 'note', unchanged"
    assert lines["next"] == f"deniable certificate check {CERTIFICATE}"
    verbose = privatize("--hide", "none", "--verbose", "--force").err
    assert "\nguarantee " in verbose
    assert "\nnext " not in verbose


def test_a_public_seed_protects_nothing(privatize):
    """Where noise can be undone, that is what the few lines say, and no promise."""
    said = privatize("--key", "seed:1").err
    assert "\nprotects       NOTHING: not private: public seed; " in said
    assert "each word" not in said


def test_a_missing_column_is_named_before_anything_is_computed(privatize, monkeypatch):
    """The head of a table is read before words are."""
    monkeypatch.setattr("deniable.space.Space.load", lambda *_, **__: pytest.fail("the space was built"))
    assert "has no column 'body'" in privatize("--column", "body").err


def test_certificates_of_one_shape_are_equal(privatize, place):
    """Two private tables whose records have as many words have the same certificate; that of no row has no words."""
    (place / "other.csv").write_bytes(b"id,text,note\nx,a b c d e f,5\ny,blarg blarg blarg blarg,\n")
    assert privatize().code == 0
    assert privatize(source="other.csv", output="o.csv").code == 0
    assert (place / "o.csv.certificate.json").read_bytes() == (place / CERTIFICATE).read_bytes()
    (place / "in.csv").write_bytes(b"\xef\xbb\xbfid,text\r\n")
    assert privatize("--force").code == 0
    assert (place / "out.csv").read_bytes() == b"\xef\xbb\xbfid,text\r\n"
    assert read_certificate(place)["words"] == 0


@pytest.mark.parametrize(("metric", "make"), [("steps", dn.CalibratedExponential), ("euclidean", dn.TightExponential)])
def test_a_keyed_run_is_repeatable(call, privatize, place, metric, make):
    """Under a key, from a file of any name, the output is a function of id and text, and is TextPrivatizer's."""
    assert call("key", "k").code == 0
    options = ("--id", "id", "--key", "k", "--metric", metric)
    assert privatize(*options).code == 0
    assert privatize(*options, output="again.csv").code == 0
    out = (place / "out.csv").read_bytes()
    assert (place / "again.csv").read_bytes() == out
    mechanism = make(dn.Space.load("space.npz", metric=metric), epsilon=2.0)
    privatizer = dn.TextPrivatizer(mechanism, key=(place / "k").read_bytes())
    for before, after in zip(read_rows(TABLE.encode())[1:], read_rows(out)[1:], strict=True):
        assert after[1] == privatizer.transform([before[1]], [before[0]])[0]
    assert "secret key" in str(read_certificate(place))


def test_a_key_is_no_output_and_in_no_message(call, privatize, place):
    """The file of a key is guarded however it is named; the digits of one in its place are not shown."""
    assert call("key", "k").code == 0
    key = (place / "k").read_bytes()
    for name in ("k", "file:k"):
        result = privatize("--id", "id", "--key", name, "--force", "--format", "csv", output="k")
        assert result.code == 2
        assert (place / "k").read_bytes() == key
    result = privatize("--id", "id", "--key", key.hex())
    assert result.code == 2
    assert key.hex() not in result.err


def test_a_ledger_has_its_key_in_a_file(call, privatize, place):
    """``--key`` names it as it names any other; a seed or a variable in its place is refused as such."""
    (place / "in.csv").write_text("id,who,text\n1,ann,the food\n")
    assert call("ledger", "create", "l.db", "--budget", "10", "--key-file", "k").code == 0
    charged = ("--id", "id", "--person", "who", "--ledger", "l.db")
    for key in ("seed:1", "env:HOME"):
        assert f"the ledger's key. Got '{key}'" in privatize(*charged, "--key", key).err
    assert privatize(*charged, "--key", "file:k").code == 0


def test_options_of_a_file(privatize, place):
    """A value of a wrong kind is refused and not read as another; one column is a list of one."""
    config = place / "run.toml"
    for line in (
        "epsilon = true",
        "force = 1",
        'chosen-from-data = "true"',
        'key = ["seed:1"]',
        "columns = {id = 1}",
        "column = [true]",
    ):
        config.write_text(line)
        result = privatize("--config", "run.toml")
        assert result.code == 2
        assert "must be " in result.err
        assert line.partition(" ")[0] in result.err
    config.write_text('-c = ["text"]\ncolumn = ["id"]\n')
    assert "'column' under another name" in privatize("--config", "run.toml").err
    config.write_text('column = "text"\ncase = "copy"\nchosen-from-data = true\n')
    assert privatize("--config", "run.toml").code == 0
    certificate = read_certificate(place)
    assert certificate["release"]["case"] == "copy"
    assert "from the private texts" in str(certificate)
    config.write_text("epsilon = 1\nmechanism = 'tem'")
    assert privatize("--config", "run.toml", "--force").code == 0
    assert read_certificate(place)["guarantee"]["epsilon"] == 2.0


def test_noise_is_fresh_without_a_key(privatize, place):
    """Two runs differ, and two with one public seed do not but say that they are not private."""
    (place / "in.csv").write_text("text\n" + " ".join(WORDS * 10))
    outputs = []
    for number, options in enumerate([(), (), ("--key", "seed:1"), ("--key", "seed:1"), ("--key", "seed:-2")]):
        assert privatize(*options, output=f"{number}.csv").code == 0
        outputs.append((place / f"{number}.csv").read_bytes())
    assert len({*outputs}) == 4
    assert outputs[2] == outputs[3]
    assert read_certificate(place, "2.csv")["private"] is False


def test_case_and_keep(privatize, place):
    """The options for capitals and kept words reach the output, and the certificate."""
    (place / "in.csv").write_text("text\nTHE London\n")
    (place / "keep.txt").write_bytes("\ufefflondon\r\n\r\n  paris \n".encode())
    assert privatize("--case", "copy", "--keep", "keep.txt", "--hide", "none").code == 0
    drawn, kept = (place / "out.csv").read_text().splitlines()[1].split()
    assert (drawn.isupper(), kept) == (True, "London")
    notes = read_certificate(place)["not_protected"]
    assert [any(part in note for note in notes) for part in ("capital", "2 public words")] == [True] * 2


def test_hidden_words_come_out_alike(privatize, place):
    """Names, numbers of any shape and addresses give outputs that depend on their class alone, listed or not."""
    (place / "pets.txt").write_text("dog\nunicorn\n")
    outputs = []
    for words in ("dog was 7 jo@x.com", "Unicorn was 555-0123 https://a.b/c?d"):
        (place / "in.csv").write_text(f"id,text\n1,the {words} good\n")
        assert privatize("--hide", "pets.txt,numbers", "--id", "id", "--key", "seed:3", "--force").code == 0
        outputs.append((place / "out.csv").read_text())
    assert outputs[0] == outputs[1]
    certificate = read_certificate(place)
    assert certificate["space"]["hidden"] == {"pets": 1, "addresses": 1}
    assert certificate["guarantee"]["metric"] == "steps, with numbers and pets hidden"


def test_health_is_hidden_where_it_is_asked_for(privatize, place):
    """Words of health come out as each other, those that the space lacks too; by default they are words like others."""
    words = [*WORDS, "diabetes", "cancer", "anna"]
    vectors = np.random.default_rng(6).normal(size=(len(words), 3))
    np.savez(place / "space.npz", words=np.array(words), vectors=vectors)
    outputs = []
    for word in ("Diabetes", "cancer", "schizophrenic"):
        (place / "in.csv").write_text(f"id,text\n1,the {word} was bad\n")
        options = ("--hide", "names,places,numbers,health", "--id", "id", "--key", "seed:3", "--force")
        assert privatize(*options).code == 0
        outputs.append((place / "out.csv").read_text())
    assert len(set(outputs)) == 1
    certificate = read_certificate(place)
    assert certificate["space"]["hidden"] == {"names": 1, "places": 3, "health": 2, "addresses": 1}
    assert certificate["guarantee"]["metric"] == "steps, with names, places, numbers and health hidden"
    assert privatize("--force").code == 0
    assert "health" not in read_certificate(place)["space"]["hidden"]


def test_health_and_lists_that_share_its_words(privatize, place):
    """A list of one's own may neither be called health nor hold one of its words beside it."""
    (place / "health.txt").write_text("dog\n")
    (place / "drugs.txt").write_text("dog\ninsulin\n")
    for hide, value in (("health.txt", "'health'"), ("health,drugs.txt", "'insulin'")):
        result = privatize("--hide", hide)
        assert result.code == 2
        assert value in result.err


def test_mechanisms_and_metrics(privatize, place):
    """Every mechanism and metric is there by its name, which the certificate has; auto chooses."""
    public = [getattr(dn, name) for name in dir(dn)]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, dn.WordMechanism)]
    names = [kind.name for kind in kinds if kind is not dn.WordMechanism]
    assert len(names) > 4
    for metric, chosen in (("steps", "calibrated"), ("euclidean", "tight")):
        for name in ("auto", *names):
            result = privatize("--mechanism", name, "--metric", metric, "--force", epsilon="60")
            if metric == "steps" and name in {"multivariate-laplace", "truncated-gumbel"}:
                assert (result.code, "give --metric euclidean" in result.err) == (2, True)
                continue
            assert result.code == 0
            assert read_certificate(place)["mechanism"]["name"] == (chosen if name == "auto" else name)
    for metric in ("steps", "euclidean", "manhattan", "chebyshev", "angular"):
        assert privatize("--metric", metric, "--force").code == 0
        assert read_certificate(place)["guarantee"]["metric"].startswith(f"{metric}, with names, ")


def test_vectors_from_text(privatize, place):
    """A text file of vectors serves as a space, and what is wrong with a few of its words is told."""
    (place / "v.txt").write_text("the 0 1\nThe 5 5\nfood 1 0\nlondon 1 1\n")
    result = privatize("--space", "v.txt")
    assert result.code == 0
    assert result.err.startswith("note: 1 entry repeats a word in other capitals")


def test_chosen_from_data(privatize, place):
    """With --chosen-from-data the certificate says that epsilon came from the private texts."""
    assert privatize("--chosen-from-data").code == 0
    certificate = read_certificate(place)
    assert certificate["chosen"].startswith("from the private texts themselves")
    assert "choice of epsilon" in certificate["not_protected"][0]
    assert privatize(output="other.csv").code == 0
    assert read_certificate(place, "other.csv")["chosen"].startswith("by the owner")


class TestCache:
    """What is proved once is kept for later runs, and is never believed without a reason."""

    @pytest.fixture
    def cache(self, place, monkeypatch):
        monkeypatch.setenv("DENIABLE_CACHE", str(place / "cache"))
        return place / "cache"

    @pytest.mark.parametrize("bad", ["file", "missing-parent-file/x"])
    def test_one_that_cannot_be_used(self, privatize, place, monkeypatch, bad):
        """Where the cache cannot be read or written the run goes on without it."""
        (place / bad.split("/")[0]).write_text("not a folder")
        monkeypatch.setenv("DENIABLE_CACHE", str(place / bad))
        assert privatize().code == 0

    def test_one_that_others_can_write(self, privatize, cache):
        """One line says that the folder is not used, and how to fix that."""
        cache.mkdir()
        cache.chmod(0o777)
        result = privatize()
        assert result.code == 0
        assert result.err.startswith("note: others can write to the cache folder ")
        assert f"chmod go-w {str(cache)!r}" in result.err.splitlines()[0]
        assert not list(cache.iterdir())

    @pytest.mark.parametrize(
        "options",
        [
            ("calibrated",),
            ("tem", "--metric", "euclidean"),
            pytest.param(("tight",), marks=deep),
            *(pytest.param((name, "--metric", "euclidean"), marks=deep) for name in ("tight", "truncated-gumbel")),
        ],
    )
    def test_one_that_is_damaged(self, privatize, cache, options):
        """Cached facts that make no sense are computed anew."""

        assert privatize("--mechanism", *options, epsilon="60").code == 0
        facts = sorted(cache.iterdir())
        good = [path.read_bytes() for path in facts]
        for content in ("", "[]", '{"value": "x"}', '{"other": 1.0}', "[" * 5000):
            for path in facts:
                path.write_text(content)
            assert privatize("--mechanism", *options, "--force", epsilon="60").code == 0
            assert [path.read_bytes() for path in facts] == good


class TestPersons:
    """``--person`` is for the owner alone."""

    @pytest.mark.parametrize("options", [(), ("--columns", "id")])
    def test_what_is_spent(self, privatize, place, options):
        """The owner is told what is spent on a whole person; neither the table nor its certificate changes."""
        (place / "in.csv").write_text(
            "id,text,note\n1,the food,ann\n2,was good and red,bob\n3,the dog in london,ann\n4,cat,\n"
        )
        seeded = ("--key", "seed:1", "--hide", "none", *options)
        assert privatize(*seeded).code == 0
        outputs = [(place / name).read_bytes() for name in ("out.csv", CERTIFICATE)]
        result = privatize(*seeded, "--person", "note", "--force")
        assert [(place / name).read_bytes() for name in ("out.csv", CERTIFICATE)] == outputs
        lines = [line for line in result.err.splitlines() if line.startswith("for you only") and "person" in line]
        assert lines[0].endswith("3 persons, 1 record without one counted as one each")
        assert "the median person, 1 record, 4 words: epsilon " in lines[1]
        assert "the person with most words, 2 records, 6 words: epsilon " in lines[2]
        mechanism = dn.CalibratedExponential(dn.Space.load("space.npz", hide=()), epsilon=2.0)
        loss = mechanism.document_guarantee(6, 1e-6).pure.epsilon
        assert float(re.search(r"epsilon ([\d.]+)", lines[2])[1]) == pytest.approx(loss, rel=0.01)

    def test_their_column_is_warned_of(self, privatize, place):
        """The owner is told that the column that says whose a record is leaves too; its certificate stays the same."""
        (place / "in.csv").write_text("id,who,text\n1,ann,the food\n2,ann,the dog\n3,ann,the cat\n")
        assert "look like identifiers: 'who'" in privatize("--person", "who", "--id", "id").err
        assert "look like" not in (place / CERTIFICATE).read_text("utf-8")
        assert "look like" not in privatize("--person", "who", "--columns", "", "--force").err


class TestSignatures:
    """``--sign-key`` puts a signature beside the certificate."""

    @pytest.fixture(autouse=True)
    def keys(self, call):
        pytest.importorskip("cryptography", reason="cryptography is not installed: pip install 'deniable[sign]'")
        call("key", "sign", "--sign")

    @pytest.fixture
    def check(self, call):
        """Return a function that says whether certificate and table are as they were signed."""

        def checking(certificate, table):
            checked = call("certificate", "check", certificate, "--public-key", "sign.pub", "--table", table)
            return checked.code == 0 and "neither was changed" in checked.text

        return checking

    def test_a_signed_release(self, privatize, place, check):
        """Of a file and of standard output the signature holds, and not of another table."""
        assert privatize("--hide", "none", "--sign-key", "sign").code == 0
        piped = privatize("--hide", "none", "--sign-key", "sign", "--certificate", "c.json", output="-")
        (place / "piped.csv").write_bytes(piped.out)
        assert check(CERTIFICATE, "out.csv")
        assert check("c.json", "piped.csv")
        assert not check("c.json", "out.csv")

    def test_a_release_over_a_signed_one(self, call, privatize, place, check):
        """With --force and without a key the old signature goes with the old certificate, unless the run fails."""
        signature = place / f"{CERTIFICATE}.sig"
        assert privatize("--hide", "none", "--sign-key", "sign").code == 0
        (place / "bad.csv").write_bytes(b"id,text\n1,\xff\n")
        assert privatize("--hide", "none", "--force", source="bad.csv").code == 2
        assert check(CERTIFICATE, "out.csv")
        assert privatize("--hide", "none", "--force").code == 0
        assert not signature.exists()
        assert "unsigned" in call("certificate", "check", CERTIFICATE).text
        signature.write_text("notes of mine")
        assert privatize("--hide", "none", "--force").code == 0
        assert signature.read_text() == "notes of mine"

    def test_a_signature_whose_certificate_is_gone(self, privatize, place):
        """A new release beside it would look forged: without --force it is refused before any text is read."""
        assert privatize("--hide", "none", "--sign-key", "sign").code == 0
        for name in ("out.csv", CERTIFICATE):
            (place / name).unlink()
        assert privatize("--hide", "none").code == 2
        assert not (place / "out.csv").exists()
