"""The registry of word mechanisms: names, classes, contract tests and the choice that auto makes."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.registry.words import WORD_MECHANISMS
from deniable.words.choice import MIN_KEPT_SHARE, choose_word_mechanism
from tests.contracts.word_mechanism import WordMechanismContract

TESTS = Path(__file__).parents[1]


def find_contract_tests():
    """Return the test classes that inherit the contract, wherever among the tests they stand."""
    for path in (*TESTS.joinpath("words").glob("test_*.py"), *TESTS.joinpath("published").rglob("test_*.py")):
        if "(WordMechanismContract)" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts)))
    return [cls for cls in WordMechanismContract.__subclasses__() if cls.__name__.startswith("Test")]


def test_every_mechanism_has_a_contract_test():
    """Each entry of the registry, found under its own name, is held to the contract by its test file."""
    assert {contract.mechanism for contract in find_contract_tests()} == set(WORD_MECHANISMS.values())
    assert all(mechanism.name == name for name, mechanism in WORD_MECHANISMS.items())


def test_every_mechanism_has_a_page():
    """Each entry of the registry is shown, with its parameters, by one page of the docs' folder of mechanisms."""
    pages = [path.read_text(encoding="utf-8") for path in TESTS.with_name("docs").joinpath("mechanisms").glob("*.md")]
    for mechanism in WORD_MECHANISMS.values():
        shown = f"\n::: {mechanism.__module__}.{mechanism.__qualname__}\n"
        assert len([page for page in pages if shown in f"{page}\n"]) == 1


def test_auto_chooses_by_metric_size_and_what_is_kept(small_space, small_vectors, monkeypatch):
    """Tight where that is quick and words are kept, calibrated elsewhere, TEM under a metric of the user's own."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    kept = dn.CalibratedExponential(small_space, epsilon=3.0)
    assert np.mean([kept.probabilities(word)[number] for number, word in enumerate(small_space.words)]) > MIN_KEPT_SHARE
    assert type(choose_word_mechanism(small_space, 3.0)) is dn.TightExponential
    assert choose_word_mechanism(small_space, 3.0).epsilon == 3.0
    little = dn.CalibratedExponential(small_space, epsilon=0.3)
    assert (
        np.mean([little.probabilities(word)[number] for number, word in enumerate(small_space.words)]) < MIN_KEPT_SHARE
    )
    assert type(choose_word_mechanism(small_space, 0.3)) is dn.CalibratedExponential
    monkeypatch.setattr("deniable.words.choice.MAX_DENSE_POINTS", 59)
    assert type(choose_word_mechanism(small_space, 3.0)) is dn.CalibratedExponential
    assert type(choose_word_mechanism(dn.Space(small_space.words, small_vectors, metric=own), 3.0)) is dn.TEM


def test_registry_fits_the_public_names():
    """Every mechanism of the registry is a public name of the package."""
    for mechanism in WORD_MECHANISMS.values():
        assert getattr(dn, mechanism.__name__) is mechanism


@pytest.mark.parametrize("name", WORD_MECHANISMS)
def test_a_name_builds_its_class(small_space, name):
    """Each name gives the mechanism of its class, at the epsilon asked for."""
    subject = dn.mechanism(name, small_space, epsilon=300.0)
    assert type(subject) is WORD_MECHANISMS[name]
    assert (subject.space, subject.epsilon) == (small_space, 300.0)


def test_auto_builds_what_is_chosen(small_space):
    """The name auto gives the choice for this space and epsilon."""
    subject = dn.mechanism("auto", small_space, epsilon=3.0)
    assert repr(subject) == repr(choose_word_mechanism(small_space, 3.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda space: dn.mechanism(space, epsilon=3.0),
            "mechanism needs space: write mechanism(name, space, epsilon=...)",
        ),
        (lambda space: dn.mechanism("tem", space, 3.0), "write mechanism(name, space, epsilon=3.0)."),
        (
            lambda space: dn.mechanism(space, space, epsilon=3.0),
            "parameter of mechanism must be one of auto, calibrated,",
        ),
        (lambda _: dn.mechanism("auto", "glove", epsilon=3.0), "must be a Space, such as Space.glove(). Got 'glove'."),
        (lambda _: dn.mechanism("tem", "glove", epsilon=3.0), "must be a Space, such as Space.glove(). Got 'glove'."),
    ],
)
def test_wrong_arguments_are_told_what_is_wanted(small_space, call, message):
    """A name that is none, a space that is none, and an epsilon without its name are refused in one line."""
    with pytest.raises(dn.InputError) as caught:
        call(small_space)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_refused(small_space):
    """A name that is none is refused in one line, with those that are known."""
    with pytest.raises(dn.InputError, match=r"^Unknown mechanism 'temm'\. Known: auto, calibrated, [^\n]*\.$"):
        dn.mechanism("temm", small_space, epsilon=1.0)
