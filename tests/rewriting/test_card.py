"""The card of a model that rewrites texts."""

import pytest

from deniable.core.evidence import encode_nonfinite_numbers
from deniable.learning.card import CARD_SCHEMA
from deniable.rewriting.card import build_rewriter_card
from deniable.rewriting.model import measure_reconstruction
from tests.rewriting.small import corpus, fitted


@pytest.fixture(scope="module")
def small():
    """Return a model that was trained for a moment, and how it reconstructs."""
    found = fitted(epochs=1)
    return found, measure_reconstruction(found, corpus()[:5])


def test_a_card(small):
    """The card holds sizes, options, data and figures, no word of the corpus, and what is not protected."""
    model, figures = small
    card = build_rewriter_card(model, "c0ffee", figures, None, None)
    about, page = card.to_dict(), card.to_text()
    assert (about["schema"], about["model"]) == (CARD_SCHEMA, "autoencoder")
    assert about["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    assert (about["coordinates"], about["radius"], about["limit"], about["words"]) == (
        8,
        1.0,
        64,
        len(model.vocabulary),
    )
    assert about["data"] == {"training texts": 55, "texts held out": 5, "test texts": None, "commitment": "c0ffee"}
    assert about["reconstruction"]["bleu"]["value"] == figures["bleu"].value
    assert about["noise in training"] is None
    assert "public texts" in about["not protected"][0]
    assert "adds noise" in about["not protected"][1]
    assert not any(word in f"{about}{page}" for word in ("denver", "dallas", "atlanta"))
    assert encode_nonfinite_numbers(about) == about


def test_the_page(small):
    """The page says of which texts the figures are, and with which noise the model was trained."""
    model, figures = small
    page = build_rewriter_card(model, "c0ffee", figures, None, None).to_text()
    assert "texts           the texts held out, which also decided when training stopped\n" in page
    assert "\nnoise in training  none\n" in page
    assert f"  exact match     {figures['exact match'].format_percent()}\n" in page
    noise = {"method": "adept-gaussian", "epsilon": 10.0, "delta": 1e-5, "law": "gaussian", "scale": 0.4321}
    page = build_rewriter_card(model, "c0ffee", figures, 893, noise).to_text()
    assert "texts           893 test texts\n" in page
    assert "noise in training  adept-gaussian, epsilon 10, delta 1e-05, gaussian, scale 0.4321" in page
