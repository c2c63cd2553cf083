"""Every way to release a small table."""

import contextlib
import dataclasses

import pytest

from deniable.comparison.comparison import compare_releases
from tests.comparison.toy import PLAN, make_collection, make_inputs, make_setting


@pytest.fixture(scope="module")
def named_comparison():
    """Return another comparison of the same table, by fewer ways, and the names of the parts of its work."""
    names = []

    def note(name):
        names.append(name)
        return contextlib.nullcontext()

    inputs = make_inputs()
    plan = dataclasses.replace(PLAN, recoveries=(0.45,))
    return compare_releases(inputs, make_setting(inputs), plan, note), names


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


def test_baselines(comparison):
    """Originals teach more than a blind guess, and so do public labels."""
    baselines = comparison.baselines
    assert baselines.blind == 0.5
    assert baselines.originals.low > 0.5
    assert baselines.public.private.low > 0.5
    assert baselines.perplexity.value > 1


def test_equal_seeds_give_equal_figures(comparison, named_comparison):
    """All draws follow from the seed."""
    first, _ = named_comparison
    inputs = make_inputs()
    second = compare_releases(inputs, make_setting(inputs), dataclasses.replace(PLAN, recoveries=(0.45,)))
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


def test_progress(comparison, named_comparison):
    """Every part of the work is named, and its seconds are kept."""
    other, names = named_comparison
    assert names == [*other.about["seconds"]]
    assert "the collection at epsilon 50" in comparison.about["seconds"]
