"""Lists of words and detectors."""

import importlib.util
import re
from pathlib import Path

import pytest

from deniable.core.errors import InputError
from deniable.measure.entities.sources import DetectedEntities, EntitySource, ListedWords, SourceCell
from deniable.measure.entities.spans import EntitySpan

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "names.md").read_text(encoding="utf-8")


def find(source, text, escapes=None):
    """Return what a source names in a text, each as its characters and its kind."""
    decoded = text if escapes is None else text.replace("&#039;", "'").replace("&amp;", "&")
    return [(decoded[span.start : span.end], span.kind) for span in source.find_spans(cell(text), escapes)]


def cell(text, row=6):
    return SourceCell(row, None, "text", text)


def test_listed_words_are_found_whole_and_in_any_case():
    """Every occurrence is a span of the kind "listed"; a part of a word is none, nor is an invisible character."""
    source = ListedWords(["anna", "", "O’Neil", "1,000"])
    assert find(source, "ANNA's annals: Anna o'neil 1,000 An\u00adna") == [
        ("ANNA", "listed"),
        ("Anna", "listed"),
        ("o'neil", "listed"),
        ("1,000", "listed"),
        ("An\u00adna", "listed"),
    ]
    assert find(source, "") == find(source, "nobody") == []


def test_entries_of_several_words():
    """The longest entry counts, whatever stands between its words, and no word is in two spans."""
    source = ListedWords(["new york", "New York City", "york", "mary-ann"])
    assert [part for part, _ in find(source, "New York city, new York; York, Mary Ann, new")] == [
        "New York city",
        "new York",
        "York",
        "Mary Ann",
    ]


def test_lists_that_are_none():
    """An empty list and an entry without a word are refused, and the entry is named by its number alone."""
    with pytest.raises(InputError, match=r"^names\.txt is empty"):
        ListedWords(["", " "], "names.txt")
    for entry in ("--", 5):
        with pytest.raises(InputError, match=r"Got none in entry 2: leave it out\.$"):
            ListedWords(["anna", entry])


def test_lists_and_detectors_read_decoded_texts():
    """What they name is counted in the text after entities of HTML are decoded."""
    text = "&amp; O&#039;Neil"
    assert find(ListedWords(["o'neil"]), text, "html") == [("O'Neil", "listed")]
    assert find(ListedWords(["o'neil"]), text) == []
    detector = DetectedEntities(lambda given: [(given.index("O'"), len(given), "P")], "d")
    assert find(detector, text, "html") == [("O'Neil", "P")]


def test_a_detector_may_give_anything_iterable():
    """Lists, tuples and generators of lists or tuples will do; overlapping spans of one kind become one."""
    for detect in (
        lambda _: [(0, 3, "P"), [2, 5, "P"], (1, 2, "Q")],
        lambda _: iter(((2, 5, "P"), (0, 3, "P"), (1, 2, "Q"))),
    ):
        spans = DetectedEntities(detect, "d").find_spans(cell("abcdef"))
        assert spans == [EntitySpan(0, 5, "P"), EntitySpan(1, 2, "Q")]


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("detect", "message"),
    [
        (lambda text: _raise(ValueError(f"bad {text}")), "failed with ValueError"),
        (lambda text: _raise(SystemExit(text)), "failed with SystemExit"),
        (lambda text: (_raise(KeyError(text)) for _ in "a"), "failed with KeyError"),
        (lambda _: None, "failed with TypeError"),
        (lambda _: 7, "failed with TypeError"),
        (list.append, "failed with TypeError"),
        (lambda text: [text], "must return (start, end, kind) of each entity. Got str"),
        (lambda _: [(0, 2)], "must return (start, end, kind) of each entity. Got 2 values"),
        (lambda text: [(text, 2, "P")], "the start of a span must be an integer. Got str"),
        (lambda _: [(3, 2, "P")], "a span from 3 to 2 holds no character"),
        (lambda _: [(0, 99, "P")], "a span ends at 99, beyond its text of 6 characters"),
        (lambda text: [(0, 2, text * 9)], "must have 1 to 40 printable characters. Got 54"),
    ],
)
def test_a_detector_that_fails(detect, message):
    """A detector that fails or returns nonsense is named with the row, in one line without a word of the text."""
    with pytest.raises(InputError) as refused:
        DetectedEntities(detect, "m:f").find_spans(cell("zorkum"))
    assert str(refused.value).startswith("The detector m:f on row 7")
    assert message in str(refused.value)
    assert "zorkum" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_user_may_interrupt_a_detector():
    """An interrupt is no failure of the detector."""
    with pytest.raises(KeyboardInterrupt):
        DetectedEntities(lambda _: _raise(KeyboardInterrupt()), "m:f").find_spans(cell("a"))


def test_a_source_that_names_nothing_is_none():
    """The base class alone names no entities, and takes every table."""
    source = EntitySource()
    source.check_table(["a", "b"], has_ids=False)
    source.check_complete()
    with pytest.raises(NotImplementedError):
        source.find_spans(cell("a"))


@pytest.mark.parametrize(
    ("library", "model", "file"),
    [("spacy", "en_core_web_sm", "spacy_names.py"), ("presidio_analyzer", "en_core_web_lg", "presidio_names.py")],
)
def test_adapters_of_the_docs(library, model, file):
    """The adapters that the docs print find a name where the library and the model that it needs are installed."""
    for needed in (library, model):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    (code,) = re.findall(rf'^```python title="{file}"\n(.*?)^```$', PAGE, flags=re.MULTILINE | re.DOTALL)
    namespace = {}
    exec(compile(code, file, "exec"), namespace)
    text = "My name is David Johnson and I live in Berlin."
    found = find(DetectedEntities(namespace["find_names"], "docs"), text)
    assert ("David Johnson", "PERSON") in found
