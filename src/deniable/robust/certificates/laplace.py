"""Randomized smoothing with Laplace noise (Teng et al. 2019; Yang et al. 2020)."""

import dataclasses
import math

from deniable.errors import check_positive, make_parameter_error
from deniable.robust.certificates.certificate import ABSTAINED, CertifiedImage, DecisionRule, Norm
from deniable.robust.certificates.gaussian import RUNNER_UP_BOUNDS, RunnerUpBound
from deniable.robust.certificates.intervals import select_class
from deniable.robust.certificates.tally import PredictionTally
from deniable.status import PROVED_IDEAL, Status


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


@dataclasses.dataclass(frozen=True)
class LaplaceSmoothing:
    """The l1 certificate of a model with independent Laplace noise on every pixel.

    Attributes:
        scale: b, in the unit of the pixels; the noise has variance 2 b^2. For noise after a linear layer, the effective
            one of `deniable.robust.certificates.linear_noise.compute_equivalent_laplace_scale`.
        runner_up: as of `GaussianSmoothing`.
        norm: l1.
        status: proved for ideal arithmetic: noise and scores are floating-point numbers.
        source: the theorems.

    Raises:
        InputError: a scale that is not positive, or an unknown runner_up.
    """

    scale: float
    runner_up: RunnerUpBound = "complement"
    norm: Norm = dataclasses.field(default="l1", init=False)
    status: Status = dataclasses.field(default=PROVED_IDEAL, init=False)
    source: str = dataclasses.field(default="Teng et al. 2019; Yang et al. 2020", init=False)
    decision_rule: DecisionRule = dataclasses.field(default="votes", init=False)

    def __post_init__(self) -> None:
        check_positive("LaplaceSmoothing", "scale", self.scale)
        if self.runner_up not in RUNNER_UP_BOUNDS:
            raise make_parameter_error(
                "LaplaceSmoothing", "runner_up", f"one of {', '.join(RUNNER_UP_BOUNDS)}", self.runner_up
            )

    def certify(self, selection: PredictionTally, estimation: PredictionTally, alpha: float) -> CertifiedImage:
        """Return the class and its radius, wrong with probability at most alpha; see `Certificate.certify`."""
        label = select_class(selection, estimation, alpha)
        radius = compute_laplace_radius(*RUNNER_UP_BOUNDS[self.runner_up](estimation, label, alpha), self.scale)
        return CertifiedImage(label, radius) if radius > 0 else ABSTAINED
