"""What a certificate of robustness is, those of randomized smoothing, and how each is stored.

A certificate goes from counted predictions of a randomized model, or from bounds on its network, to a class and a
radius. Radii are in the unit of pixels in [0, 1], unless a published certificate says otherwise. Smoothing is by
Gaussian noise (Cohen et al. 2019) or Laplace noise (Teng et al. 2019; Yang et al. 2020).
"""

import abc
import dataclasses
import math
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, runtime_checkable

from scipy.special import ndtri

from deniable.core.errors import InputError, check_number_within, check_positive, make_parameter_error
from deniable.core.guarantees import PROVED_IDEAL, Status
from deniable.models.images.networks import (
    ImageNetwork,
    ImageShape,
    NetworkNoise,
    get_only_noise,
)
from deniable.models.images.options import NetworkNoiseLaw
from deniable.models.intervals import bound_both_classes, bound_by_complement, select_class
from deniable.models.tally import PredictionTally

Norm = Literal["l1", "l2", "linf"]
DecisionRule = Literal["votes", "softmax"]
RunnerUpBound = Literal["complement", "estimated"]
RUNNER_UP_BOUNDS = {"complement": bound_by_complement, "estimated": bound_both_classes}
_MAX_SCALE = 1e30
"""Noise is drawn in float32: beyond this range it would round to zero or overflow, and certify nothing."""
_MAX_PIXELS = 1 << 13
"""Numbers of an image up to which a first layer's norm is computed for whoever reads a file: that takes their cube."""


@dataclasses.dataclass(frozen=True)
class CertifiedImage:
    """What is certified of one image.

    Attributes:
        label: the class of every image closer than ``radius``; None if the certificate abstains.
        radius: in the norm and the unit of the certificate; 0 if it abstains.
    """

    label: int | None
    radius: float


ABSTAINED = CertifiedImage(None, 0.0)


class RobustnessCertificate(Protocol):
    """A way to certify the predictions of a model, by counted draws (`DrawnCertificate`) or by bounds on its network.

    Attributes:
        choices: names of the parameters that are chosen. All others follow from the network and its noise, so that a
            model's file holds the choices only, and none of them makes a certificate false.
        norm: of the radius.
        status: what is known of its claim.
        source: the theorem.
        decision_rule: which class is certified: the one with most ``votes``, or with the largest mean ``softmax``
            score.
        pixels_per_unit: factor from the unit of the radius to pixels of [0, 1].
    """

    choices: ClassVar[tuple[str, ...]]

    @property
    def decision_rule(self) -> DecisionRule: ...  # noqa: D102 - see the class

    @property
    def norm(self) -> Norm: ...  # noqa: D102 - see the class

    @property
    def status(self) -> Status: ...  # noqa: D102 - see the class

    @property
    def source(self) -> str: ...  # noqa: D102 - see the class

    @property
    def pixels_per_unit(self) -> float: ...  # noqa: D102 - see the class


@runtime_checkable
class DrawnCertificate(RobustnessCertificate, Protocol):
    """A way to certify the predictions of a randomized model."""

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, wrong with probability at most alpha for one image.

        Args:
            selection: draws that choose the class.
            estimation: independent draws that bound the probabilities.
            alpha: in (0, 1).

        Raises:
            InputError: alpha outside (0, 1), or tallies of different classes.
        """
        ...


Kind = TypeVar("Kind", bound=type)
CERTIFICATE_KINDS: dict[str, type[Any]] = {}
"""Every class of certificates that can be saved and read, by its name."""


def register_certificate(kind: Kind) -> Kind:
    """Return a dataclass of certificates, after adding it to the kinds that can be saved and read.

    Its class method ``from_network(network, shape, noises, **choices)`` makes the certificate of a network under its
    noise, for images of a shape (channels, height, width), and raises `InputError` for noise that it is not about.
    """
    CERTIFICATE_KINDS[kind.__name__] = kind
    return kind


def encode_certificate(certificate: RobustnessCertificate) -> dict[str, Any]:
    """Return the kind and the parameters of a certificate.

    Raises:
        InputError: a kind that is not among `CERTIFICATE_KINDS`.
    """
    name = type(certificate).__name__
    if CERTIFICATE_KINDS.get(name) is not type(certificate) or not dataclasses.is_dataclass(certificate):
        raise InputError(f"The certificate {name} cannot be saved: give one of {', '.join(CERTIFICATE_KINDS)}.")
    names = [field.name for field in dataclasses.fields(certificate) if field.init]
    return {"kind": name, **{name: getattr(certificate, name) for name in names}}


def encode_choices(certificate: RobustnessCertificate) -> dict[str, Any]:
    """Return what a model's file holds of a certificate: its kind and its choices, from which no radius follows.

    Raises:
        InputError: a kind that is not among `CERTIFICATE_KINDS`.
    """
    encoded = encode_certificate(certificate)
    return {name: encoded[name] for name in ("kind", *certificate.choices)}


def rebuild_certificate(
    content: dict[str, Any], network: ImageNetwork, shape: ImageShape, noises: tuple[NetworkNoise, ...]
) -> RobustnessCertificate:
    """Return the certificate of a kind and with the choices of `encode_choices`, from a network and its noise.

    Raises:
        InputError: an unknown kind, other choices, other noise, or images too large to compute it for.
    """
    choices = dict(content)
    name = choices.pop("kind", None)
    kind = CERTIFICATE_KINDS.get(str(name))
    if kind is None:
        raise InputError(
            f"The certificate's kind must be one of {', '.join(CERTIFICATE_KINDS)}. Got {name!r}: certificates of "
            "published systems are read by deniable.registry."
        )
    if {*choices} != {*kind.choices}:
        raise InputError(f"A stored {name} has other parameters than this version's. Got {', '.join(choices)}.")
    if math.prod(shape) > _MAX_PIXELS:
        raise InputError(f"The certificate of images of more than {_MAX_PIXELS:,} numbers takes too long.")
    certificate: RobustnessCertificate = kind.from_network(network, shape, noises, **choices)
    return certificate


def compute_gaussian_radius(p_a: float, p_b: float, sigma: float) -> float:
    """Return sigma / 2 (Phi^-1(p_A) - Phi^-1(p_B)), Theorem 1 of Cohen et al. 2019; not above 0 where p_A <= p_B.

    With p_B = 1 - p_A this is sigma Phi^-1(p_A). No larger l2 radius holds for every classifier (Theorem 2).
    """
    if p_a <= p_b:
        return 0.0
    if p_b <= 0 or p_a >= 1:
        return math.inf
    return float(sigma / 2 * (ndtri(p_a) - ndtri(p_b)))


def compute_laplace_radius(p_a: float, p_b: float, scale: float) -> float:
    """Return b max(1/2 ln(p_A / p_B), -ln(1 - p_A + p_B)); 0 where p_A <= p_B.

    An attack of l1 size R changes the probability of every event by a factor of at most e^(R/b). So p_A falls to no
    less than p_A e^(-R/b) and 1 - (1 - p_A) e^(R/b), and p_B rises to no more than p_B e^(R/b): each of the two lower
    bounds meets the upper one at one of the two terms. The other upper bound, 1 - (1 - p_B) e^(-R/b), adds nothing
    while p_A + p_B <= 1. With p_B = 1 - p_A the second term, -b ln(2 (1 - p_A)), is exact in one dimension.
    """
    if p_a <= p_b:
        return 0.0
    if p_b <= 0:
        return math.inf
    return scale * max(math.log(p_a / p_b) / 2, -math.log1p(p_b - p_a))


class _PixelSmoothing(abc.ABC):
    """What the two certificates of noise on the pixels share; whatever follows the noise does not matter."""

    choices: ClassVar[tuple[str, ...]] = ("runner_up",)
    law: ClassVar[NetworkNoiseLaw]
    norm: ClassVar[Norm]
    status: ClassVar[Status] = PROVED_IDEAL
    source: ClassVar[str]
    decision_rule: ClassVar[DecisionRule] = "votes"
    pixels_per_unit: ClassVar[float] = 1.0
    runner_up: RunnerUpBound

    @abc.abstractmethod
    def radius(self, p_a: float, p_b: float) -> float:
        """Return the radius that bounds on the probabilities of two classes give; 0 for none."""

    @classmethod
    def from_network(
        cls,
        network: ImageNetwork,  # noqa: ARG003 - of every certificate
        shape: ImageShape,  # noqa: ARG003 - the same
        noises: tuple[NetworkNoise, ...],
        runner_up: RunnerUpBound = "complement",
    ) -> Self:
        """Return the certificate of noise on the pixels, of one scale for all of them."""
        scale = float(get_only_noise(noises, "input", cls.law).scale)
        return cls(check_number_within("smoothing", "noise", scale, 1 / _MAX_SCALE, _MAX_SCALE), runner_up)  # type: ignore[call-arg]

    def __post_init__(self) -> None:
        scale_name, name = next(iter(vars(self))), type(self).__name__
        check_positive(name, scale_name, getattr(self, scale_name))
        if self.runner_up not in RUNNER_UP_BOUNDS:
            raise make_parameter_error(name, "runner_up", f"one of {', '.join(RUNNER_UP_BOUNDS)}", self.runner_up)

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, as `DrawnCertificate.certify`."""
        label = select_class(selection, estimation, alpha)
        radius = self.radius(*RUNNER_UP_BOUNDS[self.runner_up](estimation, label, alpha))
        return CertifiedImage(label, radius) if radius > 0 else ABSTAINED


@register_certificate
@dataclasses.dataclass(frozen=True)
class GaussianSmoothing(_PixelSmoothing):
    """The l2 certificate of a model with noise N(0, sigma^2 I) on its input; the class is the most probable vote.

    Attributes:
        sigma: standard deviation in the unit of the pixels; for noise after a linear layer, the effective one of
            `deniable.models.images.pixeldp.compute_equivalent_gaussian_scale`.
        runner_up: ``complement``: p_B = 1 - p_A, one bound at alpha; ``estimated``: p_A and p_B are bounded at
            alpha / 2 each, p_B by a union over the other K - 1 classes.

    Raises:
        InputError: a sigma that is not positive, or an unknown runner_up.
    """

    law, norm, source = "gaussian", "l2", "Cohen et al. 2019, Theorem 1"
    sigma: float
    runner_up: RunnerUpBound = "complement"

    def radius(self, p_a: float, p_b: float) -> float:
        """Return the radius of `compute_gaussian_radius`."""
        return compute_gaussian_radius(p_a, p_b, self.sigma)


@register_certificate
@dataclasses.dataclass(frozen=True)
class LaplaceSmoothing(_PixelSmoothing):
    """The l1 certificate of a model with independent Laplace noise on every pixel; the class is the most probable vote.

    Attributes:
        scale: b, in the unit of the pixels; the noise has variance 2 b^2.
        runner_up: as of `GaussianSmoothing`.

    Raises:
        InputError: a scale that is not positive, or an unknown runner_up.
    """

    law, norm, source = "laplace", "l1", "Teng et al. 2019; Yang et al. 2020"
    scale: float
    runner_up: RunnerUpBound = "complement"

    def radius(self, p_a: float, p_b: float) -> float:
        """Return the radius of `compute_laplace_radius`."""
        return compute_laplace_radius(p_a, p_b, self.scale)
