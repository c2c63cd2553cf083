"""What is read of WordNet, from a folder of a few lines, and the words of nations in it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

NOUNS = """\
  1 licence
09620078 18 n 01 inhabitant 0 000 | who lives there
00000002 18 n 02 German 0 Teuton 0 002 @ 09620078 n 0000 + 00000009 a 0101 | of Germany
00000003 26 n 02 disease 0 ill_health 0 000 | an impairment
00000004 26 n 01 flu 0 001 @ 00000003 n 0000 | a fever
00000005 15 n 01 Oslo 0 001 @i 00000006 n 0000 | the capital
00000006 15 n 01 city 0 000 | large
00000007 06 n 01 flu 0 000 | a joke
06904171 06 n 01 natural_language 0 000 | a language
07967382 14 n 01 ethnic_group 0 000 | a people
00000008 18 n 01 fox 0 001 @ 09620078 n 0000 | spelled in lower case
"""
ADJECTIVES = """\
00000009 00 s 02 German(a) 0 polite 0 001 + 00000002 n 0101 | of Germany
00000010 00 a 01 diseased 0 001 + 00000003 n 0101 | ill
"""
FILES = {
    "data.noun": NOUNS,
    "data.adj": ADJECTIVES,
    "data.adv": "",
    "data.verb": "",
    "index.noun": "  1 licence\nflu n 2 1 @ 2 1 00000004 00000007  \nill_health n 1 0 1 0 00000003  \n",
    "index.adj": "",
    "index.adv": "",
    "index.verb": "",
    "cntlist.rev": "flu%1:26:00:: 1 7\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of WordNet's files, with the tools at hand."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="latin-1")
    return tmp_path


def test_kinds_and_derived_words(folder):
    """Kinds and instances of a set are found, and the one adjective of a set that is derived from them."""
    import wordnet

    synsets = wordnet.read_synsets(folder)
    assert synsets["n00000002"].words == ("German", "Teuton")
    assert wordnet.find_kinds(synsets, ["n00000003"]) == {"n00000003", "n00000004"}
    assert wordnet.find_kinds(synsets, ["n00000006"]) == {"n00000005", "n00000006"}
    assert list(wordnet.find_derived_words(synsets, {"n00000002"})) == [("a00000009", "German")]


def test_senses(folder):
    """Senses come in their order, with how often texts were tagged with them."""
    import wordnet

    senses = wordnet.read_senses(folder)
    assert senses["flu"] == [wordnet.Sense("n00000004", 1, 7), wordnet.Sense("n00000007", 2, 0)]
    assert senses["ill_health"] == [wordnet.Sense("n00000003", 1, 0)]


def test_read_nations(folder, monkeypatch):
    """What has a capital and no spelling in lower case is of nations; so are its plural and words by hand."""
    import nations

    locale = SimpleNamespace(languages={"sw": "Swahili", "zz": "A B"})
    monkeypatch.setitem(sys.modules, "babel", SimpleNamespace(Locale=lambda _: locale))
    monkeypatch.setattr(nations, "read_words_by_hand", lambda _: (frozenset({"uk"}), frozenset({"teuton"})))
    words = {"german", "germans", "teuton", "fox", "swahili", "uk", "oslo", "polite", "disease"}
    found = nations.read_nations(folder, ({"fox"}, {"german", "germans"}), words)
    assert found == {"german", "germans", "swahili", "uk"}
