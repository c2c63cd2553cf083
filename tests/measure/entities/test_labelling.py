"""Texts labelled by whatever names their entities."""

import numpy as np
import pytest

from deniable import measure
from deniable.core.errors import InputError
from deniable.measure.entities.labelling import build_entity_source, label_table
from deniable.measure.entities.sources import DetectedEntities
from deniable.measure.entities.spans import EntitySpan

TEXTS = ["Anna lives in Berlin.", None, "anna"]
LISTED = [[EntitySpan(0, 4, "listed")], [], [EntitySpan(0, 4, "listed")]]


def detect(text):  # noqa: ARG001 - what a detector takes
    """Return the first word as a name."""
    return [(0, 4, "listed")]


class Finder:
    """A detector that is an object."""

    def __call__(self, text):
        return detect(text)


def test_every_source_labels_texts(tmp_path):
    """A file of spans, a file of words, a list of words and detectors name the same spans; a null has none."""
    (tmp_path / "s.jsonl").write_text('{"row": 0, "start": 0, "end": 4, "kind": "listed"}\n'
                                      '{"row": 2, "start": 0, "end": 4, "kind": "listed"}\n')  # fmt: skip
    (tmp_path / "n.txt").write_text("Anna\n")
    for source in (tmp_path / "s.jsonl", str(tmp_path / "n.txt"), ["anna"], {"ANNA"}, detect, Finder()):
        assert measure.label_entities(source, TEXTS) == LISTED


def test_labels_by_id(tmp_path):
    """Where a file names records by id, the ids are given beside the texts, unique."""
    (tmp_path / "s.jsonl").write_text('{"id": "c", "column": "note", "start": 0, "end": 4, "kind": "P"}\n')
    found = measure.label_entities(tmp_path / "s.jsonl", TEXTS, ids=["a", "b", "c"], column="note")
    assert found == [[], [], [EntitySpan(0, 4, "P")]]
    with pytest.raises(InputError, match="Record ids must be unique"):
        measure.label_entities(tmp_path / "s.jsonl", TEXTS, ids=["a", "a", "c"], column="note")
    with pytest.raises(InputError, match="no text column of this run: they are 'text'"):
        measure.label_entities(tmp_path / "s.jsonl", TEXTS, ids=["a", "b", "c"])


def test_a_detector_is_asked_for_the_needed_rows_alone(tmp_path):
    """A detector may be slow: it sees the rows that are measured; a file is checked against all."""
    seen = []
    source = DetectedEntities(lambda text: seen.append(text) or [(0, 4, "P")], "d")
    rows = np.array([2], dtype=np.int64)
    assert label_table(source, TEXTS, None, "text", rows=rows) == [[], [], [EntitySpan(0, 4, "P")]]
    assert seen == ["anna"]
    (tmp_path / "s.jsonl").write_text('{"row": 0, "start": 0, "end": 99, "kind": "P"}\n')
    with pytest.raises(InputError, match="beyond its text of 21 characters"):
        label_table(build_entity_source(tmp_path / "s.jsonl"), TEXTS, None, "text", rows=rows)


def test_a_failing_detector_is_named():
    """A detector is named by its module and name, an object by its class."""
    for detector, name in ((broken, "broken"), (Broken(), "Broken")):
        with pytest.raises(InputError, match=rf"The detector \S*test_labelling:{name} on row 3 failed with KeyError"):
            measure.label_entities(detector, ["", None, "a"])


def broken(text):
    """Fail, unless the text is empty."""
    return [{}["x"]] if text else []


class Broken:
    """Fails as `broken` does."""

    def __call__(self, text):
        return broken(text)


@pytest.mark.parametrize("odd", [None, 5, b"anna"])
def test_what_names_no_entities(odd):
    """Whatever is no source is refused in one line."""
    with pytest.raises(InputError, match=rf"a list of words or a detector. Got {type(odd).__name__}\.$"):
        measure.label_entities(odd, TEXTS)
