"""Worker for `mldp-text`: words go one by one through `replace_word`, its public call."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import timing

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {"laplace": "multivariate_calibrated", "tem": "tem"}


@contextmanager
def open_mechanism(job: timing.Job) -> Iterator[timing.Privatize]:
    """Set up through the package's factory; its default, approximate index stays on."""
    mldp_text = importlib.import_module("mldp_text")
    with Path(job.glove_file).open(encoding="utf-8") as file:
        vocabulary = {line.split(" ", 1)[0] for line in file}
    mechanism = mldp_text.get_mechanism(
        NAMES[job.mechanism],
        epsilon=job.epsilon,
        embed=job.word2vec_file,
        dim=job.dimensions,
        vocab=vocabulary,
    )
    timing.require_size(len(mechanism.embedding_matrix), job)
    yield lambda words: [mechanism.replace_word(word) for word in words]


if __name__ == "__main__":
    timing.main(open_mechanism)
