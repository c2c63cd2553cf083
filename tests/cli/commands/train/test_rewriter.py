"""``deniable train rewriter``: models with true cards, runs that go on, and one line where something is wrong."""

import itertools
import json
import re

import pytest

import deniable as dn
from tests.cli.commands.train.helpers import WRITTEN, are_same, fails, interrupted, read_card, succeeds
from tests.cli.text_models import write

CITIES = ("boston", "denver", "dallas", "st. louis")
CORPUS = [
    text
    for one, other in itertools.permutations(CITIES, 2)
    for text in (f"flights from {one} to {other}", f"what's the fare from {one} to {other}, please?")
]
SMALL = ("--quick", "--latent", "8", "--epochs", "1")
NOISE = ("--method", "adept-gaussian", "--method-epsilon", "10", "--method-delta", "1e-5")


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of corpus.csv to m.pt, unless told otherwise."""
    write(place / "corpus.csv", [(text,) for text in CORPUS], ("text",))
    write(place / "test.csv", [("flights from boston to dallas",), ("show denver",)], ("text",))

    def training(*options, data="corpus.csv", output="m.pt", quick=SMALL):
        return call("train", "rewriter", data, "-o", output, *quick, *options)

    return training


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the bytes of a model that others go on from."""
    path = tmp_path_factory.mktemp("first") / "m.pt"
    options = dn.rewriting.RewriterOptions(latent=8, hidden=24, embedding=12, batch_size=8, spliced=1, epochs=1)
    dn.images.save_model(dn.rewriting.fit_rewriter(CORPUS[3:], CORPUS[:3], options, seed=1), path)
    return path.read_bytes()


@pytest.fixture
def first(train, place, stored):  # noqa: ARG001 - the command is there
    """Write first.pt, a model that others go on from."""
    (place / "first.pt").write_bytes(stored)


def read_model(place, name="m.pt"):
    return dn.rewriting.load_rewriter(place / name)


def test_a_model(train, place):
    """A model is written with its card, the figures alone on stdout, the commitment open to its owner."""
    result = succeeds(train("--seed", "1", "--test", "test.csv"))
    assert re.fullmatch(r"exact match [01]\.\d{3}, BLEU-4 \d+\.\d\n", result.text)
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    reconstruction = "\nReconstruction\n  texts           2 test texts\n                  without noise\n"
    assert reconstruction in (place / "m.pt.card.txt").read_text()
    card, _ = read_card(place)
    assert (read_model(place).latent, card["coordinates"], card["public seed"]) == (8, 8, 1)
    assert train("--seed", "1", output="n.pt").code == train(output="o.pt").code == 0
    assert are_same(place / "m.pt", place / "n.pt")
    assert not are_same(place / "m.pt", place / "o.pt")


def test_held_out_texts(train, place):
    """Every tenth distinct text is held out with all its copies; words that the others lack are told."""
    texts = [f"flight {'abcdefghijklmnopqrst'[number]}{number} now" for number in range(20)]
    write(place / "thrice.csv", [(text,) for text in texts for _ in range(3)], ("text",))
    result = train(data="thrice.csv")
    assert result.code == 0
    data = read_card(place)[0]["data"]
    assert (data["training texts"], data["texts held out"], data["test texts"]) == (54, 2, None)
    words = {*read_model(place).vocabulary.words}
    missing = [text for text in texts if text.split()[1] not in words]
    assert len(missing) == 2
    assert "33.3% of the words are not in the vocabulary" in result.err


@pytest.mark.usefixtures("first")
def test_the_second_stage(train, place):
    """A model goes on with the noise of a method, whose scale is that of its mechanism, and the card says so."""
    assert train(*NOISE, "--fine-tune", "first.pt", "--seed", "1", quick=("--epochs", "1")).code == 0
    scale = dn.Gaussian(epsilon=10.0, delta=1e-5, domain=dn.L2Ball(1.0)).scale(8)
    facts = read_model(place).facts
    assert facts["options"]["noise"] == ["gaussian", scale]
    assert facts["first stage"] == read_model(place, "first.pt").facts
    noise = {"method": "adept-gaussian", "epsilon": 10.0, "delta": 1e-5, "law": "gaussian", "scale": scale}
    assert read_card(place)[0]["noise in training"] == noise
    assert not are_same(place / "m.pt", place / "first.pt")


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(
    "method",
    [
        "adept-true",
        *[pytest.param(name, marks=pytest.mark.deep) for name in ("adept", "adept-l1", "dptext-fixed")],
    ],
)
def test_every_method_has_noise(train, place, method):
    """Every method that is offered has a noise of a scale above 0, smaller at a larger epsilon."""
    scales = []
    for epsilon in ("1", "10"):
        given = ("--method", method, "--method-epsilon", epsilon, "--fine-tune", "first.pt", "--force")
        assert train(*given, quick=("--epochs", "1")).code == 0
        noise = read_card(place)[0]["noise in training"]
        assert noise["method"] == method
        scales.append(noise["scale"])
    assert scales[0] == pytest.approx(10 * scales[1])
    assert scales[1] > 0


def test_an_interrupted_run(train, place):
    """An interrupted run says how to go on, and the same command ends as a run that was never interrupted."""
    options = ("--seed", "1", "--checkpoint-every", "2")
    with interrupted():
        fails(train(*options), "'m.pt.checkpoint'")
    write(place / "other.csv", [(text,) for text in CORPUS[1:]], ("text",))
    fails(train(*options, data="other.csv"), "other texts")
    assert train(*options).code == 0
    assert not (place / "m.pt.checkpoint").exists()
    assert train("--seed", "1", output="n.pt").code == 0
    assert are_same(place / "m.pt", place / "n.pt")


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(
    ("options", "value"),
    [
        (["--method-delta", "1e-5"], "--method"),
        (["--method", "tokens", "--method-epsilon", "1"], "'tokens'"),
        ([*NOISE], "--fine-tune"),
        (["--method", "adept", "--fine-tune", "first.pt"], "--method-epsilon"),
        (["--method", "adept-gaussian", "--method-epsilon", "1", "--fine-tune", "first.pt"], "delta"),
        (["--method", "adept", "--method-epsilon", "-1", "--fine-tune", "first.pt"], "-1.0"),
        (["--fine-tune", "corpus.csv"], "'corpus.csv'"),
        (["--fine-tune", "first.pt"], "--latent"),
        (["--max-tokens", "0"], "--max-tokens"),
        (["--latent", "0"], "'latent'"),
        (["--column", "note"], "'note'"),
        (["--test", "none.csv"], "'none.csv'"),
    ],
)
def test_options_that_cannot_be_used(train, place, options, value):
    """An option of the wrong value, or that goes with another, is one line before anything is trained."""
    fails(train(*options), value)
    assert not list(place.glob("m.pt*"))


@pytest.mark.parametrize(
    ("table", "value"),
    [
        (b"", "bad.csv"),
        (b"text\n", "bad.csv"),
        (b"text\na b\n \nc\n", "row 2"),
        (b"text\n \n\n", "2 rows"),
        (b"text\n" + b"a b\n" * 50, "give at least 10"),
        (b"text\na \xff\n", "bad.csv"),
    ],
)
def test_tables_that_cannot_be_used(train, place, table, value):
    """A corpus without enough texts, or with one that cannot be used, is one line that names the row."""
    (place / "bad.csv").write_bytes(table)
    fails(train(data="bad.csv"), value)
    assert not (place / "m.pt.checkpoint").exists()


def test_rows_that_cannot_be_used(train, place):
    """Rows without a text are left out, of long ones the first tokens are learned from; both are counted and named."""
    long = "and so on " * 40
    write(place / "gaps.csv", [("",), *((f"{text} <br />",) for text in CORPUS), (long,), (" ",)], ("text",))
    write(place / "held.csv", [("show me",), (long,), ("",)], ("text",))
    result = train("--test", "held.csv", data="gaps.csv")
    assert result.code == 0
    last = len(CORPUS) + 3
    for source, rows in (
        ("gaps.csv: 2 rows", f"rows 1 and {last}"),
        ("gaps.csv: 1 row", f"row {last - 1}"),
        ("held.csv: 1 row", "row 3"),
        ("held.csv: 1 row", "row 2"),
        ("gaps.csv: 9", "hold HTML tags"),
    ):
        assert any(line.startswith(source) and rows in line for line in result.err.splitlines()), rows


@pytest.mark.usefixtures("first")
def test_nothing_that_is_read_is_overwritten(train, place):
    """--force overwrites no file that the command reads, nor removes one that stands where the checkpoint would."""
    (place / "twin.pt").hardlink_to(place / "first.pt")
    for output in ("corpus.csv", "test.csv", "first.pt", "twin.pt"):
        options = ["--test", "test.csv", "--fine-tune", "first.pt", "--force"]
        fails(train(*options, output=output, quick=()), f"'{output}'")
    (place / "m.pt.checkpoint").write_bytes((place / "corpus.csv").read_bytes())
    fails(train("--force", "--format", "csv", data="m.pt.checkpoint"), "'m.pt.checkpoint'")
    assert (place / "m.pt.checkpoint").read_bytes() == (place / "corpus.csv").read_bytes()


def test_odd_texts(train, place):
    """Any script, emoji, lone surrogates and line ends within a text are taken."""
    rows = [{"text": f"{text}\n👩‍👩‍👧 שלום e\u0301 \u200b \ud83d"} for text in CORPUS]
    (place / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert train(data="odd.jsonl").code == 0
    assert "\ud83d" in read_model(place).vocabulary.words
