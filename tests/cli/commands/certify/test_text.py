"""``deniable certify text``: true shares, refusals in one line, and false certificates refuted."""

import json
import re

import numpy as np
import pytest
import torch

import deniable as dn
from tests.cli.commands.train.helpers import fails, read_json
from tests.cli.image_models import images
from tests.cli.text_models import TABLE, furnish, lines, write

SETS = ("--substitutions", "sets.json")
SMOOTHED = ("--mechanism", "tem", "--mechanism-epsilon", "0.8", "--draws", "400")


def make_documents(space, rows):
    """Return rows as a model takes them."""
    labels = np.array([int(label == "good") for _, label in rows])
    return dn.texts.Documents(dn.texts.tokenize_texts(space, [text for text, _ in rows]).texts, labels, ("bad", "good"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the bytes of a model that is right on whole sets of words."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = dn.Space.load(str(place / "words.npz"), metric="euclidean")
    sets = dn.texts.read_substitutions(place / "sets.json", space)
    options = dn.texts.TextTrainingOptions(method="ibp", epochs=20, learning_rate=0.05)
    model = dn.texts.fit_text_model("fasttext", space, make_documents(space, lines()), options, source=sets, seed=1)
    dn.texts.save_model(model, place / "m.pt")
    return (place / "m.pt").read_bytes()


@pytest.fixture
def certify(call, place, trained):
    """Return a function that certifies m.pt on test.csv, unless told otherwise."""
    furnish(place)
    (place / "m.pt").write_bytes(trained)

    def certifying(*options, data="test.csv", table=TABLE, stdin=b""):
        return call("certify", "text", "m.pt", data, *table, *options, stdin=stdin)

    return certifying


def test_intervals(certify, place):
    """The shares are those of the model, the record holds every usable row by its number, an attack finds nothing."""
    rows = lines(20, seed=2)
    write(place / "odd.csv", [("", "good"), *rows])
    result = certify(*SETS, "--attack-count", "5", "-o", "c.json", data="odd.csv")
    assert result.code == 0
    assert (place / "c.json").stat().st_mode & 0o777 == 0o600  # it tells of each text
    first, clean, sure, attacked = result.text.splitlines()
    proved = "interval bounds: proved for ideal arithmetic, for all choices of substitutes in sets.json ("
    assert first.startswith(proved)
    space = dn.Space.load("words.npz", metric="euclidean")
    model, documents = dn.texts.load_text_model(place / "m.pt", space), make_documents(space, rows)
    held = dn.texts.certify_by_intervals(model, documents, dn.texts.read_substitutions(place / "sets.json", space))
    assert held.any()
    assert f"{100 * held.mean():.1f}%" in sure
    assert f"{100 * (model.predict(documents) == documents.labels).mean():.1f}%" in clean
    assert re.match(
        r"attack: not refuted; misclassified of 5 certified texts, by search: genetic 0, greedy 0, resampling 0$",
        attacked,
    )
    record = read_json(place / "c.json")
    assert [one["row"] for one in record["texts"]] == list(range(2, 22))
    assert [one["certified"] for one in record["texts"]] == held.tolist()
    assert [one["class"] for one in record["texts"]] == [label for _, label in rows]
    assert record["rows left out"] == 1
    assert record["attack"] == {"texts": 5, "flipped": {"genetic": 0, "greedy": 0, "resampling": 0}}
    assert certify(*SETS, "--limit", "9" * 18, data="odd.csv").text.splitlines() == [first, clean, sure]


def test_smoothing(certify, place):
    """Standing and source come first, then shares that fall with distance and changes; the record agrees."""
    result = certify(*SMOOTHED, *SETS, "--attack-count", "1", "-o", "c.json")
    assert result.code == 0
    first, *others = result.text.splitlines()
    assert first.startswith("smoothed by tem at epsilon 0.8")
    assert "20 texts, 400 draws each, alpha 0.001" in first
    for what in ("moved", "replaced"):
        lines_ = [line for line in others if what in line and "attack" not in line]
        found = [float(re.search(r"(?:accuracy|sure) ([\d.]+)%", line)[1]) for line in lines_]
        assert found == sorted(found, reverse=True)
        assert found[0] > 0
    record = read_json(place / "c.json")
    right = [one["label"] == one["class"] for one in record["texts"]]
    assert f"sure {100 * np.mean(right):.1f}%" in others[0]
    assert (record["draws"], record["alpha"]) == (400, 0.001)
    assert {one["label"] for one in record["texts"]} <= {None, "bad", "good"}
    assert "noise: fresh" in others
    for line in ("attack within distance: not refuted", "attack within changes: not refuted"):
        assert line in result.text


def test_smoothing_is_fresh_unless_a_seed_is_given(certify, place):
    """Two runs draw other noise; a seed repeats a run, and the result says for which models alpha then holds."""
    found = []
    for number, options in enumerate([(), (), ("--seed", "5"), ("--seed", "5")]):
        result = certify(*SMOOTHED, "--limit", "5", *options, "-o", f"{number}.json")
        assert "; 5 texts, " in result.text
        record = read_json(place / f"{number}.json")
        found.append([one["own"] for one in record["texts"]])
        assert record["seed"] == (5 if options else None)
        assert "attack" not in record
        assert ("noise: seed 5; alpha holds for models that were made without" in result.text) == bool(options)
    assert found[0] != found[1]
    assert found[2] == found[3]


def test_a_false_certificate_is_refuted(certify, place, monkeypatch):
    """Where bounds say that everything is certified, the attacks find what is not: exit code 1."""
    (place / "wide.json").write_text(json.dumps({word: ["awful"] for word in ("good", "great", "fine")}))
    kind = type(dn.texts.load_text_model(place / "m.pt", dn.Space.load("words.npz", metric="euclidean")).network)
    monkeypatch.setattr(kind, "compute_margin_bounds", lambda _, batch, __: torch.ones(len(batch.labels), 2))
    result = certify("--substitutions", "wide.json", "--attack-count", "9")
    assert result.code == 1
    assert "attack: refuted; misclassified of 9 certified texts, by search: genetic " in result.text


def test_pipes(certify, place):
    """A table comes from a pipe and JSON goes to one, with what is told on stderr."""
    result = certify(*SETS, "--format", "csv", "-o", "-", data="-", stdin=(place / "test.csv").read_bytes())
    assert result.code == 0
    assert len(json.loads(result.text)["texts"]) == 20


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ([], "--substitutions"),
        (["--mechanism", "tem"], "--mechanism-epsilon"),
        (["--mechanism", "temm", "--mechanism-epsilon", "1"], "'tem'"),
        (["--mechanism", "tem", "--mechanism-epsilon", "0"], "0.0"),
        ([*SETS, "--alpha", "0"], "'alpha'"),
        ([*SETS, "--premise", "note"], "'note'"),
        ([*SETS, "--premise", "label"], "'label'"),
        ([*SETS, "--space", "space.npz"], "words.npz"),
        ([*SETS, "-o", "sets.json", "--force"], "'sets.json'"),
        ([*SETS, "-o", "words.npz", "--force"], "'words.npz'"),
        ([*SETS, "-o", "m.pt", "--force"], "'m.pt'"),
        (["--substitutions", "in.csv"], "'in.csv'"),
    ],
)
def test_options_that_cannot_be_used(certify, options, value):
    """An option that cannot be used is one line."""
    fails(certify(*options), value)


def test_models_of_another_kind(certify, call, place):
    """A model of the other kind is refused with the command that certifies it."""
    images(place / "images.npz")
    given = ["images.npz", "--kind", "plain", "--steps", "1", "--width", "0.1", "-o", "i.pt"]
    assert call("train", "image", *given).code == 0
    assert certify(*SETS, "--limit", "1").code == 0
    fails(call("certify", "text", "i.pt", "test.csv", *TABLE, *SETS), "deniable certify image")
    fails(call("certify", "image", "m.pt", "images.npz"), "deniable certify text")
