"""What every host does: the texts of the plain run, noise that follows the record, and the same refusals."""

import dataclasses
import importlib
import json
import sys

import pyarrow as pa
import pytest

import deniable as dn
from tests.engines.helpers import (
    FRESH,
    KEYED,
    LONG,
    ON_CLUSTERS,
    REPEATED_IDS,
    ROWS,
    TEXTS,
    make_alike_table,
    make_spelled_tables,
    make_table,
)
from tests.refusals import refuses
from tests.text.helpers import MECHANISM, ODD_PIECES, WORDS

DECODING = dn.Release(MECHANISM, key="seed:7", case="copy", unescape="html")
IN_MEMORY = ["pandas", "polars", "duckdb", "huggingface"]


def release_texts(host, table, release=KEYED, **options):
    """Return the private texts of an Arrow table."""
    private, _ = host.release(host.make(table), release, **{"text": "text", "id": "id", **options})
    return host.read(private)["text"]


@pytest.mark.parametrize(
    ("columns", "release", "options"),
    [(("text",), KEYED, ()), (("note", "text"), DECODING, ("--case", "copy", "--unescape", "html"))],
    ids=["text", "two"],
)
def test_a_table_equals_the_plain_run(host, run_plainly, columns, release, options):
    """Cells, counts and certificate are those of the plain run; nothing else has changed, nor has the private table."""
    table = make_table()
    plain, certificate = run_plainly(table, columns, *options)
    own = host.make(table)
    private, released = host.release(own, release, text=columns, id="id")
    assert host.read(private) == plain
    assert plain["text"] != TEXTS
    assert host.read(own) == table.to_pydict()
    if released is not None:
        made = json.loads(released.make_certificate().to_json())
        assert {name: made[name] for name in certificate} == certificate
        chosen = released.make_certificate(chosen_from_data=True)
        assert chosen == dn.Certificate.of(release, released.tally, copied=released.copied, chosen_from_data=True)
        assert released.copied.columns == tuple(name for name in table.column_names if name not in columns)
        tally = dn.Release(MECHANISM, key="seed:7").batch(TEXTS, range(ROWS)).tally
        if columns == ("text",):
            assert released.tally == dataclasses.replace(tally, missing=0)


def test_noise_follows_the_record_and_the_key(host):
    """Rows backwards, some of them, and again have the same texts; another key gives others."""
    once = release_texts(host, make_table())
    order = list(range(ROWS - 1, 4, -2))
    assert release_texts(host, make_table().take(order)) == [once[row] for row in order]
    assert release_texts(host, make_table(), dn.Release(MECHANISM, key="seed:8")) != once


@pytest.mark.parametrize("host", IN_MEMORY, indirect=True)
def test_fresh_noise_must_be_asked_for(host):
    """Without a key each call draws anew, equal texts apart, needs no ids, and is refused unless it is asked for."""
    own = host.make(pa.table({"text": [LONG, LONG]}))
    with refuses("fresh=True"):
        host.release(own, FRESH, text="text")
    texts = [host.read(host.release(own, FRESH, text="text", fresh=True)[0])["text"] for _ in range(2)]
    assert len({*texts[0], *texts[1]}) == 4
    with refuses("fresh=True"):
        host.release(host.make(make_table()), KEYED, text="text", id="id", fresh=True)


def test_odd_texts_pass(host):
    """Scripts of other directions, emoji and NULs are read as in a batch."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = list(range(len(texts)))
    assert release_texts(host, pa.table({"id": ids, "text": texts})) == KEYED.batch(texts, ids).texts


@pytest.mark.parametrize("rows", [0, 1])
def test_small_tables_pass(host, rows):
    """A table without rows, or with one, keeps its columns and types."""
    own = host.make(make_table().slice(0, rows))
    private, released = host.release(own, KEYED, text=["text", "note"], id="id")
    names = [] if host.package == "ray" and not rows else make_table().schema.names  # of no blocks nothing is known
    assert {name: len(cells) for name, cells in host.read(private).items()} == dict.fromkeys(names, rows)
    for kind in ("schema", "dtypes", "types", "features"):
        if host.package != "ray" and not host.function.endswith("lazyframe") and hasattr(own, kind):
            assert str(getattr(private, kind)) == str(getattr(own, kind))
    if released is not None:
        assert released.tally.records == rows


@pytest.mark.parametrize("host", ["pandas", "polars", "lazy-polars", "huggingface", ON_CLUSTERS[0]], indirect=True)
def test_names_that_differ_in_capitals(host, run_plainly):
    """The column that is named is released, and the one whose name differs in capitals stays."""
    plain, _ = run_plainly(make_alike_table(), ("Note",))
    private, _ = host.release(host.make(make_alike_table()), KEYED, text="Note", id="id")
    assert host.read(private) == plain


@pytest.mark.parametrize("host", ["pandas", "polars", "huggingface"], indirect=True)
@pytest.mark.parametrize("name", ["self", "*", "^id$"])
def test_columns_of_any_name(host, run_plainly, name):
    """A name is never taken for one of a parameter, nor for a pattern of names."""
    table = make_table().rename_columns(["id", name, "note", "stars"])
    plain, _ = run_plainly(table, (name, "note"))
    private, _ = host.release(host.make(table), KEYED, text=[name, "note"], id="id")
    assert host.read(private) == plain


def test_ids_are_identities(host):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected = release_texts(host, make_table())
    for table in make_spelled_tables():
        assert release_texts(host, table) == expected
    with pytest.raises((dn.InputError, *get_evaluation_errors(host))):
        release_texts(host, make_table(REPEATED_IDS))


def get_evaluation_errors(host):
    """Return what a lazy host raises for an error within its evaluation."""
    if host.package != "polars":
        return ()
    import polars as pl

    return (pl.exceptions.ComputeError,)


def with_ids(ids):
    """Return the table with other ids."""
    return make_table(pa.array(ids))


WRONG = [
    (with_ids([*range(ROWS - 1), 7]), {}, "unique"),
    (with_ids([*range(ROWS - 1), None]), {}, "null"),
    (with_ids([number / 2 for number in range(ROWS)]), {}, "0.5"),
    (with_ids([number > 3 for number in range(ROWS)]), {}, "a text or a whole number"),
    (make_table(), {"text": "stars"}, "'stars'"),
    (make_table(), {"text": "texts"}, "'texts'"),
    (make_table(), {"id": "ids"}, "'ids'"),
    (make_table(), {"id": None}, "id="),
    (make_table(), {"id": 3}, "Got one int"),
    (make_table(), {"text": "id"}, "hold ids"),
    (make_table(), {"text": []}, "name of a column"),
    (make_table(), {"text": ["text", "text"]}, "once"),
    (make_table(), {"text": ["london", None]}, "Got one list"),
    (make_table(), {"release": MECHANISM}, "Release"),
    (make_table(), {"release": "london"}, "Release"),
    (7, {}, "int"),
]


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize("host", [*IN_MEMORY, "lazy-polars", *ON_CLUSTERS], indirect=True)
def test_what_cannot_be_released_is_refused(host):
    """Repeated ids, nulls, and columns that are not there are named in one line before a draw, without a text."""
    for table, options, value in WRONG:
        own = table if table == 7 else host.make(table)
        arguments = {"release": KEYED, "text": "text", "id": "id", **options}
        with pytest.raises((dn.InputError, *get_evaluation_errors(host))) as caught:
            host.release(own, **arguments)
        line = str(caught.value)
        assert value in line
        assert "\n" not in line or host.package == "polars"
        assert "london" not in line.lower()


@pytest.mark.parametrize("host", IN_MEMORY, indirect=True)
def test_a_key_that_cannot_be_read_is_named(host):
    """An error of the release comes out as it is."""
    with refuses("DENIABLE_NO_SUCH_KEY"):
        release_texts(host, make_table(), dn.Release(MECHANISM, key="env:DENIABLE_NO_SUCH_KEY"))


@pytest.mark.parametrize("host", [*IN_MEMORY, *ON_CLUSTERS], indirect=True)
def test_a_ledger_stays_with_the_command(host, tmp_path):
    """Hosts charge nobody: a release with a ledger is refused."""
    dn.create_ledger(str(tmp_path / "ledger.db"), 8.0, delta=1e-6, unit="person", secret=bytes(32))
    ledger = dn.Ledger(str(tmp_path / "ledger.db"), bytes(32))
    with refuses("ledger"):
        release_texts(host, make_table(), dn.Release(MECHANISM, ledger=ledger))


@pytest.mark.parametrize(
    ("module", "package", "function"),
    [
        ("ray", "ray.data", "privatize_dataset"),
        ("presidio", "presidio_anonymizer", None),
        ("spacy", "spacy.language", None),
    ],
)
def test_a_missing_package_is_named(monkeypatch, module, package, function):
    """Where a package is missing, one line names what to install, when it is used."""
    monkeypatch.setitem(sys.modules, package, None)
    name = f"deniable.engines.{module}"
    if function is None:
        monkeypatch.delitem(sys.modules, name, raising=False)
    with refuses(package.partition(".")[0].replace("_", "-")):
        release = getattr(importlib.import_module(name), function)
        release(None, None, text="text")
