"""The published trainers that are audited: how each is installed, and what its accountant assumes, by our reading.

`assumes` is the sampling for which the package's own accountant holds. `documented` is the sampling of `fit` where
batches are not seen. What follows from them is computed by `studies/trainers/audit_trainers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Sampling = Literal["poisson", "shuffled", "fixed size", "all"]
TORCH = "torch>=2.6,<2.14"


@dataclass(frozen=True)
class Subject:
    """A package."""

    name: str
    script: str
    install: tuple[str, ...]  # what pip is given
    assumes: str
    uses_default_seed: bool = False  # its trainer seeds all generators unless told otherwise


@dataclass(frozen=True)
class Case:
    """One way to use a package."""

    subject: Subject
    scheme: str = "default"
    label: str = "default"
    options: dict[str, Any] = field(default_factory=dict)  # of the task
    documented: Sampling | None = None

    @property
    def key(self) -> str:
        """The name of its results."""
        return f"{self.subject.name}: {self.label}"


OPACUS = Subject("opacus", "opacus_trainer", (TORCH, "opacus==1.6.0"), "Poisson")
DIFFPRIVLIB = Subject(
    "diffprivlib", "diffprivlib_trainer", ("diffprivlib==0.6.6", "scikit-learn<1.7"), "one fit on all records"
)
DP_TRANSFORMERS = Subject(
    "dp-transformers", "dp_transformers_trainer",
    ("git+https://github.com/microsoft/dp-transformers@f9fae44", TORCH, "transformers==4.41.*", "accelerate==0.30.*",
     "peft==0.11.*", "datasets==2.20.*", "numpy<2", "pyarrow<20", "opacus==1.5.4"),
    "Poisson", uses_default_seed=True,
)  # fmt: skip
FASTDP = Subject(
    "fastDP", "fastdp_trainer",
    (TORCH, "git+https://github.com/awslabs/fast-differential-privacy@3d5cc56", "transformers", "scipy",
     "prv-accountant"),
    "Poisson",
)  # fmt: skip
PRIVATE_TRANSFORMERS = Subject(
    "private-transformers", "private_transformers_trainer",
    (TORCH, "git+https://github.com/lxuechen/private-transformers@18ccc4e", "transformers==4.28.*", "numpy<2"),
    "Poisson",
)  # fmt: skip
JAX_PRIVACY = Subject("jax-privacy", "jax_privacy_trainer", ("jax-privacy==2.0.0", "keras"), "Poisson")
TENSORFLOW_PRIVACY = Subject(
    "tensorflow-privacy", "tensorflow_privacy_trainer", ("tensorflow==2.15.*", "tensorflow-privacy==0.9.0"),
    "each record once an epoch; Poisson as a second figure",
)  # fmt: skip
SAFE_SYNTHESIZER = Subject(
    "nemo-safe-synthesizer", "safe_synthesizer_trainer",
    ("nemo-safe-synthesizer[engine]==0.1.16", TORCH, "transformers>=5.12,<5.12.1", "peft>=0.18.0", "accelerate>=1.1.0",
     "opacus"),
    "Poisson", uses_default_seed=True,
)  # fmt: skip
CASES = (
    Case(OPACUS),
    Case(OPACUS, "shuffled", "poisson_sampling=False"),
    Case(JAX_PRIVACY, label="execution plan"),
    Case(JAX_PRIVACY, "keras", "Keras", documented="shuffled"),
    Case(TENSORFLOW_PRIVACY),
    Case(FASTDP, label="loader of its examples"),
    Case(PRIVATE_TRANSFORMERS, label="loader of its examples"),
    Case(DP_TRANSFORMERS),
    Case(SAFE_SYNTHESIZER),
    Case(SAFE_SYNTHESIZER, label="three copies of each record",
         options={"copies": 3, "batch": 1, "accumulation": 8}),
    Case(DIFFPRIVLIB, "logistic", "LogisticRegression", {"norm": 1.0}, "all"),
    Case(DIFFPRIVLIB, "linear", "LinearRegression", {"norm": 1.0}, "all"),
)  # fmt: skip
SUBJECTS = {case.subject.name: case.subject for case in CASES}
