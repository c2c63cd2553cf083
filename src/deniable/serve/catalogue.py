"""Which ways to release texts a service offers: one, or a bounded set of mechanisms and epsilons."""

import dataclasses
import threading
from collections.abc import Callable, Sequence

from deniable.core.errors import InputError
from deniable.core.numbers import format_exact
from deniable.serve.limits import EPSILON_LADDER
from deniable.serve.offers import Offer, WordOffer
from deniable.serve.problems import Problem
from deniable.space import Space
from deniable.text.release import Release
from deniable.words import WordMechanism
from deniable.words.tight_exponential import MAX_DENSE_POINTS


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
        is_fixed: whether there is exactly one offer, and requests that name another are refused.
    """

    def __init__(
        self,
        mechanisms: Sequence[str],
        epsilons: Sequence[float],
        default_epsilon: float,
        build: Callable[[Choice], Offer],
        *,
        is_fixed: bool,
    ) -> None:
        self.mechanisms, self.epsilons, self.is_fixed = tuple(mechanisms), tuple(epsilons), is_fixed
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
        return cls([name], [epsilon], epsilon, lambda _: offer, is_fixed=True)

    @classmethod
    def of_space(
        cls,
        space: Space,
        mechanisms: Sequence[str],
        epsilons: Sequence[float] = EPSILON_LADDER,
        default: float = 3.0,
        *,
        make_release: Callable[[WordMechanism], Release] = Release,
    ) -> "Catalogue":
        """Return the catalogue of some word mechanisms on a space, at the epsilons of a ladder.

        Args:
            space: the words that releases draw from.
            mechanisms: their names; the first is the default.
            epsilons: those that may be chosen.
            default: one of them.
            make_release: returns the release by a mechanism, with the options that all have.

        Raises:
            InputError: the default is not on the ladder.
        """
        from deniable.registry.words import mechanism

        if default not in epsilons:
            raise InputError(
                f"The default epsilon must be one of {format_epsilons(epsilons)}. Got {format_exact(default)}."
            )

        def build(choice: Choice) -> Offer:
            return WordOffer(make_release(mechanism(choice.mechanism, space, epsilon=choice.epsilon)))

        return cls(mechanisms, sorted(epsilons), default, build, is_fixed=False)

    def choose(self, mechanism: str | None, epsilon: float | None) -> Choice:
        """Return what a request chooses; what it leaves out is the default.

        Raises:
            Problem: it names what is not offered.
        """
        if mechanism is not None and mechanism not in self.mechanisms:
            raise Problem(422, f"mechanism: it must be one of {', '.join(self.mechanisms)}, which this service offers.")
        if epsilon is not None and epsilon not in self.epsilons:
            raise Problem(
                422, f"epsilon: it must be one of {format_epsilons(self.epsilons)}, which this service offers."
            )
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


def list_default_mechanisms(space: Space) -> list[str]:
    """Return the names of the mechanisms that requests may choose where nothing else was said.

    They are those whose guarantee is proved in such a space within seconds.
    """
    return ["calibrated", "tem", *(["tight"] if space.point_count <= MAX_DENSE_POINTS else [])]


def format_epsilons(epsilons: Sequence[float]) -> str:
    """Return epsilons as a list in words."""
    return ", ".join(format_exact(epsilon) for epsilon in epsilons)
