"""Every way to release a small table, from end to end."""

import pytest


def remove_seconds(fields):
    """Return the facts of a release without how long it took."""
    return {name: value for name, value in fields.items() if name != "seconds"}


def test_every_way_is_measured(compared):
    """Words at each share, records, a classifier and texts have the same facts, and figures with intervals."""
    releases = compared.releases.values()
    assert [one["way"] for one in releases] == ["words", "words", "records", "classifier", "synthetic texts"]
    assert "not possible on this table" not in compared.content
    assert len({tuple(set(one) - {"notes"}) for one in map(dict.keys, releases)}) == 1
    for one in releases:
        for figure in (one["balanced accuracy"], one["membership"]):
            assert figure["low"] <= figure["value"] <= figure["high"]
            assert figure["count"] > 0
        assert one["seconds"] >= 0


def test_table_and_baselines(compared):
    """Originals teach more than a blind guess, and so do public labels; table and command stand in the JSON."""
    assert compared.content["schema"] == "deniable-comparison/2"
    table = {"rows": 120, "usable rows": 120, "classes": ["fine", "poor"], "unit": "record", "units": 120}
    assert compared.content["table"] == table
    baselines = compared.content["baselines"]
    assert baselines["balanced accuracy of a blind guess"] == 0.5
    for name in ("balanced accuracy on originals", "balanced accuracy of public labels alone"):
        assert baselines[name]["low"] > 0.5
    assert baselines["perplexity"]["value"] > 1
    assert compared.content["how it was measured"]["command"].startswith("deniable compare")
    assert {*compared.content["how it was measured"]["seconds"]} >= {"the collection at epsilon 50"}


def test_words(compared):
    """More words are guessed at the larger epsilon; a record has the epsilons of its words, and may be linked."""
    first, second = compared.get("words")
    assert first["epsilon"] < second["epsilon"]
    assert first["words guessed"]["value"] < second["words guessed"]["value"]
    for label in ("rare_guessed", "exposed_share"):
        assert 0 < first["guessed by frequency"][label] < second["guessed by frequency"][label] < 1
    assert f"{first['guessed by frequency']['exposed_word']!r} comes out unchanged" in first["most exposed word"]
    assert (first["unit"], first["status"]) == ("word", "proved")
    assert first["all of a record or person"]["epsilon"] > first["epsilon"]
    assert "12 words" in first["all of a record or person"]["of"]
    assert first["names in their text"]["count"] > 0
    assert 0 <= first["records linked"]["low"] <= 1
    assert "45 %" in first["note"]


def test_records(compared):
    """Each text has the epsilon that was asked for, and nothing of it is guessed word by word."""
    (release,) = compared.get("records")
    assert (release["epsilon"], release["delta"], release["words guessed"]) == (20.0, None, None)
    assert release["unit"] == "record"
    assert release["records linked"]["count"] > 0
    assert release["note"] == "method tokens"


def test_the_collection_as_a_whole(compared):
    """Classifier and texts have the guarantee of a record, and no text that comes from one."""
    classifier, texts = compared.get("classifier") + compared.get("synthetic texts")
    for release in (classifier, texts):
        assert (release["unit"], release["status"], release["delta"]) == ("record", "proved", 1e-4)
        assert release["all of a record or person"]["epsilon"] == release["epsilon"] == 50.0
        assert [release[name] for name in ("words guessed", "records linked", "likeness")] == [None] * 3
        assert "a person with 10 records" in release["guarantee"]
    assert classifier["perplexity"] is None
    assert texts["perplexity"]["value"] > 1
    assert texts["membership"] == classifier["membership"]
    assert "100 texts of the generator tilted" in texts["note"]


@pytest.fixture(scope="module")
def persons(compare):
    """Return a comparison of persons without public texts and rewritten records."""
    return compare("--person", "who", "--epsilons", 50, "--recoveries", "0.45", "--delta", "1e-7", "--max-records", 1)


def test_persons(persons):
    """With persons the guarantee is of all that a person has, and the declared delta is used."""
    assert (persons.content["table"]["unit"], persons.content["table"]["units"]) == ("person", 60)
    (release,) = persons.get("classifier")
    assert (release["unit"], release["status"], release["delta"]) == ("person", "proved", 1e-7)
    assert release["adjacency"] == "all records of one person added or removed"
    assert "10 records" not in release["guarantee"]
    (words,) = persons.get("words")
    assert words["unit"] == "word"
    assert "for everything that one person has in the table" in release["guarantee"]


def test_what_cannot_be_made_is_named(persons):
    """Synthetic texts of counts that are too few fail in a sentence, and the classifier remains."""
    assert persons.get("synthetic texts") == []
    assert persons.content["not possible on this table"]["synthetic texts, epsilon 50"]
    assert persons.content["baselines"]["balanced accuracy of public labels alone"] is None


def test_equal_seeds_give_equal_figures(persons, compare):
    """All draws follow from the seed."""
    again = compare("--person", "who", "--epsilons", 50, "--recoveries", "0.45", "--delta", "1e-7", "--max-records", 1)
    for one, other in zip(persons.releases.values(), again.releases.values(), strict=True):
        assert remove_seconds(one) == remove_seconds(other)


def test_no_text_of_the_table(compared):
    """Neither JSON nor page holds two words that stand side by side in the table."""
    shown = str(compared.content) + compared.page
    for pair in ("the food", "london paris", "good great"):
        assert pair not in shown
