"""Private text classifiers: a budget that is kept, places that tell no number, and runs that go on."""

import dataclasses

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.models.text.options import PrivateTextOptions
from deniable.models.text.private_training import (
    EMPTY_LABEL,
    Checkpoint,
    choose_learning_rate,
    fill_places,
    fit_private_text_model,
    plan_private_training,
)
from tests.models.text.samples import documents, join
from tests.refusals import refuses

OPTIONS = PrivateTextOptions(epsilon=8.0, delta=1e-3, places=200, epochs=10)
KEY = bytes(32)


@pytest.fixture(scope="module")
def model(words_space, reviews):
    return fit_private_text_model(words_space, reviews, OPTIONS, key=KEY)


def same(first, second):
    """Say whether two models have the same weights, bit for bit."""
    ours, theirs = first.network.state_dict(), second.network.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def empty(held, row):
    """Return documents, one of them made empty."""
    texts = [[] if number == row else text for number, text in enumerate(held.texts)]
    labels = held.labels.copy()
    labels[row] = EMPTY_LABEL
    return dataclasses.replace(held, texts=join(texts), labels=labels)


def test_it_learns_within_its_budget(model, reviews):
    """A good epsilon teaches the words with a meaning, and the guarantee spends no more than was asked for."""
    assert dn.texts.measure_text_accuracy(model, reviews).value > 0.85
    assert model.guarantee.unit == "record"
    assert "place" in model.guarantee.adjacency
    assert 7.9 < model.guarantee.epsilon <= 8.0
    assert model.guarantee.status == model.verdict.status == "proved for ideal arithmetic"


def test_noise_follows_from_the_budget(words_space, reviews):
    """A small epsilon teaches nothing: noise is added, and calibrated to it."""
    options = dataclasses.replace(OPTIONS, epsilon=0.01, learning_rate=4.0)
    made = fit_private_text_model(words_space, reviews, options, key=KEY)
    assert made.facts["accounting"]["noise multiplier"] > 50
    assert dn.texts.measure_text_accuracy(made, reviews).value < 0.8


def test_a_model_comes_back(model, words_space, reviews, tmp_path):
    """A file holds weights and facts, and no claim; the vectors come from the space."""
    dn.texts.save_model(model, tmp_path / "m.pt")
    back = dn.texts.load_text_model(tmp_path / "m.pt", words_space)
    assert model.guarantee is not None
    assert (back.name, back.guarantee, back.verdict, back.facts) == (model.name, None, None, model.facts)
    assert (back.predict(reviews) == model.predict(reviews)).all()
    assert (tmp_path / "m.pt").stat().st_size < 20_000


def test_the_number_of_records_stands_nowhere(words_space, reviews, model):
    """Facts and guarantee are the same for two numbers of records within the places; a choice from the data is told."""
    fewer = fit_private_text_model(words_space, reviews.take(np.arange(150)), OPTIONS, key=KEY)
    assert (fewer.facts, fewer.guarantee) == (model.facts, model.guarantee)
    chosen = dataclasses.replace(OPTIONS, chosen_from_data=True)
    told = fit_private_text_model(words_space, reviews, chosen, key=KEY).facts["epsilon chosen"]
    assert told != model.facts["epsilon chosen"]


@pytest.mark.parametrize("places", [150, 200, 300])
def test_a_record_made_empty_changes_one_place(model, reviews, places):
    """Whether there are more records than places or fewer, every other place keeps what it had."""
    network = model.network
    inputs, labels = fill_places(network, reviews, places, KEY)
    assert int((labels != EMPTY_LABEL).sum()) == min(places, len(reviews))
    for row in (0, 57, 199):
        others = fill_places(network, empty(reviews, row), places, KEY)
        changed = (labels != others[1]) | (inputs != others[0]).any(1)
        assert int(changed.sum()) <= 1
        assert (others[1][changed] == EMPTY_LABEL).all()
    emptied = [fill_places(network, empty(reviews, row), places, KEY)[1] for row in range(0, 200, 2)]
    had_place = sum(not torch.equal(labels, one) for one in emptied)
    assert had_place == 100 if places >= 200 else 50 <= had_place < 100


def test_the_choice_among_surplus_records_follows_the_key(model, reviews):
    """Other keys leave out other records."""
    first, second = (fill_places(model.network, reviews, 100, key)[0] for key in (KEY, bytes(31) + b"1"))
    assert not torch.equal(first.sort(0).values, second.sort(0).values)


def test_texts_without_words_and_too_long_ones_are_empty(model, monkeypatch):
    """What the network does not read is an empty record, whatever its label."""
    monkeypatch.setattr(type(model.network), "max_words", 3)
    held = documents([[], [1, 2, 3], [1, 2, 3, 4]], [0, 1, 1])
    inputs, labels = fill_places(model.network, held, 5, KEY)
    assert sorted(labels.tolist()) == [EMPTY_LABEL] * 4 + [1]
    assert not inputs[labels == EMPTY_LABEL].any()
    torch.testing.assert_close(inputs[labels == 1][0], model.network.net.embeddings.weight[1:4].mean(0))


def test_an_interrupted_run_ends_the_same(words_space, reviews, model, tmp_path):
    """A run that resumes has the key, the places and the model of one that did not stop.

    One key never makes the noise of two runs: other records or options are refused, and runs without a key share none.
    """
    checkpoint = Checkpoint(tmp_path / "c", interval=3)

    def stop(done, total, loss):  # noqa: ARG001 - as progress is called
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_private_text_model(words_space, reviews, OPTIONS, key=KEY, checkpoint=checkpoint, progress=stop)
    assert same(fit_private_text_model(words_space, reviews, OPTIONS, checkpoint=checkpoint), model)
    for held, options in (
        (empty(reviews, 3), OPTIONS),
        (reviews, dataclasses.replace(OPTIONS, epsilon=7.0)),
        (reviews, dataclasses.replace(OPTIONS, clip=0.5)),
    ):
        with refuses("checkpoint"):
            fit_private_text_model(words_space, held, options, checkpoint=checkpoint)
    assert not same(*(fit_private_text_model(words_space, reviews, OPTIONS) for _ in range(2)))


@pytest.mark.deep
def test_the_schedule_follows_from_declared_numbers():
    """Batch, steps and learning rate are functions of places, budget and dimensions."""
    settings = plan_private_training(PrivateTextOptions(1.0, 1e-5, 8_192), 50)
    assert (settings.plan.rate, settings.plan.steps, settings.learning_rate) == (0.5, 60, 4.0)
    small = plan_private_training(PrivateTextOptions(1.0, 1e-5, 500), 300)
    assert small.plan.rate == 1.0
    assert small.learning_rate == pytest.approx(500 / (2 * small.plan.noise_multiplier * 300**0.5))
    assert plan_private_training(PrivateTextOptions(1.0, 1e-5, 100, batch_size=30, epochs=2), 5).plan.steps == 7
    assert choose_learning_rate(dn.TrainingPlan("poisson", 10**9, 10**9, 1, 1.0, 1.0), 4) == 4.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("delta", 1.0),
        ("places", 0),
        ("batch_size", 0),
        ("clip", 0.0),
        ("learning_rate", float("nan")),
    ],
)
def test_values_outside_their_domain(name, value):
    """A value that means nothing is refused by its name."""
    with refuses(name):
        dataclasses.replace(OPTIONS, **{name: value})


def test_pairs_are_refused(words_space, pairs):
    """A document is one text."""
    with refuses("not pairs"):
        fit_private_text_model(words_space, pairs, OPTIONS)
