"""Whole tables: whose noise a text gets, and what does not matter to it."""

import csv
import decimal
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import TEM, InputError, MultivariateLaplace, Release, TextPrivatizer, TruncatedGumbel
from deniable.core.identity import make_identity
from deniable.text.table_release import ReleaseFiles, privatize_table
from deniable.text.tables.layout import TableLayout
from tests.text.helpers import MECHANISM, SPACE, WORDS, buffers

KEY = bytes(range(32))
MECHANISMS = {
    "tem": MECHANISM,
    "multivariate-laplace": MultivariateLaplace(SPACE, epsilon=1.0),
    "truncated-gumbel": TruncatedGumbel(SPACE, epsilon=60.0),
}

words = st.sampled_from([*WORDS, "zork", "don't", "✓"])
texts = st.lists(words, max_size=12).map(" ".join)
records = st.lists(
    st.tuples(st.text(st.sampled_from("ab1é."), min_size=1, max_size=4), texts, texts),
    max_size=8,
    unique_by=lambda row: make_identity(row[0]),
)


def table_of(rows, header=("id", "text", "note")):
    out = io.StringIO(newline="")
    csv.writer(out).writerows([header, *rows])
    return out.getvalue().encode()


def release(data, key=KEY, mechanism=MECHANISM, folder=None, kind="csv", workers=1, chosen_from_data=False, **options):
    """Return the private table, its certificate and the counts."""
    layout = {name: options.pop(name) for name in ("columns", "id_column", "delimiter", "encoding") if name in options}
    with tempfile.TemporaryDirectory() as own:
        place = Path(folder or own)
        (place / "in").write_bytes(data)
        files = ReleaseFiles(
            source=str(place / "in"),
            target=str(place / "out"),
            certificate=str(place / "certificate.json"),
            table_format=kind,
            layout=TableLayout(name="the table", **layout),
        )
        _, counts = privatize_table(
            files,
            Release(mechanism, key=key, **options),
            chosen_from_data=chosen_from_data,
            workers=workers,
        )
        return (place / "out").read_bytes(), json.loads((place / "certificate.json").read_text("utf-8")), counts.tally


def by_id(data):
    """Return a private table as a mapping from ids to rows."""
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(data.decode(), newline="")) if row}


BOTH = {"columns": ["text", "note"], "id_column": "id"}


@pytest.mark.parametrize("name", MECHANISMS)
@given(rows=records, chunk=st.integers(1, 50), window=st.sampled_from([0, 300, 2000]), workers=st.integers(1, 3))
@settings(max_examples=25)
def test_chunks_windows_and_workers_do_not_show(name, rows, chunk, window, workers):
    """A keyed output depends neither on chunks, nor on windows, nor on the number of threads."""
    data = table_of(rows)
    whole, _, _ = release(data, mechanism=MECHANISMS[name], **BOTH)
    with buffers(chunk, window):
        parts, _, _ = release(data, mechanism=MECHANISMS[name], **{**BOTH, "workers": workers})
    assert parts == whole


@pytest.mark.parametrize("name", MECHANISMS)
@given(rows=records, order=st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_order_of_records_does_not_show(name, rows, order):
    """With ids and a key every record has its own output, wherever it stands and whatever else is there."""
    whole, _, _ = release(table_of(rows), mechanism=MECHANISMS[name], **BOTH)
    order.shuffle(rows)
    half = rows[: len(rows) // 2]
    shuffled, _, _ = release(table_of(rows), mechanism=MECHANISMS[name], **BOTH)
    alone, _, _ = release(table_of(half), mechanism=MECHANISMS[name], **BOTH)
    assert by_id(shuffled) == by_id(whole)
    assert by_id(alone).items() <= by_id(whole).items()


LONG = " ".join(WORDS * 8)


def test_a_repeated_run_gives_the_same_file():
    """One key, one table: one output, byte for byte, certificate included."""
    data = table_of([("a", LONG, ""), ("b", LONG, "")])
    assert release(data, **BOTH)[:2] == release(data, **BOTH)[:2]


def test_everything_that_noise_depends_on():
    """Another id, column, text, key, mechanism or epsilon gives a text noise of its own."""
    rows = [("a", LONG, LONG), ("b", LONG, LONG + " the")]
    first = by_id(release(table_of(rows), **BOTH)[0])
    others = [
        by_id(release(table_of(rows), key=bytes(32), **BOTH)[0]),
        by_id(release(table_of(rows), mechanism=TEM(SPACE, epsilon=1.01), **BOTH)[0]),
        by_id(release(table_of(rows), mechanism=MECHANISMS["multivariate-laplace"], **BOTH)[0]),
    ]
    outputs = [first["a"][0], first["a"][1], first["b"][0], first["b"][1].rsplit(" ", 1)[0]]
    outputs += [other["a"][0] for other in others]
    assert len(set(outputs)) == len(outputs)


def test_without_a_key_noise_is_fresh():
    """Two runs with fresh keys differ."""
    data = table_of([("a", LONG, "")])
    assert release(data, key=None)[0] != release(data, key=None)[0]


@pytest.mark.parametrize("least", [1, 1 << 40])
def test_arrow_and_lists_agree(least, monkeypatch):
    """Two columns with nulls and empty texts come out the same from parquet and from JSON lines, compiled or not."""
    for name in ("MIN_COMPILED_CHARACTERS", "MIN_COMPILED_LATER"):
        monkeypatch.setattr(f"deniable.text.release.{name}", least)
    texts = [f"{LONG}, Zork's é", None, "", "don't", "✓ the"]
    rows = [{"id": str(row), "text": text, "note": texts[-row]} for row, text in enumerate(texts)]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=2)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    options = {"key": "seed:1", "unknown": "mask", **BOTH}
    from_arrow, _, tally = release(buffer.getvalue(), kind="parquet", **options)
    from_lines, _, line_tally = release(lines, kind="jsonl", **options)
    assert pq.read_table(io.BytesIO(from_arrow)).to_pylist() == list(map(json.loads, from_lines.splitlines()))
    assert tally == line_tally


def test_row_numbers_stand_for_ids():
    """Without ids, equal texts in two rows have noise of their own."""
    out, _, _ = release(b"text\n" + f"{LONG}\n".encode() * 2, key="seed:1")
    lines = out.splitlines()
    assert lines[1] != lines[2]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "txt"])
def test_formats_agree(kind):
    """One text under one id has one output, whatever the format of its table."""
    private = TextPrivatizer(MECHANISM, seed=1).privatize(LONG, "0")
    data = {
        "csv": f"text\n{LONG}\n",
        "tsv": f"a\ttext\n1\t{LONG}\n",
        "jsonl": f'{{"text": "{LONG}"}}\n',
        "txt": f"{LONG}\n",
    }[kind]
    out, _, _ = release(data.encode(), key="seed:1", kind=kind, delimiter="\t" if kind == "tsv" else ",")
    assert out.decode() == data.replace(LONG, private)


@given(rows=records)
@settings(max_examples=25)
def test_text_privatizer_agrees(rows):
    """TextPrivatizer gives the text of a record what a table's column of that name gives it."""
    privatizer = TextPrivatizer(MECHANISM, key=KEY)
    table = by_id(release(table_of(rows), id_column="id")[0])
    for record_id, text, note in rows:
        assert table[record_id] == [privatizer.privatize(text, record_id), note]


def test_repeated_ids_are_refused(tmp_path):
    """Two rows with one id are refused, by value and row numbers, across windows; nothing is left."""
    data = table_of([("a", "x", ""), ("c", "y", ""), ("b", "z", ""), ("a", "the", "")])
    for window in (0, 1 << 20):
        with (
            buffers(window=window),
            pytest.raises(InputError, match=r"'a' of the table is in rows 1 and 4: ids must be unique"),
        ):
            release(data, folder=tmp_path, **BOTH)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    ("kind", "data", "layout", "message"),
    [
        ("txt", b"the food\n", {"id_column": "id"}, "has no column 'id'"),
        ("csv", b"text\nthe\n", {"id_column": "text"}, "'text' of the table cannot hold both texts and record ids"),
        ("csv", b"id,text\n1,the\n", {"id_column": "id", "columns": ("text", "text")}, "'text' .* is named twice"),
        ("jsonl", b'{"id":1,"text":"the"}', {"id_column": "id", "columns": ("text", "text")}, "is named twice"),
    ],
)
def test_columns_that_cannot_name_noise(tmp_path, kind, data, layout, message):
    """Under a key there are ids, they are no private texts, and a text is released once; else nothing is left."""
    with pytest.raises(InputError, match=message):
        release(data, folder=tmp_path, kind=kind, **layout)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_counts():
    """Records, words, and the owner's figures are counted over all windows."""
    data = table_of([("a", "the zork", "food"), ("b", "", ""), ("c", "the", "london")])
    with buffers(window=0):
        _, certificate, tally = release(data, **BOTH)
    assert (tally.records, tally.words, tally.unknown) == (3, 5, 1)
    assert (certificate["records"], certificate["words"]) == (3, 5)
    assert 0 <= tally.changed <= 5


def test_options_of_the_lexer_reach_the_table():
    """Unknown words, capitals and kept words are treated as the job says."""
    data = b"text\nZork the LONDON\n"
    masked = release(data, key=None, unknown="mask", keep=["london"])[0].decode()
    assert masked.startswith("text\n[unknown] ")
    assert masked.endswith(" LONDON\n")
    copied = release(data, key=None, case="copy")[0].decode().splitlines()[1]
    assert copied.split()[0].istitle()
    assert copied.split()[2].isupper()


def test_seeds():
    """A public seed gives one output and a certificate that says so."""
    data = table_of([("a", LONG, "")])
    first, certificate, _ = release(data, key="seed:3")
    assert first == release(data, key="seed:3")[0]
    assert first != release(data, key="seed:4")[0]
    assert certificate["private"] is False
    assert certificate["noise"].startswith("not private: public seed")


def test_progress_is_reported(tmp_path):
    """The bytes of the input are reported as they are read."""
    (tmp_path / "in.csv").write_bytes(b"text\nthe\n")
    files = ReleaseFiles(str(tmp_path / "in.csv"), str(tmp_path / "o"), str(tmp_path / "c"), "csv", TableLayout("in"))
    counts = []
    privatize_table(files, Release(MECHANISM), report=counts.append)
    assert sum(counts) == 9


def test_how_epsilon_was_chosen_reaches_the_certificate():
    """What the job says of the choice of epsilon stands in the certificate, and does not touch the table."""
    data = table_of([("a", LONG, "")])
    (plain, without, _), (told, found, _) = (release(data, chosen_from_data=looked, **BOTH) for looked in (False, True))
    assert told == plain
    assert without["chosen"].startswith("by the owner")
    assert found["chosen"].startswith("from the private texts")
    assert len(found["not_protected"]) == len(without["not_protected"]) + 1


def test_a_long_id_is_not_printed_whole():
    """A repeated id of a thousand letters is named by the first of them."""
    with pytest.raises(InputError, match="ids must be unique") as error:
        release(table_of([("x" * 1000, "the", ""), ("x" * 1000, "food", "")]), **BOTH)
    assert len(str(error.value)) < 250


def _write_spelled(kind, ids):
    """Return the bytes of a table with texts under ids."""
    rows = [{"id": one, "text": f"the food {WORDS[row]}"} for row, one in enumerate(ids)]
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    return table_of([tuple(row.values()) for row in rows], ("id", "text"))


def _read_texts(kind, data):
    """Return the texts of a released table."""
    if kind == "jsonl":
        return [json.loads(line)["text"] for line in data.splitlines()]
    if kind == "parquet":
        return pq.read_table(io.BytesIO(data))["text"].to_pylist()
    return [row[1] for row in csv.reader(io.StringIO(data.decode()))][1:]


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
    plain = _read_texts("csv", release(_write_spelled("csv", [1, 2, 30, 0, 10**16]), id_column="id")[0])
    out, _, _ = release(_write_spelled(kind, ids), kind=kind, id_column="id")
    assert _read_texts(kind, out) == plain
