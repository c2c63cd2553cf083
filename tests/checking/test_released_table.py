"""A released table beside its certificate, without anybody's signature."""

import dataclasses

import pytest

import deniable as dn
from deniable.checking.released_table import compare_table, find_text_columns
from tests.checking.test_words import make
from tests.refusals import refuses
from tests.text.helpers import SPACE

MECHANISM = dn.TEM(SPACE, epsilon=1.0)
TEXTS = ["The food, in London!", "the dog and zork", "", "good cat was bad"]


def release(texts=TEXTS, *, copied=("id", "ward"), **options):
    """Return the certificate of some texts, and its released table."""
    batch = dn.Release(MECHANISM, **options).batch(texts)
    document = make(MECHANISM, batch.tally, copied=copied, **options)
    rows = range(len(batch.texts))
    return document, {"id": [str(row) for row in rows], "text": list(batch.texts), "ward": ["a" for _ in rows]}


def compare(document, table):
    """Return the check of a certificate with its table."""
    columns = find_text_columns(document, [*table]) or [*table][:1]
    return compare_table(dn.check_certificate(document, SPACE), [*table], {name: table[name] for name in columns})


def list_statuses(check):
    """Return the status of each field that a table shows."""
    paths = {"records", "words", *(field.path for field in check.fields if field.path.endswith(".words"))}
    copied = {field.path for field in check.fields if str(field.value).startswith("the columns copied unchanged")}
    return {field.path: field.status for field in check.fields if field.path in paths - {"space.words"} | copied}


@pytest.mark.parametrize("options", [{}, {"unknown": "mask"}, {"unknown": "drop"}, {"case": "copy"}])
def test_a_true_table_vouches_for_the_counts(options):
    """Rows, words, the longest and the median record and the copied columns are recomputed, and no more is claimed."""
    document, table = release(**options)
    check = compare(document, table)
    statuses = list_statuses(check)
    assert len(statuses) == 5
    assert set(statuses.values()) == {"recomputed"}
    assert check.overall == "recomputed"
    assert "agrees with the certificate; not authenticated" in check.table
    assert all(part in str(check) for part in check.table.split("; "))
    assert check.to_dict()["table"] == check.table


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda table: {name: cells[:-1] for name, cells in table.items()}, "records"),
        (lambda table: {**table, "text": ["one more", *table["text"][1:]]}, "words"),
        (lambda table: {**table, "text": [" ".join(table["text"]), "", "", ""]}, "documents[1].words"),
        (lambda table: {"id": table["id"], "text": table["text"]}, "not_protected[1]"),
        (lambda table: {**table, "note": ["x"] * 4}, "words"),
    ],
)
def test_another_table_is_found_out(change, path):
    """A table of other rows, words or columns contradicts the certificate, which says in what."""
    document, table = release()
    check = compare(document, change(table))
    assert list_statuses(check)[path] == "contradicted"
    assert (check.overall, check.tone) == ("contradicted", "bad")
    assert path in check.table


def test_tables_without_other_columns_and_with_many():
    """Without a copied column every column holds texts; where not all copied ones are named, words are not counted."""
    document, table = release(copied=())
    assert set(list_statuses(compare(document, {"text": table["text"]})).values()) == {"recomputed"}
    names = [f"column {number}" for number in range(30)]
    document, table = release(copied=names)
    check = compare(document, {**dict.fromkeys(names, ["x"] * 4), "text": table["text"]})
    statuses = list_statuses(check)
    assert (statuses["records"], statuses["words"], check.overall) == ("recomputed", "stated", "recomputed")


def test_what_has_no_table():
    """The card of a model comes with no table."""
    check = dataclasses.replace(dn.check_certificate(make(), SPACE), document={"schema": "deniable-model-card/2"})
    with refuses("no table"):
        compare_table(check, ["a"], {"a": ["b"]})
