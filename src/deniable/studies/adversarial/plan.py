"""What the studies run: systems and their curves, how much of everything, and what the paper says of it."""

import dataclasses
from typing import Literal

Place = Literal["budget", "size", "certified"]
"""The three figures for a data set: accuracy against budget, accuracy and certified accuracy against attack size."""

ATTACKS = {"i-fgsm": "I-FGSM", "fgsm": "FGSM", "mim": "MIM", "pgd": "MadryEtAl"}
"""The attacks in the order of the paper's panels, by their names in `deniable.models.images.attacks` and in the paper."""
MEAN = "mean of four"
"""In place of an attack: each image's share of the four, averaged over the images."""
CLEAN = "none"
"""In place of an attack: the image itself."""
PAPER_UNIT = 2.0
"""The paper's pixels lie in [-1, 1], the package's in [0, 1]: a size there is so many times the size here."""
DELTA = 1e-5


@dataclasses.dataclass(frozen=True)
class Curve:
    """One line of the figures.

    Attributes:
        system: one of `deniable.registry.trainers.IMAGE_TRAINERS`.
        title: in words.
        figures: where it is drawn.
        silent: the noise of inference is taken away; the fixed offsets of training stay.
    """

    system: str
    title: str
    figures: frozenset[Place]
    silent: bool = False


_ACCURACY: frozenset[Place] = frozenset({"budget", "size"})
_ALL: frozenset[Place] = _ACCURACY | {"certified"}
OURS, DPAL, OWN_NOISE, MENDED, CLIPPED = "ours", "dpal", "dpal, own noise", "dp-sgd", "dp-sgd-batch-clipped"
CURVES: dict[str, Curve] = {
    OURS: Curve("dp-cert", "DP-CERT (ours): private and certified", _ALL),
    DPAL: Curve("dpal", "DPAL, Algorithm 1", _ALL),
    OWN_NOISE: Curve("dpal", "DPAL with its own training noise only", _ACCURACY, silent=True),
    "securesgd": Curve("securesgd", "SecureSGD", _ALL),
    "securesgd-agm": Curve("securesgd-agm", "SecureSGD-AGM", _ALL),
    "pixeldp": Curve("pixeldp", "PixelDP", frozenset({"certified"})),
    MENDED: Curve("dp-sgd", "DP-SGD", _ACCURACY),
    CLIPPED: Curve("dp-sgd-batch-clipped", "DP-SGD as in the public code (batch mean clipped)", _ACCURACY),
    "adlm": Curve("adlm", "AdLM", _ACCURACY),
}
REPLACE_ONE = frozenset({"dpal", "adlm"})
"""Systems that claim their epsilon for data sets that differ in one record; the others' is for one made empty."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained, attacked and drawn.

    Attributes:
        budgets: epsilons; those of the figures against attack size must be among them.
        attack_sizes: mu_a, l_inf, for pixels in [-1, 1].
        train: training images, drawn once for all systems; None for all.
        images: of the test set, attacked; drawn once for all systems.
        gradient_draws: of a model's noise, averaged in each gradient of an attack.
        votes: draws of a model's noise for a prediction.
        dpal_votes: the same for DPAL's verified inference, whose noise is large.
        pgd_steps: of the MadryEtAl attack, 40 in the paper.
        private_steps: of DP-SGD and all systems built on it.
        private_batch: their expected batch.
        views: of an image in our training; the others take one.
        dpal_steps: of DPAL.
        dpal_attack_steps: T_mu of the attacks inside DPAL's training.
        dpal_batch: m of DPAL.
        dpal_rate: learning rate of DPAL's Adam, above the paper's 1e-4 (MNIST) since steps are few.
        adlm_steps: of AdLM.
        adlm_batch: of AdLM, also for its 200 steps towards relevances.
        pixeldp_steps: of PixelDP, of batches of 256.
        width: factor on the layers of the paper's network.
        noise: standard deviation of our noise, for pixels in [-1, 1].
        construction: the l2 attack size for which PixelDP and SecureSGD make their noise, for pixels in [-1, 1].
        certified_images: images that are certified.
        choosing: draws that choose the class of a certificate.
        certified_draws: draws that bound its scores after an attack.
        proved_draws: the same without attack, for what is proved.
    """

    budgets: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0)
    attack_sizes: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.6)
    train: int | None = None
    images: int = 300
    gradient_draws: int = 2
    votes: int = 32
    dpal_votes: int = 64
    pgd_steps: int = 20
    private_steps: int = 80
    private_batch: int = 2_048
    views: int = 3
    dpal_steps: int = 96
    dpal_attack_steps: int = 2
    dpal_batch: int = 2_499
    dpal_rate: float = 5e-3
    adlm_steps: int = 120
    adlm_batch: int = 2_499
    pixeldp_steps: int = 600
    width: float = 1.0
    noise: float = 0.5
    construction: float = 0.1
    certified_images: int = 120
    choosing: int = 32
    certified_draws: int = 300
    proved_draws: int = 1_000


@dataclasses.dataclass(frozen=True)
class Point:
    """One number of the paper's text.

    Attributes:
        place: its figure.
        curve: one of `CURVES`.
        at: epsilon, or mu_a.
        value: accuracy in percent.
        attacks: over which it is a mean.
    """

    place: Place
    curve: str
    at: float
    value: float
    attacks: tuple[str, ...] = tuple(ATTACKS)


@dataclasses.dataclass(frozen=True)
class Gains:
    """By how many points DPAL is said to be better on average, and in all cases.

    Attributes:
        place: the figure.
        over: curve -> points.
    """

    place: Place
    over: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Drops:
    """How many points are said to be lost from one attack size to another, on average over the attacks.

    Attributes:
        place: the figure.
        start: attack size.
        end: attack size.
        lost: curve -> points.
    """

    place: Place
    start: float
    end: float
    lost: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Plan:
    """One data set and the paper's statements about it.

    Attributes:
        name: of the data set, in titles.
        file: in the data folder.
        network: the paper's, in `deniable.models.images.networks.IMAGE_NETWORKS`.
        attacked_at: mu_a of the figure against budget.
        tight: budget of the figure against attack size.
        certified_at: budget of the figure of certified accuracy.
        figures: the paper's name of each figure.
        points: numbers in its text.
        gains: the same.
        drops: the same.
        level: DPAL's accuracy in percent in the figure against attack size, on average over sizes and attacks.
    """

    name: str
    file: str
    network: str
    attacked_at: float
    tight: float
    certified_at: float
    figures: dict[Place, str]
    points: tuple[Point, ...]
    gains: tuple[Gains, ...]
    drops: tuple[Drops, ...]
    level: float | None = None
