"""Worker for `dp-diffractor`: words go as texts through `Diffractor.rewrite`.

The package takes word lists by the names of its downloads, and from its cache when a file
of that name is there; so the space is put into a cache of this run's own, under one of the
names. NLTK's stop words and sentence model are asked for at run time but do not matter here
(every word is to be replaced, and there is no punctuation): empty stand-ins are enough.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import timing

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST_NAME = "glove-wiki-gigaword-300"
TEXT_LENGTH = 100  # words per text, so that the cost of a text is spread
NLTK_FILES = (
    "corpora/stopwords/english",
    "tokenizers/punkt_tab/english/abbrev_types.txt",
    "tokenizers/punkt_tab/english/collocations.tab",
    "tokenizers/punkt_tab/english/ortho_context.tab",
    "tokenizers/punkt_tab/english/sent_starters.txt",
)


@contextmanager
def open_mechanism(job: timing.Job) -> Iterator[timing.Privatize]:
    """Give the call on words joined into texts."""
    with open_diffractor(job.word2vec_file, epsilon=job.epsilon) as mechanism:
        timing.require_size(len(mechanism.mgr.lists[0]), job)
        yield lambda words: mechanism.rewrite(texts(words))


@contextmanager
def open_diffractor(word2vec_file: str, **settings: object) -> Iterator[Any]:
    """Set up one word list, sorted by the package, and start its process for that list."""
    with tempfile.TemporaryDirectory() as folder:
        fill_home(Path(folder), word2vec_file)
        # Before the import, because NLTK reads its search path when it is imported.
        os.environ.update(HOME=folder, NLTK_DATA=f"{folder}/nltk_data")
        diffractor = importlib.import_module("diffractor")
        config = diffractor.DiffractorConfig(replace_stopwords=True, verbose=False, **settings)
        with diffractor.Diffractor(config, model_names=[LIST_NAME]) as mechanism:
            yield mechanism


def fill_home(home: Path, word2vec_file: str) -> None:
    """Write the cached word list and the NLTK stand-ins under a home folder of this run."""
    cache = home / ".cache" / "diffractor"
    cache.mkdir(parents=True)
    (cache / f"{LIST_NAME}.txt").symlink_to(word2vec_file)
    for name in NLTK_FILES:
        path = home / "nltk_data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def texts(words: list[str]) -> list[str]:
    """Join the words into texts of `TEXT_LENGTH`."""
    return [" ".join(words[start : start + TEXT_LENGTH]) for start in range(0, len(words), TEXT_LENGTH)]


if __name__ == "__main__":
    timing.main(open_mechanism)
