"""Habernal 2022 on Beigi et al. 2019 (DPText): what its representations of texts serve for, and what they give away."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from studies import noise_samplers
from studies.flights import FILES, load_parts, measure_majority
from studies.noise_samplers import SAMPLERS, count_missing, measure_sampler
from studies.rows import Row, at, find_row, row_of_mean
from studies.runner import Context
from studies.study import (
    Axis,
    Grid,
    Line,
    Metric,
    Panel,
    Reference,
    Statement,
    Study,
    Table,
    above,
    below,
    infinite,
    near,
)

if TYPE_CHECKING:
    from deniable.published.dptext.mechanism import InvalidDraws
    from deniable.published.dptext.training import NoiseVariant

REDRAWN, ZEROED, SILENT = "as published, redrawn", "as published, zeros", "no noise"
CORRECTED, NORM = "corrected", "corrected, in the maximum norm"
PUBLISHED, REMEDIES = (REDRAWN, ZEROED), (CORRECTED, NORM)
"""The papers' sampler, with missing logarithms drawn again or replaced by zero, whose epsilon is learned; and Laplace
noise, or that of the norm of the box, with a fixed one."""
NOISY = (*PUBLISHED, *REMEDIES)
NOISES: dict[str, tuple["NoiseVariant", "InvalidDraws"]] = {
    REDRAWN: ("published", "redraw"),
    ZEROED: ("published", "zero"),
    CORRECTED: ("fixed", "redraw"),
    NORM: ("norm", "redraw"),
    SILENT: ("none", "redraw"),
}
"""Noise of an encoder, and what becomes of logarithms that do not exist."""
BLIND = "most frequent class"
EPSILONS, BETWEEN = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0), (20.0,)
"""Epsilons of all, and of the remedies only, with the adversary."""
DECISIVE, TRAININGS = (10.0, 20.0, 30.0, 100.0), 4
"""Epsilons at which a remedy begins to leave something; how often its encoder is trained there, with the adversary."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained and attacked.

    Attributes:
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


def name_curve(way: str, has_adversary: bool) -> str:  # noqa: FBT001 - part of a cell
    """Return the curve of one kind of noise, with or without the adversary."""
    return f"{way}, {'with' if has_adversary else 'without'} adversary"


def name_training(way: str, number: int) -> str:
    """Return the curve of one of several trainings with the adversary, the first of which is that of the tables."""
    return f"{name_curve(way, has_adversary=True)}{f', training {number}' if number > 1 else ''}"


def name_trainings(way: str) -> str:
    """Return the curve of their mean."""
    return f"{way}, {TRAININGS} trainings"


def measure(
    context: Context,
    way: str,
    epsilon: float | None = None,
    has_adversary: bool | None = None,  # noqa: FBT001 - part of a cell
    training: int = 1,
) -> list[Row]:
    """Return what becomes of one training, or what holds for all of them."""
    if way in SAMPLERS:
        return measure_sampler(way, context.sizes.draws, context.derive_seed("sampler", way))
    if has_adversary is None:
        return [*count_missing(context.sizes.draws, context.derive_seed("draws")), *guess_blindly(context)]
    from studies.released import check_claim, find_texts, name_classes, name_intents, release_vectors

    curve = name_training(way, training) if training > 1 else name_curve(way, has_adversary)
    released = release_vectors(context, curve, epsilon, NOISES[way], has_adversary)
    if training > 1:
        return [name_intents(context, released, curve, epsilon)]
    return [
        *name_classes(context, released, curve, epsilon),
        *find_texts(context, released, curve, epsilon),
        *(check_claim(context, released, curve, epsilon) if epsilon is not None else ()),
    ]


def guess_blindly(context: Context) -> list[Row]:
    """Return what is named by whoever names the most frequent class."""
    _, known, test = load_parts(context)
    city = measure_majority(known.city, test.city)
    return [
        Row(BLIND, None, "intent named", measure_majority(known.task, test.task)),
        Row(BLIND, None, "city named", city),
        Row(BLIND, None, "city named, texts listed", city),
    ]


def build_cells(
    epsilons: tuple[float, ...], between: tuple[float, ...] = ()
) -> tuple[tuple[str | float | None, ...], ...]:
    """Return what holds for all trainings, then the trainings: without noise first, by epsilon, and several times.

    Args:
        epsilons: of every kind of noise.
        between: of the remedies only, with the adversary.
    """
    everywhere = sorted({*epsilons, *between})
    pairs = [(way, epsilon) for epsilon in everywhere for way in (NOISY if epsilon in epsilons else REMEDIES)]
    return (
        (BLIND, None, None),
        *(
            (way, epsilon, has_adversary)
            for way, epsilon in ((SILENT, None), *pairs)
            for has_adversary in ((True,) if epsilon in between else (True, False))
        ),
        *(
            (way, epsilon, True, number)
            for way, epsilon in pairs
            if way in REMEDIES and epsilon in DECISIVE
            for number in range(2, TRAININGS + 1)
        ),
        *((name,) for name in SAMPLERS),
    )


def derive(rows: Sequence[Row]) -> list[Row]:
    """Return the mean over trainings of how often the intent is named, with Student's interval."""
    means = []
    for way in REMEDIES:
        for epsilon in DECISIVE:
            curves = (name_training(way, number + 1) for number in range(TRAININGS))
            found = (find_row(rows, curve, epsilon, "intent named") for curve in curves)
            own = [row.value for row in found if row is not None]
            if len(own) == TRAININGS:
                means.append(row_of_mean(name_trainings(way), epsilon, "intent named", own))
    return means


def name_curves(*ways: str, adversary: bool | None = None) -> tuple[str, ...]:
    """Return the curves of some kinds of noise, with or without the adversary, or both."""
    return tuple(name_curve(way, has) for has in (True, False) if adversary in {None, has} for way in ways)


CURVES = name_curves(*NOISY, SILENT)
_LOOKS = {REDRAWN: ("D", 2), ZEROED: ("v", 3), CORRECTED: ("o", 0), NORM: ("s", 4), SILENT: ("*", -1)}
_FLOOR, _CEILING = 1e-2, 1e3
_CLAIM = Axis("claimed epsilon, learned or fixed", log=10, limits=(0.8, 400.0), ticks=(1, 3, 10, 30, 100, 300))


def draw_panels(*, has_adversary: bool) -> tuple[Panel, Panel, Panel]:
    """Return city against task, task against epsilon, and bounds on epsilon, with or without the adversary."""
    word = "against the city" if has_adversary else "without an adversary"
    trade, task, bounds = [], [], []
    for way, (mark, colour) in _LOOKS.items():
        curve, label = name_curve(way, has_adversary), way
        trade.append(Line(curve, "city named", f"-{mark}", colour, label, x="intent named", width=0.8))
        trade.append(Line(curve, "city named, texts listed", mark, colour, "", x="intent named", is_hollow=True))
        if way == SILENT:
            continue
        task.append(Line(curve, "intent named", f"-{mark}", colour, "", x="epsilon claimed"))
        bounds.append(Line(curve, "epsilon by texts found", mark, colour, "", x="epsilon claimed"))
        bounds.append(Line(curve, "epsilon by audit", mark, colour, "", x="epsilon claimed", is_hollow=True))
    fixed = Line(name_curve(CORRECTED, has_adversary), "epsilon claimed", "--", 1, "", x="epsilon claimed", width=0.8)
    silent = Reference(
        at(name_curve(SILENT, has_adversary), metric="intent named"), style="-", colour=-1, label="no noise"
    )
    ticks = ((_FLOOR, "0"), 0.1, 1, 10, 100)
    return (
        Panel(
            f"City against intent, encoder trained {word}",
            tuple(trade),
            Axis("intent named, %"),
            Axis("departure city named, %"),
            (Reference(at(BLIND, metric="city named"), label=BLIND), Reference(at(BLIND, metric="intent named"), "x")),
        ),
        Panel(
            "Intent against epsilon",
            tuple(task),
            _CLAIM,
            Axis("intent named, %"),
            (silent, Reference(at(BLIND, metric="intent named"))),
        ),
        Panel(
            "Bounds on epsilon; above the dashes a claim is refuted",
            (*bounds, fixed),
            _CLAIM,
            Axis("lower bound on epsilon", log=10, limits=(_FLOOR, _CEILING), ticks=ticks),
        ),
    )


WITH = name_curves(*PUBLISHED, adversary=True)
STUDY = Study(
    name="dptext",
    title="DPText on ATIS",
    citation="Ivan Habernal (2022), *How reparametrization trick broke differentially-private text representation "
    "learning*, Theorems 3.1 and 3.2; on Ghazaleh Beigi and others (2019), *I Am Not What I Write* (DPText).",
    question="DPText turns a text into a vector with noise, whose epsilon is learned, and trains the encoder against "
    "who wants a private attribute. Half of that noise does not exist. What do its vectors still serve for, and what "
    "do they give away, as published and corrected?",
    picture="Above with the adversary, in the middle without. As published, above all with zeros, the intent is named "
    "and so is the text; corrected, next to nothing is named up to epsilon 10. Bounds exceed the claims of the "
    "published sampler at small epsilon. Below, histograms of the samplers beside their exact laws: those of equations "
    "4, 5 and 7 are on the Laplace distribution, those of equation 9 have nothing below 0.",
    full=Grid(build_cells(EPSILONS, BETWEEN), Sizes()),
    quick=Grid(
        build_cells((1.0, 100.0)),
        Sizes(
            train=1_600,
            known=1_000,
            test=800,
            epochs=15,
            trees=40,
            chosen=100,
            identified=200,
            audit_samples=3_000,
        ),
    ),
    measure=measure,
    derive=derive,
    curves={
        **{curve: curve for curve in CURVES},
        BLIND: BLIND,
        **{name_trainings(way): name_trainings(way) for way in REMEDIES},
        **noise_samplers.TITLES,
    },
    metrics={
        "intent named": Metric("intent named", ".1%"),
        "city named": Metric("city named, the better of two attackers", ".1%"),
        "city named, learned": Metric("city named by a classifier", ".1%"),
        "city named, law known": Metric("city named by likelihood", ".1%"),
        "city named, texts listed": Metric("city named, texts listed", ".1%"),
        "text found": Metric("text found", ".1%"),
        "text found permitted": Metric("permitted", ".2%"),
        "epsilon by texts found": Metric("epsilon at least, by texts found", ".3g"),
        "epsilon claimed": Metric("epsilon claimed", ".4g"),
        "epsilon over its bound": Metric("learned epsilon over its bound", ".2f"),
        "epsilon by law": Metric("epsilon by law", ".4g"),
        "proved": Metric("claim proved", ".0f"),
        "epsilon by audit": Metric("epsilon at least, by audit", ".3g"),
        "refuted by audit": Metric("refuted by audit", ".0f"),
        "below the input": Metric("coordinates released below their input", ".1%"),
        "the input itself": Metric("coordinates released as they are", ".1%"),
        **noise_samplers.METRICS,
    },
    statements=(
        *noise_samplers.STATEMENTS,
        Statement(
            "Whether NaN is replaced by zero or drawn again, no negative value is obtained (Habernal 2022, Section "
            "3.3).",
            at(name_curves(*PUBLISHED), metric="below the input", label="as published"),
            near(0),
        ),
        Statement(
            "DPText is not differentially private, its loss is infinite (Habernal 2022, Theorem 3.2).",
            at(name_curves(*PUBLISHED), metric="epsilon by law", label="as published"),
            infinite(),
            is_universal=True,
        ),
        Statement(
            "Results of DPText look too good to be true for such low epsilon (Habernal 2022, Section 1).",
            at(WITH, 1.0, "intent named"),
            above(at(BLIND)),
            also=((at(name_curve(CORRECTED, has_adversary=True), 1.0, "intent named"), near(at(BLIND), 0.01)),),
        ),
        Statement(
            "All empirical losses of the Laplace mechanism are bounded by epsilon (Habernal 2022, Section 5).",
            at(name_curves(*REMEDIES), metric="epsilon by audit", label="corrected"),
            below(at(metric="epsilon claimed")),
            also=((at(name_curves(*REMEDIES), metric="proved", label="corrected"), near(1)),),
        ),
        Statement(
            "Epsilon is learned with the network, below a bound (Beigi et al. 2019).",
            at(name_curves(*PUBLISHED), metric="epsilon over its bound", label="as published"),
            below(1),
        ),
        Statement(
            "The representation is differentially private (Beigi et al. 2019, abstract).",
            at(WITH, 1.0, "text found"),
            below(at(metric="text found permitted")),
            also=((at(WITH, metric="proved", label="as published, with adversary"), near(1)),),
            is_universal=True,
        ),
        Statement(
            "The representation does not contain private information (Beigi et al. 2019, abstract).",
            at(WITH, metric="city named", label="as published, with adversary"),
            near(at(BLIND), 0.01),
            also=(
                (
                    at(WITH, metric="city named, texts listed", label="as published, with adversary"),
                    near(at(BLIND), 0.01),
                ),
            ),
            is_universal=True,
        ),
        Statement(
            "It retains high utility for the given task (Beigi et al. 2019, abstract).",
            at(WITH, metric="intent named", label="as published, with adversary"),
            above(at(BLIND)),
        ),
    ),
    questions=(
        Statement(
            "Below epsilon 30 a corrected DPText leaves nothing: the intent is named as blindly, to 1 point, in the "
            "mean over trainings.",
            at(tuple(map(name_trainings, REMEDIES)), (10.0, 20.0), "intent named"),
            near(at(BLIND), 0.01),
            is_universal=True,
        ),
        Statement(
            "From 20 on noise in the norm of the box leaves more than Laplace noise, in the mean over trainings.",
            at(name_trainings(NORM), (20.0, 30.0, 100.0), "intent named"),
            above(at(name_trainings(CORRECTED))),
        ),
    ),
    panels=(*draw_panels(has_adversary=True), *draw_panels(has_adversary=False), *noise_samplers.PANELS),
    tables=(
        Table(
            "All models",
            (
                "epsilon claimed",
                "intent named",
                "city named",
                "city named, texts listed",
                "text found",
                "text found permitted",
                "epsilon by audit",
                "epsilon by law",
            ),
            (*CURVES, BLIND),
            x="bound",
        ),
        Table(
            "Several trainings of the remedies, with the adversary: intents named, in the mean",
            ("intent named", "intent named|low", "intent named|high"),
            tuple(map(name_trainings, REMEDIES)),
            x="epsilon",
        ),
        Table(
            "Figure 2 of the paper: functions of uniform numbers",
            (noise_samplers.FAR, noise_samplers.NEITHER, "negative"),
            tuple(SAMPLERS),
        ),
    ),
    keys=(
        Line("", "", "o", label="left: by learning; right: by texts found"),
        Line("", "", "o", label="left: texts listed; right: audit of two texts", is_hollow=True),
    ),
    files=FILES,
    packages=("torch",),
    is_small=True,
    columns=3,
)
