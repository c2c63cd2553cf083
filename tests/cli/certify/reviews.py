"""A small model of texts and rows to certify."""

import functools

import numpy as np

from deniable.cli.certify.options import CertifyOptions
from deniable.cli.labelled_tables import LabelledColumns, LabelledTable, build_documents
from deniable.cli.tables import TableFormat
from deniable.models.text.model import fit_text_model
from deniable.models.text.substitutions import Substitutions
from deniable.models.text.training import TextTrainingOptions
from deniable.space import Space
from tests.cli.text_models import WORDS, lines

COLUMNS = LabelledColumns("text", "label", None, TableFormat(None, None, "utf-8"))
OPTIONS = CertifyOptions(draws=200, alpha=0.05, attack_count=4, seed=0)


@functools.cache
def make_space():
    """Return a space in which good words lie far from bad ones."""
    vectors = 0.3 * np.random.default_rng(0).normal(size=(len(WORDS), 6))
    vectors[:3, 0] += 2.0
    vectors[3:6, 0] -= 2.0
    return Space(WORDS, vectors)


def make_rows(texts):
    """Return the usable rows of texts with labels."""
    columns = [list(column) for column in zip(*texts, strict=True)]
    return build_documents(LabelledTable("t.csv", COLUMNS, *columns, None), make_space(), 100, ("bad", "good"))


def make_sets():
    """Return sets in which good and bad words may be replaced by their likes."""
    choices = np.arange(len(WORDS), dtype=np.int32)[:, None].repeat(3, axis=1)
    for first in (0, 3):
        for word in range(first, first + 3):
            choices[word, 1:] = [other for other in range(first, first + 3) if other != word]
    return Substitutions("likes", choices)


@functools.cache
def make_model():
    """Return a model that was trained for a moment."""
    options = TextTrainingOptions(method="ibp", epochs=20, learning_rate=0.05)
    return fit_text_model("fasttext", make_space(), make_rows(lines()).documents, options, source=make_sets(), seed=1)
