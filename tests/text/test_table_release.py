"""Whole tables: whose noise a text gets, and what does not matter to it."""

import csv
import decimal
import gzip
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.text import table_release
from tests.refusals import refuses
from tests.text.helpers import KEY, LONG, MECHANISM, SPACE, WORDS
from tests.text.tables.helpers import NEW_COLUMNS, buffers, extended, few, mirrored

LAWS = {"tem": MECHANISM, "multivariate-laplace": dn.MultivariateLaplace(SPACE, epsilon=1.0)}
words = st.sampled_from([*WORDS, "zork", "don't", "✓"])
texts = st.lists(words, max_size=12).map(" ".join)
ids = st.text(st.sampled_from("ab1é"), min_size=1, max_size=4)
RECORDS = st.lists(
    st.tuples(ids, texts, texts), min_size=1, max_size=8, unique_by=lambda row: row[0].lstrip("0") or "0"
)
BOTH = {"columns": ["text", "note"], "id_column": "id"}


def table_of(rows, header=("id", "text", "note"), kind="csv"):
    """Return rows as a table."""
    rows = [dict(zip(header, row, strict=True)) for row in rows]
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=2)
        return sink.getvalue()
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *(row.values() for row in rows)])
    return out.getvalue().encode()


def release(data, key=KEY, mechanism=MECHANISM, kind="csv", workers=1, folder=None, **options):
    """Return the private table, its certificate and the counts."""
    layout = {name: options.pop(name) for name in ("columns", "id_column", "delimiter") if name in options}
    chosen = options.pop("chosen_from_data", False)
    with tempfile.TemporaryDirectory() as own:
        place = Path(folder or own)
        (place / "in").write_bytes(data)
        files = table_release.ReleaseFiles(
            str(place / "in"),
            str(place / "out"),
            certificate=str(place / "certificate.json"),
            table_format=kind,
            layout=table_release.TableLayout(name="the table", **layout),
        )
        one = dn.Release(mechanism, key=key, **options)
        _, counts = table_release.privatize_table(files, one, chosen_from_data=chosen, workers=workers)
        return (place / "out").read_bytes(), json.loads((place / "certificate.json").read_text("utf-8")), counts.tally


def by_id(data, kind="csv"):
    """Return the rows of a table as lists, by their ids."""
    if kind == "jsonl":
        rows = [[*json.loads(line).values()] for line in data.decode().splitlines()]
    elif kind == "parquet":
        rows = [[*row.values()] for row in pq.read_table(io.BytesIO(data)).to_pylist()]
    else:
        rows = [*csv.reader(io.StringIO(data.decode(), newline=""))][1:]
    return {str(row[0]): row[1:] for row in rows if row}


OPTIONS = {
    "rows": RECORDS,
    "order": st.randoms(use_true_random=False),
    "chunk": st.integers(1, 50),
    "window": st.sampled_from([0, 300, 2000]),
    "workers": st.integers(1, 3),
}


@pytest.mark.parametrize("name", ["tem", pytest.param("multivariate-laplace", marks=pytest.mark.deep)])
@few
@given(**OPTIONS)
def test_keyed_noise_follows_the_record(name, rows, order, chunk, window, workers):
    """A record's texts are one in csv and jsonl, for any order, rows beside it, chunks, windows and threads.

    They are what TextPrivatizer gives for the column "text".
    """
    options = {"mechanism": LAWS[name], **BOTH}
    whole = by_id(release(table_of(rows), **options)[0])
    privatizer = dn.TextPrivatizer(LAWS[name], key=KEY)
    assert {row[0]: privatizer.transform([row[1]], [row[0]])[0] for row in rows} == {
        key: row[0] for key, row in whole.items()
    }
    order.shuffle(rows)
    with buffers(chunk, window):
        assert by_id(release(table_of(rows), workers=workers, **options)[0]) == whole
        half = rows[: max(1, len(rows) // 2)]
        lines = release(table_of(half, kind="jsonl"), kind="jsonl", workers=workers, **options)[0]
    assert by_id(lines, "jsonl").items() <= whole.items()


def test_everything_that_noise_depends_on():
    """Another id, column, text, key, mechanism or epsilon gives a text noise of its own; a repeated run does not."""
    rows = [("a", LONG, LONG), ("b", LONG, LONG + " the")]
    first = by_id(release(table_of(rows), **BOTH)[0])
    changes = (
        {"key": bytes(32)},
        {"mechanism": dn.TEM(SPACE, epsilon=1.01)},
        {"mechanism": LAWS["multivariate-laplace"]},
    )
    others = [
        by_id(release(table_of(rows), **change, **BOTH)[0]) for change in (*changes, {"key": None}, {"key": None})
    ]
    outputs = [first["a"][0], first["a"][1], first["b"][0], first["b"][1].rsplit(" ", 1)[0]]
    outputs += [other["a"][0] for other in others]
    assert len(set(outputs)) == len(outputs)
    assert release(table_of(rows), **BOTH)[:2] == release(table_of(rows), **BOTH)[:2]


def test_arrow_and_lists_agree():
    """Two columns with nulls and empty texts come out the same from parquet and from JSON lines."""
    cells = [f"{LONG}, Zork's é", None, "", "don't", "✓ the"]
    rows = [(str(row), text, cells[-row]) for row, text in enumerate(cells)]
    options = {"key": "seed:1", "unknown": "mask", **BOTH}
    found = {kind: release(table_of(rows, kind=kind), kind=kind, **options) for kind in ("parquet", "jsonl")}
    assert by_id(found["parquet"][0], "parquet") == by_id(found["jsonl"][0], "jsonl")
    assert found["parquet"][2] == found["jsonl"][2]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_dropping_never_publishes(kind):
    """A text of unknown words alone is dropped to nothing in every format, and no record is lost."""
    rows = [("a", "secret", "zork"), ("b", "the", None)]
    out = release(table_of(rows, kind=kind), kind=kind, key="seed:1", unknown="drop", **BOTH)[0]
    assert by_id(out, kind)["a"] == ["", ""]
    assert len(by_id(out, kind)) == 2


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt"])
def test_formats_agree(kind):
    """One text under one row number has one output, whatever the format; equal texts in two rows have their own."""
    first, second = dn.TextPrivatizer(MECHANISM, key="seed:1").transform([LONG, LONG])
    assert first != second
    data = {
        "csv": f"text\n{LONG}\n{LONG}\n",
        "tsv": f"a\ttext\n1\t{LONG}\n2\t{LONG}\n",
        "jsonl": f'{{"text": "{LONG}"}}\n{{"text": "{LONG}"}}\n',
        "txt": f"{LONG}\n{LONG}\n",
    }[kind]
    out, _, _ = release(data.encode(), key="seed:1", kind=kind, delimiter="\t" if kind == "tsv" else ",")
    assert out.decode() == data.replace(LONG, first, 1).replace(LONG, second, 1)


def test_repeated_ids_are_refused(tmp_path):
    """Two rows with one id are refused, by value and row numbers, across windows; nothing is left."""
    data = table_of([("a", "x", ""), ("c", "y", ""), ("b", "z", ""), ("a", "the", "")])
    for window in (0, 1 << 20):
        with buffers(window=window), refuses("1 and 4"):
            release(data, folder=tmp_path, **BOTH)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    with pytest.raises(dn.InputError) as caught:
        release(table_of([("x" * 1000, "the", ""), ("x" * 1000, "food", "")]), **BOTH)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("kind", "data", "layout"),
    [
        ("csv", b"text\nthe\n", {}),
        ("txt", b"the food\n", {"id_column": "id"}),
        ("csv", b"text\nthe\n", {"id_column": "text"}),
        ("csv", b"id,text\n1,the\n", {"id_column": "id", "columns": ("text", "text")}),
        ("jsonl", b'{"id":1,"text":"the"}', {"id_column": "id", "columns": ("text", "text")}),
    ],
)
def test_columns_that_cannot_name_noise(tmp_path, kind, data, layout):
    """Under a key there are ids, they are no private texts, and a text is released once; else nothing is left."""
    with refuses("id" if len(layout.get("columns", ())) < 2 else "'text'"):
        release(data, folder=tmp_path, kind=kind, **layout)
    assert [path.name for path in tmp_path.iterdir() if path.name != "in"] == []


def test_counts_and_options():
    """Records, words, and the owner's figures are counted over all windows, and options of the release are used."""
    data = table_of([("a", "the zork", "food"), ("b", "", ""), ("c", "the", "london")])
    with buffers(window=0):
        _, certificate, tally = release(data, **BOTH)
    assert (tally.records, tally.words, tally.unknown) == (3, 5, 1)
    assert (certificate["records"], certificate["words"], certificate["private"]) == (3, 5, True)
    assert 0 <= tally.changed <= 5
    seeded, without, _ = release(data, key="seed:3")
    again, found, _ = release(data, key="seed:3", chosen_from_data=True)
    assert seeded == again
    assert without["private"] is False
    assert found["chosen"] != without["chosen"]
    assert len(found["not_protected"]) == len(without["not_protected"]) + 1
    masked = release(b"text\nZork the LONDON\n", key=None, unknown="mask", keep=["london"])[0].decode()
    assert masked.startswith("text\n[unknown] ")
    assert masked.endswith(" LONDON\n")
    copied = release(b"text\nZork the LONDON\n", key=None, case="copy")[0].decode().splitlines()[1]
    assert copied.split()[0].istitle()
    assert copied.split()[2].isupper()


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("csv", ["1", "2.0", " 30", "-0", "1e+16"]),
        ("csv", ["1.", "2.00", "3.000000e+01", "-0.0", "10000000000000000"]),
        ("jsonl", [1, 2.0, 3e1, -0.0, 10**16]),
        ("jsonl", ["1.0", "2", "30", 0, "1.0E16"]),
        ("parquet", ["1", "2.", "30", "0.0", "1e+16"]),
        ("parquet", [decimal.Decimal(one) for one in ("1.00", "2.00", "30.00", "0.00", "10000000000000000.00")]),
    ],
)
def test_one_record_has_one_noise_in_every_format(kind, ids):
    """Ids that a program wrote as floats name the noise of the integers; each is released as it stands."""
    texts = [f"the food {word}" for word in WORDS]
    found = []
    for one, names in (("csv", [1, 2, 30, 0, 10**16]), (kind, ids)):
        data = table_of(zip(names, texts, strict=False), ("id", "text"), one)
        rows = by_id(release(data, kind=one, id_column="id")[0], one)
        assert [*rows] == [str(name) for name in names]
        found.append([row[0] for row in rows.values()])
    assert found[0] == found[1]


TABLE = b'id,text\r\n1,"a, b"\r\n2,\r\n'
EXTENDED = b'id,text,predicted,probability\r\n1,"a, b","a, b",0.571429\r\n2,,,\r\n'
COMPRESSIONS = {
    "": (bytes, bytes),
    ".gz": (gzip.compress, gzip.decompress),
    ".zst": (zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
}


def extend(source, target, **options):
    """Extend one file to another."""
    layout = table_release.TableLayout("in")
    files = table_release.TableFiles(str(source), str(target), table_format="csv", layout=layout, **options)
    table_release.write_extended_table(files, NEW_COLUMNS, mirrored)


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_extended_files(tmp_path, ending):
    """A table is extended into a file that is compressed by its ending, and every byte that is read is reported."""
    compress, decompress = COMPRESSIONS[ending]
    source, target, read_counts = tmp_path / f"in.csv{ending}", tmp_path / f"out.csv{ending}", []
    source.write_bytes(compress(TABLE))
    extend(source, target, report=read_counts.append)
    assert decompress(target.read_bytes()) == EXTENDED
    assert sum(read_counts) == source.stat().st_size


def test_what_cannot_be_extended(tmp_path):
    """Neither input is overwritten, a failure leaves what was there, and lines of a text file have no columns."""
    source, model, target = tmp_path / "in.csv", tmp_path / "m.pt", tmp_path / "out.csv"
    source.write_bytes(TABLE)
    for path in (model, target):
        path.write_bytes(b"before")
    for path in (source, model):
        with refuses(path.name):
            extend(source, path, input_paths=[str(model)], force=True)
    source.write_bytes(TABLE + b"3\r\n")
    with refuses("line 4"):
        extend(source, target, force=True)
    assert {path.name: path.read_bytes()[:6] for path in tmp_path.iterdir()} == {
        "in.csv": TABLE[:6],
        "m.pt": b"before",
        "out.csv": b"before",
    }
    with refuses("'predicted'"):
        extended("txt", b"the food\n")
