"""Labelled words that come out while a table is released."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.measure.entities.fit import SpanFit
from deniable.measure.entities.labelling import build_entity_source, label_table
from deniable.measure.entities.sources import DetectedEntities
from deniable.measure.entities.spans import EntitySpan, LocatedWords
from deniable.measure.entities.tally import CellBatch, EntityTally, EntityWatcher
from tests.conftest import SMALL_WORDS
from tests.refusals import refuses

ALL = DetectedEntities(lambda text: [(0, len(text), "ALL")] if text else [], "d")
"""Names the whole of a text as one span."""


@pytest.fixture(scope="module")
def release(small_space):
    """Return a function from options to a release in which every known word stays as it is."""
    mechanism = dn.CalibratedExponential(small_space, epsilon=200.0)
    return lambda **options: dn.Release(mechanism, key="seed:1", **options)


def make_cells(rows, columns, start=0):
    """Return the texts of rows that are there, with their places, row by row."""
    found = [
        (row, column, text)
        for row, texts in enumerate(rows)
        for column, text in zip(columns, texts, strict=True)
        if text
    ]
    numbers, names, texts = zip(*found, strict=True) if found else ((), (), ())
    cells = CellBatch.of_texts(texts, [f"r{start + row}" for row in numbers])
    return dataclasses.replace(cells, columns=names, rows=np.array(numbers, dtype=np.int64), row_count=len(rows))


def watch(release, source, rows, columns=("text",), *, has_ids=False, parts=1):
    """Return the tally of rows, each a list of texts, that are read in parts."""
    watcher = EntityWatcher(source, release, columns, has_ids=has_ids)
    size = len(rows) // parts
    for start in range(0, len(rows), size):
        cells = make_cells(rows[start : start + size], columns, start)
        watcher.see_rows(cells, release.privatize_cells(cells))
    watcher.finish()
    return watcher.tally


def test_words_and_spans_by_hand():
    """Words count once, in all and in each of their kinds; a span is whole if all its words are."""
    tally = EntityTally()
    assert "no labelled word" in tally.summary()
    located = LocatedWords.of(["", "Anna", " ", "Berg", " in ", "York", "."])
    spans = [EntitySpan(0, 9, "P"), EntitySpan(0, 4, "Q"), EntitySpan(13, 17, "P"), EntitySpan(17, 18, "P")]
    tally.count(located, spans, np.array([True, False, True]))
    assert (tally.spans, tally.wordless, tally.whole, tally.words, tally.survivors) == (3, 1, 2, 3, 2)
    assert (tally.words_by_kind, tally.survivors_by_kind) == ({"P": 3, "Q": 1}, {"P": 2, "Q": 1})
    assert "66.7 % of 3 labelled words" in tally.summary()
    first, behind = located.find_covered(EntitySpan(2, 2, "A"))
    assert first == behind
    for kind in "RSTUV":
        tally.count(located, [EntitySpan(0, 4, kind)], np.array([True, False, True]))
    assert "2 more kinds" in tally.summary()


@pytest.mark.parametrize(
    ("options", "survivors"),
    [
        ({}, 4),  # baran, dotel, fevim, baran
        ({"unknown": "mask"}, 4),
        ({"unknown": "drop"}, 4),
        ({"keep": ("zork", "'s")}, 7),  # and zork twice, and 's
        ({"unknown": "mask", "keep": ("Zork",), "case": "copy"}, 6),  # and zork twice
        ({"unknown": "drop", "keep": ("fevim", "baran", "'s")}, 5),
    ],
)
def test_what_comes_out_under_every_option(release, options, survivors):
    """Known words stay at a huge epsilon, kept ones always do, and masked, dropped or unknown ones never."""
    tally = watch(release(**options), ALL, [["Baran Zork dotel's, blarg Fevim; baran zork..."]])
    assert (tally.words, tally.survivors) == (8, survivors)


@settings(max_examples=30)
@given(
    texts=st.lists(
        st.lists(
            st.sampled_from([*SMALL_WORDS[:5], "Zork", "don't", "it's", "’s", "✓", "n't", "1,000", "-", "ca"]),
            max_size=8,
        ),
        min_size=1,
        max_size=4,
    ),
    glue=st.sampled_from([" ", "", "-"]),
    unknown=st.sampled_from(["draw", "mask", "drop"]),
    keep=st.sets(st.sampled_from(["zork", "'s", "baran", "n't", "✓"]), max_size=2),
)
def test_places_are_found_in_any_text(release, texts, glue, unknown, keep):
    """Whatever a text is made of, the fate of each word is that which the release gives it."""
    made = release(unknown=unknown, keep=keep)
    rows = [[glue.join(words)] for words in texts]
    tally = watch(made, ALL, rows)
    batch = made.privatize_cells(make_cells(rows, ["text"]))
    words = [made.mechanism.space.split_words(text)[1::2] for [text] in rows]
    assert tally.words == sum(map(len, words))
    assert tally.survivors == int((~batch.changed_mask).sum() + batch.kept_counts.sum())


def test_the_counts_are_those_of_the_measure(small_space):
    """A release and `measure_entities` count the same words of the same draws."""
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice([*SMALL_WORDS[:8], "zork"], 7)) for _ in range(50)]
    release = dn.Release(dn.TEM(small_space, epsilon=2.0), key="seed:5")
    listed = [SMALL_WORDS[0], "zork", " ".join(SMALL_WORDS[1:3]), SMALL_WORDS[5]]
    tally = watch(release, build_entity_source(listed), [[text] for text in texts])
    batch = release.privatize_cells(make_cells([[text] for text in texts], ["text"]))
    total = dn.measure.measure_entities(small_space, texts, batch, dn.measure.label_entities(listed, texts)).total
    assert (tally.words, tally.spans) == (total.words, total.spans)
    assert tally.survivors / tally.words == pytest.approx(total.at_place.value)
    assert tally.whole / tally.spans == pytest.approx(total.whole.value)
    assert 0 < tally.survivors < tally.words


def test_rows_are_counted_through_nulls_columns_and_parts(tmp_path, release):
    """Labels by row find their rows where some have no text, in two columns, and in tables read in parts."""
    (tmp_path / "s.jsonl").write_text(
        '{"row": 3, "column": "b", "start": 0, "end": 5, "kind": "CITY"}\n'
        '{"row": 0, "column": "a", "start": 0, "end": 5, "kind": "DOG"}\n'
    )
    rows = [["baran", "dotel"], [None, None], ["dotel", None], [None, "Fevim"]]
    source = build_entity_source(tmp_path / "s.jsonl")
    assert watch(release(), source, rows, ("a", "b"), parts=2).survivors_by_kind == {"CITY": 1, "DOG": 1}
    (tmp_path / "s.jsonl").write_text('{"row": 0, "start": 0, "end": 5, "kind": "DOG"}\n')
    with refuses("'a', 'b'"):
        watch(release(), build_entity_source(tmp_path / "s.jsonl"), rows, ("a", "b"))


def test_positions_are_those_of_the_cell(tmp_path, release):
    """Files count the characters of the cell as it stands, lists and detectors those of the decoded text."""
    cell, decoded = "&lt;O&#039;Neil&gt; &amp; &#1;Anna", "<O'Neil> & Anna"
    neil, anna, tail = cell.index("O&"), cell.index("Anna"), cell.index("&#1;")
    entities = [[neil, neil + 11, "P"], [anna, len(cell), "P"], [2, 6, "Q"], [tail, tail + 4, "R"]]
    path = tmp_path / "s.jsonl"
    path.write_text(f'{{"row": 0, "entities": {entities}}}'.replace("'", '"'))

    def find(source, escapes="html"):
        [spans] = label_table(build_entity_source(source), [cell], None, "text", escapes=escapes)
        return [(decoded[span.start : span.end], span.kind) for span in spans]

    # The first is from within one entity to within another, and what one stands for may be nothing.
    assert find(path) == [("<O'", "Q"), ("O'Neil", "P"), ("", "R"), ("Anna", "P")]
    assert find(["o'neil"]) == [("O'Neil", "listed")]
    assert find(["o'neil"], None) == []
    assert find(lambda text: [(text.index("O'"), text.index(">"), "P")]) == [("O'Neil", "P")]
    path.write_text('{"row": 0, "start": 6, "end": 11, "kind": "CITY"}\n')
    tally = watch(release(unescape="html"), build_entity_source(path), [["&amp; fevim baran"]])
    assert (tally.words, tally.survivors) == (1, 1)


def test_a_label_of_no_record(tmp_path, release):
    """Labels that no record asked for are refused at the end, those of another table at the beginning."""
    (tmp_path / "s.jsonl").write_text('{"id": "r9", "start": 0, "end": 3, "kind": "P"}\n')
    for has_ids, value in ((True, "'r9'"), (False, "by id")):
        with refuses(value):
            watch(release(), build_entity_source(tmp_path / "s.jsonl"), [["baran"]], has_ids=has_ids)


def test_a_detector_is_asked_for_the_needed_rows_alone(tmp_path):
    """A detector may be slow: it sees the rows that are measured; a file is checked against all."""
    seen, texts, rows = [], ["Anna lives.", None, "anna"], np.array([2], dtype=np.int64)
    source = DetectedEntities(lambda text: seen.append(text) or [(0, 4, "P")], "d")
    assert label_table(source, texts, None, "text", rows=rows) == [[], [], [EntitySpan(0, 4, "P")]]
    assert seen == ["anna"]
    (tmp_path / "s.jsonl").write_text('{"row": 0, "start": 0, "end": 99, "kind": "P"}\n')
    with refuses(99):
        label_table(build_entity_source(tmp_path / "s.jsonl"), texts, None, "text", rows=rows)


def test_a_few_spans_inside_words_are_named():
    """Labels of parts of words, and languages that write endings to a name or no spaces, refuse nothing."""
    fit = SpanFit("spans.jsonl")
    fit.add(0, "the Merkelites of Köln", [EntitySpan(4, 10, "PERSON"), EntitySpan(18, 22, "PLACE")])
    fit.add(1, "of Köln", [EntitySpan(3, 7, "PLACE")])
    [remark] = fit.judge()
    assert "1 of 3 spans" in remark
    fit = SpanFit("spans.jsonl")
    for row in range(50):
        fit.add(row, "서울에서 김철수는 말했다", [EntitySpan(0, 2, "PLACE"), EntitySpan(5, 8, "PERSON")])
    assert len(fit.judge()) == 1
    fit = SpanFit("spans.jsonl")
    fit.add(0, "昨日田中さんは東京にいた", [EntitySpan(2, 4, "PERSON"), EntitySpan(7, 9, "PLACE")])
    assert fit.judge() == []
