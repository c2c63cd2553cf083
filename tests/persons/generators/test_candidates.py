"""Candidates of a user's own generator."""

import sys

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.persons.generators.candidates import generate_candidate_texts, list_class_words
from tests.persons.generators.examples import KNOWLEDGE


def propose_words(request):
    """Return the first words of each class; every tenth text says nothing."""
    return [
        "film" if place % 10 == 0 else " ".join(request.class_words[code] * (length // 2))
        for place, (code, length) in enumerate(zip(request.codes.tolist(), request.lengths.tolist(), strict=True))
    ]


def test_candidates_are_labelled_and_the_uncertain_dropped():
    """Proposed texts come back with the classes that were asked for, without those that say nothing."""
    synthetic = generate_candidate_texts(KNOWLEDGE, propose_words, 90, seed=0)
    assert len(synthetic.texts) == 90
    assert "film" not in synthetic.texts
    for text, code in zip(synthetic.texts, synthetic.codes, strict=True):
        assert text.split()[0] == ("good" if code else "bad")


def test_a_request_holds_what_was_released():
    """A request names classes, the words that they raise, a class and a length for each text, and the seed."""
    requests = []

    def propose(request):
        requests.append(request)
        return ["good"] * request.count

    generate_candidate_texts(KNOWLEDGE, propose, 18, seed=5)
    request = requests[0]
    assert (request.classes, request.seed, request.count) == (KNOWLEDGE.classes, 5, 20)
    assert request.class_words == (("bad", "dull"), ("good", "fine")) == list_class_words(KNOWLEDGE)
    np.testing.assert_array_equal(np.bincount(request.codes), [8, 12])
    assert request.lengths.min() >= 5
    assert request.lengths.max() < 40


@pytest.mark.parametrize("is_compiled", [True, False])
def test_an_interruption_is_no_failure(is_compiled):
    """Ctrl-C while a callable runs stays one, also where compiled code made another error of it."""
    error = KeyboardInterrupt()
    if is_compiled:
        error = SystemError("an exception set")
        error.__cause__ = KeyboardInterrupt()

    def propose(_):
        raise error

    with pytest.raises(type(error)) as caught:
        generate_candidate_texts(KNOWLEDGE, propose, 9, seed=0)
    assert caught.value is error


@pytest.mark.parametrize(
    ("propose", "message"),
    [
        (lambda _: "good", "list of texts. Got str"),
        (lambda request: ["good"] * (request.count - 1), "must return 10 texts"),
        (lambda request: ["good"] * (request.count - 1) + [3], "Got int at place 9"),
        (lambda request: ["good"] * (request.count - 1) + [" "], "Got an empty text at place 9"),
        (lambda _: 1 / 0, "failed: ZeroDivisionError: division by zero"),
        (lambda _: sys.exit(0), "failed: SystemExit: 0"),
    ],
)
def test_anything_but_texts_is_refused(propose, message):
    """A generator that fails, or returns no list, another number of texts, no text or an empty one gives one line."""
    with pytest.raises(InputError, match=message) as caught:
        generate_candidate_texts(KNOWLEDGE, propose, 9, seed=0)
    assert "\n" not in str(caught.value)
