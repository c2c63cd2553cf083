"""The registry of word mechanisms: names, classes, contract tests and the choice that auto makes."""

import numpy as np
import pytest

import deniable as dn
from deniable.registry.words import WORD_MECHANISMS
from deniable.words.choice import MIN_KEPT_SHARE, choose_word_mechanism
from tests.contracts.word_mechanism import WordMechanismContract
from tests.published.truncated_gumbel import test_mechanism as test_truncated_gumbel
from tests.words import test_calibrated_exponential, test_multivariate_laplace, test_tem, test_tight_exponential

CONTRACTS = (
    test_calibrated_exponential.TestCalibratedExponential,
    test_tight_exponential.TestTightExponential,
    test_tem.TestTEM,
    test_multivariate_laplace.TestMultivariateLaplace,
    test_truncated_gumbel.TestTruncatedGumbel,
)


def test_every_mechanism_has_a_contract_test():
    """Each entry of the registry, found under its own name, is held to the contract by its test file."""
    assert {contract.mechanism for contract in CONTRACTS} == set(WORD_MECHANISMS.values())
    assert all(issubclass(contract, WordMechanismContract) for contract in CONTRACTS)
    assert all(mechanism.name == name for name, mechanism in WORD_MECHANISMS.items())


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
