"""Releases of the collection as a whole: a private classifier, and synthetic texts."""

import numpy as np
import pytest

from deniable.comparison.collection_releases import attack_private_classifier, measure_collection_releases
from deniable.comparison.fluency import fit_fluency_judge
from tests.comparison.toy import PLAN, make_collection, make_inputs
from tests.text.helpers import SPACE


def measure(inputs, setting, *, has_texts):
    """Return the releases at epsilon 50, whose classifiers are right, and students wrong, on every row."""
    right = np.ones(len(inputs.texts), dtype=bool)
    hits = right, right, ~right if has_texts else None
    return measure_collection_releases(setting, inputs, 50.0, hits, fit_fluency_judge(SPACE, inputs.texts, 0), PLAN)


@pytest.mark.parametrize("has_texts", [True, False])
def test_figures_of_both_releases(has_texts):
    """Each release has the figures of its own classifier; without students there is no release of texts."""
    inputs = make_inputs()
    classifier, *others = measure(inputs, make_collection(inputs), has_texts=has_texts)
    assert (classifier.name, classifier.use.score.private.value) == ("classifier, epsilon 50", 1.0)
    assert classifier.use.perplexity is None
    assert len(others) == has_texts
    for texts in others:
        assert (texts.name, texts.use.score.private.value) == ("synthetic texts, epsilon 50", 0.0)
        assert texts.use.perplexity.value > 1
        assert texts.attacks == classifier.attacks
        assert "200 texts of the generator tilted; membership: attacked is the classifier" in texts.note


def test_the_promise_to_persons():
    """Where persons are the units their whole collection is promised epsilon, and nothing is said of groups."""
    inputs = make_inputs(persons=[row // 2 for row in range(120)])
    (release,) = measure(inputs, make_collection(inputs), has_texts=False)
    assert (release.promise.unit, release.promise.whole, release.promise.status) == ("person", 50.0, "proved")
    assert release.promise.adjacency == "all records of one person added or removed"
    assert "10 records" not in release.promise.words


def test_the_attack_knows_the_budget():
    """Membership is told better at a vast budget than at a tiny one, and equal seeds give equal attacks."""
    inputs = make_inputs()
    setting = make_collection(inputs, has_labels=False)
    vast, again, tiny = (attack_private_classifier(setting, inputs, epsilon, PLAN) for epsilon in (900.0, 900.0, 0.1))
    assert vast == again
    assert vast.auc.value > tiny.auc.value


def test_collection(comparison):
    """Classifier and texts have the guarantee of a record, and no text that comes from one."""
    for release in comparison.releases[-2:]:
        assert release.promise.unit == "record"
        assert release.promise.whole == release.epsilon == 50.0
        assert release.delta == 1e-4
        assert (release.attacks.named, release.attacks.linked, release.use.likeness) == (None, None, None)
        assert "a person with 10 records" in release.promise.words
    assert comparison.releases[-1].use.perplexity is not None
