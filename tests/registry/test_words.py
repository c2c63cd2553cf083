"""The registry of word mechanisms: names, classes, contract tests and pages."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.registry import words
from tests.contracts.word_mechanism import WordMechanismContract
from tests.refusals import refuses

TESTS = Path(__file__).parents[1]


def find_contract_tests():
    """Return the test classes that inherit the contract, wherever among the tests they stand."""
    for path in (*TESTS.joinpath("words").glob("test_*.py"), *TESTS.joinpath("published").rglob("test_*.py")):
        if "(WordMechanismContract)" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts)))
    return [cls for cls in WordMechanismContract.__subclasses__() if cls.__name__.startswith("Test")]


def test_every_mechanism_has_a_contract_test():
    """Each entry of the registry, found under its own name, is held to the contract by its test file."""
    assert {contract.mechanism for contract in find_contract_tests()} == set(words.WORD_MECHANISMS.values())
    assert all(mechanism.name == name for name, mechanism in words.WORD_MECHANISMS.items())


def test_every_mechanism_has_a_page():
    """Each entry of the registry is shown, with its parameters, by one page of the docs' folder of mechanisms."""
    pages = [path.read_text(encoding="utf-8") for path in TESTS.with_name("docs").joinpath("mechanisms").glob("*.md")]
    for mechanism in words.WORD_MECHANISMS.values():
        shown = f"\n::: {mechanism.__module__}.{mechanism.__qualname__}\n"
        assert len([page for page in pages if shown in f"{page}\n"]) == 1


def test_an_inherited_name_is_refused(monkeypatch):
    """Where a registered class leaves its parent's name, the registry does not put it in the parent's place."""
    monkeypatch.setattr(words.word_mechanisms, "Other", type("Other", (dn.TEM,), {}), raising=False)
    with refuses("'tem'", TypeError):
        importlib.reload(words)


@pytest.mark.parametrize("name", words.WORD_MECHANISMS)
def test_a_name_builds_its_class(small_space, name):
    """Each name gives the mechanism of its class, a public name of the package, at the epsilon asked for."""
    subject = dn.mechanism(name, small_space, epsilon=300.0)
    assert type(subject) is getattr(dn, words.WORD_MECHANISMS[name].__name__)
    assert (subject.space, subject.epsilon) == (small_space, 300.0)


def test_auto_chooses(small_space, small_vectors):
    """The name auto is tight where words are kept, calibrated elsewhere, and TEM under a metric of one's own."""

    def own(left, right):
        return np.abs(left[:, None] - right[None]).sum(axis=2)

    odd = dn.Space(small_space.words, small_vectors, metric=own)
    cases = ((small_space, 3.0), (small_space, 0.3), (odd, 3.0))
    chosen = [dn.mechanism("auto", space, epsilon=epsilon) for space, epsilon in cases]
    assert [type(one) for one in chosen] == [dn.TightExponential, dn.CalibratedExponential, dn.TEM]
    assert chosen[0].epsilon == 3.0


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda space: dn.mechanism(space, space, epsilon=3.0), "one of auto, calibrated"),
        (lambda _: dn.mechanism("auto", "glove", epsilon=3.0), "'glove'"),
        (lambda space: dn.mechanism("temm", space, epsilon=1.0), "'temm'"),
    ],
)
def test_wrong_arguments_are_told_what_is_wanted(small_space, call, value):
    """A name that is none, and a space that is none, are refused in one line."""
    with refuses(value):
        call(small_space)
