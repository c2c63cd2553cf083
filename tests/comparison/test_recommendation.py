"""What is recommended, from figures made by hand."""

import dataclasses

from deniable.comparison.findings import (
    AttackFigures,
    Baselines,
    Comparison,
    Estimate,
    MembershipResult,
    Promise,
    ReleaseResult,
    ScoreComparison,
    UseFigures,
)
from deniable.comparison.recommendation import AdviceLimits, Answer, recommend_release
from tests.refusals import refuses


def estimate(value, width=0.02):
    """Return a figure with its interval."""
    return Estimate(value, value - width, value + width, 0.95, 1_000, "by hand")


def make_score(accuracy, original=0.9):
    """Return the score of a classifier with this balanced accuracy, beside that of the originals."""
    gain, kept = original - 0.5, accuracy - 0.5
    return ScoreComparison(
        0.5,
        estimate(original),
        estimate(accuracy),
        estimate(original - accuracy),
        estimate(gain),
        estimate(kept),
        estimate(kept / gain) if gain > 0 else None,
    )


def make_release(way, epsilon, accuracy, *, whole=None, guessed=None, status="proved", original=0.9):
    """Return a release with these figures."""
    unit = "word" if way == "words" else "record"
    promise = Promise("a guarantee", unit, "any two", status, epsilon if whole is None else whole, f"a {unit}")
    attacks = (
        AttackFigures() if guessed is None else AttackFigures(estimate(guessed, 0.006), linked=estimate(0.99, 0.01))
    )
    use = UseFigures(make_score(accuracy, original))
    return ReleaseResult(way, f"{way}, epsilon {epsilon:g}", epsilon, 1e-5, promise, attacks, use, 1.0)


def make_comparison(*releases, public=None, original=0.9):
    """Return a comparison of these releases."""
    membership = MembershipResult("an attack", estimate(0.5), {0.001: estimate(0.01, 0.01)}, (0, 1), (0, 1), 50, 50, 50)
    public_score = None if public is None else make_score(public)
    baselines = Baselines(estimate(original), 0.5, membership, None, public_score)
    return Comparison(1_000, 1_000, ("a", "b"), "record", 1_000, baselines, releases, (), {"public labels": True})


WORDS = make_release("words", 2, 0.55, whole=500, guessed=0.1)
LOUD_WORDS = make_release("words", 5, 0.85, whole=1_250, guessed=0.5)
TEXTS = [make_release("synthetic texts", epsilon, accuracy) for epsilon, accuracy in ((1, 0.6), (4, 0.8), (8, 0.82))]
CLASSIFIERS = [make_release("classifier", epsilon, accuracy) for epsilon, accuracy in ((1, 0.75), (4, 0.83))]


def test_texts_are_synthesized():
    """Of the useful synthetic texts those of the least epsilon are recommended, and words are warned of."""
    found = recommend_release(make_comparison(WORDS, LOUD_WORDS, *CLASSIFIERS, *TEXTS))
    assert (found.answer, found.release) == (Answer.SYNTHESIZE, TEXTS[1])
    assert found.headline == "Texts are needed: synthesize them, at epsilon 4 for a whole record."
    reasons = " ".join(found.reasons)
    assert "Do not share word by word: at epsilon 2 attackers guess 10.0 %" in reasons
    assert "50 % of what training on the originals gains over a blind guess is kept only from epsilon 5 on" in reasons
    assert "train it privately: at the same epsilon it has 83.0 %" in reasons


def test_a_classifier_is_trained():
    """Where only a classifier is needed, the least useful epsilon of a classifier is recommended."""
    found = recommend_release(make_comparison(WORDS, *CLASSIFIERS, *TEXTS), "classifier")
    assert (found.answer, found.release) == (Answer.TRAIN, CLASSIFIERS[0])
    assert found.headline == "Only a classifier is needed: train it privately, at epsilon 1 for a whole record."


def test_a_classifier_in_place_of_texts():
    """Where no texts are of use, a classifier is offered."""
    found = recommend_release(make_comparison(WORDS, *CLASSIFIERS, TEXTS[0]))
    assert found.release == CLASSIFIERS[0]
    assert found.headline.startswith("No texts can be released that are of use.")


def test_words_are_shared():
    """Words that are protected and of use are shared where nothing stronger is of use, with what that risks."""
    good_words = make_release("words", 3, 0.8, whole=700, guessed=0.15)
    found = recommend_release(make_comparison(good_words, TEXTS[0]))
    assert (found.answer, found.release) == (Answer.PRIVATIZE, good_words)
    assert "together epsilon is 700" in " ".join(found.reasons)
    assert "99.0 % (98.0 to 100.0) of the private texts were linked to their records" in " ".join(found.reasons)


def test_records():
    """Rewritten records count up to epsilon 10, and only where the guarantee stands."""
    fine = make_release("records", 10, 0.8)
    assert recommend_release(make_comparison(fine)).answer is Answer.REWRITE
    for wrong in (make_release("records", 11, 0.8), make_release("records", 1, 0.8, status="refuted")):
        assert recommend_release(make_comparison(wrong)).answer is Answer.RELEASE_NOTHING


def test_nothing():
    """Where nothing is both, nothing is released, with what to do instead."""
    found = recommend_release(make_comparison(WORDS, TEXTS[0], make_release("synthetic texts", 20, 0.88)))
    assert (found.answer, found.release) == (Answer.RELEASE_NOTHING, None)
    assert found.headline.startswith("Release nothing yet")
    assert "The best of the collection as a whole, synthetic texts, epsilon 20" in " ".join(found.reasons)
    assert found.alternatives


def test_public_texts_alone():
    """No budget is spent where labelled public texts serve as well as every release of the kind."""
    found = recommend_release(make_comparison(*CLASSIFIERS, *TEXTS, public=0.824))
    assert (found.answer, found.release) == (Answer.USE_PUBLIC_TEXTS, None)
    assert "82.4 %" in found.reasons[0]
    assert "a private one has 83.0 %" in found.reasons[-1]
    assert recommend_release(make_comparison(*CLASSIFIERS, *TEXTS, public=0.81)).release == TEXTS[2]
    assert recommend_release(make_comparison(*TEXTS, public=0.84), "texts").answer is Answer.USE_PUBLIC_TEXTS


def test_a_label_that_nothing_tells():
    """Where the originals themselves teach nothing, use cannot be judged."""
    blind = make_release("words", 2, 0.5, guessed=0.1, original=0.5)
    found = recommend_release(make_comparison(blind, original=0.5))
    assert found.answer is Answer.NOT_JUDGEABLE
    assert "no better than a blind guess" in found.reasons[0]


def test_limits():
    """Other limits give another answer, and those that are no shares are refused."""
    comparison = make_comparison(LOUD_WORDS, *TEXTS)
    assert recommend_release(comparison, limits=AdviceLimits(0.2, 0.2)).release == TEXTS[0]
    assert recommend_release(comparison, limits=AdviceLimits(0.6, 0.85)).release == LOUD_WORDS
    with refuses("--min-retained"):
        recommend_release(comparison, limits=AdviceLimits(0.2, 2))


def test_several_records_of_a_person():
    """Where records are hidden, persons with several are spoken of; where persons are, they are not."""
    assert "--person" in " ".join(recommend_release(make_comparison(*TEXTS)).reasons)
    promise = dataclasses.replace(TEXTS[1].promise, unit="person")
    of_persons = dataclasses.replace(TEXTS[1], promise=promise)
    assert "--person" not in " ".join(recommend_release(make_comparison(of_persons)).reasons)
