"""Labelled words that come out while a table is released."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import TEM, CalibratedExponential, Release
from deniable.core.errors import InputError
from deniable.measure.entities.labelling import build_entity_source
from deniable.measure.entities.sources import DetectedEntities, SourceCell
from deniable.measure.entities.spans import EntitySpan, LocatedWords
from deniable.measure.entities.survival import measure_entities
from deniable.measure.entities.tally import EntityTally, EntityWatcher
from deniable.space.grammar import split_words
from deniable.text.batches import TextCell
from tests.text.helpers import SPACE, WORDS

EPSILON = 200.0
"""At which every known word stays as it is, in this space."""


def watch(release, source, rows, columns=("text",), *, has_ids=False):
    """Return the tally of rows, each a list of texts."""
    watcher = EntityWatcher(source, release, columns, has_ids=has_ids)
    cells = [
        [TextCell(f"r{row}", column, 0, text) for column, text in zip(columns, texts, strict=False) if text]
        for row, texts in enumerate(rows)
    ]
    watcher.see_rows(cells, release.privatize_cells([cell for row in cells for cell in row]))
    watcher.finish()
    return watcher.tally


def detect_all(text):
    """Return the whole of a text as one span."""
    return [(0, len(text), "ALL")] if text else []


def test_words_and_spans_by_hand():
    """Words count once, in all and in each of their kinds; a span is whole if all its words are."""
    tally = EntityTally()
    located = LocatedWords.of(split_words("Anna Berg in York."))
    spans = [EntitySpan(0, 9, "P"), EntitySpan(0, 4, "Q"), EntitySpan(13, 17, "P"), EntitySpan(17, 18, "P")]
    tally.count(located, spans, np.array([True, False, True, True]))
    tally.count(LocatedWords.of(split_words("x")), [], np.array([True]))
    assert (tally.spans, tally.wordless, tally.whole, tally.words, tally.survivors) == (3, 1, 2, 3, 2)
    assert (tally.words_by_kind, tally.survivors_by_kind) == ({"P": 3, "Q": 1}, {"P": 2, "Q": 1})
    assert tally.summary() == (
        "for you only   66.7 % of 3 labelled words come out at their places (P 66.7 % of 3, Q 100.0 % of 1), 66.7 % of "
        "3 spans whole; 1 spans hold no word, and punctuation passes through; do not publish these figures"
    )


def test_summaries_of_none_and_of_many_kinds():
    """Texts without a labelled word are said to have none; of many kinds the most frequent are named."""
    tally = EntityTally()
    assert tally.summary() == "for you only   no labelled word in the texts"
    text = "a b c d e f g g"
    spans = [EntitySpan(place, place + 1, text[place].upper()) for place in range(0, len(text), 2)]
    tally.count(LocatedWords.of(split_words(text)), spans, np.zeros(8, dtype=np.bool_))
    assert "(G 0.0 % of 2, A 0.0 % of 1, B 0.0 % of 1, C 0.0 % of 1, D 0.0 % of 1, 2 more kinds)" in tally.summary()


@pytest.mark.parametrize(
    ("options", "survivors"),
    [
        ({}, 4),  # the, dog, london, the
        ({"unknown": "mask"}, 4),
        ({"unknown": "drop"}, 4),
        ({"keep": ("zork", "'s")}, 7),  # and zork twice, and 's
        ({"unknown": "mask", "keep": ("Zork",), "case": "copy"}, 6),  # and zork twice
        ({"unknown": "drop", "keep": ("london", "the", "'s")}, 5),
    ],
)
def test_what_comes_out_under_every_option(options, survivors):
    """Known words stay at a huge epsilon, kept ones always do, and masked, dropped or unknown ones never."""
    release = Release(CalibratedExponential(SPACE, epsilon=EPSILON), key="seed:1", **options)
    tally = watch(release, DetectedEntities(detect_all, "d"), [["The Zork dog's, blarg London; the zork..."]])
    assert (tally.words, tally.survivors) == (8, survivors)


@given(
    texts=st.lists(
        st.lists(st.sampled_from([*WORDS, "Zork", "don't", "it's", "’s", "✓", "n't", "1,000", "-", "ca"]), max_size=8),
        min_size=1,
        max_size=4,
    ),
    glue=st.sampled_from([" ", "", "-"]),
    unknown=st.sampled_from(["draw", "mask", "drop"]),
    keep=st.sets(st.sampled_from(["zork", "'s", "dog", "n't", "✓"]), max_size=2),
)
@settings(max_examples=60)
def test_places_are_found_in_any_text(texts, glue, unknown, keep):
    """Whatever a text is made of, the fate of each word is that which the release gives it."""
    release = Release(CalibratedExponential(SPACE, epsilon=EPSILON), key="seed:1", unknown=unknown, keep=keep)
    rows = [[glue.join(words)] for words in texts]
    tally = watch(release, DetectedEntities(detect_all, "d"), rows)
    batch = release.privatize_cells([TextCell(f"r{row}", "text", 0, text) for row, [text] in enumerate(rows) if text])
    assert tally.words == sum(len(LocatedWords.of(split_words(text)).spellings) for [text] in rows)
    assert tally.survivors == int((~batch.changed_mask).sum() + batch.kept_counts.sum())


def test_the_counts_are_those_of_the_measure():
    """A release and `measure_entities` count the same words of the same draws."""
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice([*WORDS, "zork"], 7)) for _ in range(50)]
    release = Release(TEM(SPACE, epsilon=2.0), key="seed:5")
    source = build_entity_source(["london", "zork", "red dog", "the"])
    tally = watch(release, source, [[text] for text in texts])
    cells = [TextCell(f"r{row}", "text", 0, text) for row, text in enumerate(texts)]
    spans = [
        build_entity_source(["london", "zork", "red dog", "the"]).find_spans(SourceCell(0, None, "text", text))
        for text in texts
    ]
    total = measure_entities(SPACE, texts, release.privatize_cells(cells), spans).total
    assert (tally.words, tally.spans) == (total.words, total.spans)
    assert tally.survivors / tally.words == pytest.approx(total.at_place.value)
    assert tally.whole / tally.spans == pytest.approx(total.whole.value)
    assert 0 < tally.survivors < tally.words


def test_rows_are_counted_through_nulls_and_batches(tmp_path):
    """Labels by row find their rows where some have no text, in two columns, and in tables read in parts."""
    (tmp_path / "s.jsonl").write_text(
        '{"row": 3, "column": "b", "start": 0, "end": 6, "kind": "CITY"}\n'
        '{"row": 0, "column": "a", "start": 0, "end": 3, "kind": "DOG"}\n'
    )
    rows = [["dog", "cat"], [None, None], ["cat", None], [None, "London"]]
    release = Release(CalibratedExponential(SPACE, epsilon=EPSILON), key="seed:1")
    source = build_entity_source(tmp_path / "s.jsonl")
    watcher = EntityWatcher(source, release, ("a", "b"), has_ids=False)
    for start in (0, 2):
        cells = [
            [TextCell("x", column, 0, text) for column, text in zip("ab", texts, strict=True) if text]
            for texts in rows[start : start + 2]
        ]
        watcher.see_rows(cells, release.privatize_cells([cell for row in cells for cell in row]))
    watcher.finish()
    assert watcher.tally.survivors_by_kind == {"CITY": 1, "DOG": 1}


def test_decoded_texts(tmp_path):
    """Labels count the characters of the cell, and its words are those of the decoded text."""
    (tmp_path / "s.jsonl").write_text('{"row": 0, "start": 6, "end": 12, "kind": "CITY"}\n')
    release = Release(CalibratedExponential(SPACE, epsilon=EPSILON), key="seed:1", unescape="html")
    tally = watch(release, build_entity_source(tmp_path / "s.jsonl"), [["&amp; london dog"]])
    assert (tally.words, tally.survivors) == (1, 1)


def test_a_label_of_no_record(tmp_path):
    """Labels that no record asked for are refused at the end, those of another table at the beginning."""
    (tmp_path / "s.jsonl").write_text('{"id": "r9", "start": 0, "end": 3, "kind": "P"}\n')
    release = Release(CalibratedExponential(SPACE, epsilon=EPSILON), key="seed:1")
    with pytest.raises(InputError, match="labels the record 'r9', of which the table has no text"):
        watch(release, build_entity_source(tmp_path / "s.jsonl"), [["dog"]], has_ids=True)
    with pytest.raises(InputError, match="names records by id"):
        watch(release, build_entity_source(tmp_path / "s.jsonl"), [["dog"]])
