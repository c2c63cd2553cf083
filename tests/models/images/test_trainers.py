"""Systems: each trains on a small data set, and gives a model with the claims that it should have."""

import math

import pytest
import torch

import deniable as dn
from tests.models.images.small import make_data, train

# The noise is given, since finding it takes seconds; the budget is not used up.
PRIVATE = {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}
OPTIONS = {
    "dp-sgd": PRIVATE,
    "dp-cert": {**PRIVATE, "noise": 0.5},
    "dp-ibp": PRIVATE,
    "dp-adversarial": {**PRIVATE, "attack_steps": 1},
    "pixeldp": {"attack_size": 0.2},
    "securesgd": PRIVATE,
    "securesgd-agm": PRIVATE,
    "adlm": {"epsilon": 0.2},
    "dpal": {"epsilon": 0.2, "attack_steps": 1},
    "dp-sgd-batch-clipped": {"epsilon": 1.0, "delta": 1e-5},
    "ibp": {},
    "adversarial": {"attack_steps": 1},
    "plain": {},
}


def choose(*names):
    """Return names of systems, those that take seconds for the deep tests."""
    dear = {"adlm", "dp-sgd-batch-clipped", "securesgd", "securesgd-agm"}
    return [pytest.param(name, marks=pytest.mark.deep if name in dear else ()) for name in names]


IDEAL = "proved for ideal arithmetic"


@pytest.fixture(scope="module")
def trained():
    """Return a function from a system's name to its model, and what was told of the run."""
    made = {}

    def of(name):
        if name not in made:
            told = []
            made[name] = train(name, seed=3, progress=told.append, **OPTIONS[name]), told
        return made[name]

    return of


@pytest.mark.parametrize("name", choose(*dn.images.IMAGE_TRAINERS))
def test_every_system_trains(name, trained, tmp_path):
    """Training moves the weights, tells of every step, and gives a model that predicts and can be kept."""
    model, told = trained(name)
    assert [status.done for status in told] == [1, 2]
    assert all(math.isfinite(status.loss) for status in told)
    facts = model.facts
    assert (model.trainer, facts["seed"], facts["records"], facts["options"]["batch_size"]) == (name, 3, 24, 12)
    start = model.architecture.build(0).state_dict()
    assert any(not torch.equal(value, start[key]) for key, value in model.network.state_dict().items())
    assert not model.network.training
    source, images = torch.Generator(), make_data().test.pixels
    predicted = model.predict(images, source.manual_seed(0), 3)
    assert predicted.shape == (8,)
    assert set(predicted.tolist()) <= {0, 1, 2}
    dn.images.save_model(model, tmp_path / "model.pt")
    again = dn.images.load_image_model(tmp_path / "model.pt")
    assert torch.equal(again.scores(source.manual_seed(0))(images), model.scores(source.manual_seed(0))(images))
    assert (again.guarantee, again.verdict, again.certificate) == (None, None, model.certificate)
    assert again.facts == facts


FEW = [pytest.param(name, marks=() if name in {"dp-sgd", "plain"} else pytest.mark.deep) for name in OPTIONS]


@pytest.mark.parametrize("name", FEW)
def test_training_follows_the_seed(name, trained):
    """The same seed gives the same model bit for bit, and another seed another, whatever torch drew before."""
    torch.manual_seed(9)
    state = torch.random.get_rng_state()
    same, other = (train(name, seed=seed, **OPTIONS[name]).network.state_dict() for seed in (3, 4))
    assert torch.equal(torch.random.get_rng_state(), state)
    expected = trained(name)[0].network.state_dict()
    assert all(torch.equal(value, same[key]) for key, value in expected.items())
    assert any(not torch.equal(value, other[key]) for key, value in expected.items())


@pytest.mark.parametrize("name", choose("dp-sgd", "dp-cert", "dp-ibp", "dp-adversarial", "securesgd", "securesgd-agm"))
def test_dp_sgd_is_proved_private(name, trained):
    """What trains by DP-SGD is proved private for ideal arithmetic, as spent, and says both meanings of neighbours."""
    model, told = trained(name)
    assert model.guarantee.delta > 0
    assert (model.guarantee.status, model.verdict.status, model.guarantee.delta) == (IDEAL, IDEAL, 1e-5)
    assert model.guarantee.epsilon == told[-1].compute_epsilon_spent() == model.verdict.epsilon
    assert 0 < told[0].compute_epsilon_spent() < told[1].compute_epsilon_spent() < 90
    assert model.facts["epsilon, replace one record"] > model.facts["epsilon, one record made empty"]
    assert model.facts["sampling rate"] == 0.5


CERTIFICATES = {
    "dp-cert": ("GaussianSmoothing", IDEAL, "input"),
    "pixeldp": ("PixelDP", IDEAL, "first layer"),
    "securesgd": ("SecureSGDCertificate", "undecided", "first layer"),  # its noise is less in places than it says
    "securesgd-agm": ("PixelDP", IDEAL, "first layer"),
}


@pytest.mark.parametrize("name", choose(*CERTIFICATES))
def test_certificates_come_with_their_noise(name, trained):
    """A certified model predicts under the noise that its certificate is made for, and says how that stands."""
    (model, _), (certificate, status, place) = trained(name), CERTIFICATES[name]
    assert (type(model.certificate).__name__, model.certificate.status) == (certificate, status)
    assert [noise.place for noise in model.noises] == [place]
    assert model.noises[0].scale.square().mean().sqrt() == pytest.approx(model.certificate.sigma)


@pytest.mark.parametrize("name", ["dp-ibp", "ibp"])
def test_bounds_need_no_noise(name, trained):
    """What is trained on interval bounds is certified in l_inf without noise, and kept so in its file."""
    model, _ = trained(name)
    assert (type(model.certificate).__name__, model.certificate.norm, model.certificate.status, model.noises) == (
        "IntervalBounds",
        "linf",
        IDEAL,
        (),
    )
    assert (model.guarantee is None) == (name == "ibp")


@pytest.mark.parametrize("name", choose("dp-sgd", "adversarial", "plain", "dp-sgd-batch-clipped", "pixeldp"))
def test_the_others_claim_nothing(name, trained):
    """A model without noise has no certificate; where training is not private nothing is claimed, and nothing spent."""
    model, told = trained(name)
    assert ((model.certificate, model.noises) == (None, ())) == (name != "pixeldp")
    if "dp-sgd" not in name:
        assert (model.guarantee, model.verdict) == (None, None)
        assert [status.compute_epsilon_spent for status in told] == [None, None]
