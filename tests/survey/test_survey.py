"""Every way to release a small table, from end to end."""

import dataclasses

import pytest

import deniable as dn
from deniable.persons.collection import PublicKnowledge
from deniable.survey.survey import Bench, survey_table
from deniable.survey.words import TunedWords, Words
from deniable.words.prior import build_prior
from tests.refusals import refuses
from tests.survey.conftest import PLAN, SMALL_PLAN, TEXTS, build_table, survey_words
from tests.survey.toy import SPACE, make_table


def remove_seconds(fields):
    """Return the figures of a release without how long it took."""
    return {name: value for name, value in fields.items() if name != "seconds"}


def test_every_way_is_measured(compared):
    """Words at each share, records, a classifier, texts and public texts have figures with intervals."""
    results = compared.figures["results"]
    kinds = ["words", "words", "records", "classifier", "synthetic texts", "public texts"]
    assert [one["kind"] for one in results] == kinds
    assert len({tuple(one) for one in results}) == 1
    for one in results:
        figure = one["utility"]["balanced_accuracy"]["private"]
        assert figure["low"] <= figure["value"] <= figure["high"]
        if one["kind"] != "public texts":
            area = one["membership"]["original"]["auc"]
            assert area["low"] <= area["value"] <= area["high"]
            assert area["count"] > 0
            assert one["seconds"] >= 0


def test_table_and_baselines(compared):
    """Originals teach more than a blind guess, and so do public labels; the table stands in the JSON."""
    assert compared.figures["schema"] == "deniable-survey/1"
    table = compared.figures["table"]
    assert [table[name] for name in ("rows", "whole", "unit", "units")] == [120, 120, "record", 120]
    assert table["classes"] == ["fine", "poor"]
    for one in (compared.figures["originals"], *compared.get("public texts")):
        assert one["utility"]["balanced_accuracy"]["private"]["low"] > 0.5
        assert one["utility"]["balanced_accuracy"]["blind"] == 0.5
        assert one["promise"] is None
    assert compared.figures["originals"]["perplexity"]["value"] > 1
    assert {*compared.figures["about"]["seconds"]} >= {"measuring classifier, epsilon 50", "measuring the originals"}


def test_words(compared):
    """More words are guessed at the larger epsilon; a record has the epsilons of its words, and may be linked."""
    first, second = compared.get("words")
    assert first["epsilon"] < second["epsilon"]
    for name in ("single", "context"):
        assert first["recovery"][name]["share"]["value"] < second["recovery"][name]["share"]["value"]
    for name in ("rare_guessed", "exposed_share"):
        assert 0 < first["outcomes"][name] < second["outcomes"][name] < 1
    promise = first["promise"]
    assert (promise["unit"], promise["status"]) == ("word", "proved")
    assert promise["whole"] > first["epsilon"]
    assert "12 words" in promise["whole_unit"]
    assert 0 <= first["linked"]["low"] <= 1
    assert "35%" in first["note"]


def test_records(compared):
    """Each text has the epsilon that was asked for, and nothing of it is guessed word by word."""
    (release,) = compared.get("records")
    assert (release["epsilon"], release["delta"], release["recovery"]) == (20.0, None, {})
    assert release["promise"]["unit"] == "record"
    assert release["linked"]["count"] > 0
    assert release["note"] == "method tokens"


def test_the_collection_as_a_whole(compared):
    """Classifier and texts have the guarantee of a record, and no text that comes from one."""
    classifier, texts = compared.get("classifier") + compared.get("synthetic texts")
    for release in (classifier, texts):
        promise = release["promise"]
        assert (promise["unit"], promise["status"], release["delta"]) == ("record", "proved", 1e-4)
        assert promise["whole"] == release["epsilon"] == 50.0
        assert [release[name] for name in ("recovery", "linked", "similarity")] == [{}, None, None]
        assert "a person with 10 records" in promise["statement"]
    assert classifier["perplexity"] is None
    assert texts["perplexity"]["value"] > 1
    assert texts["membership"] == classifier["membership"]
    assert "100 texts of the generator tilted" in texts["note"]


def compare_persons(compare, collection):
    """Return a comparison of persons without public texts."""
    persons = [f"p{row // 2}" for row in range(120)]
    labels = [collection.table.classes[code] for code in collection.table.codes]
    table = build_table(collection.table.texts, labels, SMALL_PLAN, persons=persons)
    of_persons = dataclasses.replace(
        collection,
        table=table,
        delta=1e-7,
        public=PublicKnowledge(collection.public.feature_map),
        max_records=1,
        generator="counts",
    )
    return compare(of_persons, 0.5, TunedWords(0.7, SPACE))


@pytest.fixture(scope="module")
def persons(compare, collection):
    """Return it."""
    return compare_persons(compare, collection)


def test_persons(persons):
    """With persons the guarantee is of all that a person has, and the declared delta is used."""
    assert (persons.figures["table"]["unit"], persons.figures["table"]["units"]) == ("person", 60)
    (release,) = persons.get("classifier")
    promise = release["promise"]
    assert (promise["unit"], promise["status"], release["delta"]) == ("person", "proved", 1e-7)
    assert promise["adjacency"] == "all records of one person added or removed"
    assert "10 records" not in promise["statement"]
    assert "for everything that one person has in the table" in promise["statement"]
    assert {one["promise"]["unit"] for one in persons.get("words")} == {"word"}


def test_what_cannot_be_made_is_named(persons):
    """Synthetic texts of counts that are too few fail in a sentence, and the classifier remains."""
    assert persons.get("synthetic texts") == persons.get("public texts") == []
    assert persons.figures["failures"]["synthetic texts, epsilon 0.5"]
    assert "What could not be measured" in persons.page


def test_equal_seeds_give_equal_figures(persons, compare, collection):
    """All draws follow from the seed."""
    again = compare_persons(compare, collection)
    for one, other in zip(persons.figures["results"], again.figures["results"], strict=True):
        assert remove_seconds(one) == remove_seconds(other)


def test_no_text_of_the_table(compared):
    """The figures hold no two words that stand side by side in the table."""
    for pair in ("the food", "london paris", "good great"):
        assert pair not in str(compared.figures)


def test_fluency():
    """A model reads one half of the texts and is asked about the other; of unknown words it says nothing."""
    texts, codes = make_table(40)
    bench = Bench(build_table(texts, list(map(str, codes)), PLAN), PLAN, SPACE, build_prior(SPACE, None))
    by_row = bench.measure_perplexity(texts)
    assert by_row.count == 20
    assert bench.measure_perplexity(texts, is_by_row=False).value < by_row.value
    assert bench.measure_perplexity(["zork"], is_by_row=False) is None
    unknown = Bench(build_table(["zork"] * 4, plan=PLAN), PLAN, SPACE, build_prior(SPACE, None))
    assert unknown.measure_perplexity(["the food"], is_by_row=False) is None


def test_what_cannot_be_surveyed(small_space, twin_space):
    """No ways, equal ways, words of another space, no known word, and a share that no epsilon reaches are refused."""
    one, other = (dn.TEM(space, epsilon=float(len(space))) for space in (small_space, twin_space))
    bench = Bench(build_table(TEXTS, plan=PLAN), PLAN, small_space, build_prior(small_space, None))
    with refuses("at least one way"):
        survey_table(bench, [])
    with refuses("'words, epsilon 60' twice"):
        survey_table(bench, [Words(one), Words(one)])
    with refuses("one space"):
        survey_table(bench, [Words(other)])
    with refuses("2 words"):
        survey_words([one], ["zork zork"])
    failing = TunedWords(1e-6, small_space)
    survey = survey_table(bench, [Words(one), failing])
    assert [*survey.failures] == [failing.name]
    assert len(survey.results) == 1
