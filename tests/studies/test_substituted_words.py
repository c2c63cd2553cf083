"""Texts under substituted words: what is read of a table, and draws made in advance."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.core.randomness import Streams, derive_stream_start
from deniable.models.text.documents import IndexedTexts
from studies.runner import Context
from studies.substituted_words import Pooled, TextTables, add_copies, load_bench, speed_up
from tests.refusals import refuses
from tests.studies.data import WORDS


@dataclasses.dataclass(frozen=True)
class Part:
    words: int | None = None
    train: int | None = None
    test: int = 5


@dataclasses.dataclass(frozen=True)
class Sizes:
    mine: Part = Part()


@pytest.fixture
def tables(study_data, tmp_path):
    """Return a folder with two tables beside the vectors and the substitutions."""
    for name in ("glove.840B.300d.33860.npz", "counterfitted_neighbors.json.xz"):
        (tmp_path / name).symlink_to(study_data / name)
    first, second = " ".join(WORDS[:3]).title(), "<br />".join(WORDS[3:5])
    texts = [first, second, "zzz", None, first, second]
    splits = ["train", "train", "train", "train", "dev", "train"]
    labels = [1, 0, 1, 1, 0, None]
    pq.write_table(pa.table({"text": texts, "label": labels, "jia_split": splits}), tmp_path / "train.parquet")
    pq.write_table(pa.table({"text": [first, second, first], "label": [0, 7, 1]}), tmp_path / "test.parquet")
    return tmp_path


def load(folder, columns=("text",)):
    return load_bench(Context(Sizes(), 3, folder), "mine", TextTables("train.parquet", "test.parquet", columns), "bow")


def test_usable_texts_are_read(tables):
    """Rows of another split, without a known word or without a learned class do not take part; breaks are no words."""
    bench = load(tables)
    assert [list(words) for words in bench.train.texts] == [[0, 1, 2], [3, 4]]
    assert (bench.train.classes, bench.train.labels.tolist()) == (("0", "1"), [1, 0])
    assert bench.test.labels.tolist() == [0, 1]
    assert bench.left_out == 4
    assert set(bench.listed.tolist()) == {2}


def test_missing_columns_are_named(tables):
    """A table without a column, or without a usable text, is refused in one line."""
    with refuses("premise"):
        load(tables, ("text", "premise"))
    pq.write_table(pa.table({"text": ["zzz"], "label": [1]}), tables / "test.parquet")
    with refuses("test.parquet"):
        load(tables)


def test_documents_are_drawn_of_all_classes():
    """Of a table that is sorted by class some of both are drawn, each once and in order; of a short one, all."""
    text_models = pytest.importorskip("studies.text_models")
    texts = IndexedTexts(np.arange(100, dtype=np.int32), np.arange(101))
    documents = dn.texts.Documents(texts, np.repeat([0, 1], 50), ("0", "1"))
    some = text_models.draw_documents(documents, 20, 0)
    assert len(some) == 20
    assert 0 < some.labels.sum() < 20
    assert (np.diff(some.texts.words) > 0).all()
    assert len(text_models.draw_documents(documents, 500, 0)) == 100


def test_copies_follow_their_texts(tables):
    """Every copy has length and label of its text; at a large epsilon it is the text."""
    bench = load(tables)
    copied = add_copies(bench, dn.MultivariateLaplace(bench.space, epsilon=1e4), 2, 3)
    assert [list(words) for words in copied.texts] == 3 * [[0, 1, 2], [3, 4]]
    assert copied.labels.tolist() == 3 * [1, 0]


def test_pools(tables):
    """A pool has no more draws of a word than are used, they follow the law, and other words are refused."""
    bench = load(tables)
    laplace, uses = dn.MultivariateLaplace(bench.space, epsilon=1.0), np.zeros(len(bench.space), dtype=np.int64)
    uses[[2, 5]] = (4_000, 1)
    pooled = speed_up(bench, laplace, uses, 2_000, "test")
    assert isinstance(pooled, Pooled)
    assert pooled.guarantee.status == "claimed"
    key = bench.derive_key("draws")

    def draw(mechanism, word, count):
        return mechanism.draw_words(
            np.full(count, word, dtype=np.int32), Streams(key, [derive_stream_start(key, "test")], [count])
        )

    assert len(set(draw(pooled, 5, 50).tolist())) == 1
    shares = [(draw(mechanism, 2, 2_000) == 2).mean() for mechanism in (pooled, laplace)]
    assert shares[0] == pytest.approx(shares[1], abs=0.08)
    with refuses("pool"):
        draw(pooled, 7, 1)
    tem = dn.TEM(bench.space, epsilon=1.0)
    assert speed_up(bench, tem, uses, 9, "test") is tem


def test_pools_need_distinct_vectors():
    """Two words with one vector are one point, for which no pool can stand."""
    space = dn.Space(["a", "b", "c"], np.array([[0.0], [0.0], [1.0]]))
    with refuses("equal vectors"):
        Pooled(dn.MultivariateLaplace(space, epsilon=1.0), np.zeros(3, dtype=np.int32), np.ones(3, dtype=np.int64))
