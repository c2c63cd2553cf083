"""Table 1 of Xu et al. 2021: how many words the texts of a data set have, punctuation marks counted as words."""

import re

import numpy as np
import pyarrow.parquet as pq

from deniable.measure.intervals import estimate_mean
from studies.rows import Row, at, row_of, rows_of
from studies.runner import Context
from studies.study import Metric, Statement, near

THEIRS = {
    "imdb": ((20_000, 1_000), 11_856_015, 145_901, 263.46, 195.29),
    "nli": ((550_152, 10_000), 4_614_822, 49_895, 8.25, 3.20),
}
"""Training and test texts, words in all, vocabulary, mean and standard deviation of a text's length."""
METRICS = {
    "words of a test text": Metric("words of a text, all of the test file", ".2f"),
    "deviation of a test text": Metric("standard deviation", ".2f"),
    "words in all": Metric("words in all", ",.0f"),
    "words by sizes and lengths": Metric("texts times their mean length", ",.0f"),
    "different words": Metric("different words, training and test file", ",.0f"),
}
_NEAR = 0.02
"""Share of a number within which two counts by different tokenizers count as the same."""
_BREAK = "<br />"
_TOKEN = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


def measure_lengths(context: Context, name: str, train: str, test: str, column: str) -> list[Row]:
    """Return the lengths of all texts of a test file, the vocabulary of both files, and what the paper says of them.

    Args:
        context: of the run.
        name: of the data set, and of its curve.
        train: file.
        test: file.
        column: of the texts that are attacked.
    """
    lengths, different = np.empty(0), set[str]()
    for file in (train, test):
        table = pq.read_table(context.find_file(file), columns=[column])
        texts = [_TOKEN.findall((text or "").replace(_BREAK, " ").lower()) for text in table[column].to_pylist()]
        lengths = np.array([len(words) for words in texts], dtype=np.float64)
        different.update(*texts)
    (training, tested), total, vocabulary, mean, deviation = THEIRS[name]
    theirs = f"{name}, the paper's"
    return [
        row_of(name, None, "words of a test text", estimate_mean(lengths)),
        *rows_of(name, None, deviation_of_a_test_text=float(lengths.std()), different_words=len(different)),
        *rows_of(
            theirs, None, words_of_a_test_text=mean, deviation_of_a_test_text=deviation, words_in_all=total,
            words_by_sizes_and_lengths=(training + tested) * mean, different_words=vocabulary,
        ),
    ]  # fmt: skip


def state_sizes(name: str, title: str) -> tuple[Statement, ...]:
    """Return what Table 1 says of one data set that can be held against something."""
    (training, tested), total, _, mean, deviation = THEIRS[name]
    return (
        Statement(
            f"{title}, Table 1: a text has {mean} ± {deviation} words.",
            at(name, metric="words of a test text"),
            near(mean, _NEAR * mean),
            ((at(name, metric="deviation of a test text"), near(deviation, _NEAR * deviation)),),
        ),
        Statement(
            f"{title}, Table 1: {training + tested:,} texts of this length have {total:,} words in all.",
            at(f"{name}, the paper's", metric="words in all"),
            near(at(metric="words by sizes and lengths"), _NEAR * total),
        ),
    )
