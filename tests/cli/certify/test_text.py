"""``deniable certify text``: true shares, refusals in one line, and false certificates refuted."""

import json
import re

import numpy as np
import pytest

from deniable.cli.certify import text as module
from deniable.learning.artifact import serialize_model
from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.model import certify_by_intervals, fit_text_model, load_text_model
from deniable.models.text.substitutions import read_substitutions
from deniable.models.text.training import TextTrainingOptions
from deniable.space import Space
from tests.cli.image_models import images
from tests.cli.text_models import TABLE, furnish, lines

SETS = ("--substitutions", "sets.json")
SMOOTHED = ("--mechanism", "tem", "--mechanism-epsilon", "0.8", "--draws", "400")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the bytes of a model that is right on whole sets of words."""
    place = tmp_path_factory.mktemp("trained")
    furnish(place)
    space = Space.load(str(place / "words.npz"))
    labels = np.array([int(label == "good") for _, label in lines()])
    documents = Documents(tokenize_texts(space, [text for text, _ in lines()]).texts, labels, ("bad", "good"))
    sets = read_substitutions(place / "sets.json", space)
    options = TextTrainingOptions(method="ibp", epochs=20, learning_rate=0.05)
    return serialize_model(fit_text_model("fasttext", space, documents, options, source=sets, seed=1))


@pytest.fixture
def certify(call, place, trained):
    """Return a function that certifies m.pt on test.csv, unless told otherwise."""
    furnish(place)
    (place / "m.pt").write_bytes(trained)

    def certifying(*options, data="test.csv", table=TABLE, stdin=b""):
        return call("certify", "text", "m.pt", data, *table, *options, stdin=stdin)

    return certifying


def test_intervals(certify, place):
    """The shares are those of the model, the record holds every text, and an attack finds nothing."""
    result = certify(*SETS, "--attack-count", "5", "-o", "c.json")
    assert (result.code, result.err) == (0, "")
    assert (place / "c.json").stat().st_mode & 0o777 == 0o600  # it tells of each text
    first, clean, sure, attacked = result.text.splitlines()
    assert first.startswith(
        "interval bounds: proved for ideal arithmetic, for all choices of substitutes in sets.json ("
    )
    space = Space.load("words.npz")
    model = load_text_model(place / "m.pt", space)
    rows = lines(20, seed=2)
    labels = np.array([int(label == "good") for _, label in rows])
    documents = Documents(tokenize_texts(space, [text for text, _ in rows]).texts, labels, model.classes)
    held = certify_by_intervals(model, documents, read_substitutions(place / "sets.json", space))
    assert held.any()
    assert f"{100 * held.mean():.1f} %" in sure
    assert f"{100 * (model.predict(documents) == labels).mean():.1f} %" in clean
    assert re.match(
        r"attack: not refuted; misclassified of 5 certified texts, by search: genetic 0, greedy 0, resampling 0$",
        attacked,
    )
    record = json.loads((place / "c.json").read_text())
    assert [one["certified"] for one in record["texts"]] == held.tolist()
    assert [one["class"] for one in record["texts"]] == [label for _, label in rows]
    assert record["attack"] == {"texts": 5, "flipped": {"genetic": 0, "greedy": 0, "resampling": 0}}


def test_smoothing(certify, place):
    """Standing and source come first, then shares that fall with distance and changes; the record agrees."""
    result = certify(*SMOOTHED, *SETS, "-o", "c.json")
    assert (result.code, result.err) == (0, "")
    first, *others = result.text.splitlines()
    assert first.startswith("smoothed by tem at epsilon 0.8")
    assert "20 texts, 400 draws each, alpha 0.001" in first
    for what in ("moved", "replaced"):
        shares = [float(re.search(r"(?:accuracy|sure) ([\d.]+) %", line)[1]) for line in others if what in line]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > 0
    record = json.loads((place / "c.json").read_text())
    right = [one["label"] == one["class"] for one in record["texts"]]
    assert f"sure {100 * np.mean(right):.1f} %" in others[0]
    assert (record["draws"], record["alpha"]) == (400, 0.001)
    assert others[-1] == "noise: fresh"


def test_smoothing_is_fresh_unless_a_seed_is_given(certify, place):
    """Two runs draw other noise; a seed repeats a run, and the result says for which models alpha then holds."""
    found = []
    for number, options in enumerate([(), (), ("--seed", "5"), ("--seed", "5")]):
        result = certify(*SMOOTHED, *options, "-o", f"{number}.json")
        record = json.loads((place / f"{number}.json").read_text())
        found.append([one["own"] for one in record["texts"]])
        assert record["seed"] == (5 if options else None)
        assert ("noise: seed 5; alpha holds for models that were made without" in result.text) == bool(options)
    assert found[0] != found[1]
    assert found[2] == found[3]


def test_a_smoothed_model_is_attacked(certify):
    """--attack tries texts within the distance and within the changes."""
    result = certify(*SMOOTHED, *SETS, "--attack-count", "1", "--limit", "4")
    assert result.code == 0
    assert "attack within distance: not refuted" in result.text
    assert "attack within changes: not refuted" in result.text


def test_a_false_certificate_is_refuted(certify, monkeypatch):
    """Where bounds say that everything is certified, the attacks find what is not: exit code 1."""

    def everything(_, documents, __):
        return np.ones(len(documents), dtype=bool)

    monkeypatch.setattr("deniable.models.text.model.certify_by_intervals", everything)
    sets = {"good": ["awful"], "great": ["awful"], "fine": ["awful"]}
    module.Path("wide.json").write_text(json.dumps(sets))
    result = certify("--substitutions", "wide.json", "--attack-count", "9")
    assert (result.code, result.err) == (1, "")
    assert "attack: refuted; misclassified of 9 certified texts, by search: genetic " in result.text


def test_pipes(certify, place):
    """A table comes from a pipe and JSON goes to one, with what is told on stderr."""
    result = certify(*SETS, "--format", "csv", "-o", "-", data="-", stdin=(place / "test.csv").read_bytes())
    assert result.code == 0
    assert len(json.loads(result.text)["texts"]) == 20
    assert "certified accuracy" in result.err


def test_limit(certify):
    """--limit takes the first rows, and all where it is larger."""
    assert "; 5 texts, " in certify(*SMOOTHED, "--limit", "5").text
    assert certify(*SETS, "--limit", "9" * 18) == certify(*SETS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and"),
        (["--mechanism", "tem"], "--mechanism and --mechanism-epsilon belong together"),
        (["--mechanism-epsilon", "1"], "--mechanism and --mechanism-epsilon belong together"),
        (["--mechanism", "temm", "--mechanism-epsilon", "1"], "Did you mean 'tem'?"),
        (["--mechanism", "tem", "--mechanism-epsilon", "0"], "Got 0.0."),
        ([*SETS, "--alpha", "0"], "The 'alpha' parameter of a certificate must be a float in (0, 1). Got 0.0."),
        ([*SETS, "--draws", "0"], "Invalid value for '--draws': it must be greater than or equal to 1. Got 0."),
        ([*SETS, "--limit", "0"], "Invalid value for '--limit': it must be greater than or equal to 1. Got 0."),
        (
            [*SETS, "--attack-count", "-1"],
            "Invalid value for '--attack-count': it must be greater than or equal to 0. Got -1.",
        ),
        ([*SETS, "--radius", "0"], "No such option: --radius"),
        ([*SETS, "--noise", "0.1"], "No such option: --noise"),
        ([*SETS, "--noise-law", "laplace"], "No such option: --noise-law"),
        ([*SETS, "--premise", "note"], "has no column 'note'"),
        ([*SETS, "--premise", "label"], "cannot be classes and premises at once"),
        ([*SETS, "--column", "note"], "has no column 'note'"),
        ([*SETS, "--space", "space.npz"], "was trained on the words of words.npz (fingerprint"),
        ([*SETS, "-o", "in.csv"], "The output 'in.csv' exists"),
        ([*SETS, "-o", "sets.json", "--force"], "The output 'sets.json' is a file that is read"),
        ([*SETS, "-o", "words.npz", "--force"], "The output 'words.npz' is a file that is read"),
        ([*SETS, "-o", "m.pt", "--force"], "The output 'm.pt' is a file that is read"),
        (["--substitutions", "in.csv"], "'in.csv' are not valid JSON"),
    ],
)
def test_options_that_cannot_be_used(certify, refused, options, message):
    """An option that cannot be used is one line, and nothing is written."""
    refused.given()
    assert message in refused(certify(*options))


def test_no_column_of_classes(certify, refused):
    """Without --label there is nothing to hold the predictions against."""
    refused.given()
    assert refused(certify(*SETS, table=())) == "Missing option '--label'. See: deniable certify text --help"


def test_models_of_another_kind(certify, call, place, refused):
    """A model of the other kind is refused with the command that certifies it."""
    images(place / "images.npz")
    given = ["images.npz", "--kind", "plain", "--steps", "1", "--width", "0.1", "-o", "i.pt"]
    assert call("train", "image", *given).code == 0
    assert certify(*SETS, "--limit", "1").code == 0
    refused.given()
    message = "'i.pt' is a model of images: use deniable certify image."
    assert refused(call("certify", "text", "i.pt", "test.csv", *TABLE, *SETS)) == message
    message = "'m.pt' is a model of texts: use deniable certify text."
    assert refused(call("certify", "image", "m.pt", "images.npz")) == message


@pytest.mark.parametrize("option", ["label", "premise", "substitutions", "mechanism", "column", "space", "format"])
def test_text_options_for_images(call, place, refused, option):
    """Options of texts are unknown to the commands about models of images."""
    images(place / "images.npz")
    refused.given()
    given = ["--kind", "plain", "-o", "m.pt", f"--{option}", "x"]
    assert refused(call("train", "image", "images.npz", *given)).startswith(f"No such option: --{option}")
    result = call("certify", "image", "m.pt", "images.npz", f"--{option}", "x")
    assert refused(result).startswith(f"No such option: --{option}")


def test_an_interrupted_run(certify, refused, monkeypatch):
    """An interrupted run writes nothing."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "certify_rows_by_intervals", interrupt)
    refused.given()
    assert refused(certify(*SETS, "-o", "c.json")) == "interrupted: nothing was written."
