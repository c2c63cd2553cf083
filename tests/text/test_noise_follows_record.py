"""Keyed noise follows the record: what must not show in any mechanism's output, by text and by table."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import (
    TEM,
    CalibratedExponential,
    MultivariateLaplace,
    TextPrivatizer,
    TightExponential,
    TruncatedGumbel,
)
from deniable.core.identity import make_identity
from deniable.core.randomness import CHUNK_TOKENS
from tests.text.helpers import SPACE, WORDS, buffers
from tests.text.test_table_release import by_id, release, table_of

KEY = bytes(range(32))
MECHANISMS = {
    "tem": TEM(SPACE, epsilon=1.0),
    "calibrated": CalibratedExponential(SPACE, epsilon=1.0),
    "tight": TightExponential(SPACE, epsilon=1.0),
    "truncated-gumbel": TruncatedGumbel(SPACE, epsilon=60.0),
    "multivariate-laplace": MultivariateLaplace(SPACE, epsilon=1.0),
}
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
LONG = " ".join(WORDS * 8)

words = st.sampled_from([*WORDS, "zork", "don't", "✓"])
texts = st.lists(words, max_size=12).map(" ".join)
rows_of_two = st.tuples(st.text(st.sampled_from("ab1é."), min_size=1, max_size=4), texts)
records = st.lists(rows_of_two, min_size=1, max_size=8, unique_by=lambda row: make_identity(row[0]))


def lines_of(rows):
    return "".join(json.dumps({"id": record_id, "text": text}) + "\n" for record_id, text in rows).encode()


def by_line(data):
    """Return a private jsonl table as a mapping from ids to texts."""
    return {row["id"]: row["text"] for row in map(json.loads, data.decode().splitlines())}


@every_mechanism
@given(
    rows=records,
    order=st.randoms(use_true_random=False),
    chunk=st.integers(1, 50),
    window=st.sampled_from([0, 200, 2000]),
    workers=st.integers(1, 3),
)
@settings(max_examples=15)
def test_tables(mechanism, rows, order, chunk, window, workers):
    """A record's text is one in csv and jsonl, for any order, chunks, windows, threads and number of runs."""
    options = {"mechanism": mechanism, "id_column": "id"}
    whole = by_line(release(lines_of(rows), kind="jsonl", **options)[0])
    assert whole.keys() == {record_id for record_id, _ in rows}
    order.shuffle(rows)
    with buffers(chunk, window):
        lines = by_line(release(lines_of(rows), kind="jsonl", workers=workers, **options)[0])
        table = by_id(release(table_of(rows, header=("id", "text")), workers=workers, **options)[0])
    assert lines == whole
    assert {record_id: row[0] for record_id, row in table.items() if record_id != "id"} == whole


@every_mechanism
@given(rows=records, order=st.randoms(use_true_random=False), cut=st.integers(0, 8))
@settings(max_examples=15)
def test_texts(mechanism, rows, order, cut):
    """TextPrivatizer gives a record one text, in whatever order, batch or object, and alone."""
    ids, given_texts = [row[0] for row in rows], [row[1] for row in rows]
    privatizer = TextPrivatizer(mechanism, key=KEY)
    whole = dict(zip(ids, privatizer.transform(given_texts, record_ids=ids), strict=True))
    order.shuffle(rows)
    again = {}
    for batch in (rows[:cut], rows[cut:]):
        ids = [row[0] for row in batch]
        other = TextPrivatizer(mechanism, key=KEY)
        again |= dict(zip(ids, other.transform([row[1] for row in batch], record_ids=ids), strict=True))
    assert again == whole
    assert {record_id: privatizer.privatize(text, record_id) for record_id, text in rows} == whole


@every_mechanism
def test_one_record_twice(mechanism):
    """One id, text and key give one output; another id, text or key gives noise of its own."""
    first = TextPrivatizer(mechanism, key=KEY).privatize(LONG, "a")
    assert TextPrivatizer(mechanism, key=KEY).privatize(LONG, "a") == first
    others = [
        TextPrivatizer(mechanism, key=KEY).privatize(LONG, "b"),
        TextPrivatizer(mechanism, key=KEY).privatize(f"{LONG} the", "a").rsplit(" ", 1)[0],
        TextPrivatizer(mechanism, key=bytes(32)).privatize(LONG, "a"),
    ]
    assert len({first, *others}) == 4


@every_mechanism
def test_without_a_key(mechanism):
    """Without a key each run, and each of two equal texts, has fresh noise."""
    privatizer = TextPrivatizer(mechanism)
    assert len({*privatizer.transform([LONG, LONG]), privatizer.privatize(LONG), privatizer.privatize(LONG)}) == 4
    table = lines_of([("a", LONG)])
    runs = [release(table, key=None, kind="jsonl", mechanism=mechanism)[0] for _ in range(2)]
    assert runs[0] != runs[1]


@every_mechanism
def test_a_record_longer_than_a_piece(mechanism):
    """A record whose noise is drawn in several pieces has one text, alone and among others, for any threads."""
    text = " ".join((WORDS * (CHUNK_TOKENS // len(WORDS) + 2))[: CHUNK_TOKENS + 5])
    alone = TextPrivatizer(mechanism, key=KEY).privatize(text, "long")
    rows = [("a", LONG), ("long", text), ("b", "the food")]
    for workers, order in ((1, rows), (3, rows[::-1])):
        table = release(lines_of(order), kind="jsonl", mechanism=mechanism, id_column="id", workers=workers)[0]
        assert by_line(table)["long"] == alone


def test_no_two_mechanisms_share_noise():
    """Under one key and id every mechanism has noise of its own."""
    released = {TextPrivatizer(mechanism, key=KEY).privatize(LONG, "a") for mechanism in MECHANISMS.values()}
    assert len(released) == len(MECHANISMS)
