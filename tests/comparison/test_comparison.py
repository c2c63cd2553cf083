"""Every way to release a small table."""

import contextlib
import dataclasses

from deniable.comparison.comparison import compare_releases
from tests.comparison.toy import PLAN, make_collection, make_inputs, make_setting


def test_every_way_is_measured(comparison):
    """Words at each epsilon, records, a classifier and synthetic texts, each with figures that have intervals."""
    ways = [release.way for release in comparison.releases]
    assert ways == ["words", "words", "records", "classifier", "synthetic texts"]
    assert not comparison.failures
    for release in comparison.releases:
        for figure in (release.use.score.private, release.attacks.membership.auc):
            assert figure.low <= figure.value <= figure.high
            assert figure.count
        assert release.seconds >= 0


def test_words(comparison):
    """More words are named at the larger epsilon, every text is linked, and a record has the epsilons of its words."""
    first, second = (release for release in comparison.releases if release.way == "words")
    assert first.epsilon < second.epsilon
    assert first.attacks.named.value < second.attacks.named.value
    assert first.promise.unit == "word"
    assert first.promise.whole > first.epsilon
    assert "12 words" in first.promise.whole_unit
    assert first.attacks.names.total.words > 0
    assert 0 <= first.attacks.linked.low <= 1


def test_records(comparison):
    """A method that copies has no bound where its claim is refuted."""
    (release,) = (release for release in comparison.releases if release.way == "records")
    assert release.promise.whole is None
    assert release.promise.status == "refuted"
    assert release.attacks.named is None


def test_collection(comparison):
    """Classifier and texts have the guarantee of a record, and no text that comes from one."""
    for release in comparison.releases[-2:]:
        assert release.promise.unit == "record"
        assert release.promise.whole == release.epsilon == 50.0
        assert release.delta == 1e-4
        assert (release.attacks.named, release.attacks.linked, release.use.likeness) == (None, None, None)
        assert "a person with 10 records" in release.promise.words
    assert comparison.releases[-1].use.perplexity is not None


def test_baselines(comparison):
    """Originals teach more than a blind guess, and so do public labels."""
    baselines = comparison.baselines
    assert baselines.blind == 0.5
    assert baselines.originals.low > 0.5
    assert baselines.public.private.low > 0.5
    assert baselines.perplexity.value > 1


def test_equal_seeds_give_equal_figures(comparison):
    """All draws follow from the seed."""
    inputs = make_inputs()
    plan = dataclasses.replace(PLAN, recoveries=(0.45,))
    setting = make_setting(inputs)
    first, second = (compare_releases(inputs, setting, plan) for _ in range(2))
    for one, other in zip(first.releases, second.releases, strict=True):
        assert dataclasses.replace(one, seconds=0.0) == dataclasses.replace(other, seconds=0.0)
    same = [release for release in comparison.releases if release.way == "classifier"]
    assert same[0].use == next(release.use for release in first.releases if release.way == "classifier")


def test_persons():
    """With persons the guarantee is of all that a person has."""
    inputs = make_inputs(persons=[row // 2 for row in range(120)])
    plan = dataclasses.replace(PLAN, recoveries=())
    found = compare_releases(inputs, make_setting(inputs), plan)
    assert (found.unit, found.units) == ("person", 60)
    assert {release.promise.unit for release in found.releases} == {"person"}
    assert "for everything that one person has in the table" in found.releases[0].promise.words


def test_what_cannot_be_made_is_named():
    """Without public texts the generator that needs them fails in a sentence, and the classifier remains."""
    inputs = make_inputs()
    collection = dataclasses.replace(make_collection(inputs), public=None)
    setting = dataclasses.replace(make_setting(inputs), collection=collection)
    found = compare_releases(inputs, setting, dataclasses.replace(PLAN, recoveries=()))
    assert [release.way for release in found.releases] == ["classifier"]
    (failure,) = found.failures
    assert failure.name == "synthetic texts, epsilon 50"
    assert "public texts" in failure.reason
    assert found.baselines.public is None


def test_progress(comparison):
    """Every part of the work is named, and its seconds are kept."""
    names = []

    def note(name):
        names.append(name)
        return contextlib.nullcontext()

    inputs = make_inputs()
    found = compare_releases(inputs, make_setting(inputs), dataclasses.replace(PLAN, recoveries=()), note)
    assert names == [*found.about["seconds"]]
    assert "the collection at epsilon 50" in comparison.about["seconds"]
