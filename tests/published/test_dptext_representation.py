"""DPText's representation: adversarial training, what it releases, and what is stored."""

import copy
import dataclasses
import functools
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

import deniable as dn
from deniable.learning.artifact import serialize_model
from deniable.learning.loop import AdamRun, Checkpoint
from deniable.published.dptext.representation import LEARNED_EPSILON_NOTE, load_representation
from deniable.published.dptext.training import (
    AttributeRecords,
    DPTextNetwork,
    RepresentationArchitecture,
    RepresentationOptions,
    pad_vocabulary_texts,
)
from tests.learning.stored import read_stored, write_stored
from tests.published.toy_texts import CITY, TASK, TEXTS, VOCABULARY, fitted
from tests.refusals import refuses
from tests.rewriting import small

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


@pytest.mark.deep
def test_it_learns_the_task_and_hides_the_attribute():
    """Encodings tell the task; the city they tell without the adversary, and less of it with one."""
    plain = fitted(adversary=0.0, reconstruction=5.0, epochs=25)
    game = fitted(adversary=2.0, reconstruction=0.0)
    assert min(named(plain, TASK), named(game, TASK)) > 0.95
    assert named(plain, CITY) > 0.95
    assert named(game, CITY) < 0.9


@pytest.mark.deep
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
    checkpoint, step, taken = Checkpoint(tmp_path / "run", interval=4), AdamRun.step, []

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
        with refuses(tmp_path):
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
    with refuses(next(iter(bad))):
        RepresentationOptions(**bad)


@pytest.mark.parametrize(
    ("texts", "task", "private"),
    [([], np.zeros(0), np.zeros((0, 1))), (["a"], np.zeros(2), np.zeros((1, 1))), (["a"], np.zeros(1), np.zeros(1))],
)
def test_bad_records(texts, task, private):
    """Texts need one class of the task and one row of private attributes each."""
    with refuses("text"):
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
    with refuses(name):
        AttributeRecords(["a", "b"], **codes)


@pytest.fixture(scope="module")
def published():
    return fitted("published", 1.0, epochs=2)


@pytest.fixture(scope="module")
def zeroed():
    return fitted("published", 1.0, invalid="zero", epochs=2)


@pytest.fixture(scope="module")
def fixed():
    return fitted("fixed", 1.0, epochs=2)


def test_guarantees(published, fixed):
    """As published the claim is refuted and its epsilon a leak; fixed it is proved; without noise there is none."""
    assert (published.guarantee.status, published.guarantee.epsilon) == ("refuted", published.epsilon)
    assert published.guarantee.source.endswith(LEARNED_EPSILON_NOTE)
    assert "Theorem 3.2" in published.guarantee.source
    assert (fixed.guarantee.status, fixed.guarantee.epsilon) == ("proved", 1.0)
    assert fitted(epochs=1).guarantee.status == "refuted"
    assert fixed.make_mechanism(seed=1).guarantee.status == "refuted"


def test_what_is_verified(published, zeroed, fixed):
    """By its law the loss is infinite as published, however NaN is treated, and at most epsilon where fixed."""
    for model in (published, zeroed):
        verdict = dn.verify(model.make_mechanism(), dimension=model.dimensions)
        assert (verdict.status, verdict.lower_bound) == ("refuted", math.inf)
    verdict = dn.verify(fixed.make_mechanism(), dimension=fixed.dimensions)
    assert verdict.status == "proved"
    assert verdict.epsilon <= 1.0


def test_audits(published, zeroed, fixed):
    """Samples alone refute both published forms at two texts, and not the corrected one."""
    statuses = []
    for model in (published, zeroed, fixed):
        encodings = model.encode(TEXTS)
        far = np.abs(encodings[:, None] - encodings).sum(axis=2)
        one, other = np.unravel_index(far.argmax(), far.shape)
        found = dn.audit(
            model.make_mechanism(seed=4).sample,
            encodings[one],
            encodings[other],
            claim=model.epsilon,
            samples=6_000,
            batched=True,
            seed=0,
        )
        statuses.append(found.status)
    assert statuses == ["refuted", "refuted", "not refuted"]


def test_the_support_moves_with_the_input(published, zeroed, fixed):
    """No released number lies below its encoding as published; corrected, half of them do."""
    for model in (published, zeroed):
        assert (model.release(TEXTS, seed=1) >= model.encode(TEXTS)).all()
    below = (fixed.release(TEXTS, seed=1) < fixed.encode(TEXTS)).mean()
    assert 0.45 < below < 0.55


def test_every_record_is_released(fixed):
    """Empty texts and unknown words are inputs like any other, and equal texts have noise of their own."""
    out = fixed.release(["", "qwertz", "flights from boston", "flights from boston"])
    assert out.shape == (4, 6)
    assert np.isfinite(out).all()
    assert (out[2] != out[3]).all()
    assert not np.allclose(fixed.encode([""]), fixed.encode(["qwertz"]))
    with refuses("(0, 6)"):
        fixed.release([])


def test_a_release_is_fresh_without_a_seed(fixed):
    """Two releases differ, but for a public seed, which repeats them."""
    assert (fixed.release(TEXTS[:5]) != fixed.release(TEXTS[:5])).all()
    np.testing.assert_array_equal(fixed.release(TEXTS[:5], seed=2), fixed.release(TEXTS[:5], seed=2))


def test_encodings_do_not_depend_on_their_batch(fixed):
    """A text has the same encoding to the last bit, alone and among others."""
    together = fixed.encode(TEXTS * 4)
    np.testing.assert_array_equal(together[7], fixed.encode([TEXTS[7]])[0])
    assert np.abs(together).max() <= 1


def test_a_fixed_epsilon_is_the_one_asked_for():
    """A fixed epsilon is not rounded by training, and a learned one is never above its bound."""
    assert fitted("fixed", 0.1, epochs=1).guarantee.epsilon == 0.1
    assert fitted("norm", 0.1, epochs=1).guarantee.status == "proved"
    assert fitted("published", 0.1, epochs=1).epsilon <= 0.1


def changed(held, names, value):
    """Return what a file holds with one part of its configuration changed, or left out where the value is None."""
    found = copy.deepcopy(held)
    *above, last = ["configuration", *names.split("/")]
    part = functools.reduce(dict.get, above, found)
    if value is None:
        del part[last]
    else:
        part[last] = value
    return found


@pytest.mark.parametrize(
    ("variant", "invalid"),
    [("fixed", "redraw"), ("norm", "redraw"), ("published", "redraw"), ("published", "zero"), ("none", "zero")],
)
def test_a_file_gives_the_same_model(tmp_path, variant, invalid):
    """Vectors are the same to the last bit, with noise and without, and so are guarantee, options and facts."""
    model, path = fitted(variant, 0.1, invalid=invalid, epochs=1), tmp_path / "a.model"
    path.write_bytes(serialize_model(model))
    before = torch.random.get_rng_state()
    found = load_representation(path)
    texts = [*TEXTS, "", "qwertz", " ".join(["flights"] * 90)]
    np.testing.assert_array_equal(found.encode(texts), model.encode(texts))
    np.testing.assert_array_equal(found.release(texts, seed=3), model.release(texts, seed=3))
    assert (found.options, found.epsilon, found.facts) == (model.options, model.epsilon, model.facts)
    assert (found.guarantee, found.vocabulary) == (model.guarantee, model.vocabulary)
    assert torch.equal(before, torch.random.get_rng_state())
    if variant == "fixed":
        assert (found.release(TEXTS[:5]) != load_representation(path).release(TEXTS[:5])).all()


def test_a_file_holds_the_encoder_alone(fixed):
    """Readers of task and private attributes are no part of the file."""
    held = read_stored(serialize_model(fixed))
    assert set(held["configuration"]) == {"options", "words", "epsilon"}
    assert {name.partition(".")[0] for name in held["weights"]} == {"embedding", "window", "output"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((f"options/{field.name}", None) for field in dataclasses.fields(RepresentationOptions)),
        ("options/colour", "red"),
        ("options/variant", "laplace"),
        ("options/invalid", "nan"),
        ("options/epsilon", 0.2),  # the file says 1
        ("options/dimensions", 7),
        ("options/hidden", 10**9),
        ("words", ["a", "b"]),
        ("epsilon", -0.1),
        ("epsilon", 0.05),
        ("epsilon", True),
    ],
)
def test_a_file_that_says_something_else(tmp_path, fixed, name, value):
    """No option is taken from the defaults, which are those of refuted noise, and epsilon is that of the options."""
    path = tmp_path / "a.model"
    path.write_bytes(write_stored(changed(read_stored(serialize_model(fixed)), name, value)))
    with refuses(path):
        load_representation(path)


def test_a_learned_epsilon_is_below_its_bound(tmp_path, published):
    """As published epsilon may be any up to the bound that it was learned under, and no more."""
    held, path = read_stored(serialize_model(published)), tmp_path / "a.model"
    path.write_bytes(write_stored(changed(held, "epsilon", 0.07)))
    assert load_representation(path).guarantee.epsilon == 0.07
    path.write_bytes(write_stored(changed(held, "epsilon", 1.2)))
    with refuses(1.2):
        load_representation(path)


def test_files_of_other_models(tmp_path, fixed):
    """The file of a model that rewrites is refused, and that model's loader refuses this one's."""
    path = tmp_path / "a.model"
    path.write_bytes(serialize_model(small.fitted()))
    with refuses("rewriter"):
        load_representation(path)
    path.write_bytes(serialize_model(fixed))
    with refuses("representation"):
        dn.rewriting.load_rewriter(path)


@pytest.mark.deep
def test_the_page(tmp_path):
    """The page's example of a representation runs as printed, and prints what it says."""
    page = (Path(__file__).parents[2] / "docs" / "rewrite.md").read_text(encoding="utf-8")
    section = page.partition("## Representations for a classifier\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    status, task, city = done.stdout.splitlines()
    assert status == "proved 10.0"
    assert float(task) > 0.6
    assert float(city) < 0.8
