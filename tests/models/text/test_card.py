"""Cards of text models: complete, true, and no more private than they say."""

import json

import pytest

import deniable as dn
from deniable.core.intervals import estimate_share
from deniable.models.text.card import TEXT_CARD_SCHEMA, make_text_card, render_text_card
from deniable.models.text.model import describe_source, fit_text_model, measure_text_accuracy
from deniable.models.text.training import TextTrainingOptions


@pytest.fixture(scope="module", params=["normal", "ibp", "augmented"])
def made(request, words_space, word_sets, reviews):
    """Return a card, the model and the source of its training."""
    method = request.param
    source = {"normal": None, "ibp": word_sets, "augmented": dn.TEM(words_space, epsilon=2.0)}[method]
    model = fit_text_model(
        "fasttext", words_space, reviews, TextTrainingOptions(method=method, epochs=1), source=source, seed=4
    )
    sure = 120 if method == "ibp" else None
    return (
        make_text_card(model, reviews, reviews, "c" * 32, measure_text_accuracy(model, reviews), sure, source),
        model,
        source,
    )


def test_what_it_says(made, reviews):
    """Model, method, options, data and accuracy are those of the run, and JSON holds all of it."""
    about, model, source = made
    method = model.facts["options"]["method"]
    assert json.loads(json.dumps(about)) == about
    assert (about["schema"], about["deniable"], about["model"]) == (TEXT_CARD_SCHEMA, dn.__version__, "fasttext")
    assert (about["method"], about["public seed"]) == (method, 4)
    assert about["steps"] == (7 if method != "augmented" else 32)
    assert about["drawn from"] == (None if source is None else describe_source(source))
    data = about["data"]
    assert (data["training texts"], data["test texts"], data["classes"]) == (200, 200, ["bad", "good"])
    assert (data["space"], data["commitment"], data["pairs"]) == ("fourteen words", "c" * 32, False)
    assert about["clean accuracy"]["value"] == measure_text_accuracy(model, reviews).value


def test_options_of_other_methods_are_left_out(made):
    """The card tells of what the method used, and of nothing else."""
    about, *_ = made
    expected = {"normal": set(), "ibp": {"kappa", "ramp"}, "augmented": {"copies"}}[about["method"]]
    assert {"kappa", "ramp", "copies"} & about["options"].keys() == expected


def test_certified_accuracy(made):
    """Certified accuracy stands with its sets, an interval and what it covers; without sets there is none."""
    about, _, source = made
    page = render_text_card(about)
    if about["method"] != "ibp":
        assert about["certified accuracy"] is None
        assert "Certified" not in page
        return
    held = about["certified accuracy"]
    assert held["substitutions"] == source.name
    assert {name: held[name] for name in ("value", "low", "high")} == {
        name: getattr(estimate_share(120, 200), name) for name in ("value", "low", "high")
    }
    assert "Certified accuracy: 60.0 % (" in page
    assert "nothing is certified of other changes" in page


def test_nothing_is_claimed_of_the_training_texts(made):
    """The card says that the training texts are not protected, whatever the method."""
    about, *_ = made
    assert about["training records"] == "no guarantee is claimed"
    assert about["not protected"][0].startswith("the training texts: no guarantee is claimed of them")
    assert "Not protected:\n  - the training texts: no guarantee" in render_text_card(about)


def test_the_page(made):
    """The page holds what the card holds, a line each."""
    about, model, source = made
    page = render_text_card(about)
    assert page.startswith("Model card: fasttext, a classifier of texts, trained by deniable ")
    drawn = "" if source is None else f", with {describe_source(source)}"
    assert f"\nMethod: {about['method']}{drawn}\n" in page
    assert "Data: 200 training and 200 test texts\n  classes: bad, good\n" in page
    assert f"(fingerprint {model.space}); others are left out" in page
