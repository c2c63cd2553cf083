"""What the study of DPText compares: how noise is made, and how much."""

import dataclasses

PUBLISHED, ZEROED, FIXED, SILENT = "as published, redrawn", "as published, zeros", "corrected", "no noise"
NOISY = (PUBLISHED, ZEROED, FIXED)
"""Ways to make noise: the papers' sampler with missing logarithms drawn again or replaced by zero, and Laplace."""
LEARNED = (PUBLISHED, ZEROED)
"""Those of which epsilon is learned."""
OTHER = "other or none"
"""The class of intents or cities that are not among the most frequent."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained and attacked.

    Attributes:
        epsilons: fixed, or bounds on the learned one.
        cities: departure cities that are classes of their own.
        intents: likewise.
        train: texts that encoders are trained on.
        known: texts whose released vectors downstream classifiers and attackers learn from.
        test: texts that both are measured on.
        dimensions: of a representation, n.
        hidden: units of the networks.
        epochs: of a training.
        adversary: weight of the private attribute's loss against the encoder.
        reconstruction: weight of the auto-encoder's loss.
        trees: of a classifier's forest.
        chosen: vectors by which an attacker chooses a width.
        identified: vectors whose text is to be found among all tested ones.
        audit_samples: calls of the mechanism in one audit.
        draws: of the published sampler.
    """

    epsilons: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
    cities: int = 8
    intents: int = 5
    train: int = 2_400
    known: int = 1_700
    test: int = 1_373
    dimensions: int = 32
    hidden: int = 64
    epochs: int = 40
    adversary: float = 1.0
    reconstruction: float = 2.0
    trees: int = 100
    chosen: int = 200
    identified: int = 500
    audit_samples: int = 6_000
    draws: int = 1_000_000


@dataclasses.dataclass(frozen=True)
class Cell:
    """One training.

    Attributes:
        way: one of `NOISY`, or `SILENT`.
        epsilon: fixed, or the bound on the learned one; None without noise.
        adversary: whether the encoder is trained against the private attribute too.
    """

    way: str
    epsilon: float | None
    adversary: bool

    @property
    def name(self) -> str:
        """Name in the ledger."""
        epsilon = "" if self.epsilon is None else f", epsilon {self.epsilon:g}"
        return f"{self.way}{epsilon}, {'with' if self.adversary else 'without'} adversary"


def cells(sizes: Sizes) -> list[Cell]:
    """Return all trainings: without noise first, then by epsilon."""
    noises = [(SILENT, None), *((way, epsilon) for epsilon in sizes.epsilons for way in NOISY)]
    return [Cell(way, epsilon, adversary) for way, epsilon in noises for adversary in (True, False)]
