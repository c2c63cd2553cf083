"""The tool that makes the lists of names and places, and the lists that are shipped."""

from pathlib import Path

import numpy as np
import pytest

from deniable.space.grammar import fold_word, is_one_word

ROOT = Path(__file__).parents[2]
CLASSES = ROOT / "src" / "deniable" / "space" / "classes"
LISTS = ("names", "places")
SIZES = {"names": 80_000, "places": 20_000, "health": 4_000}
"""What each shipped list has at least."""


@pytest.fixture
def tool(monkeypatch):
    """Return the tool, which is a script and no package."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import word_classes

    return word_classes


def read_list(name):
    """Return the lines of provenance and the words of a shipped list."""
    lines = (CLASSES / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return [line for line in lines if line.startswith("# ")], [line for line in lines if not line.startswith("# ")]


@pytest.mark.parametrize("name", SIZES)
def test_shipped_words(name):
    """A shipped list is sorted, has each word once, and each is one folded word without a digit."""
    _, words = read_list(name)
    assert words == sorted(set(words))
    assert len(words) >= SIZES[name]
    assert all(fold_word(word) == word and is_one_word(word) for word in words)
    assert not any(letter.isdigit() for word in words for letter in word)


def test_shipped_lists_are_disjoint():
    """No word is in two lists."""
    words = [word for name in SIZES for word in read_list(name)[1]]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("name", LISTS)
def test_provenance(name):
    """A list begins with its sources, their versions and licences, and its scores."""
    provenance, _ = read_list(name)
    lines = (CLASSES / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    assert lines[: len(provenance)] == provenance
    text = " ".join(provenance)
    for part in (
        "tools/word_classes.py",
        "Faker 4",
        "GeoNames",
        "CC BY 4.0",
        "WordNet",
        "SCOWL",
        "precision",
        "held out",
    ):
        assert part in text


def test_plain_ordinary_words_stay_out(tool):
    """Of the ordinary words judged by hand, no more are listed than the provenance says, and none of the commonest."""
    names, places = (set(read_list(name)[1]) for name in LISTS)
    judged = tool.read_judged_words()
    chosen, held_out = tool.split_judged_words(judged)
    text = " ".join(read_list("names")[0])
    for half in (chosen, held_out):
        assert str(tool.score_lists(half, names, places)) in text
    kept_out = {"the", "will", "may", "rose", "hope", "house", "reading", "mobile", "nice", "young", "new", "of"}
    assert not kept_out & (names | places)
    assert {"york", "san", "francisco", "london", "china"} <= places
    assert {"smith", "john", "de", "kowalski", "yilmaz"} <= names


def test_initials(tool):
    """Single Latin letters but a and i are names, accents or not; no other single letter is in a list."""
    names, places = (set(read_list(name)[1]) for name in LISTS)
    assert {word for word in names if len(word) == 1} == tool.INITIALS
    assert {*"bcdefghjklmnopqrstuvwxyz", "é", "ø", "š"} <= names
    assert not names & {"a", "i", "µ", "π"}
    assert not any(len(word) == 1 for word in places)


def test_words_of_nations():
    """Nations, peoples and languages are places; words of countries' names that are common are not."""
    names, places = (set(read_list(name)[1]) for name in LISTS)
    assert {"czech", "greek", "germans", "spaniard", "swahili", "french", "irishmen", "europe", "uk"} <= places
    assert not (names | places) & {"united", "kingdom", "states", "south", "olympic", "gothic", "muslim", "same", "fox"}


def test_remove_accents(tool):
    """Accents and strokes are taken off."""
    assert tool.remove_accents("Łódź São Ærø İzmir") == "lodz sao aero izmir"


def test_split_entry(tool):
    """An entry gives its folded words as it is, without accents, and with ue for ü."""
    assert list(tool.split_entry("Müller-Lüdenscheidt")) == [
        ["müller", "lüdenscheidt"],
        ["muller", "ludenscheidt"],
        ["mueller", "luedenscheidt"],
    ]
    assert list(tool.split_entry("New York")) == [["new", "york"]]
    assert list(tool.split_entry("--")) == []


def test_particles(tool):
    """A part of many entries that hardly ever stands alone is a particle; a name that does is none."""
    listing = tool.Listing()
    listing.add_entries([f"San Maria{letter * count}" for letter in "abcd" for count in range(1, 20)])
    listing.add_entries([f"Juan {letter * count}" for letter in "abcd" for count in range(1, 20)])
    for _ in range(10):
        listing.add_entries(["Juan"])
    assert listing.find_particles() == {"san"}
    assert {"san", "juan", "mariaa"} <= listing.words


def test_merge_listings(tool):
    """The counts of two listings add up."""
    first, second = tool.Listing(), tool.Listing()
    first.add_entries(["Paris", "New York"])
    second.add_entries(["Paris"])
    both = first.merge(second)
    assert both.alone == {"paris": 2}
    assert both.joined == {"new": 1, "york": 1}


def test_flatten_strings(tool):
    """Strings are found in nested tuples and in the keys of dictionaries."""
    assert list(tool.flatten_strings((("a", 0.3), {"b": 1}, ["c"]))) == ["a", "b", "c"]


def test_parse_nouns(tool):
    """A noun's line gives its words, whether it names a single thing, and its file."""
    lines = [
        "  1 licence",
        "08858942 15 n 02 London 0 capital_of_the_UK 0 001 @i 08691669 n 0000 | the capital",
        "02084071 05 n 01 dog 0 001 @ 02083346 n 0000 | a pet",
    ]
    assert list(tool.parse_nouns(lines)) == [
        (["London", "capital_of_the_UK"], True, "15"),
        (["dog"], False, "05"),
    ]


def test_read_dictionary(tool, tmp_path):
    """Words in lower case and words with a capital are told apart."""
    (tmp_path / "words").write_text("Rose\nrose\nParis\nwill\n", encoding="utf-8")
    assert tool.read_dictionary(tmp_path / "words") == ({"rose", "will"}, {"rose", "paris"})


def test_missing_source(tool):
    """A source that is not installed is named in one line."""
    with pytest.raises(Exception, match="The package 'no_such_source' is not installed"):
        tool.find_package("no_such_source")


def test_find_neighbours(tool, monkeypatch):
    """The nearest by cosine are found, the word itself left out."""
    monkeypatch.setattr(tool, "NEIGHBOURS", 2)
    angles = np.array([0.0, 0.1, 0.3, 2.0, 2.1, 2.5])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    neighbours = tool.find_neighbours(vectors, np.array([0, 4]))
    assert [set(row) for row in neighbours.tolist()] == [{1, 2}, {3, 5}]


def judge(tool, monkeypatch, listed_names, listed_places, ordinary, capitalized=()):
    """Return the names and places among six words, the first three near each other and the last three."""
    monkeypatch.setattr(tool, "NEIGHBOURS", 2)
    words = ["anna", "mark", "otto", "oslo", "bath", "rome"]
    neighbours = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]], dtype=np.int32)
    masks = [tool.mark_words(words, listed.split()) for listed in (listed_names, listed_places, ordinary)]
    masks.append(tool.mark_words(words, capitalized))
    candidates = tool.Candidates(words, np.arange(6), neighbours, *masks)
    names, places, _ = candidates.judge(tool.Thresholds(listed=0.2, capitalized=0.4, ordinary=0.8, unlisted=0.6))
    return tool.pick_words(words, names), tool.pick_words(words, places)


def test_ordinary_word_among_names(tool, monkeypatch):
    """An ordinary word whose neighbours are all names is a name; a word of both lists goes with its neighbours."""
    names, places = judge(tool, monkeypatch, "anna mark otto rome", "oslo bath rome", "mark")
    assert names == {"anna", "mark", "otto"}
    assert places == {"oslo", "bath", "rome"}


def test_ordinary_word_among_ordinary_words(tool, monkeypatch):
    """A listed word whose neighbours are mostly ordinary stays out, unless it is written with a capital too."""
    names, places = judge(tool, monkeypatch, "anna", "oslo bath rome", "bath rome mark otto")
    assert not names | places
    _, places = judge(tool, monkeypatch, "", "oslo bath rome", "bath rome", capitalized=("rome", "bath"))
    assert places == {"oslo", "bath", "rome"}


def test_unlisted_word(tool, monkeypatch):
    """A word of no source whose neighbours are all names is a name; an ordinary one is not."""
    assert judge(tool, monkeypatch, "anna mark", "", "")[0] == {"anna", "mark", "otto"}
    assert judge(tool, monkeypatch, "anna mark", "", "otto")[0] == {"anna", "mark"}


def test_score_lists(tool):
    """Hits, misses, false alarms and right lists are counted."""
    judged = [tool.JudgedWord(*item, False) for item in (("a", "name"), ("b", "place"), ("c", "name"), ("d", "word"))]
    score = tool.score_lists(judged, {"a", "b", "d"}, set())
    assert score == tool.ListsScore(hits=2, misses=1, false_alarms=1, right_lists=1, count=4)
    assert score.f1 == pytest.approx(2 / 3)


def test_judged_words(tool):
    """The words judged by hand are folded, have known labels, and both halves have all of them."""
    judged = tool.read_judged_words()
    assert len(judged) >= 300
    assert all(fold_word(item.word) == item.word for item in judged)
    for half in tool.split_judged_words(judged):
        assert {item.label for item in half} == {"name", "place", "word"}


def test_write_list(tool, tmp_path):
    """A list is written sorted, below its provenance."""
    tool.write_list(tmp_path / "a" / "names.txt", "Names", ["from here"], {"b", "a"})
    assert (tmp_path / "a" / "names.txt").read_text(encoding="utf-8") == "# Names\n# from here\na\nb\n"


def test_help(tool, capsys):
    """Its options are told."""
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    assert "--grid" in capsys.readouterr().out
