"""Worker for `pypantera`: words go as a table of texts through `obfuscateText`.

The wheel installs its modules under the top-level name `src`.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import timing

if TYPE_CHECKING:
    from collections.abc import Iterator

BETA = 0.001  # the package's own default for TEM, as for every other implementation here


@contextmanager
def open_mechanism(job: timing.Job) -> Iterator[timing.Privatize]:
    """Set up from the text file; texts hold one word, the length at which it is fastest."""
    pandas = importlib.import_module("pandas")
    parameters = {"embPath": job.glove_file, "epsilon": job.epsilon}
    if job.mechanism == "tem":
        module = importlib.import_module("src.SamplingPerturbationMechanism.tem")
        mechanism = module.TEM({**parameters, "beta": BETA})
    else:
        module = importlib.import_module("src.EmbeddingPerturbationMechanism.cmp")
        mechanism = module.CMP(parameters)
    timing.require_size(len(mechanism.vocab.embeddings), job)

    def privatize(words: list[str]) -> object:
        table = pandas.DataFrame({"id": range(len(words)), "text": words})
        return mechanism.obfuscateText(table, 1)

    yield privatize


if __name__ == "__main__":
    timing.main(open_mechanism)
