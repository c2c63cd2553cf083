"""Training of text classifiers: batches, losses, methods, and runs that go on."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional

import deniable as dn
from deniable.core.errors import DeniableError, InputError
from deniable.learning.loop import Checkpoint, build_with_seed
from deniable.models.text import training
from deniable.models.text.documents import Documents, concatenate_texts, tokenize_texts
from deniable.models.text.model import certify_by_intervals, fit_text_model, measure_text_accuracy
from deniable.models.text.networks import TEXT_NETWORKS, build_text_network
from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.substitutions import draw_copies
from deniable.models.text.training import (
    TextTrainingOptions,
    augment_documents,
    check_documents_fit,
    compute_ibp_loss,
    make_text_training_options,
    prepare_text_run,
)
from tests.models.text.networks.small import versions

KEY, OTHER = bytes(range(32)), bytes(32)
QUICK = {"epochs": 8, "learning_rate": 0.02}
SINGLE = [name for name, kinds in TEXT_NETWORKS.items() if not all(kind.takes_pairs for kind in kinds)]


@pytest.fixture(scope="module")
def pairs(words_space):
    """Return pairs whose class says whether both texts tell of the same thing, a film or a plot."""
    coins = np.random.default_rng(2)
    lines, labels = [], []
    for _ in range(200):
        about = [str(coins.choice(["good", "bad"])) for _ in range(2)]
        lines.append([f"the film was {word}" for word in about])
        labels.append(int(about[0] == about[1]))
    premises, held = (tokenize_texts(words_space, [line[at] for line in lines]).texts for at in (0, 1))
    return Documents(held, np.array(labels), ("differ", "agree"), premises)


def weights(model):
    return model.network.state_dict()


def same(one, other):
    """Say whether two models hold the same numbers, bit for bit."""
    return all(torch.equal(weights(one)[name], weights(other)[name]) for name in weights(one))


class TestLoss:
    """The loss of certified training."""

    @pytest.fixture
    def linear(self, words_space):
        """Return the FastText form, whose bounds are exact, with weights that are not small."""
        made = build_with_seed(3, lambda: build_text_network("fasttext", words_space, 2))
        with torch.no_grad():
            made.net.output.weight.copy_(torch.randn(2, 16, generator=torch.Generator().manual_seed(0)))
        return made

    @pytest.mark.parametrize("name", SINGLE)
    def test_without_weight_it_is_cross_entropy(self, words_space, word_sets, reviews, name):
        """At kappa 0 the worst case does not matter, and with boxes of no size it is the usual case."""
        made, some = (
            build_with_seed(0, lambda: build_text_network(name, words_space, 2)),
            make_text_batch(reviews.take(np.arange(9))),
        )
        usual = functional.cross_entropy(made(some), some.labels)
        for kappa, scale in ((0.0, 1.0), (1.0, 0.0), (0.5, 0.0)):
            torch.testing.assert_close(
                compute_ibp_loss(made, some, word_sets, kappa=kappa, scale=scale), usual, rtol=1e-3, atol=1e-3
            )

    def test_it_is_the_worst_of_all_texts(self, linear, word_sets, reviews):
        """Of a linear model of two classes it is the largest loss over all texts, tried one by one."""
        some = reviews.take(np.arange(12))
        worst = []
        for row in range(len(some)):
            many = make_text_batch(versions(some, row, word_sets))
            worst.append(functional.cross_entropy(linear(many), many.labels, reduction="none").max())
        found = compute_ibp_loss(linear, make_text_batch(some), word_sets, kappa=1.0, scale=1.0)
        torch.testing.assert_close(found, torch.stack(worst).mean(), rtol=1e-4, atol=1e-5)
        usual = functional.cross_entropy(linear(make_text_batch(some)), make_text_batch(some).labels)
        assert found > usual + 0.01
        half = compute_ibp_loss(linear, make_text_batch(some), word_sets, kappa=0.5, scale=1.0)
        torch.testing.assert_close(half, (found + usual) / 2, rtol=1e-4, atol=1e-5)

    def test_the_ramp(self, words_space, word_sets, reviews, monkeypatch):
        """Weight and size of the boxes grow together from 0, linearly, and are whole from the ramp's end on."""
        seen = []
        before = training.compute_ibp_loss

        def noted(*given, kappa, scale):
            seen.append((kappa, scale))
            return before(*given, kappa=kappa, scale=scale)

        monkeypatch.setattr(training, "compute_ibp_loss", noted)
        options = TextTrainingOptions(method="ibp", epochs=10, batch_size=200, kappa=0.6, ramp=0.5)
        run = prepare_text_run(build_text_network("fasttext", words_space, 2), reviews, options, word_sets, KEY)
        for number in range(run.steps):
            run.step(number)
        assert [scale for _, scale in seen] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1])
        assert [kappa for kappa, _ in seen] == pytest.approx([0.6 * scale for _, scale in seen])


@pytest.mark.parametrize("kind", ["sets", "mechanism"])
def test_augmented(words_space, word_sets, reviews, kind):
    """The documents come first, then copies of all of them in their order, with the labels of the originals."""
    source = word_sets if kind == "sets" else dn.TEM(words_space, epsilon=2.0)
    found, rows = augment_documents(reviews, source, 3, KEY), np.arange(200)
    assert len(found) == 800
    assert found.labels.tolist() == reviews.labels.tolist() * 4
    assert [words.tolist() for words in found.texts.take(rows)] == [words.tolist() for words in reviews.texts]
    for number in range(3):
        drawn = found.texts.take(rows + 200 * (1 + number)).words
        assert np.array_equal(drawn, draw_copies(reviews.texts, rows, source, KEY, number).words)
        assert not np.array_equal(drawn, reviews.texts.words)


def test_augmented_pairs(word_sets, pairs):
    """Copies of a pair keep its premise."""
    found = augment_documents(pairs, word_sets, 1, KEY)
    assert found.premises.words.tolist() == pairs.premises.words.tolist() * 2


@pytest.mark.parametrize("method", training.TEXT_TRAINING_METHODS)
@pytest.mark.parametrize("name", SINGLE)
def test_every_model_learns(words_space, word_sets, reviews, name, method):
    """Every method teaches every model what a review says; certified training certifies most of what it learned."""
    options = dataclasses.replace(make_text_training_options(name, method=method), **QUICK, copies=1)
    source = None if method == "normal" else word_sets
    found = fit_text_model(name, words_space, reviews, options, source=source, seed=1)
    assert measure_text_accuracy(found, reviews).value > 0.95
    if method == "ibp":
        assert certify_by_intervals(found, reviews, word_sets).mean() > 0.9


@pytest.mark.parametrize("method", training.TEXT_TRAINING_METHODS)
@pytest.mark.parametrize("name", ["bow", "attention"])
def test_pairs_are_learned(words_space, word_sets, pairs, name, method):
    """Networks for pairs learn whether two texts agree, which neither says alone."""
    options = TextTrainingOptions(method=method, epochs=25, learning_rate=0.005, copies=1)
    found = fit_text_model(name, words_space, pairs, options, source=None if method == "normal" else word_sets, seed=1)
    assert measure_text_accuracy(found, pairs).value > 0.95


@pytest.mark.parametrize("name", TEXT_NETWORKS)
def test_the_seed_determines_everything(words_space, word_sets, reviews, pairs, name):
    """The same seed gives the same weights, whatever torch's own generator holds; another seed and no seed do not."""
    documents = pairs if name == "attention" else reviews
    options = TextTrainingOptions(method="augmented", epochs=1, copies=1)

    def fitted(seed):
        return fit_text_model(name, words_space, documents, options, source=word_sets, seed=seed)

    first = fitted(5)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert same(first, fitted(5))
    assert torch.equal(torch.get_rng_state(), state)
    assert not same(first, fitted(6))
    assert not same(fitted(None), fitted(None))


def test_dropout_is_drawn_from_the_key(words_space, reviews):
    """Dropout changes the loss of a step from key to key, and not from run to run."""

    def first_loss(key):
        made = build_with_seed(0, lambda: build_text_network("cnn", words_space, 2))
        return prepare_text_run(made, reviews, TextTrainingOptions(batch_size=200), None, key).step(0)

    assert first_loss(KEY) == first_loss(KEY)
    assert first_loss(KEY) != first_loss(OTHER)


@pytest.mark.parametrize(("name", "method"), [("cnn", "ibp"), ("fasttext", "augmented"), ("bow", "normal")])
def test_an_interrupted_run_goes_on(words_space, word_sets, reviews, tmp_path, name, method):
    """A run that is interrupted and resumed ends with the weights of one that was not, bit for bit."""
    options = TextTrainingOptions(method=method, epochs=2, copies=1)
    source = None if method == "normal" else word_sets
    kept = Checkpoint(tmp_path / "c", {"a": 1}, 2)

    def interrupt(done, *_):
        if done == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_text_model(name, words_space, reviews, options, source=source, checkpoint=kept, progress=interrupt)
    began = []
    resumed = fit_text_model(
        name, words_space, reviews, options, source=source, checkpoint=kept, progress=lambda at, *_: began.append(at)
    )
    assert began[0] == 9
    kept_key = kept.load_key(b"")
    kept.remove()

    class Whole(Checkpoint):
        def load_key(self, fresh):  # noqa: ARG002 - as the class that it replaces
            return kept_key

    whole = fit_text_model(
        name, words_space, reviews, options, source=source, checkpoint=Whole(tmp_path / "d", {"a": 1}, 10**6)
    )
    assert same(resumed, whole)


def test_a_checkpoint_serves_one_source(words_space, reviews, word_sets, tmp_path):
    """Other substitutions of the same name, and a mechanism whose epsilon rounds to the same text, are another run."""
    kept = Checkpoint(tmp_path / "c", {"a": 1}, 1)
    options = TextTrainingOptions(method="augmented", epochs=1, copies=1)

    def interrupt(done, *_):
        if done == 2:
            raise KeyboardInterrupt

    choices = word_sets.choices.copy()
    choices[0] = 0
    choices[1] = 1
    sources = {
        word_sets: dataclasses.replace(word_sets, choices=choices),
        dn.TEM(words_space, epsilon=3.0): dn.TEM(words_space, epsilon=3.0 + 2**-50),
    }
    for source, other in sources.items():
        with pytest.raises(KeyboardInterrupt):
            fit_text_model("cnn", words_space, reviews, options, source=source, checkpoint=kept, progress=interrupt)
        with pytest.raises(InputError, match="is the checkpoint of a run with other data, options or version"):
            fit_text_model("cnn", words_space, reviews, options, source=other, checkpoint=kept)
        kept.remove()


def test_a_loss_that_is_no_number(words_space, reviews):
    """A learning rate that is far too large ends in one line that says so."""
    options = TextTrainingOptions(epochs=3, learning_rate=1e30)
    with pytest.raises(DeniableError, match=r"take a smaller learning rate"):
        fit_text_model("cnn", words_space, reviews, options, seed=1)


class TestOptions:
    """What can be chosen, and what follows where nothing is."""

    def test_small_tables_take_more_epochs(self):
        """Ten epochs are the least, and a thousand steps; what is asked for is kept."""
        assert TextTrainingOptions().resolve_epochs(20_000).epochs == 10
        assert TextTrainingOptions().resolve_epochs(540).epochs == 59
        assert TextTrainingOptions(method="augmented", copies=4).resolve_epochs(540).epochs == 12
        assert TextTrainingOptions().resolve_epochs(2).epochs == 1_000
        assert TextTrainingOptions(epochs=3).resolve_epochs(2).epochs == 3

    def test_defaults_of_models(self):
        """FastText has defaults of its own, which a choice replaces; the other models have those of the paper."""
        assert make_text_training_options("fasttext").clip is None
        assert make_text_training_options("fasttext", learning_rate=0.5).learning_rate == 0.5
        assert make_text_training_options("cnn") == TextTrainingOptions()

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"method": "x"}, "must be one of normal, ibp, augmented. Got 'x'."),
            ({"epochs": 0}, "must be an int from 1 to 100,000. Got 0."),
            ({"epochs": 1.5}, "Got 1.5."),
            ({"batch_size": 100_001}, "Got 100001."),
            ({"learning_rate": 0.0}, "must be a float in"),
            ({"learning_rate": 1e31}, "must be a float in \\[1e-30, 1e\\+30\\]. Got 1e\\+31."),
            ({"learning_rate": None}, "Got None."),
            ({"clip": float("nan")}, "Got nan."),
            ({"kappa": float("nan"), "method": "ibp"}, "must be a float in \\[0, 1\\]. Got nan."),
            ({"ramp": -0.1, "method": "ibp"}, "Got -0.1."),
            ({"kappa": 0.5}, "'kappa' option belongs to the method ibp, not to normal"),
            ({"copies": 2, "method": "ibp"}, "'copies' option belongs to the method augmented"),
        ],
    )
    def test_values_that_cannot_be_used(self, given, message):
        """A value outside its domain, or for another method, is refused."""
        with pytest.raises(InputError, match=message):
            make_text_training_options("cnn", **given)


class TestRefusals:
    """Documents and sources that do not go with a model or a method."""

    def test_sources(self, words_space, reviews):
        """A method that lacks its words is refused; boxes come from substitutions alone."""
        for options, source, message in (
            (TextTrainingOptions(method="ibp"), None, "ibp needs substitutions"),
            (TextTrainingOptions(method="ibp"), dn.TEM(words_space, epsilon=1.0), "ibp needs substitutions"),
            (TextTrainingOptions(method="augmented"), None, "augmented needs substitutions or a mechanism"),
        ):
            with pytest.raises(InputError, match=message):
                fit_text_model("fasttext", words_space, reviews, options, source=source)

    def test_kinds(self, words_space, reviews, pairs):
        """Pairs and single texts are told apart."""
        with pytest.raises(InputError, match="for pairs of texts: name the column of the premise"):
            fit_text_model("attention", words_space, reviews, TextTrainingOptions())
        with pytest.raises(InputError, match="for single texts, not pairs: leave out --premise"):
            fit_text_model("cnn", words_space, pairs, TextTrainingOptions())

    @pytest.mark.parametrize("part", ["text", "premise"])
    def test_no_words(self, words_space, part):
        """A text or a premise without a word is named by its row."""
        made = build_text_network("attention", words_space, 2)
        held = [concatenate_texts([[0], [], [2]]), concatenate_texts([[0], [1], [2]])]
        some, premises = held if part == "text" else held[::-1]
        with pytest.raises(InputError, match=f"The {part} of row 2 has no word that the space knows: leave it out"):
            check_documents_fit(made, Documents(some, np.array([0, 1, 0]), ("a", "b"), premises))

    @pytest.mark.parametrize("part", ["text", "premise"])
    def test_lengths(self, words_space, part):
        """A text or a premise of more words than the model takes is named by its row; the limit itself is taken."""
        made = build_text_network("attention", words_space, 2)
        short = concatenate_texts([[0], [1], [2]])
        for words, message in ((500, None), (501, f"The {part} of row 2 has 501 words, and the model takes 500")):
            long = concatenate_texts([[0], [1] * words, [2]])
            held = (long, short) if part == "text" else (short, long)
            documents = Documents(held[0], np.array([0, 1, 0]), ("a", "b"), held[1])
            if message is None:
                check_documents_fit(made, documents)
            else:
                with pytest.raises(InputError, match=message):
                    check_documents_fit(made, documents)
