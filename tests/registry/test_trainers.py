"""Systems: each trains on a small data set, and gives a model with the claims that it should have."""

import copy
import math
import pickle

import pytest
import torch

from deniable import InputError
from deniable.core.guarantees import ApproxDP, PureDP
from deniable.models.images.model import save_image_model, serialize_image_model
from deniable.models.images.pixeldp import PixelDP
from deniable.models.images.smoothing import GaussianSmoothing
from deniable.models.images.training import private
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.images.training.trainer import ImageTrainingTask
from deniable.published.adlm import trainer as adlm
from deniable.published.dpal.certificate import DPALCertificate
from deniable.published.securesgd.certificate import SecureSGDCertificate, compute_heterogeneous_sigma
from deniable.registry.image_models import load_image_model
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
    save_image_model(model, tmp_path / "model.pt")
    again = load_image_model(tmp_path / "model.pt")
    assert torch.equal(again.scores(source.manual_seed(0))(images), model.scores(source.manual_seed(0))(images))
    assert (again.guarantee, again.verdict, again.certificate) == (model.guarantee, model.verdict, model.certificate)
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


def test_a_task_keeps_its_key():
    """The key of a run is in no repr of its task, in no pickle and in no copy, and neither in the model."""
    key, images = bytes(range(7, 39)), data()
    options = options_of("dp-sgd")
    task = ImageTrainingTask("dp-sgd", images.train, 10, options, key, torch.device("cpu"))
    shown = f"{task!r} {task}"
    assert not any(form in shown for form in (repr(key), repr(key)[2:-1], key.hex()))
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InputError, match="holds its secret key and cannot be pickled"):
            leave(task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deniable.models.images.training.fitting.generate_key", lambda: key)
        content = serialize_image_model(fit_image_model(IMAGE_TRAINERS["dp-sgd"], images, options))
    assert key not in content
    assert key.hex().encode() not in content


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


def test_dpal_is_refuted(trained):
    """DPAL's claim of privacy and its certificate come with their refutation."""
    model, _ = trained("dpal")
    assert model.guarantee == PureDP(0.2, model.guarantee.source, "refuted")
    assert model.verdict.status == "refuted"
    assert model.verdict.lower_bound == math.inf
    assert model.verdict.witness is not None
    assert isinstance(model.certificate, DPALCertificate)
    assert model.certificate.status == "refuted"
    assert [noise.place for noise in model.noises] == ["input", "first layer"]
    assert all(noise.offset is not None and noise.scale > 0 for noise in model.noises)


def test_adlm_is_undecided(trained):
    """AdLM's claim is stated as a claim: neither proved nor refuted, and no certificate."""
    model, _ = trained("adlm")
    assert isinstance(model.guarantee, PureDP)
    assert model.guarantee.status == "claimed"
    assert model.verdict.status == "undecided"
    assert model.certificate is None


def test_batches_clipped_as_one_are_refuted():
    """Clipping the mean of a batch, with noise made for clipped examples, spends more than it claims."""
    options = IMAGE_TRAINERS["dp-sgd-batch-clipped"].choose_options(**TINY, epsilon=0.5, delta=1e-5)
    model = fit_image_model(IMAGE_TRAINERS["dp-sgd-batch-clipped"], data(), options, seed=0)
    assert model.verdict.status == model.guarantee.status == "refuted"
    assert model.verdict.lower_bound > 0.5
    assert model.verdict.witness is not None


@pytest.mark.parametrize(
    ("name", "certificate", "status", "place"),
    [
        ("dp-cert", GaussianSmoothing, "proved for ideal arithmetic", "input"),
        ("pixeldp", PixelDP, "proved for ideal arithmetic", "first layer"),
        ("securesgd", SecureSGDCertificate, "refuted", "first layer"),  # its noise is less in places than it says
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


def test_uneven_noise_has_the_variance_of_even_noise(trained):
    """SecureSGD shares out the variance that even noise would have, at least half of it evenly."""
    scale = trained("securesgd")[0].noises[0].scale
    even = 2 * 0.1 * compute_heterogeneous_sigma(1.0, 0.05)
    assert scale.shape == (4, 14, 14)
    assert scale.square().mean().sqrt() == pytest.approx(even)
    assert 0.7 * even < scale.min() < 0.9 * scale.max()


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


def test_a_budget_stops_training_early():
    """With the noise given, training ends when the budget is spent."""
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(
        **{**TINY, "steps": 50}, epsilon=3.0, delta=1e-5, noise_multiplier=2.0
    )
    model = fit_image_model(IMAGE_TRAINERS["dp-sgd"], data(), options, seed=0)
    assert 1 < model.facts["steps"] < 50
    assert 2 < model.guarantee.epsilon <= 3


def test_without_a_budget_s_noise_it_is_found():
    """Without a multiplier the noise is what the budget needs, and next to nothing is left over."""
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(**TINY, epsilon=0.5, delta=1e-5)
    assert fit_image_model(IMAGE_TRAINERS["dp-sgd"], data(), options, seed=0).guarantee.epsilon == pytest.approx(
        0.5, rel=1e-3
    )


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


def test_a_small_budget_for_colour_images_is_refused():
    """DPAL's settings for colour images begin at epsilon 2."""
    options = IMAGE_TRAINERS["dpal"].choose_options(**TINY, epsilon=1.0, network="paper-cifar10")
    with pytest.raises(InputError, match="begins at epsilon 2"):
        fit_image_model(IMAGE_TRAINERS["dpal"], data(30, (3, 32, 32), 3), options, seed=0)


def test_small_images_are_refused():
    """Images too small for the network are refused in one line."""
    with pytest.raises(InputError, match=r"takes larger images\. Got 8 x 8 pixels"):
        fit_image_model(
            IMAGE_TRAINERS["plain"], data(30, (1, 8, 8), 3), IMAGE_TRAINERS["plain"].choose_options(), seed=0
        )


def test_adversarial_views_are_made_of_their_example_alone(monkeypatch):
    """Replacing one record changes no other record's views, which the accounting of DP-SGD rests on."""
    attack = private.pgd
    found = []

    def watched(*given, **options):
        found.append(attack(*given, **options))
        return found[-1]

    monkeypatch.setattr(private, "pgd", watched)
    chosen = IMAGE_TRAINERS["dp-adversarial"].choose_options(
        epsilon=8.0, delta=1e-5, steps=1, batch_size=60, views=2, attack_steps=2, attack_size=0.2
    )
    first, second = data(), data()
    second.train.pixels[7] = 0.5
    for given in (first, second):
        fit_image_model(IMAGE_TRAINERS["dp-adversarial"], given, chosen, seed=3)
    kept = [index for index in range(60) if index != 7]
    assert torch.equal(found[0][kept], found[1][kept])
    assert float((found[0] - first.train.pixels).abs().max()) > 0.1
