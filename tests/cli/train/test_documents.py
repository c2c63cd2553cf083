"""Documents to learn from and to test on: held out once and for all, or read from a table of their own."""

import numpy as np
import pytest

from deniable.cli.labelled_tables import LabelledColumns, LabelledTable
from deniable.cli.tables import TableFormat
from deniable.cli.train.documents import _hold_out_documents, build_training_documents, read_test_table
from deniable.core.errors import InputError
from deniable.space import Space
from tests.cli.text_models import WORDS, lines

COLUMNS = LabelledColumns("text", "label", None, TableFormat(None, None, "utf-8"))
SPACE = Space(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 3)))


def make_table(rows, source="t.csv"):
    """Return a table of texts and labels."""
    texts, labels = zip(*rows, strict=True)
    return LabelledTable(source, COLUMNS, list(texts), list(labels), None)


def test_a_tenth_is_held_out_the_same_every_time():
    """No text is on both sides, none is lost, and the split follows from the number of texts alone."""
    table = make_table(lines(80))
    training, test, remarks = build_training_documents(table, None, SPACE, "fasttext")
    assert (len(training), len(test)) == (72, 8)
    assert remarks == []
    again = build_training_documents(table, None, SPACE, "fasttext")
    assert [text.tolist() for text in again[1].texts] == [text.tolist() for text in test.texts]
    spelled = sorted(" ".join(SPACE.words[word] for word in text) for half in (training, test) for text in half.texts)
    assert spelled == sorted(text for text, _ in lines(80))


def test_a_test_table_is_tested_on_whole():
    """With a table of its own nothing is held out, its classes are those of training, and remarks are of both."""
    table, test_table = make_table([*lines(20), ("", "good")]), make_table([*lines(6, 2), ("good", "odd")], "u.csv")
    training, test, remarks = build_training_documents(table, test_table, SPACE, "fasttext")
    assert (len(training), len(test)) == (20, 6)
    assert test.classes == training.classes == ("bad", "good")
    assert ["t.csv" in remark for remark in remarks] == [True, False]
    assert "u.csv" in remarks[1]


def test_html_is_told():
    """HTML in the texts to learn from is told with the other remarks on their table."""
    rows = [(f"{text} <br />", label) for text, label in lines(20)]
    remarks = build_training_documents(make_table(rows), None, SPACE, "fasttext")[2]
    assert any(remark.startswith("t.csv: 100.0 % of the texts (20 of 20) hold HTML tags") for remark in remarks)


def test_too_few_texts_to_hold_some_out():
    """Two texts leave one to test on; of one alone none would be left, and the error says what to give."""
    training, test, _ = build_training_documents(make_table(lines(2)), None, SPACE, "fasttext")
    assert len(training) == len(test) == 1
    with pytest.raises(InputError, match=r"'t\.csv' has 1 texts, too few to hold some out: give --test"):
        _hold_out_documents(training, "t.csv")


def test_errors_of_the_test_table_say_so(tmp_path):
    """What cannot be read, or has no usable row, is refused as the table of --test."""
    with pytest.raises(InputError, match=r"^In --test: "):
        read_test_table(tmp_path / "missing.csv", COLUMNS)
    with pytest.raises(InputError, match=r"^In --test: "):
        build_training_documents(make_table(lines(20)), make_table([("good", "odd")]), SPACE, "fasttext")
