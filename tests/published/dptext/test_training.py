"""Training: what it learns, the game against private attributes, and runs that go on."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.learning.adam import AdamRun
from deniable.learning.loop import Checkpoint
from deniable.published.dptext.network import DPTextNetwork, RepresentationArchitecture
from deniable.published.dptext.training import AttributeRecords, RepresentationOptions, pad_vocabulary_texts
from tests.published.dptext.toy import CITY, TASK, TEXTS, VOCABULARY, fitted

ABOUT = RepresentationArchitecture(
    words=len(VOCABULARY), dimensions=4, embedded=5, hidden=7, classes=3, attributes=(2,)
)


@pytest.fixture
def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return DPTextNetwork(ABOUT, "none", 1.0, "redraw")


def named(model, codes):
    """Return how often a class is named from the encodings that a regression was fitted on."""
    encodings = model.encode(TEXTS)
    return (LogisticRegression(max_iter=500).fit(encodings, codes).predict(encodings) == codes).mean()


def test_encodings_lie_in_the_box(network):
    """All coordinates lie between -1 and 1, and texts beside them in a batch change nothing."""
    tokens, lengths = pad_vocabulary_texts(VOCABULARY, [*TEXTS[:20], "flights", " ".join(["please"] * 40)])
    with torch.no_grad():
        found = network.encoder(tokens, lengths)
        alone = network.encoder(*pad_vocabulary_texts(VOCABULARY, ["flights"]))
    assert found.shape == (22, 4)
    assert found.abs().max() <= 1
    torch.testing.assert_close(found[20:21], alone)


@pytest.mark.parametrize("adversary", [0.0, 0.5, 2.0])
def test_the_game(network, adversary):
    """The private reader's loss trains the reader as it is, and the encoder against it, by the adversary's weight."""
    tokens, lengths = pad_vocabulary_texts(VOCABULARY, TEXTS[:30])
    goal, coins = torch.from_numpy(CITY[:30]), torch.Generator()

    def gradients(logits):
        weights = [network.encoder.output.weight, network.attributes[0].layers[0].weight]
        return torch.autograd.grad(functional.cross_entropy(logits, goal), weights)

    _, (hidden,), _ = network(tokens, lengths, adversary, coins)
    encoder, reader = gradients(hidden)
    plain = network.attributes[0](network.encoder(tokens, lengths), torch.zeros(()))
    wanted, own = gradients(plain)
    torch.testing.assert_close(encoder, -adversary * wanted, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(reader, own, rtol=1e-4, atol=1e-6)


def test_it_learns_the_task_and_hides_the_attribute():
    """Encodings tell the task; the city they tell without the adversary, and less of it with one."""
    plain = fitted(adversary=0.0, reconstruction=5.0, epochs=25)
    game = fitted(adversary=2.0, reconstruction=0.0)
    assert min(named(plain, TASK), named(game, TASK)) > 0.95
    assert named(plain, CITY) > 0.95
    assert named(game, CITY) < 0.9


def test_less_noise_is_learned():
    """Where only the task counts, training raises epsilon from where it started."""
    model = fitted("published", 100.0, adversary=0.0)
    assert 10.0 < model.epsilon < 100.0
    assert fitted("fixed", 100.0, epochs=1).epsilon == 100.0


def test_a_seed_repeats_a_training():
    """The same seed gives the same encoder, another one another."""
    first, again, other = (fitted("published", epochs=1, seed=seed).encode(TEXTS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_going_on(tmp_path, monkeypatch):
    """A run cut off goes on from its checkpoint and comes to the weights of a run in one go."""
    whole = fitted("published", epochs=2).encode(TEXTS)
    checkpoint, step, taken = Checkpoint(tmp_path / "run", {"data": "toy"}, interval=4), AdamRun.step, []

    def cut(run, number):
        if number == 9 and 9 not in taken:
            taken.append(number)
            raise KeyboardInterrupt
        taken.append(number)
        return step(run, number)

    monkeypatch.setattr(AdamRun, "step", cut)
    with pytest.raises(KeyboardInterrupt):
        fitted("published", epochs=2, checkpoint=checkpoint)
    for other in ({"seed": 2}, {"learning_rate": 2e-2}, {"epsilon": 1.0 + 2**-52}):
        with pytest.raises(InputError, match="is the checkpoint of a run with other data, options or version"):
            fitted("published", **{"epochs": 2, "checkpoint": checkpoint, **other})
    found = fitted("published", epochs=2, checkpoint=checkpoint)
    assert taken[9:11] == [9, 8]
    np.testing.assert_array_equal(found.encode(TEXTS), whole)


@pytest.mark.parametrize(
    "bad",
    [{"variant": "laplace"}, {"invalid": "drop"}, {"epsilon": 0.0}, {"epsilon": 1e300}, {"adversary": -1.0},
     {"reconstruction": float("nan")},
     {"dimensions": 0}, {"epochs": 1.5}, {"batch_size": True}, {"learning_rate": -1.0}],
)  # fmt: skip
def test_bad_options(bad):
    """An option outside its domain is refused by its name."""
    (name,) = bad
    with pytest.raises(InputError, match=f"The '{name}' parameter of training must be"):
        RepresentationOptions(**bad)


@pytest.mark.parametrize(
    ("texts", "task", "private"),
    [([], np.zeros(0), np.zeros((0, 1))), (["a"], np.zeros(2), np.zeros((1, 1))), (["a"], np.zeros(1), np.zeros(1))],
)
def test_bad_records(texts, task, private):
    """Texts need one class of the task and one row of private attributes each."""
    with pytest.raises(InputError, match="text"):
        AttributeRecords(texts, task.astype(np.int64), private.astype(np.int64))


@pytest.mark.parametrize("kind", [bool, np.int32, np.uint8])
def test_classes_of_other_kinds(kind):
    """Booleans and shorter integers are classes like any others."""
    given = np.array([0, 1], dtype=kind)
    found = AttributeRecords(["a", "b"], given, given[:, None])
    assert found.task.dtype == found.private.dtype == np.int64
    assert found.task.tolist() == found.private[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("wrong", [np.array([0.0, 1.0]), np.array([0, -1]), np.array(["a", "b"])])
@pytest.mark.parametrize("name", ["task", "private"])
def test_no_classes(name, wrong):
    """Classes that are no whole numbers from 0 are refused by the name of their array."""
    codes = {"task": np.array([0, 1]), "private": np.array([[0], [1]])}
    codes[name] = wrong if name == "task" else wrong[:, None]
    with pytest.raises(InputError, match=f"'{name}' parameter of training must be an array of whole numbers"):
        AttributeRecords(["a", "b"], **codes)
