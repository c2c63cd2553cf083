"""A model of texts: encoding, decoding, its file, and what is refused."""

import copy

import numpy as np
import pytest
import torch

from deniable.core.errors import DeniableError, InputError
from deniable.learning.artifact import ARTIFACT_FORMAT, serialize_model
from deniable.learning.loop import Checkpoint
from deniable.rewriting import model as module
from deniable.rewriting.model import (
    fit_rewriter,
    get_shape_options,
    load_rewriter,
    measure_reconstruction,
    normalize_rewriter,
)
from deniable.rewriting.training import RewriterOptions
from tests.learning.stored import read_stored, write_stored
from tests.rewriting.small import SMALL, corpus, fitted

EMPTY = {"format": ARTIFACT_FORMAT, "kind": "rewriter", "configuration": {}, "weights": {}, "facts": {}}


@pytest.fixture(scope="module")
def small():
    """Return a model that was trained for a moment."""
    return fitted()


@pytest.fixture
def saved(small, tmp_path):
    """Return the file of that model."""
    path = tmp_path / "m.pt"
    path.write_bytes(serialize_model(small))
    return path


def same(one, other):
    first, second = (found.network.state_dict() for found in (one, other))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


class TestUse:
    """Encoding and decoding."""

    def test_encode(self, small):
        """Every text has a vector of its own in float64, whatever stands beside it, an empty or unknown one too."""
        texts = [*corpus(), "", "zork 漢字 👍", "Flights from BOSTON to denver"]
        found = small.encode(texts)
        assert (found.shape, found.dtype) == ((len(texts), small.latent), np.float64)
        assert np.isfinite(found).all()
        for row in (0, 30, len(texts) - 3, len(texts) - 2):
            np.testing.assert_allclose(small.encode([texts[row]])[0], found[row], rtol=1e-4, atol=1e-5)
        assert small.encode([]).shape == (0, small.latent)

    def test_the_others_decide_no_shape(self, small, monkeypatch):
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

    def test_the_vectors_are_not_clipped(self):
        """What a mechanism is given is not clipped before it: norms may be above the radius."""
        found = fitted(radius=0.01)
        assert found.radius == 0.01
        assert np.linalg.norm(found.encode(corpus()), axis=1).max() > 0.01

    def test_decode(self, small):
        """Decoding is deterministic, row by row, and gives texts within the limit for vectors of any length."""
        vectors = np.random.default_rng(0).normal(size=(300, small.latent)) * 10.0 ** np.arange(-30, 270, 1.0)[:, None]
        found = small.decode(vectors)
        assert found == small.decode(vectors)
        assert small.decode(vectors[7:9]) == found[7:9]
        assert not any("unknown" in text for text in found)
        assert all(len(small.vocabulary.to_ids(text)) <= small.limit for text in found)
        assert small.decode(np.empty((0, small.latent))) == []

    @pytest.mark.parametrize("wrong", [np.zeros((2, 7)), np.zeros(8), np.full((1, 8), np.nan), np.full((1, 8), np.inf)])
    def test_other_vectors(self, small, wrong):
        """Vectors of another shape, or that are not finite, are refused."""
        with pytest.raises(InputError, match=r"must be finite, of shape \(k, 8\)"):
            small.decode(wrong)

    def test_too_long(self, small):
        """A text beyond the limit is refused and named, never cut off."""
        with pytest.raises(InputError, match="Text 2 has 65 tokens, and the model takes 64"):
            small.encode(["to " * 64, "to " * 65])


class TestFit:
    """Training by name."""

    def test_it_reconstructs(self):
        """A small corpus is learned by heart, and the figures say so."""
        texts = corpus()
        options = {**SMALL, "latent": 16, "hidden": 48, "learning_rate": 0.01, "word_dropout": 0.0}
        found = fit_rewriter(texts, texts, RewriterOptions(**options, epochs=30), seed=1)
        figures = measure_reconstruction(found, texts)
        assert figures["exact match"].value > 0.9
        assert figures["token accuracy"].value > 0.95
        assert figures["bleu"].value > 95
        assert figures["exact match"].low < figures["exact match"].value <= figures["exact match"].high

    def test_the_figures(self, small, monkeypatch):
        """Exact match is by texts, accuracy by the places of the original's tokens."""
        monkeypatch.setattr(module.Rewriter, "decode", lambda *_: ["show boston", "flights to", "what's the"])
        found = measure_reconstruction(small, ["Show boston", "flights to dallas please", "the fare"])
        assert found["exact match"].value == pytest.approx(1 / 3)
        assert found["token accuracy"].value == pytest.approx((2 + 2 + 0) / (2 + 4 + 2))
        assert 0 <= found["bleu"].value < 100
        with pytest.raises(InputError):
            measure_reconstruction(small, [])

    def test_the_seed(self, small):
        """A public seed gives the same model again; without one every run differs."""
        assert same(small, fitted())
        texts, options = corpus(), RewriterOptions(**SMALL, epochs=1)
        one, other = (fit_rewriter(texts[5:], texts[:5], options) for _ in range(2))
        assert not same(one, other)

    def test_the_facts(self, small):
        """The facts hold options, seed, sizes of the data and the best epoch."""
        facts = small.facts
        assert (facts["seed"], facts["records"], facts["held out"], facts["first stage"]) == (1, 55, 5, None)
        assert facts["options"]["epochs"] == 2
        assert facts["best epoch"] in {1, 2}
        assert facts["held-out loss"] > 0

    def test_the_second_stage(self, small):
        """Training goes on from a model with noise: its vocabulary and sizes stay, whatever the options say."""
        texts = corpus()
        options = RewriterOptions(**{**SMALL, "latent": 20}, epochs=1, noise=("gaussian", 0.2))
        found = fit_rewriter(["zork to dallas", *texts[5:]], texts[:5], options, seed=2, limit=7, start=small)
        assert (found.vocabulary, found.limit, get_shape_options(found)) == (
            small.vocabulary,
            small.limit,
            get_shape_options(small),
        )
        assert found.facts["options"]["noise"] == ("gaussian", 0.2)
        assert found.facts["options"]["latent"] == 8
        assert found.facts["first stage"] == small.facts
        assert not same(small, found)
        held = small.network.state_dict()
        apart = [(held[name] - value).abs().max() for name, value in found.network.state_dict().items()]
        assert max(apart) < 0.2

    def test_noise_needs_a_first_stage(self):
        """Without a model to go on from there is no ball that the vectors fill, and no noise to train with."""
        with pytest.raises(InputError, match="'noise' parameter of training must be None without a model"):
            fit_rewriter(corpus(), corpus()[:5], RewriterOptions(**SMALL, epochs=1, noise=("laplace", 0.1)))

    def test_the_vectors_fill_the_ball(self, small):
        """Three quarters of the training texts lie in the ball, around 0; a second stage moves nothing."""
        texts = list(dict.fromkeys(corpus()[5:]))
        found = small.encode(texts)
        assert np.abs(found.mean(axis=0)).max() < 1e-4
        assert (np.linalg.norm(found, axis=1) <= small.radius * (1 + 1e-6)).mean() == pytest.approx(0.75, abs=0.02)
        second = fit_rewriter(texts, texts[:5], RewriterOptions(**SMALL, epochs=1), seed=2, start=small)
        assert torch.equal(second.network.centre, small.network.centre)
        assert torch.equal(second.network.stretch, small.network.stretch)

    def test_a_text_counts_once(self, small):
        """However often a text is there, it does not draw the ball to itself."""
        moved = [copy.deepcopy(small), copy.deepcopy(small)]
        normalize_rewriter(moved[0], corpus())
        normalize_rewriter(moved[1], [*corpus(), *corpus()[:1] * 500])
        assert torch.equal(moved[0].network.centre, moved[1].network.centre)
        assert torch.equal(moved[0].network.stretch, moved[1].network.stretch)

    def test_the_first_model_stays(self, small):
        """The model that a run goes on from is left as it was."""
        before = serialize_model(small)
        fit_rewriter(corpus(), corpus()[:5], RewriterOptions(**SMALL, epochs=1), seed=2, start=small)
        assert serialize_model(small) == before

    def test_a_checkpoint(self, small, tmp_path):
        """An interrupted run goes on to the model of one that was never interrupted."""
        checkpoint = Checkpoint(tmp_path / "c", {"a": 1}, 3)

        def interrupt(done, *_):
            if done == 10:
                raise KeyboardInterrupt

        texts, options = corpus(), RewriterOptions(**SMALL, epochs=2)
        with pytest.raises(KeyboardInterrupt):
            fit_rewriter(texts[5:], texts[:5], options, seed=1, checkpoint=checkpoint, progress=interrupt)
        seen = []
        with pytest.raises(InputError, match="is the checkpoint of a run with other data, options or version"):
            fit_rewriter(texts[6:], texts[:5], options, seed=1, checkpoint=checkpoint)
        found = fit_rewriter(
            texts[5:], texts[:5], options, seed=1, checkpoint=checkpoint, progress=lambda done, *_: seen.append(done)
        )
        assert seen[0] == 10
        assert same(found, small)

    @pytest.mark.parametrize(("texts", "held_out"), [([], ["a"]), (["a"], [])])
    def test_no_texts(self, texts, held_out):
        """Nothing to learn from or to hold out is refused."""
        with pytest.raises(InputError, match="There are no texts to"):
            fit_rewriter(texts, held_out, RewriterOptions(**SMALL))

    def test_too_long(self):
        """A text that is too long is refused before anything is trained."""
        with pytest.raises(InputError, match="Text 1 has 3 tokens, and the model takes 2"):
            fit_rewriter(["a b c"], ["a"], RewriterOptions(**SMALL), limit=2)

    @pytest.mark.parametrize("limit", [0, -1, 1001, True, 8.0])
    def test_bad_limit(self, limit):
        """A limit that no model file may have is refused before anything is trained."""
        with pytest.raises(InputError, match="'limit' parameter of training must be an int from 1 to 1,000"):
            fit_rewriter(["a"], ["a"], RewriterOptions(**SMALL), limit=limit)

    def test_a_rate_too_large(self):
        """A loss that is no number ends the run in one line."""
        with pytest.raises(DeniableError, match="take a smaller learning rate"):
            fitted(learning_rate=1e30)


class TestFile:
    """The file of a model."""

    def test_it_comes_back(self, small, saved):
        """A model that was written and read encodes and decodes alike, and holds the same facts."""
        found = load_rewriter(saved)
        assert same(found, small)
        assert (found.vocabulary, found.limit, found.facts) == (small.vocabulary, small.limit, small.facts)
        texts = corpus()
        np.testing.assert_array_equal(found.encode(texts), small.encode(texts))
        assert found.decode(found.encode(texts)) == small.decode(small.encode(texts))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("words", ["a", "b"]),
            ("words", None),
            ("shape", {}),
            ("shape", {"words": 5, "latent": 8, "hidden": 24, "embedding": 12, "radius": 1.0}),
            ("weights", {}),
            ("shape", {"words": 5, "latent": 0, "hidden": 24, "embedding": 12, "radius": 1.0}),
            ("shape", {"words": 5, "latent": 8, "hidden": 24, "embedding": 12, "radius": -1.0}),
            ("shape", {"words": 5, "latent": 8, "hidden": 24, "embedding": 12, "radius": -1e300}),
            ("limit", "many"),
            ("limit", 0),
            ("limit", 10**12),
            ("facts", None),
        ],
    )
    def test_parts_that_do_not_fit(self, saved, name, value):
        """A file of the right form with a part that is wrong is a damaged model."""
        held = read_stored(saved.read_bytes())
        if name in held["configuration"]:
            held["configuration"][name] = value
        else:
            held[name] = value
        saved.write_bytes(write_stored(held))
        with pytest.raises(InputError, match=r"is a damaged model \("):
            load_rewriter(saved)

    def test_fewer_words(self, saved):
        """A vocabulary of another size than the network's is a damaged model."""
        held = read_stored(saved.read_bytes())
        held["configuration"]["words"] = held["configuration"]["words"][:-1]
        saved.write_bytes(write_stored(held))
        with pytest.raises(InputError, match="words for a network of"):
            load_rewriter(saved)

    def test_weights_that_are_no_numbers(self, saved):
        """A model with weights that are not finite is damaged."""
        held = read_stored(saved.read_bytes())
        held["weights"]["bias"][:] = float("nan")
        saved.write_bytes(write_stored(held))
        with pytest.raises(InputError, match="weights that are not finite"):
            load_rewriter(saved)

    @pytest.mark.parametrize("stretch", [0.0, -1.0, float("nan")])
    def test_a_stretch_out_of_range(self, saved, stretch):
        """A model whose decoder would divide by nothing is damaged."""
        held = read_stored(saved.read_bytes())
        held["weights"]["stretch"].fill_(stretch)
        saved.write_bytes(write_stored(held))
        with pytest.raises(InputError, match="vectors stretched by"):
            load_rewriter(saved)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not a model"),
            (
                write_stored({**EMPTY, "kind": "text model"}),
                "another kind of model, 'text model': .* of kind 'rewriter'",
            ),
            (write_stored({**EMPTY, "format": "deniable-rewriter/1"}), "was written by another version of deniable"),
            (write_stored([1]), "is not a model"),
        ],
    )
    def test_other_files(self, tmp_path, content, message):
        """Any other file is refused."""
        path = tmp_path / "other.pt"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_rewriter(path)
        with pytest.raises(InputError, match="There is no model"):
            load_rewriter(tmp_path / "none.pt")
