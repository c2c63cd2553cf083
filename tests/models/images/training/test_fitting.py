"""Training by the front door: runs that go on, budgets that are kept, and progress that moves nothing."""

import dataclasses

import pytest
import torch

from deniable import InputError
from deniable.core.randomness import derive_key_from_seed
from deniable.learning.loop import Checkpoint
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

STEPS = 3


def options(name, **given):
    """Return the options of a very short run of a very small network."""
    uses = IMAGE_TRAINERS[name].option_names
    budget = {key: value for key, value in (("epsilon", 2.0), ("delta", 1e-2)) if key in uses}
    return IMAGE_TRAINERS[name].choose_options(**{"steps": STEPS, "width": 0.1, "batch_size": 12, **budget, **given})


def small():
    return data(count=30, shape=(1, 16, 16), classes=3)


def numbers(model):
    """Return everything of a model that depends on chance."""
    noises = [part for noise in model.noises for part in (noise.scale, noise.offset) if part is not None]
    return [*model.network.state_dict().values(), *noises]


def same(one, other):
    return all(torch.equal(first, second) for first, second in zip(numbers(one), numbers(other), strict=True))


class Stop(Exception):  # noqa: N818 - no error of the code under test
    """The end of a run before its end."""


@pytest.mark.parametrize("name", IMAGE_TRAINERS)
def test_a_run_that_goes_on(tmp_path, name):
    """A run of any system that is interrupted and resumed gives what it gives in one piece, noise of its model too."""
    chosen, images = options(name), small()
    whole = fit_image_model(IMAGE_TRAINERS[name], images, chosen, seed=5)
    checkpoint = Checkpoint(tmp_path / "c", {"run": 1}, interval=1)

    def stop(status):
        if status.done == STEPS - 1:
            raise Stop

    with pytest.raises(Stop):
        fit_image_model(IMAGE_TRAINERS[name], images, chosen, seed=5, checkpoint=checkpoint, progress=stop)
    assert checkpoint.path.exists()
    done = []
    model = fit_image_model(
        IMAGE_TRAINERS[name],
        images,
        chosen,
        seed=5,
        checkpoint=checkpoint,
        progress=lambda status: done.append(status.done),
    )
    assert done[0] > 1
    assert same(model, whole)
    assert (model.guarantee, model.certificate, model.facts) == (whole.guarantee, whole.certificate, whole.facts)


@pytest.mark.parametrize("name", IMAGE_TRAINERS)
def test_progress_moves_nothing(name):
    """Looking at the accuracy on test images does not change a model, its batch statistics either."""
    chosen, images = options(name), small()
    shares = []
    looked = fit_image_model(
        IMAGE_TRAINERS[name],
        images,
        chosen,
        seed=5,
        progress=lambda status: shares.append(status.accuracy(images.test.pixels, images.test.labels)),
    )
    assert len(shares) == STEPS
    assert all(0 <= share <= 1 for share in shares)
    assert same(looked, fit_image_model(IMAGE_TRAINERS[name], images, chosen, seed=5))


def test_the_key_is_the_checkpoints(tmp_path):
    """A run without a seed goes on with the key of its checkpoint, not with a fresh one."""
    chosen, images = options("dp-sgd"), small()
    fitted = []
    for name in ("first", "second"):
        checkpoint = Checkpoint(tmp_path / name, {}, interval=1)
        fitted.append(fit_image_model(IMAGE_TRAINERS["dp-sgd"], images, chosen, checkpoint=checkpoint))
        key = checkpoint.load_key(b"fresh")
        assert len(key) == 32
        assert checkpoint.load_key(derive_key_from_seed(1)) == key
        assert same(fitted[-1], fit_image_model(IMAGE_TRAINERS["dp-sgd"], images, chosen, checkpoint=checkpoint))
    assert not same(*fitted)


@pytest.mark.parametrize("changed", ["data", "options", "seed", "trainer"])
def test_one_key_never_serves_two_runs(tmp_path, changed):
    """A checkpoint is refused to other data, options, seeds and systems, whatever parameters its caller gave it.

    Two models of different data under one key would share their noise, and their difference would be free of it.
    """
    checkpoint = Checkpoint(tmp_path / "c", {}, interval=1)
    run = {"trainer": IMAGE_TRAINERS["dp-sgd"], "data": small(), "options": options("dp-sgd"), "seed": None}
    fit_image_model(**run, checkpoint=checkpoint)
    other = small()
    other.train.pixels[0] = 0.5
    changes = {"data": other, "options": options("dp-sgd", clip=0.2), "seed": 1, "trainer": IMAGE_TRAINERS["dp-cert"]}
    with pytest.raises(InputError, match="is the checkpoint of a run with "):
        fit_image_model(**{**run, changed: changes[changed]}, checkpoint=checkpoint)


def test_the_fingerprint_is_of_what_is_trained_on():
    """A part of a data set has another fingerprint than the whole, without anybody's doing."""
    whole = small()
    part = dataclasses.replace(whole, train=whole.test)
    assert part.fingerprint != whole.fingerprint == small().fingerprint


def test_what_is_spent():
    """Epsilon grows from step to step, and ends at what the model guarantees, within the budget."""
    spent = []
    model = fit_image_model(
        IMAGE_TRAINERS["dp-sgd"],
        small(),
        options("dp-sgd"),
        seed=1,
        progress=lambda status: spent.append(status.compute_epsilon_spent()),
    )
    assert spent == sorted(spent)
    assert spent[-1] == model.guarantee.epsilon <= 2.0
    assert spent[-1] > 1.99


def test_early_stop():
    """With noise that is given, training takes all steps that the budget allows, and not one more."""
    from deniable.learning.accounting import SamplingSchedule, compute_epsilon_spent

    done, multiplier = [], 2.0
    model = fit_image_model(
        IMAGE_TRAINERS["dp-sgd"],
        small(),
        options("dp-sgd", noise_multiplier=multiplier, steps=40),
        seed=1,
        progress=lambda status: done.append(status.done),
    )
    rate, steps = model.facts["sampling rate"], model.facts["steps"]
    assert done == list(range(1, steps + 1))
    assert model.guarantee.epsilon == compute_epsilon_spent(SamplingSchedule(rate, steps), multiplier, 1e-2) <= 2.0
    assert compute_epsilon_spent(SamplingSchedule(rate, steps + 1), multiplier, 1e-2) > 2.0


def test_nothing_is_claimed():
    """A system without a claim spends nothing."""
    seen = []
    model = fit_image_model(
        IMAGE_TRAINERS["plain"],
        small(),
        options("plain"),
        progress=lambda status: seen.append(status.compute_epsilon_spent),
    )
    assert seen == [None] * STEPS
    assert (model.guarantee, model.verdict, model.certificate) == (None, None, None)


def test_facts():
    """A model remembers its options, its seed, and the number and classes of its records."""
    chosen = options("plain")
    model = fit_image_model(IMAGE_TRAINERS["plain"], small(), chosen, seed=3)
    assert model.facts == {
        "steps": STEPS,
        "options": dataclasses.asdict(chosen),
        "seed": 3,
        "records": 30,
        "classes": ["0", "1", "2"],
        "classes declared": False,
        "pixel range": None,
    }
    assert model.trainer == "plain"
    assert not model.network.training


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("dpal", {"batch_size": 5}, "among 3 attacks, two images each. Got batches of 5: take at least 6."),
        ("dpal", {"epsilon": 0.1}, "DPAL needs a budget above epsilon 0.1"),
        ("adlm", {"batch_size": 1}, "Got batches of 1: give more."),
    ],
)
def test_what_a_system_needs(name, given, message):
    """What a system cannot be made with is refused with the value."""
    with pytest.raises(InputError, match=message):
        fit_image_model(IMAGE_TRAINERS[name], small(), options(name, **given))


def test_a_trainer_needs_no_registry():
    """A trainer of the user's own is fitted as those of the package, under its own name."""
    trainer = dataclasses.replace(IMAGE_TRAINERS["plain"], name="mine")
    model = fit_image_model(trainer, small(), options("plain"), seed=5)
    assert model.trainer == "mine"
    assert same(model, fit_image_model(IMAGE_TRAINERS["plain"], small(), options("plain"), seed=5))
