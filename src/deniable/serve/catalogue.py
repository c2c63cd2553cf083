"""Which ways to release texts a service offers: one, or a bounded set of mechanisms and epsilons."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Sequence

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.serve.offers import Offer, WordOffer
from deniable.serve.problems import Problem
from deniable.space import Space
from deniable.text.release import Release
from deniable.words import WordMechanism

EPSILON_LADDER = (0.5, 1.0, 1.5, 2.0, 2.3, 2.6, 2.8, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0)
"""Epsilons that requests may choose from: every mechanism has a law for each, which takes seconds to compute."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a request chooses.

    Attributes:
        mechanism: name of it.
        epsilon: of the ladder.
    """

    mechanism: str
    epsilon: float


class Catalogue:
    """The offers of a service, each built when it is first asked for, and never forgotten: there are few.

    Args:
        mechanisms: their names; the first is the default.
        epsilons: those that may be chosen, ascending.
        default_epsilon: one of them.
        build: returns the offer of a choice, not yet prepared.
    """

    def __init__(
        self,
        mechanisms: Sequence[str],
        epsilons: Sequence[float],
        default_epsilon: float,
        build: Callable[[Choice], Offer],
    ) -> None:
        self.mechanisms, self.epsilons = tuple(mechanisms), tuple(epsilons)
        self.default = Choice(self.mechanisms[0], default_epsilon)
        self._build = build
        self._prepared: dict[Choice, Offer] = {}
        self._lock = threading.Lock()

    @classmethod
    def fix(cls, offer: Offer) -> "Catalogue":
        """Return the catalogue of one offer, whose guarantee is proved first: that takes seconds in a large space."""
        offer.prove()
        description = offer.description
        name, epsilon = description["mechanism"], description["epsilon"]
        return cls([name], [epsilon], epsilon, lambda _: offer)

    @classmethod
    def of_space(
        cls, space: Space, mechanisms: Sequence[str], make_release: Callable[[WordMechanism], Release] = Release
    ) -> "Catalogue":
        """Return the catalogue of some word mechanisms on a space, at the epsilons of the ladder.

        The default is the strongest that there is: a request that forgets its epsilon protects too much, never too
        little.

        Args:
            space: the words that releases draw from.
            mechanisms: their names; the first is the default.
            make_release: returns the release by a mechanism, with the options that all have.
        """
        from deniable.registry import mechanism

        def build(choice: Choice) -> Offer:
            return WordOffer(make_release(mechanism(choice.mechanism, space, epsilon=choice.epsilon)))

        for strongest in EPSILON_LADDER:  # some mechanisms begin above the lowest
            with contextlib.suppress(InputError):
                mechanism(mechanisms[0], space, epsilon=strongest)
                break
        return cls(mechanisms, EPSILON_LADDER, strongest, build)

    @property
    def is_fixed(self) -> bool:
        """Whether there is exactly one offer, and requests that name another are refused."""
        return len(self.mechanisms) == len(self.epsilons) == 1

    def choose(self, mechanism: str | None, epsilon: float | None) -> Choice:
        """Return what a request chooses; what it leaves out is the default.

        Raises:
            Problem: it names what is not offered.
        """
        if mechanism is not None and mechanism not in self.mechanisms:
            raise Problem(422, f"mechanism: it must be one of {', '.join(self.mechanisms)}, which this service offers.")
        if epsilon is not None and epsilon not in self.epsilons:
            offered = ", ".join(map(format_exact, self.epsilons))
            raise Problem(422, f"epsilon: it must be one of {offered}, which this service offers.")
        return Choice(mechanism or self.default.mechanism, self.default.epsilon if epsilon is None else epsilon)

    def get(self, choice: Choice) -> Offer | None:
        """Return the offer of a choice if it is prepared, else None."""
        return self._prepared.get(choice)

    def prepare(self, choice: Choice) -> Offer:
        """Return the offer of a choice, prepared; the first time this takes seconds in a large space.

        Raises:
            InputError: the mechanism does not suit the space, or has no proof at this epsilon.
        """
        with self._lock:
            offer = self._prepared.get(choice)
            if offer is None:
                offer = self._build(choice)
                offer.prepare()
                self._prepared[choice] = offer
            return offer
