"""The figures as JSON, and what is advised, from figures made by hand."""

import dataclasses
import json

import pytest

from deniable.survey.limits import Limits
from deniable.survey.results import (
    Answer,
    Estimate,
    Promise,
    RecoveryResult,
    Result,
    ScoreComparison,
    UtilityResult,
    advise,
)
from tests.refusals import refuses


def test_figures_as_json(found):
    """The figures are JSON without infinities, and without a word of the table's texts."""
    shown = json.dumps(found.to_dict(), allow_nan=False)
    again = json.loads(shown)
    assert again["schema"] == "deniable-survey/1"
    assert not any(word in shown for word in ("examples", "Zork", "script"))
    private = again["results"][1]["utility"]["accuracy"]["private"]
    assert private["value"] == found.results[1].utility.accuracy.private.value
    assert again["results"][0]["membership"]["original"]["tpr"]["0.01"]["count"] > 0
    assert again["results"][1]["entities"]["total"]["at_place"]["value"] > 0.7
    assert again["advice"]["answer"] == found.advice.answer
    assert sum(again["about"]["seconds"].values()) > 0


def test_figures_by_path(found):
    """A figure is found by its path, and None where one of its parts is missing."""
    result = found.results[0]
    assert result.find("similarity.unchanged") == result.similarity.unchanged
    assert result.find("recovery.any text.share") == result.recovery["any text"].share
    assert result.find("epsilon") == Estimate(0.5, 0.5, 0.5, 1.0, 0, "exact")
    assert found.originals.find("similarity.unchanged") is None
    assert found.originals.find("recovery.context.share") is None


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


def make_result(kind, epsilon, accuracy=None, original=0.9, *, guessed=None, whole=None, status="proved"):
    """Return a release with these figures."""
    unit = "word" if kind == "words" else "record"
    score = None if accuracy is None else make_score(accuracy, original)
    return Result(
        kind=kind,
        name=f"{kind}, epsilon {epsilon:g}",
        epsilon=float(epsilon),
        promise=Promise("a guarantee", unit, "any two", status, epsilon, whole or epsilon, f"a {unit}"),
        utility=None if score is None else UtilityResult(score, score, "tfidf", 5, 1_000, 2),
        recovery={} if guessed is None else {"single": RecoveryResult(estimate(guessed, 0.03), 0, optimal=True)},
        linked=estimate(0.99, 0.01),
    )


def make_words(epsilon, guessed, accuracy=None, original=0.9):
    """Return a release word by word."""
    return make_result("words", epsilon, accuracy, original, guessed=guessed, whole=250.0 * epsilon)


def make_public(accuracy):
    """Return the scores of labelled public texts alone."""
    return dataclasses.replace(make_result("public texts", 0, accuracy), name="public texts only", promise=None)


def give_advice(*results, limits=None, need="texts"):
    """Return the advice."""
    return advise(results, limits or Limits(), need)


WORDS, LOUD_WORDS = make_words(2, 0.1, 0.55), make_words(5, 0.5, 0.85)
TEXTS = [make_result("synthetic texts", epsilon, accuracy) for epsilon, accuracy in ((1, 0.6), (4, 0.8), (8, 0.82))]
CLASSIFIERS = [make_result("classifier", epsilon, accuracy) for epsilon, accuracy in ((1, 0.75), (4, 0.83))]


@pytest.mark.parametrize(
    ("given", "answer", "epsilons", "unmeasured"),
    [
        ([(1, 0.05, 0.5), (2, 0.1, 0.8), (4, 0.6, 0.88)], Answer.RELEASE, [2], None),
        ([(2, 0.1, 0.55), (2.4, 0.3, 0.6), (3, 0.5, 0.85)], Answer.NOTHING, [], None),
        ([(2, 0.1, 0.55), (2.4, 0.3, 0.85)], Answer.NOTHING, [], None),
        ([(2, 0.1, 0.55), (4, 0.5, 0.85)], Answer.NOTHING, [], (2, 4)),
        ([(3, 0.5, 0.85), (4, 0.6, 0.88)], Answer.NOTHING, [], (0, 3)),
        ([(1, 0.05, 0.5), (2, 0.1, 0.55)], Answer.NOTHING, [], (2, None)),
        ([(1, 0.5, 0.5), (2, 0.6, 0.55)], Answer.NOTHING, [], None),  # protects nothing and teaches nothing
        ([(2, 0.1, 0.5, 0.55)], Answer.NOTHING, [], (2, None)),  # few points lost may be all there was
        ([(1, 0.05), (4, 0.6)], Answer.NOT_MEASURED, [1], None),
        ([(4, 0.6)], Answer.NOTHING, [], (0, 4)),
        ([(1, 0.05, 0.5, 0.5)], Answer.NOT_JUDGEABLE, [1], None),
        ([(1, 0.5, 0.5, 0.5)], Answer.NOTHING, [], (0, 1)),
    ],
)
def test_words(given, answer, epsilons, unmeasured):
    """Epsilons are advised that protect and are useful; where none is, where to look."""
    advice = give_advice(*(make_words(*one) for one in given))
    assert advice.answer is answer
    assert advice.choices == tuple(f"words, epsilon {epsilon}" for epsilon in epsilons)
    assert advice.unmeasured == unmeasured


def test_what_decides():
    """Limits decide, what is refuted protects nothing, and releases that teach nothing are named."""
    limits = Limits(max_recovery=0.7, min_retained=0.9)
    advice = give_advice(make_words(2, 0.1, 0.7), make_words(4, 0.6, 0.89), limits=limits)
    assert (advice.answer, advice.choices, advice.limits) == ("release", ("words, epsilon 4",), limits)
    refuted = make_result("words", 2, 0.85, guessed=0.1, status="refuted")
    assert give_advice(refuted).answer is Answer.NOTHING
    blind = give_advice(make_words(1, 0.05, 0.5), make_words(2, 0.1, 0.8))
    assert (blind.blind, blind.choices) == (("words, epsilon 1",), ("words, epsilon 2",))
    for name in ("max_recovery", "min_retained"):
        for value in (0, 1.0, 2):
            with refuses(f"--{name.replace('_', '-')}"):
                Limits(**{name: value})


def test_texts_are_synthesized():
    """Of the useful synthetic texts those of the least epsilon come first; other limits give another answer."""
    advice = give_advice(WORDS, LOUD_WORDS, *CLASSIFIERS, *TEXTS)
    assert (advice.answer, advice.choices) == (Answer.RELEASE, (TEXTS[1].name, TEXTS[2].name))
    assert give_advice(LOUD_WORDS, *TEXTS, limits=Limits(0.2, 0.2)).choices[0] == TEXTS[0].name
    assert give_advice(LOUD_WORDS, *TEXTS, limits=Limits(0.6, 0.85)).choices == (LOUD_WORDS.name,)


def test_a_classifier_is_trained():
    """A classifier is advised where only that is needed, and where no texts are of use."""
    assert give_advice(WORDS, *CLASSIFIERS, *TEXTS, need="classifier").choices[0] == CLASSIFIERS[0].name
    assert give_advice(WORDS, *CLASSIFIERS, TEXTS[0]).choices[0] == CLASSIFIERS[0].name


def test_records():
    """Rewritten records count up to epsilon 10, and only where the guarantee stands."""
    assert give_advice(make_result("records", 10, 0.8)).answer is Answer.RELEASE
    for wrong in (make_result("records", 11, 0.8), make_result("records", 1, 0.8, status="refuted")):
        assert give_advice(wrong).answer is Answer.NOTHING


def test_public_texts_alone():
    """No budget is spent where labelled public texts serve as well as every release of the kind."""
    advice = give_advice(*CLASSIFIERS, *TEXTS, make_public(0.824))
    assert (advice.answer, advice.choices) == (Answer.PUBLIC_TEXTS, ())
    assert give_advice(*CLASSIFIERS, *TEXTS, make_public(0.81)).choices == (TEXTS[2].name,)
    assert give_advice(*TEXTS, make_public(0.84)).answer is Answer.PUBLIC_TEXTS


def name_texts(name, epsilon, accuracy, width=0.02):
    """Return synthetic texts of a name, with this balanced accuracy and half width of its interval."""
    result = dataclasses.replace(make_result("synthetic texts", epsilon, accuracy), name=name)
    score = dataclasses.replace(result.score, private=estimate(accuracy, width))
    return dataclasses.replace(result, utility=dataclasses.replace(result.utility, balanced_accuracy=score))


def test_texts_that_people_can_read():
    """A language model is advised where what is learned from it is surely better, at no larger epsilon than others."""
    recombined, tilted = name_texts("recombined", 4, 0.8), name_texts("tilted", 4, 0.78)
    for model, first in (
        (name_texts("model", 4, 0.82), "model"),
        (name_texts("model", 4, 0.79), "recombined"),
        (name_texts("model", 4, 0.81, width=0.05), "recombined"),  # of fewer rows
        (name_texts("model", 8, 0.88), "recombined"),
        (name_texts("model", 1, 0.75), "model"),
    ):
        results = sorted([tilted, recombined, model], key=lambda one: one.epsilon)
        assert give_advice(*results).choices[0] == first
        assert give_advice(*results, *CLASSIFIERS, need="classifier").choices[0] == CLASSIFIERS[0].name
    weak = name_texts("model", 4, 0.55)
    assert give_advice(weak, *CLASSIFIERS).choices[0] == CLASSIFIERS[0].name
    assert give_advice(name_texts("model", 4, 0.82), make_public(0.83)).answer is Answer.PUBLIC_TEXTS
