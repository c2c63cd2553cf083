"""A model of texts: its words, encoding, decoding, training, its file, and what is refused."""

import copy
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.commands import run
from tests.learning.stored import read_stored, write_stored
from tests.refusals import refuses
from tests.rewriting.small import CITIES, SMALL, corpus, fitted

SPECIAL = ("<pad>", "<start>", "<end>", "[unknown]")
PAD, START, END, UNKNOWN = range(4)
build = dn.rewriting.Vocabulary.build


def options(**given):
    return dn.rewriting.RewriterOptions(**{**SMALL, "epochs": 1, **given})


def fit(texts=None, held_out=None, *, seed=2, given=None, **more):
    """Return a model of the corpus, or of other texts."""
    texts = corpus()[5:] if texts is None else texts
    held_out = corpus()[:5] if held_out is None else held_out
    return dn.rewriting.fit_rewriter(texts, held_out, given or options(), seed=seed, **more)


def same(one, other):
    first, second = (found.network.state_dict() for found in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def small():
    """Return a model that was trained for a moment."""
    return fitted()


def test_a_vocabulary():
    """The special tokens come first, then the most frequent, and equals by the alphabet, as far as asked for."""
    texts = ["b a b", "c a b."]
    assert build(texts).words == (*SPECIAL, "b", "a", ".", "c")
    assert len(build(texts)) == 8
    assert build(texts, min_count=2).words == (*SPECIAL, "b", "a")
    assert build(texts, max_tokens=1).words == (*SPECIAL, "b")
    assert build([]).words == SPECIAL
    for words in (("a", "b"), (*SPECIAL, "a", "a"), SPECIAL[:3], (*SPECIAL, "<pad>")):
        with refuses("vocabulary"):
            dn.rewriting.Vocabulary(words)


def test_texts_as_numbers():
    """A token that is not listed is unknown; a text ends at the first end, and what stands before texts is left out."""
    found = build(["what's this"])
    one, two, three = [found.words.index(word) for word in ("what", "'s", "this")]
    assert found.to_ids("What's that this?") == [one, two, UNKNOWN, three, UNKNOWN]
    assert found.to_text([START, one, two, PAD, three, END, three]) == "what's this"
    assert found.to_text([UNKNOWN, three]) == "[unknown] this"
    assert found.to_text([END]) == found.to_text([]) == ""


@settings(max_examples=30)
@given(st.text(max_size=40))
@example(" ".join(SPECIAL))
def test_special_tokens_are_in_no_text(text):
    """No text gives one of the special tokens, however it is written."""
    assert min(build([text]).to_ids(text), default=4) > UNKNOWN


def test_encode(small):
    """Every text has a vector of its own in float64, whatever stands beside it, an empty or unknown one too."""
    texts = [*corpus(), "", "zork 漢字 👍", "Flights from BOSTON to denver"]
    found = small.encode(texts)
    assert (found.shape, found.dtype) == ((len(texts), small.latent), np.float64)
    assert np.isfinite(found).all()
    for row in (0, 30, len(texts) - 3, len(texts) - 2):
        np.testing.assert_allclose(small.encode([texts[row]])[0], found[row], rtol=1e-4, atol=1e-5)
    assert small.encode([]).shape == (0, small.latent)
    with refuses("Text 2 has 65 tokens"):
        small.encode(["to " * 64, "to " * 65])


def test_the_others_decide_no_shape(small, monkeypatch):
    """Texts are computed in their order and as wide as the limit, however long they are: rounding tells nothing."""
    seen, encode = [], small.network.encode

    def noted(tokens, lengths):
        seen.append((tokens.shape, lengths.tolist()))
        return encode(tokens, lengths)

    monkeypatch.setattr(small.network, "encode", noted)
    for longest in (0, 64):
        small.encode(["show me"] * 5 + ["to " * longest] + ["list"] * 254)
    assert [shape for shape, _ in seen] == [(256, 64), (4, 64)] * 2
    assert [lengths[5] for _, lengths in seen[::2]] == [0, 64]
    assert seen[0][1][:5] == seen[2][1][:5] == [2] * 5


def test_decode(small):
    """Decoding is deterministic, row by row, and gives texts within the limit for vectors of any length."""
    vectors = np.random.default_rng(0).normal(size=(100, small.latent)) * 10.0 ** np.arange(-30, 270, 3.0)[:, None]
    found = small.decode(vectors)
    assert found == small.decode(vectors)
    assert small.decode(vectors[7:9]) == found[7:9]
    assert not any("unknown" in text for text in found)
    assert all(len(small.vocabulary.to_ids(text)) <= small.limit for text in found)
    assert small.decode(np.empty((0, small.latent))) == []
    for wrong, value in ((np.zeros((2, 7)), "(2, 7)"), (np.zeros(8), "(8,)"), (np.full((1, 8), np.inf), "finite")):
        with refuses(value):
            small.decode(wrong)


def test_a_small_corpus_is_learned_by_heart():
    """A network that is large enough reconstructs its texts, and the figures say so."""
    texts = corpus()[::2]
    chosen = options(latent=16, hidden=48, learning_rate=0.01, word_dropout=0.0, epochs=40)
    figures = dn.rewriting.measure_reconstruction(fit(texts, texts, seed=1, given=chosen), texts)
    assert figures["exact match"].value > 0.9
    assert figures["token accuracy"].value > 0.95
    assert figures["bleu"].value > 95
    assert figures["exact match"].low < figures["exact match"].value <= figures["exact match"].high


def reconstruct(monkeypatch, model, found, wanted):
    """Return the figures of texts that come back as others."""
    monkeypatch.setattr(dn.rewriting.Rewriter, "decode", lambda *_: found)
    return dn.rewriting.measure_reconstruction(model, wanted)


def test_figures_by_hand(small, monkeypatch):
    """Exact match is by texts, accuracy by the places of the original's tokens."""
    originals = ["Show boston", "flights to dallas please", "the fare"]
    found = reconstruct(monkeypatch, small, ["show boston", "flights to", "what's the"], originals)
    assert found["exact match"].value == pytest.approx(1 / 3)
    assert found["token accuracy"].value == pytest.approx((2 + 2 + 0) / (2 + 4 + 2))
    with refuses(0):
        dn.rewriting.measure_reconstruction(small, [])


@pytest.mark.parametrize(
    ("found", "wanted", "value"),
    [
        # 5/6 unigrams, 3/5 bigrams, 2/4 trigrams, 1/3 4-grams
        (["the cat sat on a mat"], ["the cat sat on the mat"], (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25),
        # all are right, and too short: exp(1 - 6/4)
        (["the cat sat on"], ["the cat sat on the mat"], math.exp(-0.5)),
        # too long: no penalty, 6/8, 5/7, 4/6, 3/5
        (["a b c d e f g h"], ["a b c d e f"], (6 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** 0.25),
        # counts of the corpus are summed before they are divided: 8/10, 6/8, 4/6, 2/4
        (["a b c d e", "f g x h i"], ["a b c d e", "f g y h z"], (8 / 10 * 5 / 8 * 3 / 6 * 2 / 4) ** 0.25),
        # a token counts no more often than the reference has it (Papineni et al. 2002, section 2.1)
        (["the the the the the the the"], ["the cat is on the mat"], 0.0),
        (["the the the the end"], ["the the the the stop"], (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25),
        (["a b c d"], ["a b c d"], 1.0),
        (["a b c d"], ["d c b a"], 0.0),
        (["a b"], ["a b"], 1.0),  # no trigram anywhere: two orders remain
        ([""], ["a b"], 0.0),
    ],
)
def test_bleu_by_hand(small, monkeypatch, found, wanted, value):
    """BLEU is of modified precisions of the whole corpus, their geometric mean, and the penalty for brevity."""
    assert reconstruct(monkeypatch, small, found, wanted)["bleu"].value == pytest.approx(100 * value, rel=1e-12)


def test_seeds_and_facts(small):
    """A public seed gives the same model again, without one every run differs; facts say what was chosen and found."""
    assert same(small, fit(seed=1, given=options(epochs=2)))
    assert not same(fit(seed=None), fit(seed=None))
    facts = small.facts
    assert (facts["seed"], facts["records"], facts["held out"], facts["first stage"]) == (1, 55, 5, None)
    assert facts["options"]["epochs"] == 2
    assert facts["best epoch"] in {1, 2}
    assert facts["held-out loss"] > 0


def test_the_second_stage(small):
    """Training goes on from a model with noise, and leaves it as it was: its vocabulary, sizes and ball stay."""
    before = copy.deepcopy(small)
    given = options(max_tokens=7, latent=20, noise=("gaussian", 0.2))
    found = fit(["zork to dallas", *corpus()[5:]], given=given, start=small)
    assert (found.vocabulary, found.limit, found.latent) == (small.vocabulary, small.limit, small.latent)
    assert (found.facts["options"]["noise"], found.facts["options"]["latent"]) == (("gaussian", 0.2), 8)
    assert found.facts["first stage"] == small.facts
    held = small.network.state_dict()
    apart = [(held[name] - value).abs().max() for name, value in found.network.state_dict().items()]
    assert 0 < max(apart) < 0.2
    assert torch.equal(found.network.centre, small.network.centre)
    assert torch.equal(found.network.stretch, small.network.stretch)
    assert same(small, before)
    assert small.facts == before.facts


def test_the_vectors_fill_the_ball(small):
    """Three quarters of the distinct training texts lie in the ball, around 0; vectors are not clipped before noise."""
    found = small.encode(list(dict.fromkeys(corpus()[5:])))
    assert np.abs(found.mean(axis=0)).max() < 1e-4
    lengths = np.linalg.norm(found, axis=1)
    assert (lengths <= small.radius * (1 + 1e-6)).mean() == pytest.approx(0.75, abs=0.02)
    assert lengths.max() > small.radius
    copies = fit([*corpus()[5:], *corpus()[:1] * 100], given=options(batch_size=500, spliced=0))
    assert np.abs(copies.encode(list(dict.fromkeys([*corpus()[5:], corpus()[0]]))).mean(axis=0)).max() < 1e-4


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"latent": 0}, "'latent'"),
        *(({"max_tokens": limit}, limit) for limit in (0, -1, 1001, True, 8.0)),
        ({"epochs": 1.5}, 1.5),
        ({"batch_size": True}, True),
        ({"spliced": -1}, -1),
        ({"learning_rate": 0.0}, 0.0),
        ({"radius": math.inf}, "inf"),
        ({"radius": 1e-9}, 1e-9),
        ({"clip": 1e31}, "'clip'"),
        ({"word_dropout": 1.0}, 1.0),
        ({"noise": ("cauchy", 1.0)}, "cauchy"),
        ({"noise": ("laplace", 0.0)}, 0.0),
        ({"noise": ("gaussian", 1e31)}, "1e"),
    ],
)
def test_options_that_cannot_be(change, value):
    """A value outside its domain is refused, in quick options too, which give way to what is chosen."""
    for make in (options, dn.rewriting.RewriterOptions.quick):
        with refuses(value):
            make(**change)
    assert dn.rewriting.RewriterOptions.quick(latent=100).latent == 100


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"texts": []}, 0),
        ({"held_out": []}, 0),
        ({"texts": ["a b c"], "held_out": ["a"], "given": options(max_tokens=2)}, "Text 1 has 3 tokens"),
        ({"given": options(noise=("laplace", 0.1))}, "'noise'"),
    ],
)
def test_runs_that_cannot_be(change, value):
    """No texts, texts beyond the limit, and noise without a first stage are refused."""
    with refuses(value):
        fit(**change)


def test_a_rate_too_large():
    """A loss that is no number ends the run in one line."""
    with refuses("learning rate", dn.DeniableError):
        fit(given=options(learning_rate=1e30))


def test_a_card_shows_no_text(tmp_path, monkeypatch):
    """The card of a model says that its training texts have no guarantee, and holds no word of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in corpus()))
    assert run("train", "rewriter", "in.txt", "-o", "m.pt", "--quick", "--epochs", "1").code == 0
    card, page = (tmp_path / f"m.pt.card.{kind}" for kind in ("json", "txt"))
    held = json.loads(card.read_text())
    assert held["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    assert held["words"] == len(dn.rewriting.load_rewriter(tmp_path / "m.pt").vocabulary)
    assert not any(city in card.read_text() + page.read_text() for city in CITIES)


@pytest.fixture(scope="module")
def stored(small, tmp_path_factory):
    """Return the path of a saved model."""
    path = tmp_path_factory.mktemp("models") / "m.pt"
    dn.texts.save_model(small, path)
    return path


def test_a_file_comes_back(small, stored):
    """A model that was written and read encodes and decodes alike, and holds the same facts."""
    found = dn.rewriting.load_rewriter(stored)
    assert same(found, small)
    assert (found.vocabulary, found.limit, found.facts) == (small.vocabulary, small.limit, small.facts)
    vectors = found.encode(corpus())
    np.testing.assert_array_equal(vectors, small.encode(corpus()))
    assert found.decode(vectors) == small.decode(vectors)


SHAPE = {"words": 5, "latent": 8, "hidden": 24, "embedding": 12, "radius": 1.0}


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("configuration", "words", ["a", "b"]),
        ("configuration", "words", None),
        ("configuration", "words", [*SPECIAL, "one"]),
        *(
            ("configuration", "shape", shape)
            for shape in ({}, SHAPE, {**SHAPE, "latent": 0}, {**SHAPE, "radius": -1.0})
        ),
        *(("configuration", "limit", limit) for limit in ("many", 0, 10**12)),
        ("weights", "bias", math.nan),
        *(("weights", "stretch", stretch) for stretch in (0.0, -1.0, math.nan)),
        (None, "weights", {}),
        (None, "facts", None),
    ],
)
def test_damaged_files(stored, tmp_path, part, name, value):
    """A file of the right form with a part that is wrong is a damaged model."""
    held = read_stored(stored.read_bytes())
    if part == "weights":
        held[part][name].fill_(value)
    else:
        (held[part] if part else held)[name] = value
    path = tmp_path / "damaged.pt"
    path.write_bytes(write_stored(held))
    with refuses("damaged.pt"):
        dn.rewriting.load_rewriter(path)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (None, "cannot be read as a model"),
        ({"kind": "text model"}, "'text model'"),
        ({"format": "deniable-rewriter/1"}, "version"),
    ],
)
def test_other_files(stored, tmp_path, change, value):
    """Any other file is refused, and one that is not there."""
    path = tmp_path / "other.pt"
    path.write_bytes(b"" if change is None else write_stored({**read_stored(stored.read_bytes()), **change}))
    with refuses(value):
        dn.rewriting.load_rewriter(path)
    with refuses("none.pt"):
        dn.rewriting.load_rewriter(tmp_path / "none.pt")
