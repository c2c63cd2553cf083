"""What a trainer takes: its options, its budget and a secret key."""

import copy
import math
import pickle

import pytest
import torch

from deniable import InputError
from deniable.learning.artifact import serialize_model
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.images.training.trainer import ImageTrainingTask
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

TINY = {"steps": 2, "batch_size": 30, "width": 0.25}
PRIVATE = {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}


def test_a_task_keeps_its_key():
    """The key of a run is in no repr of its task, in no pickle and in no copy, and neither in the model."""
    key, images = bytes(range(7, 39)), data()
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(**TINY, **PRIVATE)
    task = ImageTrainingTask("dp-sgd", images.train, 10, options, key, torch.device("cpu"))
    shown = f"{task!r} {task}"
    assert not any(form in shown for form in (repr(key), repr(key)[2:-1], key.hex()))
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InputError, match="holds its secret key and cannot be pickled"):
            leave(task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deniable.models.images.training.fitting.generate_key", lambda: key)
        content = serialize_model(fit_image_model(IMAGE_TRAINERS["dp-sgd"], images, options))
    assert key not in content
    assert key.hex().encode() not in content


@pytest.mark.parametrize("name", [name for name, system in IMAGE_TRAINERS.items() if "epsilon" in system.option_names])
def test_a_budget_is_needed(name):
    """A system that spends needs to be told how much, in one line with an example."""
    with pytest.raises(InputError, match="needs epsilon: give --epsilon, for example 1") as raised:
        IMAGE_TRAINERS[name].choose_options()
    assert "\n" not in str(raised.value)
    if "delta" in IMAGE_TRAINERS[name].option_names:
        with pytest.raises(InputError, match="needs delta"):
            IMAGE_TRAINERS[name].choose_options(epsilon=1.0)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("plain", "epsilon"),
        ("plain", "noise"),
        ("adversarial", "delta"),
        ("pixeldp", "epsilon"),
        ("securesgd", "views"),
        ("dp-sgd", "attack_steps"),
        ("dpal", "delta"),
        ("dpal", "clip"),
        ("adlm", "noise_multiplier"),
    ],
)
def test_options_that_mean_nothing_are_refused(name, option):
    """An option that a system does not use is refused, and those it uses are named."""
    with pytest.raises(InputError, match=f"'{option}' is not an option of {name}, which takes .*steps"):
        IMAGE_TRAINERS[name].choose_options(**{option: 1})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("epsilon", 0),
        ("epsilon", math.nan),
        ("delta", 1.0),
        ("delta", 0),
        ("width", 0),
        ("steps", 0),
        ("steps", 1.5),
        ("batch_size", -1),
        ("learning_rate", math.inf),
        ("clip", math.nan),
        ("clip", 0),
        ("noise_multiplier", 0),
        ("average", 1.0),
        ("average", -0.1),
        ("noise", 0),
        ("views", 0),
    ],
)
def test_bad_values_are_refused(option, value):
    """A value outside its domain is refused by name."""
    with pytest.raises(InputError, match=f"The '{option}' parameter of training"):
        IMAGE_TRAINERS["dp-cert"].choose_options(**{"epsilon": 1.0, "delta": 1e-5, option: value})
