"""Private text under metric differential privacy, with a guarantee that is checked.

Names are resolved when first used, so that ``import deniable`` stays fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.auditing import audit, verify
    from deniable.core.errors import DeniableError, InputError, NotTractable
    from deniable.core.evidence import Verdict, Witness
    from deniable.core.guarantees import ApproxDP, MetricDP, PureDP
    from deniable.published.adept.mechanism import ADePT
    from deniable.published.dptext.mechanism import DPText
    from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel
    from deniable.space import Metric, Space
    from deniable.text import Certificate, Release, Released, Tally
    from deniable.text.privatizer import TextPrivatizer
    from deniable.vectors import Box, Gaussian, L1Ball, L2Ball, Laplace, VectorMechanism
    from deniable.words import (
        TEM,
        CalibratedExponential,
        MultivariateLaplace,
        Prior,
        TightExponential,
        WordMechanism,
        read_prior,
        recovery,
    )

__version__ = "0.1.0"

_HOMES = {
    "ADePT": "deniable.published.adept.mechanism",
    "ApproxDP": "deniable.core.guarantees",
    "audit": "deniable.auditing",
    "Box": "deniable.vectors",
    "CalibratedExponential": "deniable.words",
    "Certificate": "deniable.text",
    "DeniableError": "deniable.core.errors",
    "DPText": "deniable.published.dptext.mechanism",
    "Gaussian": "deniable.vectors",
    "InputError": "deniable.core.errors",
    "L1Ball": "deniable.vectors",
    "L2Ball": "deniable.vectors",
    "Laplace": "deniable.vectors",
    "Metric": "deniable.space",
    "MetricDP": "deniable.core.guarantees",
    "MultivariateLaplace": "deniable.words",
    "NotTractable": "deniable.core.errors",
    "Prior": "deniable.words",
    "PureDP": "deniable.core.guarantees",
    "read_prior": "deniable.words",
    "recovery": "deniable.words",
    "Release": "deniable.text",
    "Released": "deniable.text",
    "Space": "deniable.space",
    "Tally": "deniable.text",
    "TEM": "deniable.words",
    "TextPrivatizer": "deniable.text.privatizer",
    "TightExponential": "deniable.words",
    "TruncatedGumbel": "deniable.published.truncated_gumbel.mechanism",
    "VectorMechanism": "deniable.vectors",
    "Verdict": "deniable.core.evidence",
    "verify": "deniable.auditing",
    "Witness": "deniable.core.evidence",
    "WordMechanism": "deniable.words",
}

__all__ = [
    "TEM",
    "ADePT",
    "ApproxDP",
    "Box",
    "CalibratedExponential",
    "Certificate",
    "DPText",
    "DeniableError",
    "Gaussian",
    "InputError",
    "L1Ball",
    "L2Ball",
    "Laplace",
    "Metric",
    "MetricDP",
    "MultivariateLaplace",
    "NotTractable",
    "Prior",
    "PureDP",
    "Release",
    "Released",
    "Space",
    "Tally",
    "TextPrivatizer",
    "TightExponential",
    "TruncatedGumbel",
    "VectorMechanism",
    "Verdict",
    "Witness",
    "WordMechanism",
    "audit",
    "read_prior",
    "recovery",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Import a public name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "__version__"])
