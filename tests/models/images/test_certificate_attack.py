"""The search for refutations: it finds what is false, and seldom what is sound."""

import functools
import math

import pytest
import torch
from scipy import stats
from torch import nn

import deniable as dn
from deniable.models.images import certification
from deniable.models.images.certification import CertificateAttack, CertifiedImage, tally_images
from tests.models.images.random_images import fitted
from tests.models.tallies import half_space, laplace
from tests.refusals import refuses

REAL_LINE = (-math.inf, math.inf)


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def refute(scores, images, certified, norm, *, generator, **settings):
    """Return what attacks inside balls of a norm find."""
    return CertificateAttack(norm, **settings).refute(scores, images, certified, generator)


def _smoothing(scale, law="gaussian"):
    """Return the certificate of noise of a scale on the pixels."""
    return dn.images.smooth_image_model(fitted("plain"), scale, law).certificate


def _dpal_line(source, rivals=0.1):
    """Return scores (b, 3) of a line under two Laplace noises; the two rivals have such a chance each at pixel 1/2.

    The tail of a sum of Laplace numbers of scales 1 and 2 is (4 exp(-t / 2) - exp(-t)) / 6.
    """
    high, low = (2 * math.log(2 - math.sqrt(4 - 6 * share)) for share in (2 * rivals, rivals))

    def scores(images):
        u = 2 * images.flatten() - 1
        z = u + laplace(u.shape, 1.0, source) + laplace(u.shape, 2.0, source)
        return 5 * torch.stack([z - high, torch.zeros_like(z), low - z], dim=1)

    return scores


def _network(source, sigma=0.3):
    """Return scores (b, 3) of a small network with fixed random weights on noisy images (b, 1, 4, 4)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        network = nn.Sequential(nn.Flatten(), nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 3, bias=False))
        for layer in (network[1], network[3]):
            nn.init.normal_(layer.weight, std=0.8)
    return lambda images: 4 * network(images - 0.5 + sigma * torch.randn(images.shape, generator=source))


@functools.cache
def _certified(sigma):
    """Return scores of the network, images, and certificates for noise of a deviation, 0.3 being the true one."""
    scores, images = _network(_generator()), torch.rand(12, 1, 4, 4, generator=_generator(1))
    pairs = zip(tally_images(scores, images, 200), tally_images(scores, images, 4_000), strict=True)
    return scores, images, [_smoothing(sigma).certify(*pair, 1e-3) for pair in pairs]


def test_a_sound_certificate_of_a_network_stands():
    """Attacks on a network inside balls that are certified rightly flip nothing that refutes."""
    scores, images, certified = _certified(0.3)
    found = refute(scores, images, certified, "l2", generator=_generator(2), certified_at=1e-3, samples=2_000)
    assert found.tested >= 6
    assert not found.is_refuted
    assert found.flips == 0
    assert found.p_value == 1


def test_a_false_certificate_of_a_network_is_refuted():
    """A certificate that takes the noise for four times as large is refuted, inside its balls and the pixels."""
    scores, images, certified = _certified(1.2)
    found = refute(scores, images, certified, "l2", generator=_generator(2), certified_at=1e-3, samples=2_000)
    witness = found.witness
    assert found.is_refuted
    assert found.flips >= 2
    assert found.p_value < 0.01
    assert witness.votes_rival > witness.votes_certified
    assert witness.certified == certified[witness.image].label
    assert witness.adversarial.min() >= 0
    assert witness.adversarial.max() <= 1
    apart = (witness.adversarial - images[witness.image]).double().norm()
    assert witness.distance == pytest.approx(float(apart))
    assert witness.distance < witness.radius == certified[witness.image].radius


def test_dpal_as_it_runs_is_refuted_by_attack():
    """Algorithm 1 on a line, from draws to size to attack, certifies what an attack then flips."""
    scores, image = _dpal_line(_generator()), torch.full((1, 1, 1, 1), 0.5)  # u = 0
    about = type(fitted("dpal").certificate)(delta_r=1.0, m=1.0, eps1=1.0, mu=0.2, d=1.0, beta=1.0, theta1=1.0)
    selection, estimation = tally_images(scores, image, 1_000)[0], tally_images(scores, image, 20_000)[0]
    claimed = about.certify(selection, estimation, 1e-3)
    certified = CertifiedImage(claimed.label, about.pixels_per_unit * claimed.radius)
    assert certified.label == 0
    found = refute(
        scores, image, [certified], "linf", generator=_generator(1), certified_at=1e-3, bounds=REAL_LINE,
        decision_rule="softmax", samples=4_000,
    )  # fmt: skip
    assert found.is_refuted


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_each_norm_reaches_its_border(norm):
    """A half-space just inside a ball of each norm is found; one just outside it is not."""
    weights = torch.tensor([3.0, 1.0, 1.0, 1.0]).view(1, 2, 2)
    order = {"l1": torch.inf, "l2": 2, "linf": 1}[norm]  # the dual norm
    reach = float(weights.flatten().norm(order))
    source = _generator()
    image = torch.full((1, 1, 2, 2), 0.5)
    for margin, found in ((0.08 * reach, True), (0.12 * reach, False)):
        scores = half_space(weights, 3.0 - margin, lambda x: x + 0.05 * torch.randn(x.shape, generator=source))
        record = refute(scores, image, [CertifiedImage(0, 0.1)], norm, generator=_generator(1), certified_at=0.0)
        assert record.is_refuted is found
        assert record.witness.distance <= 0.1


def test_laplace_certificate_stands_at_a_half_space():
    """Where the radius is tight, an attack to the border of it refutes nothing; 30 % beyond it does."""
    source, image = _generator(), torch.full((1, 1, 1, 1), 0.5)
    scores = half_space(torch.ones(1, 1, 1), 0.3, lambda x: x + laplace(x.shape, 0.25, source))
    selection, estimation = tally_images(scores, image, 100)[0], tally_images(scores, image, 100_000)[0]
    certified = _smoothing(0.25, "laplace").certify(selection, estimation, 1e-3)
    assert 0.19 < certified.radius < 0.2
    arguments = {"generator": _generator(1), "certified_at": 1e-3, "samples": 20_000}
    assert not refute(scores, image, [certified], "l1", **arguments).is_refuted
    assert refute(scores, image, [CertifiedImage(0, 1.3 * certified.radius)], "l1", **arguments).is_refuted


def test_flips_that_alpha_allows_do_not_refute():
    """One flip among many images is what a certificate at 5 % may leave; all of them are not."""
    source = _generator()
    scores = half_space(torch.ones(1, 1, 1), 0.5, lambda x: x + 0.1 * torch.randn(x.shape, generator=source))
    images = torch.full((20, 1, 1, 1), 0.7)
    images[3] = 0.55
    certified = [CertifiedImage(0, 0.1)] * 20
    arguments = {"certified_at": 0.05, "samples": 4_000, "steps": 5}
    one = refute(scores, images, certified, "l2", generator=_generator(1), **arguments)
    assert (one.flips, one.is_refuted, one.witness.image) == (1, False, 3)
    assert one.p_value == pytest.approx(1 - (1 - 0.05 - 0.01 / 40) ** 20)
    every = refute(scores, images, [CertifiedImage(0, 0.3)] * 20, "l2", generator=_generator(1), **arguments)
    assert every.is_refuted
    assert every.flips == 20


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.deep)])
def test_false_alarms_are_rare(count):
    """At even odds, the hardest case of the null, a flip is called as rarely as alpha says."""
    source, image = _generator(), torch.full((1, 1, 1, 1), 0.5)
    scores = half_space(torch.ones(1, 1, 1), 0.5, lambda x: x + torch.randn(x.shape, generator=source))
    given = {"generator": _generator(1), "certified_at": 0.0, "alpha": 0.2, "steps": 1, "draws": 1, "samples": 200}
    alone = [refute(scores, image, [CertifiedImage(0, 1e-12)], "l2", **given).is_refuted for _ in range(count)]
    # The rival is the other class; the test at alpha / 2 is discrete, so it errs a little less than that.
    size = stats.binom.sf(stats.binom.isf(0.1, 100, 0.5), 100, 0.5)
    assert stats.binom.ppf(1e-6, count, size) <= sum(alone) <= stats.binom.isf(1e-6, count, size)


def test_what_leaves_the_ball_is_no_flip(monkeypatch):
    """An attack that ends outside the certified ball says nothing of the certificate, whatever the class there."""
    attack = lambda **_: lambda _scores, images, *_: images - 0.5  # noqa: E731
    monkeypatch.setitem(certification._ATTACKS_OF_NORM, "l2", attack)
    scores = half_space(torch.ones(1, 1, 1), 0.5, lambda x: x)
    arguments = {"norm": "l2", "generator": _generator(), "certified_at": 0.0}
    inside = refute(scores, torch.full((1, 1, 1, 1), 0.6), [CertifiedImage(0, 0.51)], **arguments)
    outside = refute(scores, torch.full((1, 1, 1, 1), 0.6), [CertifiedImage(0, 0.49)], **arguments)
    assert (inside.is_refuted, outside.is_refuted) == (True, False)
    assert outside.witness.p_value == 1


def test_abstentions_are_left_alone():
    """Images without a certificate are not attacked; without any, nothing is refuted."""
    scores = half_space(torch.ones(1, 1, 1), 0.5, lambda x: x)
    found = refute(
        scores, torch.zeros(2, 1, 1, 1), [CertifiedImage(None, 0.0)] * 2, "l2", generator=_generator(), certified_at=0
    )
    assert (found.is_refuted, found.tested, found.witness) == (False, 0, None)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"norm": "l3"}, "norm"),
        ({"certified": []}, "one certificate"),
        ({"certified_at": 1.0}, "certified_at"),
        ({"samples": 1}, "samples"),
        ({"alpha": 0.0}, "alpha"),
    ],
)
def test_arguments_are_checked(wrong, name):
    """Arguments outside their domains are refused by name."""
    arguments = {"certified": [CertifiedImage(0, 0.1)], "norm": "l2", "certified_at": 0.0, "generator": _generator()}
    with refuses(name):
        refute(half_space(1.0, 0.5, lambda x: x), torch.zeros(1, 1, 1, 1), **(arguments | wrong))
