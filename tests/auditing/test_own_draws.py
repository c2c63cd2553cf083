"""Whoever brings draws, a law or a guarantee of their own is never given the proof of this package's draws."""

import dataclasses
import math

import pytest

import deniable as dn
from tests.refusals import refuses

TEM_MODULE = dn.TEM.__module__
PROVED = {"proved", "proved for ideal arithmetic"}


class CopiedInput(dn.laws.Simulation):
    """Returns the input."""

    fingerprint = "multivariate-laplace"

    def draw(self, points, streams, workers=None):
        del streams, workers
        return points


class OtherRows(dn.laws.ExponentialKernel):
    """A kernel that draws from rows of its own."""

    def __call__(self, points, distances):
        return dn.laws.ExponentialKernel(30.0)(points, distances)


class OtherDraws(dn.laws.TabulatedLaw):
    """The tables of TEM, and draws of its own."""

    def sample(self, points, streams, workers=None):
        del streams, workers
        return points


@pytest.mark.parametrize(
    "members",
    [
        {"build_law": lambda self: dn.laws.TabulatedLaw(self.space, OtherRows(0.1))},
        {"build_law": lambda self: dn.laws.SimulatedLaw(self.space, CopiedInput())},
        {"__module__": TEM_MODULE, "build_law": lambda self: dn.laws.SimulatedLaw(self.space, CopiedInput())},
    ],
    ids=["kernel", "simulation", "module"],
)
@pytest.mark.parametrize("parent", [dn.TEM, dn.MultivariateLaplace])
def test_a_subclass_that_copies_its_input_is_never_proved(small_space, parent, members):
    """Whatever law a subclass returns, and whatever module it names, it is no proof of what it copies."""
    leak = type(parent.__name__, (parent,), members)(small_space, epsilon=1.0)
    assert leak.sample(small_space.words[:9]) == list(small_space.words[:9])
    assert leak.law.fingerprint is None
    assert dn.verify(leak, cache=False).status not in PROVED
    assert leak.document_guarantee(3, 1e-6).pure.status not in PROVED


def find_copying(self, name):
    """Find draws that copy their input, in place of those of the class."""
    if name == "draw_words":
        return copy_words.__get__(self)
    return object.__getattribute__(self, name)


@pytest.mark.parametrize(
    "members",
    [
        {"sample": lambda self, words: list(words)},  # noqa: ARG005 - a method
        {"__call__": lambda self, word: word},  # noqa: ARG005
        {"draw_words": lambda self, words, streams, workers=None: words},  # noqa: ARG005
        {"__module__": TEM_MODULE, "draw_words": lambda self, words, streams, workers=None: words},  # noqa: ARG005
        {"law": property(lambda self: dn.laws.SimulatedLaw(self.space, CopiedInput()))},
        {"__getattribute__": find_copying},
    ],
    ids=["sample", "call", "draw_words", "module", "law", "lookup"],
)
def test_who_overrides_how_words_are_drawn_is_refused(small_space, members):
    """Neither a verdict nor a guarantee of a text is given of a subclass that draws otherwise than from its law."""
    mixin = type("Mixin", (), members)
    for leak in (type("TEM", (dn.TEM,), members), type("TEM", (mixin, dn.TEM), {})):
        check_refused(leak(small_space, epsilon=1.0), next(iter({*members} - {"__module__"})))


def check_refused(leak, method):
    """Hold that nothing is said of draws that are not the law's."""
    for use in (lambda: dn.verify(leak), lambda: dn.WordMechanism.document_guarantee(leak, 3, 1e-6)):
        with refuses(f"must not replace '{method}'", TypeError):
            use()


def test_a_law_of_another_class_is_refused(small_space):
    """A subclass of a law, whose draws may be any, is taken neither for drawing nor for proving."""

    def compute_rows(points, distances):
        del points
        return dn.laws.ExponentialKernel(0.5)(None, distances)

    leak = type("Leak", (dn.TEM,), {"build_law": lambda self: OtherDraws(self.space, compute_rows)})
    subject = leak(small_space, epsilon=1.0)
    for use in (
        lambda: subject.sample([small_space.words[0]]),
        lambda: dn.verify(subject),
        lambda: subject.document_guarantee(1, 0.1),
    ):
        with refuses("OtherDraws", TypeError):
            use()


def copy_words(self, words, streams, workers=None):
    """Draw each word as itself."""
    del self, streams, workers
    return words


def test_draws_that_were_replaced_later_are_refused(small_space):
    """A class that changed since its objects were made is none that is proved."""
    kind = type("Leak", (dn.TEM,), {})
    leak = kind(small_space, epsilon=1.0)
    kind.draw_words = copy_words
    assert leak.sample(small_space.words[:9]) == list(small_space.words[:9])
    check_refused(leak, "draw_words")


def test_a_class_that_is_only_registered_is_refused(small_space):
    """What never inherited how words are drawn is no mechanism, whatever it registers as."""
    register = type("Registered", (), {"space": small_space, "law": dn.TEM(small_space, epsilon=1.0).law})
    dn.WordMechanism.register(register)
    with refuses("Registered", TypeError):
        dn.verify(register())


def test_a_law_over_another_space_is_refused(small_space):
    """What is proved of one space's words is not proved of another's, though both have as many."""
    other = dn.Space(small_space.words, 1000 * small_space.vectors)
    leak = type("Leak", (dn.TEM,), {"build_law": lambda self: dn.laws.ExponentialLaw(other, self.kernel)})
    subject = leak(small_space, epsilon=1.0)
    for use in (lambda: dn.verify(subject), lambda: subject.sample([small_space.words[0]])):
        with refuses("own space", TypeError):
            use()


@pytest.mark.parametrize("method", ["document_guarantee", "is_builtin", "has_fingerprint", "expected_kept_share"])
def test_what_is_said_of_draws_is_not_replaced(small_space, method):
    """No subclass calls itself this package's, nor states the guarantee of a text or a share by code of its own."""
    check_refused(type("Leak", (dn.MultivariateLaplace,), {method: True})(small_space, epsilon=1.0), method)


def test_law_is_built_once(small_space):
    """The object that is verified is the one that is drawn from, even where each build gives another."""
    laws = iter([0.1, 30.0])
    kinds = {"build_law": lambda self: dn.laws.ExponentialLaw(self.space, dn.laws.ExponentialKernel(next(laws)))}
    subject = type("Turncoat", (dn.TEM,), kinds)(small_space, epsilon=1.0)
    assert dn.verify(subject, cache=False).status == "proved"
    assert subject.sample(small_space.words[:9]) != list(small_space.words[:9])


@pytest.mark.parametrize(
    "claim",
    [dn.Guarantee(1.0, "of any two words"), dn.Guarantee.of_words(1.0, "angular", "by another metric")],
    ids=str,
)
def test_a_guarantee_of_another_kind_is_not_compared(small_space, claim):
    """An epsilon per unit of distance says nothing of a guarantee without distances, or with others."""
    subject = type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0)
    with refuses("Guarantee.of_words(epsilon, 'euclidean', source)"):
        dn.verify(subject)


@pytest.mark.parametrize("change", [{"unit": "person"}, {"unit": "record"}, {"adjacency": "any two synonyms"}])
def test_a_guarantee_of_another_unit_is_not_proved(small_space, change):
    """The law of a word says nothing of a person, nor only of some pairs: a guarantee of these is refused."""
    claim = dataclasses.replace(dn.Guarantee.of_words(1.0, "euclidean", "a theorem"), **change)
    with refuses("one word"):
        dn.verify(type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0))


@pytest.mark.parametrize("epsilon", [math.inf, math.nan, -1.0, "1", True, None])
def test_a_guarantee_without_a_number_is_not_judged(small_space, epsilon):
    """What is no finite epsilon is refused in one line, and not called proved."""
    claim = dn.Guarantee.of_words(epsilon, "euclidean", "a theorem")
    with refuses("'guarantee.epsilon'"):
        dn.verify(type("Other", (dn.TEM,), {"guarantee": claim})(small_space, epsilon=1.0))


@pytest.mark.parametrize("method", ["draw_words", "sample", "outcomes"])
def test_draws_of_one_object_are_refused(small_space, method):
    """What was put into one mechanism, past its being frozen, is no law's either; its own law may be there."""
    leak = dn.TEM(small_space, epsilon=1.0)
    assert dn.verify(leak).status == "proved"
    object.__setattr__(leak, method, copy_words.__get__(leak))
    check_refused(leak, method)
