"""Controls of the zoo: correct mechanisms, which no audit may refute, and a copy of the input, which all must."""

import functools
import math

import numpy as np
from randomgen import AESCounter

from deniable.auditing.verification import verify
from deniable.core.arrays import FloatArray
from deniable.core.errors import check_positive
from deniable.core.guarantees import Guarantee, Verdict
from deniable.published.entry import ZooEntry, audit_claim, audit_nearest_words, make_vector_entry
from deniable.space import Space
from deniable.vectors import Box, Gaussian, KNorm, L1Ball, L2Ball, Laplace
from deniable.vectors.domains import check_dimension
from deniable.vectors.mechanism import ExactLoss, VectorMechanism
from deniable.words import WordMechanism
from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.tem import TEM

_BOX = Box(0.0, 1.0)

LAPLACE = functools.partial(Laplace, domain=_BOX)
GAUSSIAN = functools.partial(Gaussian, domain=_BOX)
K_NORM = functools.partial(KNorm, domain=_BOX)
ADEPT_L1 = functools.partial(Laplace, domain=L1Ball(1.0))
ADEPT_TRUE = functools.partial(Laplace, domain=L2Ball(1.0))
ADEPT_GAUSSIAN = functools.partial(Gaussian, domain=L2Ball(1.0))
ADEPT_NORM = functools.partial(KNorm, domain=L2Ball(1.0))


class _Control(VectorMechanism):
    """What the two controls of Habernal 2022 share: no noise is added to the input."""

    def worst_pair(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return zeros and ones, the two data sets of Habernal 2022."""
        return np.zeros(check_dimension(n)), np.ones(n)


class CopyMechanism(_Control):
    """Returns its input: the control that every audit must refute (Habernal 2022, Section 5).

    Args:
        epsilon: the claim to refute, > 0.
        seed: accepted as by every mechanism; nothing is drawn.

    Raises:
        InputError: epsilon is not a positive finite number.
    """

    name = "copy"
    arithmetic = "no noise"

    def __init__(self, *, epsilon: float, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.epsilon = check_positive("Copy", "epsilon", epsilon)

    @property
    def claim(self) -> Guarantee:
        """Refuted for any epsilon."""
        return Guarantee(self.epsilon, "none: the output is the input, as the control of Habernal 2022", "refuted")

    def sensitivity(self, n: int) -> float:
        """Return infinity: inputs are not bounded."""
        check_dimension(n)
        return math.inf

    def scale(self, n: int) -> float:
        """Return 0: there is no noise."""
        check_dimension(n)
        return 0.0

    def _exact_loss(self, n: int) -> ExactLoss:
        return ExactLoss(math.inf, math.inf, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:  # noqa: ARG002 - nothing is drawn
        return rows.copy()


class RandomMechanism(_Control):
    """Returns uniform draws from [0, 1)^n whatever its input: 0-DP, which no audit may refute (Habernal 2022).

    Args:
        seed: for tests; even a public one reveals nothing, because the input is not used.
    """

    name = "random"

    @property
    def claim(self) -> Guarantee:
        """Pure 0-DP."""
        return Guarantee(0.0, "the output does not depend on the input, as the control of Habernal 2022")

    @property
    def guarantee(self) -> Guarantee:
        """The claim, with a public seed too."""
        return self.claim

    def sensitivity(self, n: int) -> float:
        """Return 0: nothing of the input enters the output."""
        check_dimension(n)
        return 0.0

    def scale(self, n: int) -> float:
        """Return 1, the width of the interval."""
        check_dimension(n)
        return 1.0

    def exact_loss(self, n: int) -> ExactLoss:
        """Return a loss of 0, with a public seed too."""
        return ExactLoss(0.0, 0.0, self.worst_pair(n))

    def _sample_rows(self, rows: FloatArray, generator: AESCounter) -> FloatArray:
        return np.random.Generator(generator).random(rows.shape)


def _audit_half_sum(seed: int) -> Verdict:
    mechanism = LAPLACE(epsilon=1.0, seed=seed)
    # Half of what is released is post-processing.
    return audit_claim(
        lambda x: 0.5 * mechanism.sample(x), np.zeros(8), np.ones(8), samples=20_000, batched=True, seed=seed
    )


def _make_word_entry(kind: type[WordMechanism]) -> ZooEntry:
    """Return the entry of a word mechanism at epsilon 4: its law, and its nearest pairs."""

    def make_mechanism() -> WordMechanism:
        return kind(Space.glove(1_000, hide=()), epsilon=4.0)

    def audit_samples(seed: int) -> Verdict:
        mechanism = make_mechanism()
        return audit_nearest_words(mechanism.sample, mechanism.space, mechanism.guarantee.epsilon, seed)

    return ZooEntry(
        name=kind.name,
        source="control: deniable",
        claim="4-metric-DP, 1,000 words",
        flaw="",
        audit_samples=audit_samples,
        verify_law=lambda: verify(make_mechanism()),
    )


_make_control = functools.partial(make_vector_entry, source="control: deniable")

ENTRIES = (
    make_vector_entry(
        "copy",
        functools.partial(CopyMechanism, epsilon=1.0),
        source="control of Habernal 2022, Section 5",
        flaw="no noise at all",
        samples=100,
    ),
    ZooEntry(
        name="half-sum",
        source="control of a published sanity check, taken there for broken",
        claim="1-DP, n = 8",
        flaw="",
        audit_samples=_audit_half_sum,
    ),
    make_vector_entry("random", RandomMechanism, source="control: Habernal 2022, Section 5"),
    _make_control("laplace", functools.partial(LAPLACE, epsilon=1.0)),
    _make_control("gaussian", functools.partial(GAUSSIAN, epsilon=1.0, delta=1e-5)),
    _make_control("adept-l1", functools.partial(ADEPT_L1, epsilon=1.0)),
    _make_control("adept-true", functools.partial(ADEPT_TRUE, epsilon=1.0)),
    _make_control("adept-norm", functools.partial(ADEPT_NORM, epsilon=1.0)),
    _make_control("dptext-corrected", functools.partial(LAPLACE, epsilon=1.0)),
    _make_control("dptext-norm", functools.partial(K_NORM, epsilon=1.0)),
    _make_word_entry(TEM),
    _make_word_entry(CalibratedExponential),
)
