"""The table that is measured, and the table of figures that is printed."""

import dataclasses
from types import SimpleNamespace

from deniable.cli.survey_tables import format_advice, format_entities, format_survey, read_survey_table
from deniable.cli.tables import TableFormat
from deniable.core.intervals import as_exact_estimate
from deniable.measure.report.advice import Advice, AdviceLimits, Answer

CSV = TableFormat(None, None, "utf-8")


def test_only_the_columns_asked_for_are_read(tmp_path):
    """Labels and authors are None where no column was named, and nothing is remarked of them."""
    (tmp_path / "t.csv").write_text("text,label,author\na,x,p\nb,y,q\n")
    table = read_survey_table(str(tmp_path / "t.csv"), ("text", None, None), CSV)
    assert table.texts == ["a", "b"]
    assert table.labels is table.authors is table.record_ids is None
    assert table.remarks == []


def test_rows_that_lack_something_are_remarked(tmp_path):
    """Each purpose names the rows that it cannot use, counted from 1; the rows themselves stay."""
    (tmp_path / "t.jsonl").write_text(
        '{"text": "a", "label": "x", "author": "p"}\n'
        '{"text": null, "label": "y", "author": "q"}\n'
        '{"text": "c", "label": "", "author": "p"}\n'
        '{"text": "d", "label": "x", "author": null}\n'
    )
    table = read_survey_table(str(tmp_path / "t.jsonl"), ("text", "label", "author"), CSV)
    assert len(table.texts) == len(table.authors) == len(table.labels.codes) == 4
    assert table.labels.unlabelled_rows.tolist() == [2]
    empty, unlabelled, lone_label, anonymous, lone_author = table.remarks
    assert "without a text" in empty
    assert empty.endswith("2")
    assert "'label', not used for classifiers" in unlabelled
    assert unlabelled.endswith("3")
    assert "'author', not used for attacks on authorship" in anonymous
    assert anonymous.endswith("4")
    assert lone_label.endswith("with a label in 'label' that no other row has, not used for classifiers: row 2")
    assert lone_author.endswith("in 'author' that no other row has, not used for attacks on authorship: row 2")


def make_score(blind, original, private):
    """Return a score of two classifiers as far as it is printed."""
    retained = as_exact_estimate((private - blind) / (original - blind)) if original > blind else None
    return SimpleNamespace(
        blind=blind,
        original=as_exact_estimate(original),
        private=as_exact_estimate(private),
        retained=retained,
    )


def make_reading(epsilon, **given):
    """Return what is printed of one epsilon."""
    return SimpleNamespace(
        epsilon=epsilon,
        promise=SimpleNamespace(status="proved"),
        strongest_recovery=as_exact_estimate(0.123),
        similarity=SimpleNamespace(unchanged=as_exact_estimate(0.5)),
        **{"utility": None, "authorship": None, "membership": {}, "entities": None} | given,
    )


def make_survey(readings, classes=0):
    """Return a survey of readings."""
    return SimpleNamespace(
        readings=readings,
        table=SimpleNamespace(classes=classes),
        originals=SimpleNamespace(auc=as_exact_estimate(0.61)),
    )


def test_without_labels_and_authors_there_are_four_columns():
    """One line an epsilon under the titles, shares in percent."""
    titles, first, second = format_survey(make_survey([make_reading(1.0), make_reading(12.5)]))
    assert titles.split() == ["epsilon", "verdict", "attacker", "names", "words", "kept"]
    assert first.split() == ["1", "proved", "12.3", "%", "50.0", "%"]
    assert second.split()[0] == "12.5"
    assert len(titles) == len(first) == len(second)


def test_labels_and_authors_add_columns_and_a_line_of_the_originals():
    """Figures stand under their titles, and the last line has those of the original texts alone."""
    given = {
        "utility": SimpleNamespace(
            accuracy=make_score(blind=0.6, original=0.9, private=0.75),
            balanced_accuracy=make_score(blind=0.5, original=0.8, private=0.65),
        ),
        "membership": {"original": SimpleNamespace(auc=as_exact_estimate(0.55))},
        "authorship": SimpleNamespace(adaptive=as_exact_estimate(0.25)),
    }
    titles, row, originals, blind = format_survey(make_survey([make_reading(2.0, **given)], classes=2))
    assert titles.split()[-5:] == ["accuracy", "balanced", "retained", "membership", "authors"]
    assert row.split()[-9:] == ["75.0", "%", "65.0", "%", "50.0", "%", "0.550", "25.0", "%"]
    assert len(titles) == len(row)
    assert originals.split() == ["original", "90.0", "%", "80.0", "%", "0.610"]
    assert originals.index("90.0") == row.index("75.0")
    assert originals.index("0.610") == row.index("0.550")
    assert blind.split() == ["blind", "guess", "60.0", "%", "50.0", "%", "0.500"]
    assert blind.index("60.0") == row.index("75.0")


def test_a_retained_share_that_does_not_exist_is_a_dash():
    """Where the originals teach no more than a blind guess knows, no share of that can be retained."""
    score = make_score(blind=0.5, original=0.5, private=0.5)
    utility = SimpleNamespace(accuracy=score, balanced_accuracy=score)
    reading = make_reading(2.0, utility=utility, membership={"original": SimpleNamespace(auc=as_exact_estimate(0.5))})
    titles, row, *_ = format_survey(make_survey([reading], classes=2))
    assert row.split()[-2:] == ["-", "0.500"]
    assert len(titles) == len(row)


def test_the_weightiest_advice_stands_first():
    """That nothing is learned comes before the answer, then the reasons, and what to do instead, and a blank line."""
    advice = Advice(
        Answer.DO_NOT_SHARE, "Blind at 1.", "Do not.", ("Since so.",), ("do that",), (), (), (), AdviceLimits()
    )
    assert format_advice(advice) == ["Blind at 1.", "Do not.", "Since so.", "Instead:", "- do that", ""]
    long = format_advice(dataclasses.replace(advice, blind=None, headline="word " * 60, alternatives=()))
    assert all(len(line) <= 110 for line in long)
    assert " ".join(" ".join(long).split()) == "word " * 60 + "Since so."


def test_labels_of_one_row_are_remarked(tmp_path):
    """A row whose label no other row has can be learned from or tested on, not both: it is named."""
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,y\nc,x\nd,\n")
    table = read_survey_table(str(tmp_path / "t.csv"), ("text", "label", None), CSV)
    unlabelled, lone = table.remarks
    assert unlabelled.endswith("1 row without a label in 'label', not used for classifiers: row 4")
    assert lone.endswith("1 row with a label in 'label' that no other row has, not used for classifiers: row 2")


def make_figures(kind, share):
    """Return the counts of labelled words of one kind."""
    estimates = dict.fromkeys(("at_place", "in_text", "whole", "chance_at_place"), as_exact_estimate(share))
    return SimpleNamespace(kind=kind, spans=1200, words=2863, unknown=40, texts=9, chance_in_text=None, **estimates)


def test_who_is_still_named_is_a_table_of_its_own():
    """One line an epsilon, a column for each of the most frequent kinds, the others counted; nothing without labels."""
    assert format_entities(make_survey([make_reading(1.0)])) == []
    kinds = tuple(make_figures(f"KIND{number}", 0.5 + number / 100) for number in range(6))
    readings = [
        make_reading(epsilon, entities=SimpleNamespace(total=make_figures("all", 0.031), kinds=kinds))
        for epsilon in (1.0, 2.5)
    ]
    blank, summary, titles, first, second, rest = format_entities(make_survey(readings))
    assert blank == ""
    assert summary.startswith("who is still named: 2,863 labelled words (1,200 spans) in 9 texts, 40 of them not in")
    assert titles.split()[-4:] == ["KIND0", "KIND1", "KIND2", "KIND3"]
    shares = [share for share in first.split() if share != "%"]
    assert shares == ["1", "3.1", "3.1", "3.1", "-", "3.1", "50.0", "51.0", "52.0", "53.0"]
    assert second.split()[0] == "2.5"
    assert len(titles) == len(first) == len(second)
    assert rest == "and 2 more kinds, on the page"


def test_one_kind_needs_no_column():
    """The figures of one kind are those of all."""
    entities = SimpleNamespace(total=make_figures("all", 0.5), kinds=(make_figures("listed", 0.5),))
    *_, titles, row = format_entities(make_survey([make_reading(1.0, entities=entities)]))
    assert "listed" not in titles
    assert len(titles) == len(row)


def test_ids_are_read_as_texts(tmp_path):
    """The column of ids is read where it is named, and may be any column but that of the texts."""
    (tmp_path / "t.jsonl").write_text('{"text": "a", "id": 17}\n{"text": "b", "id": "x"}\n')
    table = read_survey_table(str(tmp_path / "t.jsonl"), ("text", None, None), CSV, "id")
    assert table.record_ids == ["17", "x"]
