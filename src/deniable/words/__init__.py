"""Word mechanisms: metric DP per word."""

from deniable.words.calibrated_exponential import CalibratedExponential
from deniable.words.mechanism import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from deniable.words.prior import Prior, read_prior
from deniable.words.recovery import recovery
from deniable.words.tem import TEM
from deniable.words.tight_exponential import TightExponential

__all__ = [
    "TEM",
    "CalibratedExponential",
    "MultivariateLaplace",
    "Prior",
    "TightExponential",
    "WordMechanism",
    "read_prior",
    "recovery",
]
