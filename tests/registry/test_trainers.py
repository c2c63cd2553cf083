"""Systems: each trains on a small data set, and gives a model with the claims that it should have."""

import math

import pytest
import torch

from deniable import InputError
from deniable.core.guarantees import ApproxDP
from deniable.learning.artifact import save_model
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing
from deniable.models.images.training.fitting import fit_image_model
from deniable.published.adlm import trainer as adlm
from deniable.published.securesgd.certificate import SecureSGDCertificate
from deniable.registry.models import load_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

TINY = {"steps": 2, "batch_size": 30, "width": 0.25}
# The noise is given, since finding it takes seconds; the budget is not used up.
PRIVATE = {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}
OPTIONS = {
    "dp-sgd": PRIVATE,
    "dp-cert": {**PRIVATE, "noise": 0.5},
    "dp-adversarial": {**PRIVATE, "attack_steps": 1},
    "pixeldp": {"attack_size": 0.2},
    "securesgd": PRIVATE,
    "securesgd-agm": PRIVATE,
    "adlm": {"epsilon": 0.2, "network": "paper-mnist"},
    "dpal": {"epsilon": 0.2, "attack_steps": 1, "network": "paper-mnist"},
    "dp-sgd-batch-clipped": {"epsilon": 1.0, "delta": 1e-5},
    "adversarial": {"attack_steps": 1},
    "plain": {},
}


def options_of(name):
    """Return the tiny options of a system."""
    return IMAGE_TRAINERS[name].choose_options(**TINY, **OPTIONS[name])


@pytest.fixture(scope="module")
def trained():
    """Return a function from a system's name to its model of 60 images, and what was told of the run."""
    made = {}

    def of(name):
        if name not in made:
            told = []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(adlm, "_RELEVANCE_STEPS", 3)
                made[name] = (
                    fit_image_model(IMAGE_TRAINERS[name], data(), options_of(name), seed=3, progress=told.append),
                    told,
                )
        return made[name]

    return of


@pytest.mark.parametrize("name", IMAGE_TRAINERS)
def test_every_system_trains(name, trained, tmp_path):
    """Training moves the weights, tells of every step, and gives a model that predicts and can be kept."""
    model, told = trained(name)
    assert [status.done for status in told] == [1, 2]
    assert all(math.isfinite(status.loss) for status in told)
    assert model.trainer == name
    assert model.facts["seed"] == 3
    assert model.facts["records"] == 60
    assert model.facts["options"]["batch_size"] == 30
    start = model.architecture.build(0).state_dict()
    assert any(not torch.equal(value, start[key]) for key, value in model.network.state_dict().items())
    assert not model.network.training
    source, images = torch.Generator(), data().test.pixels
    predicted = model.predict(images, source.manual_seed(0), 3)
    assert predicted.shape == (20,)
    assert set(predicted.tolist()) <= set(range(10))
    save_model(model, tmp_path / "model.pt")
    again = load_image_model(tmp_path / "model.pt")
    assert torch.equal(again.scores(source.manual_seed(0))(images), model.scores(source.manual_seed(0))(images))
    assert (again.guarantee, again.verdict, again.certificate) == (None, None, model.certificate)
    assert again.facts == model.facts


@pytest.mark.parametrize("name", IMAGE_TRAINERS)
def test_training_follows_the_seed(name, trained):
    """The same seed gives the same model bit for bit, and another seed another, whatever torch drew before."""
    torch.manual_seed(9)
    state = torch.random.get_rng_state()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adlm, "_RELEVANCE_STEPS", 3)
        same, other = (
            fit_image_model(IMAGE_TRAINERS[name], data(), options_of(name), seed=seed).network.state_dict()
            for seed in (3, 4)
        )
    assert torch.equal(torch.random.get_rng_state(), state)
    expected = trained(name)[0].network.state_dict()
    assert all(torch.equal(value, same[key]) for key, value in expected.items())
    assert any(not torch.equal(value, other[key]) for key, value in expected.items())


@pytest.mark.parametrize("name", ["dp-sgd", "dp-cert", "dp-adversarial", "securesgd", "securesgd-agm"])
def test_dp_sgd_is_proved_private(name, trained):
    """What trains by DP-SGD is proved private for ideal arithmetic, as spent, and says both meanings of neighbours."""
    model, told = trained(name)
    assert isinstance(model.guarantee, ApproxDP)
    assert model.guarantee.status == "proved for ideal arithmetic"
    assert model.guarantee.delta == 1e-5
    assert model.guarantee.epsilon == told[-1].compute_epsilon_spent() == model.verdict.epsilon
    assert 0 < told[0].compute_epsilon_spent() < told[1].compute_epsilon_spent() < 90
    assert model.verdict.status == "proved for ideal arithmetic"
    assert model.facts["epsilon, replace one record"] > model.facts["epsilon, one record made empty"]
    assert model.facts["sampling rate"] == 0.5


@pytest.mark.parametrize("name", ["pixeldp", "adversarial", "plain"])
def test_the_others_claim_nothing_of_the_records(name, trained):
    """Where training is not private nothing is claimed, and nothing is spent."""
    model, told = trained(name)
    assert model.guarantee is None
    assert model.verdict is None
    assert [status.compute_epsilon_spent for status in told] == [None, None]


@pytest.mark.parametrize(
    ("name", "certificate", "status", "place"),
    [
        ("dp-cert", GaussianSmoothing, "proved for ideal arithmetic", "input"),
        ("pixeldp", PixelDP, "proved for ideal arithmetic", "first layer"),
        ("securesgd", SecureSGDCertificate, "undecided", "first layer"),  # its noise is less in places than it says
        ("securesgd-agm", PixelDP, "proved for ideal arithmetic", "first layer"),
    ],
)
def test_certificates_come_with_their_noise(name, certificate, status, place, trained):
    """A certified model predicts under the noise that its certificate is made for, and says how that stands."""
    model, _ = trained(name)
    assert type(model.certificate) is certificate
    assert model.certificate.status == status
    assert [noise.place for noise in model.noises] == [place]
    size = model.noises[0].scale.square().mean().sqrt()
    assert size == pytest.approx(model.certificate.sigma)


@pytest.mark.parametrize("name", ["dp-sgd", "adversarial", "plain", "dp-sgd-batch-clipped"])
def test_the_others_certify_nothing(name, trained):
    """A model without noise has no certificate."""
    model, _ = trained(name)
    assert model.certificate is None
    assert model.noises == ()


@pytest.mark.parametrize("name", ["dp-sgd", "pixeldp", "dpal", "adlm"])
def test_colour_images(name, monkeypatch):
    """Colour images of 32 x 32 train the network that the paper has for them."""
    monkeypatch.setattr(adlm, "_RELEVANCE_STEPS", 2)
    held = {**OPTIONS[name], "epsilon": 90.0} if "epsilon" in OPTIONS[name] else OPTIONS[name]
    given = {**TINY, **held, "network": "paper-cifar10", "width": 0.05}
    model = fit_image_model(
        IMAGE_TRAINERS[name], data(30, (3, 32, 32), 3), IMAGE_TRAINERS[name].choose_options(**given), seed=0
    )
    assert model.architecture.shape == (3, 32, 32)
    assert model.predict(data(30, (3, 32, 32), 3).test.pixels, torch.Generator(), 2).shape == (20,)


def test_small_images_are_refused():
    """Images too small for the network are refused in one line."""
    with pytest.raises(InputError, match=r"takes larger images\. Got 8 x 8 pixels"):
        fit_image_model(
            IMAGE_TRAINERS["plain"], data(30, (1, 8, 8), 3), IMAGE_TRAINERS["plain"].choose_options(), seed=0
        )
