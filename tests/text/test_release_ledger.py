"""Releases with a ledger: charged first, and noise that follows from what was charged."""

import csv
import io
import json
import math
import pickle

import numpy as np
import pytest

from deniable import TEM, Ledger, MetricDP, Release, TruncatedGumbel, create_ledger, verify
from deniable.core.errors import BudgetExceeded, InputError, PersonsMissing
from deniable.text.table_release import ReleaseFiles, privatize_table
from deniable.text.tables.layout import TableLayout
from tests.contracts.statistics import THRESHOLD, fit
from tests.contracts.store import SECRET, spent
from tests.text.helpers import MECHANISM, SPACE, WORDS, buffers

TEXTS = ["the food was good", "london paris", "the dog"]
IDS, PERSONS = ["1", "2", "3"], ["ann", "ann", "bob"]


@pytest.fixture
def ledger(tmp_path):
    create_ledger(str(tmp_path / "ledger.db"), 8.0, delta=1e-6, unit="person", secret=SECRET)
    (tmp_path / "ledger.db.key").write_bytes(SECRET)
    return Ledger(str(tmp_path / "ledger.db"))


@pytest.fixture
def release(ledger):
    return Release(MECHANISM, ledger=ledger)


def test_words_are_charged(release, ledger):
    """A person pays epsilon for each word, over all of their texts."""
    release.batch(TEXTS, IDS, persons=PERSONS)
    assert (spent(ledger, "ann"), spent(ledger, "bob")) == (6.0, 2.0)


def test_a_repeated_text_costs_nothing_and_comes_out_equal(release, ledger):
    """A retry gets the same output for free, in another order, batch and process."""
    first = release.batch(TEXTS, IDS, persons=PERSONS).texts
    other = pickle.loads(pickle.dumps(Release(MECHANISM, ledger=Ledger(ledger.location))))
    again = other.batch(TEXTS[::-1], IDS[::-1], persons=PERSONS[::-1]).texts
    assert again == first[::-1]
    assert other.batch(TEXTS[1:2], IDS[1:2], persons=PERSONS[1:2]).texts == first[1:2]
    assert spent(ledger, "ann") == 6.0


@pytest.mark.parametrize("change", ["text", "id", "person", "epsilon", "case"])
def test_whatever_changes_the_output_pays_again(ledger, change):
    """Another text, id, person, epsilon or option is another cell, with noise of its own."""
    values = {"text": "the food", "id": "1", "person": "ann", "epsilon": 1.0, "case": "lower"}
    other = values | {change: {"text": "the cat", "id": "2", "person": "bob", "epsilon": 1.5, "case": "copy"}[change]}
    before = 0
    for number, one in enumerate((values, other)):
        releasing = Release(TEM(SPACE, epsilon=one["epsilon"]), case=one["case"], ledger=ledger)
        releasing.batch([one["text"]], [one["id"]], persons=[one["person"]])
        total = spent(ledger, "ann") + spent(ledger, "bob")
        assert total > before, number
        before = total


def test_nothing_is_drawn_that_is_not_covered(release, ledger):
    """Where the budget does not cover a text, nothing of the batch is charged or released, and its row is named."""
    with pytest.raises(BudgetExceeded) as caught:
        release.batch([None, "the dog", "the dog " * 5, ""], ["1", "2", "3", "4"], persons=["a", "b", "c", "d"])
    assert caught.value.rows == [2]
    assert [spent(ledger, person) for person in "abcd"] == [0, 0, 0, 0]


def test_texts_without_words_are_free(release, ledger):
    """Only what is drawn is charged: no nulls, no empty texts, no punctuation, no kept words."""
    assert release.batch([None, "", "... !"], IDS, persons=PERSONS).texts == [None, "", "... !"]
    keeping = Release(MECHANISM, keep=["the", "dog"], ledger=ledger)
    assert keeping.batch(["the dog"], ["9"], persons=["ann"]).texts == ["the dog"]
    assert list(ledger.list_units()) == []


def test_who_names_nobody_cannot_be_charged(release, ledger):
    """A text without a person is refused by its row: it would share the account, and the noise, of another table's."""
    with pytest.raises(PersonsMissing) as caught:
        release.batch(["the dog", "the cat", "food"], IDS, persons=[None, "bob", " "])
    assert caught.value.rows == [0, 2]
    assert list(ledger.list_units()) == []


def test_noise_fits_the_law(ledger):
    """Draws under a ledger fit the law of the mechanism, and do not fit one whose epsilon is 30 % off."""
    big = Ledger(ledger.location + "2", SECRET)
    create_ledger(big.location, 1e6, delta=None, unit="person", secret=SECRET)
    words = WORDS[:1] * 20_000
    texts = Release(MECHANISM, ledger=big).batch(words, [str(n) for n in range(20_000)], persons=["ann"] * 20_000).texts
    counts = np.bincount([SPACE.index_of(text) for text in texts], minlength=len(SPACE))
    point = SPACE.point_by_word[SPACE.index_of(WORDS[0])]
    assert fit(counts, MECHANISM.law.rows([point])[0]) > THRESHOLD
    for factor in (0.7, 1.3):
        other = TEM(SPACE, epsilon=factor * MECHANISM.epsilon)
        assert fit(counts, other.law.rows([point])[0]) < THRESHOLD


def test_ledgers_do_not_share_noise(tmp_path):
    """Under another ledger's key the same cell has other noise."""
    outputs = []
    for number in range(2):
        ledger = Ledger(str(tmp_path / f"{number}.db"), bytes([number] * 32))
        create_ledger(ledger.location, 1e3, delta=None, unit="person", secret=bytes([number] * 32))
        outputs.append(Release(MECHANISM, ledger=ledger).batch(["the dog " * 50], ["1"], persons=["ann"]).texts)
    assert outputs[0] != outputs[1]


def test_options_that_contradict_are_refused(ledger, release):
    """A key beside the ledger, ids or persons that are missing, and what names no ledger are one line each."""
    cases = {
        "not both": lambda: Release(MECHANISM, ledger=ledger, key="env:A"),
        "a Ledger, or where one is": lambda: Release(MECHANISM, ledger=3),
        "needs a record id": lambda: release.batch(TEXTS, persons=PERSONS),
        "pass the persons": lambda: release.batch(TEXTS, IDS),
        "one person per text": lambda: release.batch(TEXTS, IDS, persons=["ann"]),
        "leave them out": lambda: Release(MECHANISM).batch(TEXTS, IDS, persons=PERSONS),
        "public seed": lambda: Ledger("ledger.db", "seed:1"),
    }
    for words, call in cases.items():
        with pytest.raises(InputError, match=words):
            call()


def test_what_is_not_proved_is_not_counted(ledger):
    """Nobody knows what a word costs under a guarantee that is false or open: it is refused before it is drawn."""
    epsilon = 40.0 / SPACE.separation
    with pytest.raises(InputError, match="A ledger counts what is proved"):
        Release(TruncatedGumbel(SPACE, epsilon=epsilon), ledger=ledger).batch(TEXTS, IDS, persons=PERSONS)


def own(claim, status="proved"):
    """Return a mechanism of somebody's own, with epsilon 1 as its parameter, of which a guarantee says something."""
    guarantee = MetricDP(claim, SPACE.metric_name, "Theorem 1 of my paper", status)
    return type("Own", (TEM,), {"guarantee": guarantee, "name": "own"})(SPACE, epsilon=1.0)


@pytest.mark.parametrize("claim", [0.99, 1, 1.0, np.float32(1.5), 6.0])
def test_a_cost_follows_from_the_guarantee(ledger, claim):
    """A proved guarantee below, at or above the parameter is what each word costs, and what the ledger shows."""
    assert verify(own(claim)).status == "proved"
    Release(own(claim), ledger=ledger).batch(["london"], ["1"], persons=["ann"])
    assert spent(ledger, "ann") == pytest.approx(float(claim), abs=1e-9)
    (units,) = ledger.list_units("ann")
    assert units.cost.facts["epsilon"] == float(claim)


def test_a_budget_ends_where_the_guarantee_says(ledger):
    """A budget of 8 covers one word at a guarantee of 6, and not two."""
    release = Release(own(6.0), ledger=ledger)
    with pytest.raises(BudgetExceeded):
        release.batch(["london paris"], ["1"], persons=["ann"])
    assert spent(ledger, "ann") == 0
    assert release.batch(["london"], ["1"], persons=["ann"]).tally.words == 1


@pytest.mark.parametrize(
    ("claim", "status", "message"),
    [
        (0.01, "proved", "is refuted"),
        (6.0, "claimed", "is claimed"),
        (math.inf, "proved", "guarantee.epsilon"),
        (math.nan, "proved", "guarantee.epsilon"),
        (-1.0, "proved", "guarantee.epsilon"),
        ("6", "proved", "guarantee.epsilon"),
    ],
)
def test_a_lie_is_no_cost(ledger, claim, status, message):
    """A guarantee that is false, only claimed or no number is refused in one line, and nobody is charged."""
    with pytest.raises(InputError, match=message):
        Release(own(claim, status), ledger=ledger).batch(["london"], ["1"], persons=["ann"])
    assert spent(ledger, "ann") == 0


def run_table(folder, ledger, data, **options):
    """Return the private table as rows, its certificate and the owner's counts."""
    (folder / "in.csv").write_bytes(data)
    layout = TableLayout("in.csv", ("text",), "id", person_column="who")
    paths = [str(folder / name) for name in ("in.csv", "out.csv", "c.json")]
    files = ReleaseFiles(*paths, "csv", layout, force=True)
    _, counts = privatize_table(files, Release(MECHANISM, ledger=ledger), **options)
    rows = list(csv.reader(io.StringIO((folder / "out.csv").read_text("utf-8"), newline="")))
    return rows, json.loads((folder / "c.json").read_text("utf-8")), counts


DATA = b"id,who,text\n1,ann,the food was good\n2,bob,the dog\n3,ann,london paris tokyo food good\n4,,the cat\n"


def test_a_table_over_budget_is_refused_with_the_names(tmp_path, ledger):
    """The error names the persons, and no file is written."""
    with pytest.raises(BudgetExceeded, match="1 row, of 'ann'"):
        run_table(tmp_path, ledger, DATA.replace(b"4,,", b"4,eve,"))
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(PersonsMissing, match="1 row names no person"):
        run_table(tmp_path, ledger, DATA)
    assert spent(ledger, "ann") == spent(ledger, "bob") == 0


@pytest.mark.parametrize("window", [0, 1_000_000])
def test_rows_over_budget_are_dropped(tmp_path, ledger, window):
    """Rows that are not covered are left out, the certificate says so, and a repeated run gives the same table."""
    with buffers(window=window):
        rows, certificate, counts = run_table(tmp_path, ledger, DATA, over_budget="drop")
        assert [row[0] for row in rows] == ["id", "1", "2"]
        assert (counts.charges.charged, counts.charges.known, counts.charges.left_out_rows) == (2, 0, [2, 3])
        assert (certificate["records"], certificate["words"], counts.tally.records) == (2, 6, 2)
        assert "rows are missing" in certificate["steps"][-1]
        again, _, counts = run_table(tmp_path, ledger, DATA, over_budget="drop")
    assert again == rows
    assert (counts.charges.charged, counts.charges.known, counts.charges.left_out_rows) == (0, 2, [2, 3])


def test_the_certificate_names_the_ledger(tmp_path, ledger):
    """It says what the ledger allows, and that refusals depend on what was spent and released before."""
    _, certificate, _ = run_table(tmp_path, ledger, DATA, over_budget="drop")
    assert certificate["noise"].startswith("noise from the key of the owner's ledger")
    assert (
        "per person: metric epsilon 8 (summed over words), pure epsilon 8, epsilon 8 at delta 1e-06"
        in (certificate["steps"][0])
    )
    assert "on whether the very same was released before" in certificate["steps"][0]
    assert certificate["private"] is True


def test_a_table_needs_persons_and_ids(tmp_path, ledger):
    """A ledger without a column of persons, or without one of ids, is refused before anything is read."""
    (tmp_path / "in.csv").write_bytes(DATA)
    paths = [str(tmp_path / name) for name in ("in.csv", "out.csv", "c.json")]
    for layout, words in ((TableLayout("t", ("text",), "id"), "column of persons"), (TableLayout("t"), "record ids")):
        with pytest.raises(InputError, match=words):
            privatize_table(ReleaseFiles(*paths, "csv", layout), Release(MECHANISM, ledger=ledger))


def test_no_key_shows(release):
    """Neither the release nor its ledger shows a key, and a pickle holds a reference alone."""
    assert SECRET not in pickle.dumps(release)
    assert "0102" not in repr(release).lower()


def test_one_cell_is_charged_once_however_it_is_written(release, ledger):
    """Spellings of one person and of one id are one cell, which comes out equal and costs nothing again."""
    first = release.batch(["the food"], [1], persons=[17]).texts
    for record_id, person in ((1.0, "17.0"), ("1.", 17.0), (np.float32(1), " 17"), ("1e+00", "1.7e+01")):
        assert release.batch(["the food"], [record_id], persons=[person]).texts == first
    assert spent(ledger, "17") == 2.0


@pytest.mark.parametrize("person", [1.5, True, b"ann", 2.0**53])
def test_what_names_nobody_is_refused(release, ledger, person):
    """A person is a text or a whole number; nothing is charged for another."""
    with pytest.raises(InputError, match=r"^Persons: Persons and records are named by texts or whole numbers"):
        release.batch(["the food"], [1], persons=[person])
    assert list(ledger.list_totals()) == []
