"""Which ways to release texts a service offers."""

import functools

import pytest

import deniable as dn
from deniable.serve.catalogue import Catalogue, Choice, format_epsilons, list_default_mechanisms
from deniable.serve.problems import Problem
from tests.serve.helpers import build_choices, build_fixed
from tests.text.helpers import SPACE


def test_a_fixed_offer_is_the_only_one():
    """Its mechanism and epsilon may be named; any other is refused."""
    catalogue = build_fixed()
    assert catalogue.is_fixed
    assert catalogue.choose(None, None) == catalogue.choose("tem", 2.0) == Choice("tem", 2.0)
    for mechanism, epsilon in (("calibrated", None), (None, 3.0)):
        with pytest.raises(Problem, match="which this service offers"):
            catalogue.choose(mechanism, epsilon)


def test_choices_are_bounded():
    """Only mechanisms that are offered and epsilons of the ladder can be chosen; nan is none of them."""
    catalogue = build_choices()
    assert catalogue.choose("calibrated", 1.0) == Choice("calibrated", 1.0)
    assert catalogue.choose(None, None) == catalogue.default == Choice("tem", 3.0)
    for epsilon in (2.5, -1.0, float("nan"), float("inf")):
        with pytest.raises(Problem, match="one of 1, 2, 3"):
            catalogue.choose(None, epsilon)


def test_an_offer_is_prepared_once():
    """The offer of a choice is built when it is first asked for, and then the same object."""
    catalogue = Catalogue.of_space(SPACE, ["tem"], [1.0, 2.0], default=1.0)
    choice = Choice("tem", 2.0)
    assert catalogue.get(choice) is None
    offer = catalogue.prepare(choice)
    assert catalogue.prepare(choice) is catalogue.get(choice) is offer
    assert offer.release.mechanism.epsilon == 2.0


def test_all_offers_have_the_options_of_the_release():
    """Whatever a request chooses is released with the options of the operator."""
    catalogue = Catalogue.of_space(
        SPACE,
        ["tem", "calibrated"],
        [1.0, 2.0],
        default=1.0,
        make_release=functools.partial(dn.Release, unknown="mask"),
    )
    for choice in (Choice("tem", 2.0), Choice("calibrated", 1.0)):
        assert catalogue.prepare(choice).release.unknown == "mask"


def test_the_default_is_on_the_ladder():
    """A default that is not offered is refused."""
    with pytest.raises(dn.InputError, match="must be one of 1, 2"):
        Catalogue.of_space(SPACE, ["tem"], [1.0, 2.0])


def test_default_mechanisms():
    """A small space offers tight too; epsilons are written as people write them."""
    assert list_default_mechanisms(SPACE) == ["calibrated", "tem", "tight"]
    assert format_epsilons([0.5, 3.0]) == "0.5, 3"
