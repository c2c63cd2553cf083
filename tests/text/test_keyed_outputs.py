"""Outputs under a key, which no change of this package may change while the version of the stream's layout is one."""

import csv
import hashlib
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.text.helpers import KEY, SPACE

TEXTS = [
    "The food was Good, and London isn't bad!",
    "zork  DOG\tcat: don't &amp; 1,000 <br /> the\u2019s blue",
    "",
    None,
    "a 👩\u200d👩 red \u200bcat\x02dog, caf\u00e9 (see www.example.com/a)",
]
NOTES = ["paris", None, "Great dog", "the the", ""]
IDS = ["a1", "07", "b", "x9", "12"]
PERSONS = ["p", "q", "p", "q", "r"]
OPTIONS = ["--column", "text", "--column", "note", "--id", "id", "--key", "key"]


def hash_value(value):
    """Return a short digest of a value of JSON."""
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=8).hexdigest()


def make_table(kind):
    """Return the table in a format."""
    names = ("id", "text", "note", "person")
    rows = [dict(zip(names, row, strict=True)) for row in zip(IDS, TEXTS, NOTES, PERSONS, strict=True)]
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=2)
        return sink.getvalue()
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="\t" if kind == "tsv" else ",")
    writer.writerows([names, *([row[name] or "" for name in names] for row in rows)])
    return out.getvalue().encode()


def read_output(path, kind):
    """Return what was released, of parquet without what its writer adds."""
    return pq.read_table(path).to_pylist() if kind == "parquet" else path.read_bytes().decode()


BATCHES = {
    ("calibrated", 3.0): "41bdb3ac1bc7f4c6",
    ("tight", 3.0): "2846518efc160a44",
    ("tem", 2.0): "b9bf6c827fc98cf7",
    ("multivariate-laplace", 3.0): "4422da976c065f35",
}
"""Not truncated Gumbel's: its noise is named by the law as computed, whose last bits differ between processors."""
STEPS = {"calibrated": "35bfb913f0fc39f5", "tem": "12803a4b8e733619"}
TABLES = {
    "csv": "707c5b423eb5d8cf",
    "tsv": "6589b7cbf57a43b9",
    "jsonl": "c9d548f88798224a",
    "parquet": "b6c6588bc1490fd5",
}


@pytest.mark.parametrize(("name", "epsilon"), BATCHES)
def test_batches_under_euclidean_distance(name, epsilon):
    """Every mechanism gives the texts of a batch the words that it always gave them."""
    mechanism = dn.mechanism(name, SPACE, epsilon=epsilon)
    outputs = [
        dn.Release(mechanism, key=KEY, **options).batch(TEXTS, IDS).texts
        for options in ({}, {"case": "copy", "unknown": "mask", "keep": ["London"]}, {"unknown": "drop"})
    ]
    assert hash_value(outputs) == BATCHES[name, epsilon]


@pytest.mark.parametrize("name", STEPS)
def test_batches_in_steps(name):
    """The same holds in the default space."""
    release = dn.Release(dn.mechanism(name, dn.Space.glove(), epsilon=2.7), key=KEY, unescape="html", case="copy")
    assert hash_value(release.batch(TEXTS, IDS).texts) == STEPS[name]


@pytest.mark.parametrize("kind", TABLES)
def test_tables(place, privatize, kind):
    """Tables of every format get new texts that do not depend on the rows' places, and keep what is no text."""
    (place / f"in.{kind}").write_bytes(make_table(kind))
    outputs = []
    for options in ((), ("--person", "person", "--case", "copy", "--unescape", "html", "--force")):
        assert privatize(f"in.{kind}", f"out.{kind}", *OPTIONS, *options).code == 0
        outputs.append(read_output(place / f"out.{kind}", kind))
    assert hash_value(outputs) == TABLES[kind]


def test_compiled_loops(place, privatize):
    """A text that is long enough for compiled loops, in a table of its own, and lines without ids."""
    words = np.random.default_rng(1).choice([*SPACE.words, "zork", "London", "don't", "caf\u00e9"], size=120_000)
    (place / "in.txt").write_text(f"{TEXTS[0]}\n\n{' '.join(words)}\n", "utf-8")
    assert privatize("in.txt", "out.txt", "--key", "seed:3").code == 0
    assert hash_value(read_output(place / "out.txt", "txt")) == "18253f51814b28b7"


def test_ledgers(tmp_path):
    """Noise from the key of a ledger is the same for one person, record and text."""
    dn.create_ledger(str(tmp_path / "ledger.db"), 100.0, delta=1e-6, unit="person", secret=KEY)
    (tmp_path / "ledger.db.key").write_bytes(KEY)
    release = dn.Release(dn.TEM(SPACE, epsilon=1.0), ledger=str(tmp_path / "ledger.db"))
    assert hash_value(release.batch(TEXTS, IDS, persons=PERSONS).texts) == "405422f000a1ac11"
