"""``deniable train rewriter``: models with true cards, runs that go on, and one line where something is wrong."""

import hashlib
import json
import re

import pytest
import torch

from deniable.cli.choices import TrainableMethodName
from deniable.cli.train import rewriter as module
from deniable.rewriting.model import load_rewriter
from deniable.vectors import Gaussian, L2Ball, Laplace
from tests.cli.text_models import write
from tests.rewriting.small import corpus

WRITTEN = ["m.pt", "m.pt.card.json", "m.pt.card.txt", "m.pt.owner.json"]
SMALL = ("--quick", "--latent", "8", "--epochs", "1")
NOISE = ("--method", "adept-gaussian", "--method-epsilon", "10", "--method-delta", "1e-5")


@pytest.fixture
def train(call, place):
    """Return a function that trains a small model of corpus.csv to m.pt, unless told otherwise."""
    write(place / "corpus.csv", [(text,) for text in corpus()], ("text",))
    write(place / "test.csv", [("flights from boston to dallas",), ("show denver",)], ("text",))

    def training(*options, data="corpus.csv", output="m.pt", quick=SMALL):
        return call("train", "rewriter", data, "-o", output, *quick, *options)

    return training


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the bytes of a model that others go on from."""
    from deniable.learning.artifact import serialize_model
    from tests.rewriting.small import fitted

    del tmp_path_factory
    return serialize_model(fitted(epochs=1))


def weights(path):
    return load_rewriter(path).network.state_dict()


def same(one, other):
    """Say whether two model files hold the same numbers, bit for bit."""
    held = weights(one), weights(other)
    return held[0].keys() == held[1].keys() and all(torch.equal(held[0][name], held[1][name]) for name in held[0])


def test_a_model(train, place):
    """A model is written with its card, the figures alone on stdout, the commitment open to its owner."""
    result = train("--seed", "1", "--test", "test.csv")
    assert result.code == 0, result.err
    assert re.fullmatch(r"exact match [01]\.\d{3}, BLEU-4 \d+\.\d\n", result.text)
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("m.pt")) == WRITTEN
    page = (place / "m.pt.card.txt").read_text()
    assert page in result.err
    assert "\nReconstruction\n  texts           2 test texts\n                  without noise\n" in page
    card, owner = (json.loads((place / f"m.pt.{name}.json").read_text()) for name in ("card", "owner"))
    opened = hashlib.blake2b(owner["fingerprint"].encode(), key=bytes.fromhex(owner["key"]), digest_size=16)
    assert opened.hexdigest() == card["data"]["commitment"]
    assert owner["fingerprint"] not in json.dumps(card)
    model = load_rewriter(place / "m.pt")
    assert (model.latent, card["coordinates"], card["public seed"]) == (8, 8, 1)


def test_held_out_texts(train, place):
    """Every tenth distinct text is held out with all its copies, and is no part of the vocabulary's source."""
    rows = [(text,) for text in corpus()[:20] for _ in range(3)]
    write(place / "thrice.csv", rows, ("text",))
    assert train(data="thrice.csv").code == 0
    data = json.loads((place / "m.pt.card.json").read_text())["data"]
    assert (data["training texts"], data["texts held out"], data["test texts"]) == (54, 2, None)


def test_the_seed(train, place):
    """A public seed gives the same model again; without one every run differs."""
    for output in ("m.pt", "n.pt", "o.pt"):
        assert train(*(("--seed", "7") if output != "o.pt" else ()), output=output).code == 0
    assert same(place / "m.pt", place / "n.pt")
    assert not same(place / "m.pt", place / "o.pt")


def test_the_second_stage(train, place, first):
    """A model goes on with the noise of a method, whose scale is that of its mechanism, and the card says so."""
    (place / "first.pt").write_bytes(first)
    assert train(*NOISE, "--fine-tune", "first.pt", "--seed", "1", quick=("--epochs", "1")).code == 0
    scale = Gaussian(epsilon=10.0, delta=1e-5, domain=L2Ball(1.0)).scale(8)
    model = load_rewriter(place / "m.pt")
    assert model.facts["options"]["noise"] == ["gaussian", scale]
    assert model.facts["first stage"] == load_rewriter(place / "first.pt").facts
    card = json.loads((place / "m.pt.card.json").read_text())
    noise = {"method": "adept-gaussian", "epsilon": 10.0, "delta": 1e-5, "law": "gaussian", "scale": scale}
    assert card["noise in training"] == noise
    assert not same(place / "m.pt", place / "first.pt")
    laplace = ("--method", "adept-true", "--method-epsilon", "100", "--fine-tune", "first.pt")
    assert train(*laplace, output="n.pt", quick=("--epochs", "1")).code == 0
    expected = ["laplace", Laplace(epsilon=100.0, domain=L2Ball(1.0)).scale(8)]
    assert load_rewriter(place / "n.pt").facts["options"]["noise"] == expected


@pytest.mark.parametrize("method", [choice.value for choice in TrainableMethodName])
def test_every_method_has_noise(first, place, method):
    """Every method that is offered has a noise of a scale above 0, smaller at a larger epsilon."""
    (place / "first.pt").write_bytes(first)
    delta = 1e-5 if method == "adept-gaussian" else None
    stages = [module.FineTuning(place / "first.pt", method, epsilon, delta) for epsilon in (1.0, 10.0)]
    found = [stage.describe_noise(stage.load_base_model()) for stage in stages]
    assert found[0]["scale"] > found[1]["scale"] > 0
    assert found[0]["method"] == method


def test_an_interrupted_run(train, place, monkeypatch):
    """An interrupted run says how to go on, and the same command ends as a run that was never interrupted."""

    class Interrupted(module.LossSteps):
        def __call__(self, done, steps, loss):
            super().__call__(done, steps, loss)
            if done == 5:
                raise KeyboardInterrupt

    options = ("--seed", "1", "--checkpoint-every", "2")
    with monkeypatch.context() as patch:
        patch.setattr(module, "LossSteps", Interrupted)
        result = train(*options)
    assert (result.code, result.out) == (2, b"")
    assert result.err == "deniable: interrupted: run the same command again to resume from 'm.pt.checkpoint'.\n"
    write(place / "other.csv", [(text,) for text in corpus()[1:]], ("text",))
    other = train(*options, data="other.csv")
    assert other.code == 2
    assert "'m.pt.checkpoint' is the checkpoint of a run with other data: finish" in other.err
    assert train(*options).err.startswith("resuming from m.pt.checkpoint\n")
    assert not (place / "m.pt.checkpoint").exists()
    assert train("--seed", "1", output="n.pt").code == 0
    assert same(place / "m.pt", place / "n.pt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method-epsilon", "1"], "--method-epsilon and --method-delta are those of --method"),
        (["--method-delta", "1e-5"], "--method-epsilon and --method-delta are those of --method"),
        (["--method", "tokens", "--method-epsilon", "1"], "'tokens' is not one of adept, "),
        (["--method", "adept-gausian", "--method-epsilon", "1"], "Did you mean 'adept-gaussian'?"),
        ([*NOISE], "name the model with --fine-tune."),
        (["--method", "adept", "--fine-tune", "first.pt"], "needs an epsilon: give it with --method-epsilon."),
        (["--method", "adept-gaussian", "--method-epsilon", "1", "--fine-tune", "first.pt"], "delta"),
        (
            ["--method", "adept", "--method-epsilon", "1", "--method-delta", "1e-5", "--fine-tune", "first.pt"],
            "has no delta",
        ),
        (["--method", "adept", "--method-epsilon", "-1", "--fine-tune", "first.pt"], "Got -1.0."),
        (["--fine-tune", "none.pt"], "There is no model 'none.pt'"),
        (["--fine-tune", "corpus.csv"], "'corpus.csv' is not a model"),
        (["--fine-tune", "first.pt"], "--latent is that of the model given with --fine-tune"),
        (["--max-tokens", "0"], "--max-tokens must be from 1 to 1,000. Got 0."),
        (["--latent", "0"], "The 'latent' parameter of training must be an int from 1 to 100,000. Got 0."),
        (["--learning-rate", "0"], "'learning_rate'"),
        (["--label", "label"], "No such option: --label"),
        (["--network", "small"], "No such option: --network"),
        (["--epsilon", "1"], "No such option: --epsilon"),
        (["--column", "note"], "has no column 'note'"),
        (["--test", "none.csv"], "In --test: The input 'none.csv' is not a file"),
        (["--test", "-"], "which a pipe cannot do"),
        (
            ["--checkpoint-every", "0"],
            "Invalid value for '--checkpoint-every': it must be greater than or equal to 1. Got 0.",
        ),
    ],
)
def test_options_that_cannot_be_used(train, refused, place, first, options, message):
    """An option of the wrong value, or that goes with another, is one line before anything is trained."""
    (place / "first.pt").write_bytes(first)
    refused.given()
    assert message in refused(train(*options))


@pytest.mark.parametrize("option", ["--quick", "--latent", "--max-tokens", "--fine-tune"])
def test_options_of_rewriters(call, place, refused, option):
    """Options of rewriters are unknown to the commands that train other models."""
    write(place / "corpus.csv", [(text,) for text in corpus()], ("text",))
    refused.given()
    for kind in ("text", "image"):
        message = refused(call("train", kind, "corpus.csv", "--kind", "bow", "-o", "m.pt", option))
        assert message.startswith(f"No such option: {option}")
        assert message.endswith(f"See: deniable train {kind} --help")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"", "bad.csv"),
        (b"text\n", "bad.csv' has no rows"),
        (b"text\na b\n,\n", "bad.csv"),
        (b"text\na b\n \nc\n", "give at least 10. (bad.csv: 1 row without a text in 'text' left out: row 2)"),
        (b"text\n \n\n", "No row of the table 'bad.csv' can be used (2 rows without a text in 'text')"),
        (b"text\n" + b"a b\n" * 50, "'bad.csv' has too few distinct texts to learn from, 1: give at least 10."),
        (b"text\na \xff\n", "bad.csv"),
    ],
)
def test_tables_that_cannot_be_used(train, refused, place, table, message):
    """A corpus without enough texts, or with one that cannot be used, is one line that names the row."""
    (place / "bad.csv").write_bytes(table)
    refused.given()
    assert message in refused(train(data="bad.csv"))
    assert not (place / "m.pt.checkpoint").exists()


def test_rows_that_cannot_be_used(train, place):
    """Rows without a text are left out, of long ones the first tokens are learned from; both are counted and named."""
    long = "and so on " * 40
    write(place / "gaps.csv", [("",), *((text,) for text in corpus()), (long,), (" ",)], ("text",))
    write(place / "held.csv", [("show me",), (long,), ("",)], ("text",))
    result = train("--test", "held.csv", data="gaps.csv")
    assert result.code == 0
    last = len(corpus()) + 3
    assert result.err.splitlines()[:4] == [
        f"gaps.csv: 2 rows without a text in 'text' left out: rows 1 and {last}",
        f"gaps.csv: 1 row with more than 64 tokens, of which only the first are used: row {last - 1}",
        "held.csv: 1 row without a text in 'text' left out: row 3",
        "held.csv: 1 row with more than 64 tokens, of which only the first are used: row 2",
    ]


@pytest.mark.parametrize("output", ["corpus.csv", "test.csv", "first.pt", "twin.pt"])
def test_nothing_that_is_read_is_overwritten(train, refused, place, first, output):
    """--force overwrites no file that the command reads."""
    (place / "first.pt").write_bytes(first)
    (place / "twin.pt").hardlink_to(place / "first.pt")
    refused.given()
    options = ["--test", "test.csv", "--fine-tune", "first.pt", "--force"]
    assert f"The output '{output}' is a file that is read" in refused(train(*options, output=output, quick=()))


def test_the_checkpoint_takes_no_place_of_what_is_read(train, refused, place):
    """--force removes no table that stands where the checkpoint would."""
    (place / "m.pt.checkpoint").write_bytes((place / "corpus.csv").read_bytes())
    refused.given()
    options = ("--force", "--format", "csv")
    assert "The output 'm.pt.checkpoint' is a file that is read" in refused(train(*options, data="m.pt.checkpoint"))


def test_odd_texts(train, place):
    """Any script, emoji, lone surrogates and line ends within a text are taken."""
    rows = [{"text": f"{text}\n👩‍👩‍👧 שלום e\u0301 \u200b \ud83d"} for text in corpus()]
    (place / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = train(data="odd.jsonl")
    assert result.code == 0, result.err
    assert "\ud83d" in load_rewriter(place / "m.pt").vocabulary.words
