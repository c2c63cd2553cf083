"""Private text classifiers: a budget that is kept, places that tell no number, and runs that go on."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from deniable.core.errors import InputError
from deniable.core.guarantees import EMPTY_PLACE, PROVED_IDEAL
from deniable.learning.artifact import save_model
from deniable.learning.clipping import EMPTY_LABEL
from deniable.learning.loop import Checkpoint
from deniable.models.text import private_training
from deniable.models.text.card import build_private_text_card
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.model import fit_text_model, load_text_model, measure_text_accuracy
from deniable.models.text.networks.frozen_mean import FrozenMean
from deniable.models.text.private_training import (
    PrivateTextOptions,
    choose_learning_rate,
    fill_places,
    fit_private_text_model,
)
from deniable.models.text.training import TextTrainingOptions
from deniable.text.release_certificate import CHOICE_DISCLOSURE

OPTIONS = PrivateTextOptions(epsilon=8.0, delta=1e-3, places=200, epochs=10)
KEY = bytes(32)


@pytest.fixture(scope="module")
def model(words_space, reviews):
    return fit_private_text_model(words_space, reviews, OPTIONS, key=KEY)


def same(first, second):
    """Say whether two models have the same weights, bit for bit."""
    ours, theirs = first.network.state_dict(), second.network.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def empty(documents, row):
    """Return the documents, one of them made empty."""
    texts = [[] if number == row else text for number, text in enumerate(documents.texts)]
    labels = documents.labels.copy()
    labels[row] = EMPTY_LABEL
    return dataclasses.replace(documents, texts=concatenate_texts(texts), labels=labels)


def test_it_learns_within_its_budget(model, reviews):
    """A good epsilon teaches the words with a meaning, and the guarantee spends no more than was asked for."""
    assert measure_text_accuracy(model, reviews).value > 0.85
    assert (model.guarantee.unit, model.guarantee.adjacency) == ("record", EMPTY_PLACE)
    assert 7.9 < model.guarantee.epsilon <= 8.0
    assert model.guarantee.status == model.verdict.status == PROVED_IDEAL


def test_noise_follows_from_the_budget(words_space, reviews):
    """A small epsilon teaches nothing: noise is added, and calibrated to it."""
    options = dataclasses.replace(OPTIONS, epsilon=0.01, learning_rate=4.0)
    made = fit_private_text_model(words_space, reviews, options, key=KEY)
    assert made.facts["accounting"]["noise multiplier"] > 50
    assert measure_text_accuracy(made, reviews).value < 0.8


def test_a_model_comes_back(model, words_space, reviews, tmp_path):
    """A file holds weights and facts, and no claim; the vectors come from the space."""
    save_model(model, tmp_path / "m.pt")
    back = load_text_model(tmp_path / "m.pt", words_space)
    assert model.guarantee is not None
    assert (back.name, back.guarantee, back.verdict, back.facts) == (model.name, None, None, model.facts)
    assert (back.predict(reviews) == model.predict(reviews)).all()
    assert (tmp_path / "m.pt").stat().st_size < 20_000


def test_the_number_of_records_stands_nowhere(words_space, reviews):
    """Facts and card are the same for two numbers of records within the places, but for the commitment."""
    cards = []
    for count in (150, 151):
        made = fit_private_text_model(words_space, reviews.take(np.arange(count)), OPTIONS, key=KEY)
        cards.append(json.dumps(build_private_text_card(made, "0" * 32).to_dict()))
    assert cards[0] == cards[1]
    assert "accuracy" not in cards[0]
    assert CHOICE_DISCLOSURE not in cards[0]


def test_a_choice_from_the_data_is_disclosed(model):
    """The card says that epsilon was chosen by looking at the records, where the owner declared it."""
    chosen = private_training._describe_run(
        dataclasses.replace(OPTIONS, chosen_from_data=True), OPTIONS.plan_settings(6)
    )
    card = build_private_text_card(dataclasses.replace(model, facts=chosen), "0" * 32)
    assert CHOICE_DISCLOSURE in json.dumps(card.to_dict())


@pytest.mark.parametrize("places", [150, 200, 300])
def test_a_record_made_empty_changes_one_place(words_space, reviews, places):
    """Whether there are more records than places or fewer, every other place keeps what it had."""
    network = FrozenMean(torch.tensor(words_space.vectors, dtype=torch.float32), 2)
    inputs, labels = fill_places(network, reviews, places, KEY)
    assert int((labels != EMPTY_LABEL).sum()) == min(places, len(reviews))
    for row in (0, 57, 199):
        others = fill_places(network, empty(reviews, row), places, KEY)
        changed = (labels != others[1]) | (inputs != others[0]).any(1)
        assert int(changed.sum()) <= 1
        assert (others[1][changed] == EMPTY_LABEL).all()
    emptied = [fill_places(network, empty(reviews, row), places, KEY)[1] for row in range(200)]
    assert sum(not torch.equal(labels, one) for one in emptied) == min(places, 200)


def test_the_choice_among_surplus_records_follows_the_key(words_space, reviews):
    """Other keys leave out other records."""
    network = FrozenMean(torch.tensor(words_space.vectors, dtype=torch.float32), 2)
    first, second = (fill_places(network, reviews, 100, key)[0] for key in (KEY, bytes(31) + b"1"))
    assert not torch.equal(first.sort(0).values, second.sort(0).values)


def test_texts_without_words_and_too_long_ones_are_empty(words_space, monkeypatch):
    """What the network does not read is an empty record, whatever its label."""
    monkeypatch.setattr(FrozenMean, "max_words", 3)
    network = FrozenMean(torch.tensor(words_space.vectors, dtype=torch.float32), 2)
    documents = Documents(concatenate_texts([[], [1, 2, 3], [1, 2, 3, 4]]), np.array([0, 1, 1]), ("bad", "good"))
    inputs, labels = fill_places(network, documents, 5, KEY)
    assert sorted(labels.tolist()) == [EMPTY_LABEL] * 4 + [1]
    assert not inputs[labels == EMPTY_LABEL].any()
    torch.testing.assert_close(inputs[labels == 1][0], network.net.embeddings.weight[1:4].mean(0))


def test_an_interrupted_run_ends_the_same(words_space, reviews, tmp_path):
    """A run that resumes from its checkpoint has the key, the places and the model of one that did not stop."""
    checkpoint = Checkpoint(tmp_path / "c", {}, interval=3)

    def stop(done, total, loss):  # noqa: ARG001 - as progress is called
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_private_text_model(words_space, reviews, OPTIONS, key=KEY, checkpoint=checkpoint, progress=stop)
    resumed = fit_private_text_model(words_space, reviews, OPTIONS, checkpoint=checkpoint)
    assert same(resumed, fit_private_text_model(words_space, reviews, OPTIONS, key=KEY))


def test_a_checkpoint_serves_no_other_run(words_space, reviews, tmp_path):
    """One key never makes the noise of two runs: other records or options are refused."""
    checkpoint = Checkpoint(tmp_path / "c", {}, interval=3)
    fit_private_text_model(words_space, reviews, OPTIONS, checkpoint=checkpoint)
    for documents, options in (
        (empty(reviews, 3), OPTIONS),
        (reviews, dataclasses.replace(OPTIONS, epsilon=7.0)),
        (reviews, dataclasses.replace(OPTIONS, clip=0.5)),
    ):
        with pytest.raises(InputError, match="checkpoint of a run with other data, options or version"):
            fit_private_text_model(words_space, documents, options, checkpoint=checkpoint)


def test_fresh_keys(words_space, reviews):
    """Without a key no two runs share their noise."""
    quick = dataclasses.replace(OPTIONS, epochs=1)
    assert not same(*(fit_private_text_model(words_space, reviews, quick) for _ in range(2)))


def test_the_schedule_follows_from_declared_numbers():
    """Batch, steps and learning rate are functions of places, budget and dimensions."""
    settings = PrivateTextOptions(1.0, 1e-5, 8_192).plan_settings(50)
    assert (settings.schedule.rate, settings.schedule.steps, settings.learning_rate) == (0.5, 60, 4.0)
    small = PrivateTextOptions(1.0, 1e-5, 500).plan_settings(300)
    assert small.schedule.rate == 1.0
    assert small.learning_rate == pytest.approx(500 / (2 * small.noise_multiplier * 300**0.5))
    assert PrivateTextOptions(1.0, 1e-5, 100, batch_size=30, epochs=2).plan_settings(5).schedule.steps == 7
    assert choose_learning_rate(1e9, 1.0, 4) == 4.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"places": 0}, "places"),
        ({"batch_size": 0}, "batch_size"),
        ({"clip": 0.0}, "clip"),
        ({"learning_rate": float("nan")}, "learning_rate"),
    ],
)
def test_values_outside_their_domain(values, message):
    """A value that means nothing is refused by its name."""
    with pytest.raises(InputError, match=message):
        dataclasses.replace(OPTIONS, **values)


def test_pairs_are_refused(words_space, reviews):
    """A document is one text."""
    pairs = dataclasses.replace(reviews, premises=reviews.texts)
    with pytest.raises(InputError, match="single texts, not pairs"):
        fit_private_text_model(words_space, pairs, OPTIONS)


def test_no_other_training_takes_the_name(words_space, reviews):
    """Training that claims nothing refuses the private kind, whose name would promise something."""
    with pytest.raises(InputError, match=r"one of cnn, bow, fasttext, attention\. Got 'dp-fasttext'"):
        fit_text_model("dp-fasttext", words_space, reviews, TextTrainingOptions())
