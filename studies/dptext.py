"""Habernal 2022 on Beigi et al. 2019 (DPText): what its representations of texts serve for, and what they give away."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from deniable.measure.intervals import estimate_share
from studies.flights import FILES, Part, measure_majority, split_flights
from studies.rows import Row, at, row_of, rows_of
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
    from studies.released import Released

REDRAWN, ZEROED, CORRECTED, SILENT = "as published, redrawn", "as published, zeros", "corrected", "no noise"
PUBLISHED = (REDRAWN, ZEROED)
"""The papers' sampler, with missing logarithms drawn again or replaced by zero; epsilon is learned."""
NOISY = (*PUBLISHED, CORRECTED)
TRANSFORM, BLIND = "the published transform", "most frequent class"
EPSILONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_LEAST_COUNT = 2
"""Occurrences of a word of the encoder's vocabulary."""


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


def measure(context: Context, way: str, epsilon: float | None, has_adversary: bool | None) -> list[Row]:  # noqa: FBT001 - part of a cell
    """Return what becomes of one training, or what holds for all of them."""
    if has_adversary is None:
        return [*draw_noise(context), *guess_blindly(context)]
    curve = name_curve(way, has_adversary)
    released = release_vectors(context, way, epsilon, has_adversary)
    return [
        *name_classes(context, released, curve, epsilon),
        *find_texts(context, released, curve, epsilon),
        *(check_claim(context, released, curve, epsilon) if epsilon is not None else ()),
    ]


def load_parts(context: Context) -> list[Part]:
    """Return the texts for encoders, for classifiers and attackers, and to test them on."""
    sizes: Sizes = context.sizes
    return context.share(
        "parts",
        lambda: split_flights(
            context, (sizes.train, sizes.known, sizes.test), intents=sizes.intents, cities=sizes.cities
        ),
    )


def draw_noise(context: Context) -> list[Row]:
    """Return what becomes of uniform numbers from (0, 1) in the transform of DPText (Habernal 2022, equation 9)."""
    count: int = context.sizes.draws
    u = np.random.default_rng(context.derive_seed("draws")).random(count)
    with np.errstate(invalid="ignore"):
        noise = -np.sign(u) * np.log(1 - 2 * np.abs(u))
    missing = estimate_share(int(np.isnan(noise).sum()), count)
    return [
        row_of(TRANSFORM, None, "missing", missing),
        Row(TRANSFORM, None, "negative draws", float((noise < 0).sum())),
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


def name_cell(curve: str, epsilon: float | None) -> str:
    """Return the name that seeds of one training follow from."""
    way, _, adversary = curve.rpartition(", ")
    return f"{way}, {adversary}" if epsilon is None else f"{way}, epsilon {epsilon:g}, {adversary}"


def release_vectors(context: Context, way: str, epsilon: float | None, has_adversary: bool) -> "Released":  # noqa: FBT001 - part of a cell
    """Train one model, and return what it makes of the other texts, each released once."""
    from deniable.published.dptext.representation import fit_representation
    from deniable.published.dptext.training import AttributeRecords, RepresentationOptions
    from deniable.rewriting.tokens import Vocabulary
    from studies.dptext_attack import get_noise_law
    from studies.released import Released

    sizes: Sizes = context.sizes
    train, known, test = load_parts(context)
    name = name_cell(name_curve(way, has_adversary), epsilon)
    options = RepresentationOptions(
        variant="none" if epsilon is None else "fixed" if way == CORRECTED else "published",
        epsilon=epsilon or 1.0,
        invalid="zero" if way == ZEROED else "redraw",
        dimensions=sizes.dimensions,
        hidden=sizes.hidden,
        adversary=sizes.adversary if has_adversary else 0.0,
        reconstruction=sizes.reconstruction,
        epochs=sizes.epochs,
    )
    vocabulary = Vocabulary.build(train.texts, min_count=_LEAST_COUNT)
    records = AttributeRecords(train.texts, train.task, train.city[:, None])
    model = fit_representation(records, vocabulary, options, seed=context.derive_seed("training", name))
    of_known, of_test = model.encode(known.texts), model.encode(test.texts)
    mechanism = model.make_mechanism(context.derive_seed("noise", name))
    return Released(
        model, get_noise_law(model), mechanism.sample(of_known), mechanism.sample(of_test), of_known, of_test
    )


def name_classes(context: Context, released: "Released", curve: str, epsilon: float | None) -> list[Row]:
    """Return how often intent and city of the tested texts are named by who learned from released vectors."""
    from studies.released import BOTH, measure_by_law, measure_classifier

    sizes: Sizes = context.sizes
    _, known, test = load_parts(context)
    name = name_cell(curve, epsilon)
    seed = context.derive_seed("classifier", name) % 2**32
    task = measure_classifier(released, known.task, test.task, sizes.trees, seed)
    city = measure_classifier(released, known.city, test.city, sizes.trees, seed, BOTH)
    random = np.random.default_rng(context.derive_seed("width", name))
    by_law = measure_by_law(released, known.city, test.city, sizes.chosen, random)
    return [
        row_of(curve, epsilon, "intent named", task),
        row_of(curve, epsilon, "city named, learned", city),
        row_of(curve, epsilon, "city named, law known", by_law),
        row_of(curve, epsilon, "city named", max(city, by_law, key=lambda estimate: estimate.value)),
    ]


def find_texts(context: Context, released: "Released", curve: str, epsilon: float | None) -> list[Row]:
    """Return how often the text behind a release is found by who lists all tested texts, and the signs of the noise."""
    from deniable.published.dptext.training import BOX_LOWER, BOX_UPPER
    from studies.released import identify_texts

    name, (_, _, test) = name_cell(curve, epsilon), load_parts(context)
    random = np.random.default_rng(context.derive_seed("who", name))
    seed = context.derive_seed("noise of who", name)
    success, city = identify_texts(released, test.city, context.sizes.identified, random, seed)
    noise = released.test - np.clip(released.test_encodings, BOX_LOWER, BOX_UPPER)
    bounds = rows_of(
        curve,
        epsilon,
        text_found_permitted=success.max_success_rate,
        epsilon_by_texts_found=success.epsilon_lower_bound,
    )
    return [
        row_of(curve, epsilon, "text found", success.success_rate),
        *(bounds if epsilon is not None else ()),
        row_of(curve, epsilon, "city named, texts listed", city),
        *rows_of(curve, epsilon, below_the_input=(noise < 0).mean(), the_input_itself=(noise == 0).mean()),
    ]


def check_claim(context: Context, released: "Released", curve: str, epsilon: float) -> list[Row]:
    """Return what is known of the claim: the law's own loss, and what samples say at two texts far apart."""
    from deniable.auditing import audit, verify
    from studies.released import find_farthest

    model, name = released.model, name_cell(curve, epsilon)
    exact = verify(model.make_mechanism(), dimension=model.dimensions)
    verdict = audit(
        model.make_mechanism(context.derive_seed("noise of audit", name)).sample,
        *find_farthest(released.test_encodings),
        claim=model.epsilon,
        samples=context.sizes.audit_samples,
        batched=True,
        seed=context.derive_seed("audit", name),
    )
    return rows_of(
        curve,
        epsilon,
        epsilon_claimed=model.epsilon,
        epsilon_over_its_bound=model.epsilon / epsilon,
        epsilon_by_law=exact.epsilon,
        proved=exact.status == "proved",
        epsilon_by_audit=verdict.lower_bound,
        refuted_by_audit=verdict.status == "refuted",
    )


def build_cells(epsilons: tuple[float, ...]) -> tuple[tuple[str, float | None, bool | None], ...]:
    """Return what holds for all trainings, then the trainings: without noise first, then by epsilon."""
    noises = [(SILENT, None), *((way, epsilon) for epsilon in epsilons for way in NOISY)]
    return (
        (BLIND, None, None),
        *((way, epsilon, has_adversary) for way, epsilon in noises for has_adversary in (True, False)),
    )


def name_curves(*ways: str, adversary: bool | None = None) -> tuple[str, ...]:
    """Return the curves of some kinds of noise, with or without the adversary, or both."""
    return tuple(name_curve(way, has) for has in (True, False) if adversary in {None, has} for way in ways)


CURVES = name_curves(*NOISY, SILENT)
_LOOKS = {REDRAWN: ("D", 2), ZEROED: ("v", 3), CORRECTED: ("o", 0), SILENT: ("*", -1)}
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
    picture="Above with the adversary, below without. As published, above all with zeros, the intent is named and so "
    "is the text; corrected, next to nothing is named below epsilon 30. Bounds exceed the claims of the published "
    "sampler at small epsilon.",
    full=Grid(build_cells(EPSILONS), Sizes()),
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
    curves={**{curve: curve for curve in CURVES}, BLIND: BLIND, TRANSFORM: TRANSFORM},
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
        "missing": Metric("draws that are no number", ".1%"),
        "negative draws": Metric("negative draws", ",.0f"),
    },
    statements=(
        Statement(
            "With u from (0, 1) the transform gives positive numbers or NaN only, half of them NaN (Habernal 2022, "
            "Theorem 3.1).",
            at(TRANSFORM, metric="missing"),
            near(0.5, 0.002),
            also=((at(TRANSFORM, metric="negative draws"), near(0)),),
            is_universal=True,
        ),
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
            at(name_curves(CORRECTED), metric="epsilon by audit", label="corrected"),
            below(at(metric="epsilon claimed")),
            also=((at(name_curves(CORRECTED), metric="proved", label="corrected"), near(1)),),
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
    panels=(*draw_panels(has_adversary=True), *draw_panels(has_adversary=False)),
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
    ),
    keys=(
        Line("", "", "o", label="left: by learning; right: by texts found"),
        Line("", "", "o", label="left: texts listed; right: audit of two texts", is_hollow=True),
    ),
    files=FILES,
    packages=("torch",),
    columns=3,
)
