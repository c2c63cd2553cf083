"""Private text under metric differential privacy, with a guarantee that is checked.

Names are resolved when first used, so that ``import deniable`` stays fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.auditing import audit as audit
    from deniable.auditing import verify as verify
    from deniable.core.errors import DeniableError as DeniableError
    from deniable.core.errors import InputError as InputError
    from deniable.core.errors import NotTractable as NotTractable
    from deniable.core.evidence import Verdict as Verdict
    from deniable.core.evidence import Witness as Witness
    from deniable.core.guarantees import ApproxDP as ApproxDP
    from deniable.core.guarantees import MetricDP as MetricDP
    from deniable.core.guarantees import PureDP as PureDP
    from deniable.published.adept.mechanism import ADePT as ADePT
    from deniable.published.dptext.mechanism import DPText as DPText
    from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel as TruncatedGumbel
    from deniable.registry.words import mechanism as mechanism
    from deniable.space import Metric as Metric
    from deniable.space import Space as Space
    from deniable.text import Certificate as Certificate
    from deniable.text import Release as Release
    from deniable.text import Released as Released
    from deniable.text import Tally as Tally
    from deniable.text.privatizer import TextPrivatizer as TextPrivatizer
    from deniable.vectors import Box as Box
    from deniable.vectors import Gaussian as Gaussian
    from deniable.vectors import L1Ball as L1Ball
    from deniable.vectors import L2Ball as L2Ball
    from deniable.vectors import Laplace as Laplace
    from deniable.vectors import VectorMechanism as VectorMechanism
    from deniable.words import TEM as TEM
    from deniable.words import CalibratedExponential as CalibratedExponential
    from deniable.words import MultivariateLaplace as MultivariateLaplace
    from deniable.words import Prior as Prior
    from deniable.words import TightExponential as TightExponential
    from deniable.words import WordMechanism as WordMechanism
    from deniable.words import read_prior as read_prior
    from deniable.words import recovery as recovery

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
    "mechanism": "deniable.registry.words",
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

__all__ = list(_HOMES)


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
