"""Releases with a ledger: charged first, and noise that follows from what was charged."""

import csv
import io
import json
import math
import pickle

import numpy as np
import pytest

import deniable as dn
from tests.contracts.statistics import THRESHOLD, fit
from tests.refusals import refuses
from tests.text.helpers import KEY, MECHANISM, SPACE, WORDS
from tests.text.tables.helpers import buffers

TEXTS = ["the food was good", "london paris", "the dog"]
IDS, PERSONS = ["1", "2", "3"], ["ann", "ann", "bob"]


def open_ledger(path, budget=8.0, secret=KEY):
    """Return a new ledger, whose key lies beside it."""
    dn.create_ledger(str(path), budget, delta=1e-6, unit="person", secret=secret)
    path.with_name(f"{path.name}.key").write_bytes(secret)
    return dn.Ledger(str(path))


@pytest.fixture
def ledger(tmp_path):
    return open_ledger(tmp_path / "ledger.db")


@pytest.fixture
def release(ledger):
    return dn.Release(MECHANISM, ledger=ledger)


def spent(ledger, *persons):
    """Return what persons were charged for, in epsilons of words."""
    return [sum(one.units * one.cost.facts["epsilon"] for one in ledger.list_units(person)) for person in persons]


def test_words_are_charged_once(release, ledger):
    """A person pays epsilon for each word, over all texts; a retry, in another order and process, costs nothing."""
    first = release.batch(TEXTS, IDS, persons=PERSONS).texts
    assert spent(ledger, "ann", "bob") == [6.0, 2.0]
    other = pickle.loads(pickle.dumps(dn.Release(MECHANISM, ledger=dn.Ledger(ledger.location))))
    assert other.batch(TEXTS[::-1], IDS[::-1], persons=PERSONS[::-1]).texts == first[::-1]
    assert other.batch(TEXTS[1:2], IDS[1:2], persons=PERSONS[1:2]).texts == first[1:2]
    assert spent(ledger, "ann", "bob") == [6.0, 2.0]


@pytest.mark.parametrize("change", ["text", "id", "person", "epsilon", "case"])
def test_whatever_changes_the_output_pays_again(ledger, change):
    """Another text, id, person, epsilon or option is another cell, with noise of its own."""
    values = {"text": "the food", "id": "1", "person": "ann", "epsilon": 1.0, "case": "lower"}
    other = values | {change: {"text": "the cat", "id": "2", "person": "bob", "epsilon": 1.5, "case": "copy"}[change]}
    totals = [0]
    for one in (values, other):
        releasing = dn.Release(dn.TEM(SPACE, epsilon=one["epsilon"]), case=one["case"], ledger=ledger)
        releasing.batch([one["text"]], [one["id"]], persons=[one["person"]])
        totals.append(sum(spent(ledger, "ann", "bob")))
    assert totals[0] < totals[1] < totals[2]


def test_one_cell_is_charged_once_however_it_is_written(release, ledger):
    """Spellings of one person and of one id are one cell, which comes out equal and costs nothing again."""
    first = release.batch(["the food"], [1], persons=[17]).texts
    for record_id, person in ((1.0, "17.0"), ("1.", 17.0), (np.float32(1), " 17"), ("1e+00", "1.7e+01")):
        assert release.batch(["the food"], [record_id], persons=[person]).texts == first
    assert spent(ledger, "17") == [2.0]


def test_nothing_is_drawn_that_is_not_covered(release, ledger):
    """Where the budget does not cover a text, or it names no person, nothing is charged, and its row is named."""
    with pytest.raises(dn.BudgetExceeded) as caught:
        release.batch([None, "the dog", "the dog " * 5, ""], ["1", "2", "3", "4"], persons=["a", "b", "c", "d"])
    assert caught.value.rows == [2]
    with pytest.raises(dn.PersonsMissing) as caught:
        release.batch(["the dog", "the cat", "food"], IDS, persons=[None, "bob", " "])
    assert caught.value.rows == [0, 2]
    assert list(ledger.list_units()) == []


def test_texts_without_words_are_free(release, ledger):
    """Only what is drawn is charged: no nulls, no empty texts, no punctuation, no kept words."""
    assert release.batch([None, "", "... !"], IDS, persons=PERSONS).texts == [None, "", "... !"]
    keeping = dn.Release(MECHANISM, keep=["the", "dog"], ledger=ledger)
    assert keeping.batch(["the dog"], ["9"], persons=["ann"]).texts == ["the dog"]
    assert list(ledger.list_units()) == []


def test_noise_fits_the_law(tmp_path):
    """Draws under a ledger fit the law of the mechanism, and do not fit one whose epsilon is 30 % off."""
    release = dn.Release(MECHANISM, ledger=open_ledger(tmp_path / "big.db", 1e6))
    texts = release.batch(WORDS[:1] * 20_000, range(20_000), persons=["ann"] * 20_000).texts
    counts = np.bincount([SPACE.index_of(text) for text in texts], minlength=len(SPACE))
    point = SPACE.point_by_word[SPACE.index_of(WORDS[0])]
    for factor in (0.7, 1.0, 1.3):
        other = dn.TEM(SPACE, epsilon=factor * MECHANISM.epsilon)
        assert (fit(counts, other.law.rows([point])[0]) > THRESHOLD) == (factor == 1.0)


def test_ledgers_do_not_share_noise(tmp_path):
    """Under another ledger's key the same cell has other noise."""
    ledgers = [open_ledger(tmp_path / f"{number}.db", 1e3, bytes([number] * 32)) for number in range(2)]
    one, other = (
        dn.Release(MECHANISM, ledger=ledger).batch(["the dog " * 50], ["1"], persons=["a"]) for ledger in ledgers
    )
    assert one.texts != other.texts


def own(claim, status="proved"):
    """Return a mechanism of somebody's own, with epsilon 1 as its parameter, of which a guarantee says something."""
    guarantee = dn.Guarantee.of_words(claim, SPACE.metric_name, "Theorem 1 of my paper", status)
    return type("Own", (dn.TEM,), {"guarantee": guarantee, "name": "own"})(SPACE, epsilon=1.0)


def test_what_cannot_be_charged_is_refused(ledger, release):
    """Options at odds, what names nobody, and a guarantee that is false, claimed or no number: nobody is charged."""
    open_claim = dn.TruncatedGumbel(SPACE, epsilon=40.0 / SPACE.separation)
    cases = [
        (lambda: dn.Release(MECHANISM, ledger=ledger, key="env:A"), "key"),
        (lambda: dn.Release(MECHANISM, ledger=3), "'ledger'"),
        (lambda: release.batch(TEXTS, persons=PERSONS), "record id"),
        (lambda: release.batch(TEXTS, IDS), "persons"),
        (lambda: release.batch(TEXTS, IDS, persons=["ann"]), "1 for 3"),
        (lambda: dn.Release(MECHANISM).batch(TEXTS, IDS, persons=PERSONS), "ledger"),
        (lambda: dn.Ledger("ledger.db", "seed:1"), "seed"),
        (lambda: dn.Release(open_claim, ledger=ledger).batch(TEXTS, IDS, persons=PERSONS), "truncated-gumbel"),
    ]
    cases += [
        (lambda person=person: release.batch(["the food"], [1], persons=[person]), "Persons")
        for person in (1.5, True, b"ann", 2.0**53)
    ]
    for claim, status, value in (
        (0.01, "proved", "refuted"),
        (6.0, "claimed", "claimed"),
        (math.inf, "proved", "epsilon"),
        (math.nan, "proved", "epsilon"),
        (-1.0, "proved", "epsilon"),
        ("6", "proved", "epsilon"),
    ):
        mechanism = own(claim, status)
        cases.append((lambda m=mechanism: dn.Release(m, ledger=ledger).batch(["the"], ["1"], persons=["ann"]), value))
    for call, value in cases:
        with refuses(value):
            call()
    assert list(ledger.list_units()) == []


@pytest.mark.parametrize("claim", [0.99, 1, np.float32(1.5), 6.0])
def test_a_cost_follows_from_the_guarantee(ledger, claim):
    """A proved guarantee below, at or above the parameter is what each word costs, and where the budget ends."""
    release = dn.Release(own(claim), ledger=ledger)
    release.batch(["london"], ["1"], persons=["ann"])
    assert spent(ledger, "ann") == pytest.approx([float(claim)], abs=1e-9)
    with pytest.raises(dn.BudgetExceeded):
        release.batch(["london " * math.ceil(8.1 / claim)], ["2"], persons=["bob"])
    assert spent(ledger, "bob") == [0]


def test_no_key_shows(release):
    """Neither the release nor its ledger shows a key, and a pickle holds a reference alone."""
    assert KEY not in pickle.dumps(release)
    assert "0102" not in repr(release).lower()


DATA = b"id,who,text\n4,,the cat\n1,ann,the food was good\n3,ann,london paris tokyo food good\n2,bob,the dog\n"
OPTIONS = ("--id", "id", "--person", "who", "--ledger", "ledger.db")


@pytest.mark.parametrize("window", [0, 1_000_000])
def test_rows_over_budget_are_dropped(place, privatize, window):
    """Rows that are not covered are left out, the certificate says so, and a repeated run gives the same table."""
    ledger = open_ledger(place / "ledger.db")
    (place / "in.csv").write_bytes(DATA)
    outputs = []
    with buffers(window=window):
        for name in ("one.csv", "two.csv"):
            assert privatize("in.csv", name, *OPTIONS, "--over-budget", "drop").code == 0
            outputs.append((place / name).read_bytes())
            assert spent(ledger, "ann", "bob") == [4.0, 2.0]
    assert outputs[0] == outputs[1]
    rows = list(csv.reader(io.StringIO(outputs[0].decode(), newline="")))
    assert [row[0] for row in rows] == ["id", "1", "2"]
    certificate = json.loads((place / "one.csv.certificate.json").read_text("utf-8"))
    assert (certificate["records"], certificate["words"], certificate["private"]) == (2, 6, True)
    assert "rows over the ledger" in certificate["steps"][-1]
    assert "metric epsilon 8" in certificate["steps"][0]
    assert "ledger" in certificate["noise"]


def test_a_table_over_budget_is_refused(place, privatize):
    """Where rows are not covered, or name no person, or columns are not named, nothing is written or charged."""
    ledger = open_ledger(place / "ledger.db")
    for data, options, code in (
        (DATA.replace(b"4,,", b"4,eve,"), OPTIONS, 1),
        (DATA, OPTIONS, 2),
        (DATA, ("--id", "id", "--ledger", "ledger.db"), 2),
        (DATA, ("--person", "who", "--ledger", "ledger.db"), 2),
    ):
        (place / "in.csv").write_bytes(data)
        assert privatize("in.csv", "out.csv", *options).code == code
        assert not (place / "out.csv").exists()
    assert list(ledger.list_units()) == []
