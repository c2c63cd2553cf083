"""A study's models: what an interrupted run keeps, and which texts are read."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.core.errors import InputError
from deniable.learning.adam import AdamRun
from deniable.studies import Setting, robust_imdb, robust_nli
from deniable.studies.ledger import Ledger
from deniable.studies.substituted import training
from deniable.studies.substituted.bench import prepared
from deniable.studies.substituted.mechanisms import Mechanisms
from deniable.studies.substituted.plan import LAPLACE, NORMAL, Cell, Point
from tests.studies.sizes import IMDB

PLAN = robust_imdb.PLAN
SIZES = dataclasses.replace(IMDB, gumbel_logs=(), laplace=(), calibrated=(), normal_epochs=2, ibp_epochs=1, smoothed=0)


def setting(study_data, tmp_path):
    return Setting(0, study_data, Ledger(tmp_path / "study.unfinished.jsonl"))


def test_going_on(study_data, tmp_path, monkeypatch):
    """A run cut off in mid training goes on from its last checkpoint and comes to the numbers of a run in one go."""
    whole = training.measured(PLAN, SIZES, setting(study_data, tmp_path / "whole"), "given")
    taken, step = [], AdamRun.step

    def cut(run, number):
        if len(taken) == 3:
            taken.append(-1)
            raise KeyboardInterrupt
        taken.append(number)
        return step(run, number)

    monkeypatch.setattr(AdamRun, "step", cut)
    with pytest.raises(KeyboardInterrupt):
        training.measured(PLAN, SIZES, setting(study_data, tmp_path), "given")
    assert [path.name for path in tmp_path.glob("*.checkpoint")] == ["study.unfinished.normal.checkpoint"]
    found = training.measured(PLAN, SIZES, setting(study_data, tmp_path), "given")
    assert taken[:5] == [0, 1, 2, -1, 3]
    assert found["points"] == whole["points"]
    assert not list(tmp_path.glob("*.checkpoint"))
    monkeypatch.setattr(training, "fit_text_model", lambda *_, **__: pytest.fail("trained again"))
    assert training.measured(PLAN, SIZES, setting(study_data, tmp_path), "given") == found


def test_a_checkpoint_of_another_run_is_removed(study_data, tmp_path):
    """A file that belongs to other sizes is dropped, and one of the same run is kept."""
    given = setting(study_data, tmp_path)
    bench = prepared(PLAN, SIZES, given, "given")
    checkpoint = training._checkpoint(bench, Cell(NORMAL))
    checkpoint.path.write_bytes(b"something else")
    assert training._usable(checkpoint) is checkpoint
    assert not checkpoint.path.exists()
    assert training._checkpoint(prepared(PLAN, SIZES, Setting(0, study_data), "given"), Cell(NORMAL)) is None


def test_copies_are_of_the_texts(study_data, tmp_path):
    """Copies have the lengths, labels and premises of their texts, which stand before them unchanged."""
    bench = prepared(robust_nli.PLAN, dataclasses.replace(SIZES, copies=2), setting(study_data, tmp_path), "given")
    held = Mechanisms(bench).copied(Point(LAPLACE, 200.0))
    count = len(bench.train)
    assert len(held) == 3 * count
    for copy in range(3):
        part = held.take(np.arange(copy * count, (copy + 1) * count))
        np.testing.assert_array_equal(part.labels, bench.train.labels)
        np.testing.assert_array_equal(part.texts.lengths, bench.train.texts.lengths)
        np.testing.assert_array_equal(part.premises.words, bench.train.premises.words)
        assert copy or (part.texts.words == bench.train.texts.words).all()


def test_rows_of_the_split(study_data, tmp_path):
    """Rows of another split are not learned from; texts without a known word are left out and counted."""
    texts = ["The <br />and zzz", "for that", "br zzz", "was said"]
    columns = {"text": texts, "label": [0, 1, 1, 0], "jia_split": ["train", "train", "train", "dev"]}
    for path in study_data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / PLAN.train).unlink()
    pq.write_table(pa.table(columns), tmp_path / PLAN.train)
    bench = prepared(PLAN, SIZES, Setting(0, tmp_path), "given")
    words = [[bench.space.words[word] for word in text] for text in bench.train.texts]
    assert words == [["the", "and"], ["for", "that"]]
    assert bench.facts["training texts left out"] == 1
    assert bench.facts["training texts are"] == "rows whose jia_split is train"


def test_a_column_is_missing(study_data, tmp_path):
    """A table without a column is named in one line."""
    for path in study_data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / PLAN.test).unlink()
    pq.write_table(pa.table({"review": ["the"], "label": [0]}), tmp_path / PLAN.test)
    with pytest.raises(InputError, match="has no column 'text': it has review, label"):
        prepared(PLAN, SIZES, Setting(0, tmp_path), "given")
