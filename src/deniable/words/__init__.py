"""Word mechanisms, by the name under which commands and certificates know them."""

from deniable.words.calibrated import CalibratedExponential
from deniable.words.mechanism import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from deniable.words.tem import TEM
from deniable.words.tight import TightExponential
from deniable.words.truncated_gumbel import TruncatedGumbel

MECHANISMS: dict[str, type[WordMechanism]] = {
    cls.name: cls for cls in (CalibratedExponential, TightExponential, TEM, MultivariateLaplace, TruncatedGumbel)
}
"""The registry: a new mechanism is one new file and one more entry here."""

AUTO = TEM.name
"""What ``--mechanism auto`` stands for."""

__all__ = [
    "AUTO",
    "MECHANISMS",
    "TEM",
    "CalibratedExponential",
    "MultivariateLaplace",
    "TightExponential",
    "TruncatedGumbel",
    "WordMechanism",
]
