"""Training of text classifiers: losses, methods, copies that follow their law, and what a seed determines."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

import deniable as dn
from deniable.models.text import training
from deniable.models.text.options import TextTrainingOptions, make_text_training_options
from deniable.models.text.training import augment_documents, compute_ibp_loss, make_text_batch, prepare_text_run
from tests.models.text.samples import documents, versions
from tests.refusals import refuses

KEY, OTHER = bytes(range(32)), bytes(32)
SINGLE = ["cnn", "bow", "fasttext"]
deep = pytest.mark.deep


def same(one, other):
    """Say whether two models hold the same numbers, bit for bit."""
    ours, theirs = one.network.state_dict(), other.network.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("name", SINGLE)
def test_without_weight_the_certified_loss_is_cross_entropy(fitted, word_sets, reviews, name):
    """At kappa 0 the worst case does not matter, and with boxes of no size it is the usual case."""
    made, some = fitted(name).network, make_text_batch(reviews.take(np.arange(9)))
    usual = functional.cross_entropy(made(some), some.labels)
    for kappa, scale in ((0.0, 1.0), (1.0, 0.0), (0.5, 0.0)):
        found = compute_ibp_loss(made, some, word_sets, kappa=kappa, scale=scale)
        torch.testing.assert_close(found, usual, rtol=1e-3, atol=1e-3)


def test_the_certified_loss_is_the_worst_of_all_texts(fit, word_sets, reviews):
    """Of a linear model of two classes it is the largest loss over all texts, tried one by one."""
    linear, some = fit("fasttext").network, reviews.take(np.arange(12))
    with torch.no_grad():
        linear.net.output.weight.copy_(torch.randn(2, 16, generator=torch.Generator().manual_seed(0)))
    worst, batch = [], make_text_batch(some)
    for row in range(len(some)):
        many = make_text_batch(versions(some, row, word_sets))
        worst.append(functional.cross_entropy(linear(many), many.labels, reduction="none").max())
    found = compute_ibp_loss(linear, batch, word_sets, kappa=1.0, scale=1.0)
    torch.testing.assert_close(found, torch.stack(worst).mean(), rtol=1e-4, atol=1e-5)
    usual = functional.cross_entropy(linear(batch), batch.labels)
    assert found > usual + 0.01
    half = compute_ibp_loss(linear, batch, word_sets, kappa=0.5, scale=1.0)
    torch.testing.assert_close(half, (found + usual) / 2, rtol=1e-4, atol=1e-5)


def test_the_ramp(fit, word_sets, reviews, monkeypatch):
    """Weight and size of the boxes grow together from 0, linearly, and are whole from the ramp's end on."""
    seen, before = [], training.compute_ibp_loss

    def noted(*given, kappa, scale):
        seen.append((kappa, scale))
        return before(*given, kappa=kappa, scale=scale)

    monkeypatch.setattr(training, "compute_ibp_loss", noted)
    options = TextTrainingOptions(method="ibp", epochs=10, batch_size=200, kappa=0.6, ramp=0.5)
    run = prepare_text_run(fit("fasttext").network, reviews, options, word_sets, KEY)
    for number in range(run.steps):
        run.step(number)
    assert [scale for _, scale in seen] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1])
    assert [kappa for kappa, _ in seen] == pytest.approx([0.6 * scale for _, scale in seen])


def test_dropout_is_drawn_from_the_key(fit, reviews):
    """Dropout changes the loss of a step from key to key, and not from run to run."""

    def first_loss(key):
        made = fit("cnn").network.train()
        return prepare_text_run(made, reviews, TextTrainingOptions(batch_size=200, epochs=1), None, key).step(0)

    assert first_loss(KEY) == first_loss(KEY) != first_loss(OTHER)


def test_gradients_are_clipped(fit, reviews):
    """Clipping to a norm shows in the moments of Adam, whose first step does not depend on the gradient's size."""
    options = TextTrainingOptions(clip=1e-3, epochs=1, weight_decay=0.0)
    run = prepare_text_run(fit("cnn").network, reviews, options, None, KEY)
    run.step(0)
    moments = run.state()["optimizer"]["state"].values()
    norm = sum((moment["exp_avg"] / 0.1).square().sum() for moment in moments) ** 0.5
    torch.testing.assert_close(norm, torch.tensor(1e-3), rtol=1e-3, atol=0)


@pytest.fixture(params=["sets", "mechanism"])
def source(request, words_space, word_sets):
    """Return sets of substitutions, or a mechanism."""
    return word_sets if request.param == "sets" else dn.TEM(words_space, epsilon=1.0)


def copies_of(held, source, key=KEY, count=1):
    """Return the texts of each copy of documents."""
    many = augment_documents(held, source, count, key).texts
    return [many.take(np.arange(len(held)) + len(held) * (1 + number)) for number in range(count)]


def test_copies_follow_the_law(source, words_space):
    """Substitutes fit the law of their source over 50,000 draws, and not one that is 30 % off."""
    word = words_space.index_of("good")
    (drawn,) = copies_of(documents([[word] * 100] * 500), source)
    if hasattr(source, "choices"):
        expected = np.zeros(len(words_space))
        expected[source.choices_of(word)] = 1 / source.choice_counts[word]
    else:
        expected = source.probabilities("good")
    counts = np.bincount(drawn.words, minlength=len(expected))
    assert counts[expected == 0].sum() == 0
    counts, expected = counts[expected > 0], expected[expected > 0]
    assert stats.chisquare(counts, 50_000 * expected).pvalue > 1e-6
    wrong = expected.copy()
    wrong[0] *= 0.7
    wrong[1:] *= (1 - wrong[0]) / wrong[1:].sum()
    assert stats.chisquare(counts, 50_000 * wrong).pvalue < 1e-6


def test_copies_are_drawn_apart(source, reviews):
    """Another copy, another row and another key give other draws; the words of other rows do not matter."""
    first, second = copies_of(reviews, source, count=2)
    (other_key,) = copies_of(reviews, source, OTHER)
    (turned,) = copies_of(reviews.take(np.roll(np.arange(200), 1)), source)
    back = turned.take(np.roll(np.arange(200), -1))
    assert len({held.words.tobytes() for held in (first, second, other_key, back, reviews.texts)}) == 5
    assert all(held.offsets.tolist() == reviews.texts.offsets.tolist() for held in (first, second, other_key))
    (alone,) = copies_of(reviews.take(np.arange(50)), source)
    assert [words.tolist() for words in alone] == [first[row].tolist() for row in range(50)]


def test_augmented_documents(word_sets, reviews, pairs):
    """The documents come first, then copies of all in their order, with labels and premises of the originals."""
    found = augment_documents(reviews, word_sets, 3, KEY)
    assert found.labels.tolist() == reviews.labels.tolist() * 4
    assert found.texts.take(np.arange(200)).words.tolist() == reviews.texts.words.tolist()
    many = augment_documents(pairs, word_sets, 1, KEY)
    assert many.premises.words.tolist() == pairs.premises.words.tolist() * 2


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("fasttext", "augmented"),
        ("cnn", "ibp"),
        ("bow", "normal"),
        *(pytest.param("bow", method, marks=deep) for method in ("ibp", "augmented")),
        *(pytest.param("fasttext", method, marks=deep) for method in ("ibp", "normal")),
        *(pytest.param("cnn", method, marks=deep) for method in ("normal", "augmented")),
    ],
)
def test_every_model_learns(fitted, word_sets, reviews, name, method):
    """Every method teaches every model what a review says; certified training certifies most of what it learned."""
    given = {"clip": None, "weight_decay": 0.0} if name == "fasttext" else {}
    given |= {"copies": 1} if method == "augmented" else {}
    found = fitted(name, method, epochs=8, learning_rate=0.02, **given)
    assert dn.texts.measure_text_accuracy(found, reviews).value > 0.95
    if method == "ibp":
        assert dn.texts.certify_by_intervals(found, reviews, word_sets).mean() > 0.9


@pytest.mark.parametrize("method", ["normal", pytest.param("ibp", marks=deep), pytest.param("augmented", marks=deep)])
@pytest.mark.parametrize("name", ["attention", pytest.param("bow", marks=deep)])
def test_pairs_are_learned(fit, pairs, name, method):
    """Networks for pairs learn whether two texts agree, which neither says alone."""
    given = {"copies": 1} if method == "augmented" else {}
    found = fit(name, method, pairs, epochs=25, learning_rate=0.005, **given)
    assert dn.texts.measure_text_accuracy(found, pairs).value > 0.95


@pytest.mark.parametrize(
    "name", ["cnn", *(pytest.param(name, marks=deep) for name in ("bow", "fasttext", "attention"))]
)
def test_the_seed_determines_everything(fit, name):
    """The same seed gives the same weights, whatever torch's own generator holds; another seed and no seed do not."""
    first, *others = (fit(name, "augmented", copies=1, batch_size=100, seed=seed) for seed in (5, 6, None, None))
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert same(first, fit(name, "augmented", copies=1, batch_size=100, seed=5))
    assert torch.equal(torch.get_rng_state(), state)
    assert not same(first, others[0])
    assert not same(*others[1:])


def test_a_loss_that_is_no_number(fit):
    """A learning rate that is far too large ends in one line that says so."""
    with refuses("smaller learning rate", kind=dn.DeniableError):
        fit("cnn", epochs=3, learning_rate=1e30)


def test_what_follows_where_nothing_is_chosen():
    """Ten epochs are the least, and a thousand steps; FastText has defaults of its own, which a choice replaces."""
    assert TextTrainingOptions().resolve_epochs(20_000).epochs == 10
    assert TextTrainingOptions().resolve_epochs(540).epochs == 59
    assert TextTrainingOptions(method="augmented", copies=4).resolve_epochs(540).epochs == 12
    assert TextTrainingOptions().resolve_epochs(2).epochs == 1_000
    assert TextTrainingOptions(epochs=3).resolve_epochs(2).epochs == 3
    assert make_text_training_options("fasttext").clip is None
    assert make_text_training_options("fasttext", learning_rate=0.5).learning_rate == 0.5
    assert make_text_training_options("cnn") == TextTrainingOptions()


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"method": "x"}, "'x'"),
        ({"epochs": 0}, "Got 0"),
        ({"epochs": 1.5}, "1.5"),
        ({"batch_size": 100_001}, "100001"),
        ({"learning_rate": 0.0}, "'learning_rate'"),
        ({"learning_rate": 1e31}, "1e+31"),
        ({"learning_rate": None}, "None"),
        ({"clip": float("nan")}, "nan"),
        ({"kappa": float("nan"), "method": "ibp"}, "nan"),
        ({"ramp": -0.1, "method": "ibp"}, "-0.1"),
        ({"kappa": 0.5}, "'kappa'"),
        ({"copies": 2, "method": "ibp"}, "'copies'"),
    ],
)
def test_values_that_cannot_be_used(given, value):
    """A value outside its domain, or for another method, is refused."""
    with refuses(value):
        make_text_training_options("cnn", **given)
