"""Cards of text models: complete, true, and no more private than they say."""

import json

import pytest

import deniable as dn
from deniable.core.intervals import estimate_share
from deniable.learning.card import CARD_SCHEMA
from deniable.models.text.card import build_text_card
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
        build_text_card(model, reviews, reviews, "c" * 32, measure_text_accuracy(model, reviews), sure, source),
        model,
        source,
    )


def test_what_it_says(made, reviews):
    """Model, method, options, data and accuracy are those of the run, and JSON holds all of it."""
    card, model, source = made
    about = card.to_dict()
    method = model.facts["options"]["method"]
    assert json.loads(json.dumps(about)) == about
    assert (about["schema"], about["deniable"], about["model"]) == (CARD_SCHEMA, dn.__version__, "fasttext")
    assert (about["method"], about["public seed"]) == (method, 4)
    assert about["steps"] == (7 if method != "augmented" else 32)
    assert about["drawn from"] == (None if source is None else describe_source(source))
    data = about["data"]
    assert (data["training texts"], data["test texts"], data["classes"]) == (200, 200, ["bad", "good"])
    assert (data["space"], data["commitment"], data["pairs"]) == ("fourteen words", "c" * 32, False)
    assert about["clean accuracy"]["value"] == measure_text_accuracy(model, reviews).value


def test_options_of_other_methods_are_left_out(made):
    """The card tells of what the method used, and of nothing else."""
    about = made[0].to_dict()
    expected = {"normal": set(), "ibp": {"kappa", "ramp"}, "augmented": {"copies"}}[about["method"]]
    assert {"kappa", "ramp", "copies"} & about["options"].keys() == expected


def test_certified_accuracy(made):
    """Certified accuracy stands with its sets, an interval and what it covers; without sets there is none."""
    card, _, source = made
    about, page = card.to_dict(), card.to_text()
    if about["method"] != "ibp":
        assert about["certified accuracy"] is None
        assert "\ncertified accuracy  none\n" in page
        return
    held = about["certified accuracy"]
    assert held["substitutions"] == source.name
    assert {name: held[name] for name in ("value", "low", "high")} == {
        name: getattr(estimate_share(120, 200), name) for name in ("value", "low", "high")
    }
    assert "certified accuracy  60.0 % (" in page
    assert "nothing is certified of other changes" in page


def test_nothing_is_claimed_of_the_training_texts(made):
    """The card says that the training texts are not protected, whatever the method."""
    card, *_ = made
    about = card.to_dict()
    assert about["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    assert about["not protected"][0].startswith("the training texts: no guarantee is claimed of them")
    assert "\nnot protected  the training texts: no guarantee" in card.to_text()


def test_the_page(made):
    """The page holds what the card holds, a line each."""
    card, model, source = made
    page = card.to_text()
    assert page.startswith("Model card: fasttext, a classifier of texts, trained by deniable ")
    drawn_from = "none" if source is None else describe_source(source)
    assert f"\nmethod       {card.to_dict()['method']}\ndrawn from   {drawn_from}\n" in page
    assert "\nData\n  training texts     200\n  test texts         200\n  classes            bad, good\n" in page
    assert f"  space fingerprint  {model.space_fingerprint}\n" in page
