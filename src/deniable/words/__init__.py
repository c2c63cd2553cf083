"""Word mechanisms, by the name under which commands and certificates know them."""

from deniable.space import Space
from deniable.words.calibrated import CalibratedExponential
from deniable.words.mechanism import WordMechanism
from deniable.words.multivariate_laplace import MultivariateLaplace
from deniable.words.recovery import recovery
from deniable.words.tem import TEM
from deniable.words.tight import TightExponential
from deniable.words.truncated_gumbel import TruncatedGumbel
from deniable.words.weights import DENSE

MECHANISMS: dict[str, type[WordMechanism]] = {
    cls.name: cls for cls in (CalibratedExponential, TightExponential, TEM, MultivariateLaplace, TruncatedGumbel)
}
"""The registry: a new mechanism is one new file and one more entry here."""


def auto(space: Space) -> type[WordMechanism]:
    """Return what ``--mechanism auto`` stands for in a space.

    At equal proven epsilon `TightExponential` keeps more than `CalibratedExponential`, which keeps more than
    `TEM`, in every space measured. Up to 14,000 points its weights take seconds; beyond, where
    they take minutes, the choice is `CalibratedExponential`. Metrics of the user's own leave `TEM`.
    """
    if not space.metric.builtin:
        return TEM
    return TightExponential if len(space.points) <= DENSE else CalibratedExponential


__all__ = [
    "MECHANISMS",
    "TEM",
    "CalibratedExponential",
    "MultivariateLaplace",
    "TightExponential",
    "TruncatedGumbel",
    "WordMechanism",
    "auto",
    "recovery",
]
