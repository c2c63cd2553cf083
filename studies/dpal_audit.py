"""Phan et al. 2020 (DPAL): what its noise hides of MNIST, experiment by experiment, each beside its control."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from studies.rows import Row, at, row_of, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, below, near

if TYPE_CHECKING:
    from torch import Tensor

    from deniable.models.images.dataset import ImageDataset
    from deniable.published.dpal.image_audit import EventCounts, ImageRecovery
    from deniable.published.dpal.mechanism import DPALBudget
    from deniable.published.dpal.training_audit import DifferenceAxis, LabelNoiseForm

Kind = Literal["shared", "independent"]
CONTROL = "control"
_SPREAD = 4.0
"""Images with noise are shown on a scale of so many times the noise's, either side of grey."""
IMAGES, BATCH, ADVERSARIAL, LAYER, COARSE, LABELS = (
    "difference of two images",
    "images of a batch",
    "adversarial examples",
    "first layer",
    "first layer, float32",
    "labels drawn at random",
)
EXPERIMENTS = (IMAGES, BATCH, ADVERSARIAL, LAYER, COARSE, LABELS)
"""Each has a control with independent noise, a curve of its own."""
LAW = "independent noise, black image or white"
COEFFICIENTS = "coefficients of Eq. 6"
RECONSTRUCTION, CLASSES, CLASSES_MENDED = (
    "Eq. 6, a pixel",
    "Eq. 10 as printed, a class",
    "Eq. 10 with max(hW, 0), a class",
)
"""Expansions whose errors Appendix N bounds."""
PRODUCT, ONE_PASS = "product of two networks", "one pass with both noises"
BY_PSI = "product of two networks, noise divided by psi"
PSIS = (1.0, 2.0, 5.0, 10.0, 100.0)
"""Classifiers whose robustness is known exactly, in `studies.dpal_counterexample`."""
NOISES: dict["LabelNoiseForm", str] = {
    "published": "one draw",
    "each step": "drawn in each step",
    "each step and class": "drawn in each step for each class",
}
LABEL_RUNS: tuple[tuple["LabelNoiseForm", "DifferenceAxis"], ...] = (
    ("published", "steps"),
    ("published", "classes"),
    ("each step", "classes"),
    ("each step and class", "steps"),
    ("each step and class", "classes"),
)
"""How label noise is drawn, and over what the attacker takes differences."""
NETWORKS = {
    "plain": "no noise",
    "shared": "shared noise, the same at test",
    "fresh": "shared noise, a new draw at test",
    "independent": "noise of its own for each image",
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is run.

    Attributes:
        epsilon: DPAL's total.
        batch: m.
        neurons: |h_pi|, of the last hidden layer where labels are recovered.
        dense_neurons: beta, of the fully connected first layer whose parameters are looked at.
        differences: releases of either data set for differences of two images, and for a black and a white image.
        adversarial: releases of either data set for differences of two adversarial examples.
        recoveries: releases of either batch that are recovered without side knowledge.
        steps: steps of training on either batch, for the parameters.
        training_images: images that networks are trained on for their accuracy.
        epochs: over these.
    """

    epsilon: float = 0.2
    batch: int = 2_499
    neurons: int = 256
    dense_neurons: int = 64
    differences: int = 10_000
    adversarial: int = 2_000
    recoveries: int = 200
    steps: int = 200
    training_images: int = 60_000
    epochs: int = 5


def name_control(experiment: str) -> str:
    """Return the curve of an experiment's control."""
    return f"{experiment}, {CONTROL}"


def name_labels(noise: "LabelNoiseForm", axis: "DifferenceAxis") -> str:
    """Return the curve of the true labels under one form of noise and one attack."""
    return f"labels, noise {NOISES[noise]}, differences over {axis}"


def measure(context: Context, experiment: str) -> list[Row]:
    """Run one experiment with the noise as published, and its control with independent noise."""
    return MEASURES[experiment](context)


def load_dataset(context: Context) -> "ImageDataset":
    """Return the images."""
    from deniable.models.images.reading import read_images

    return context.share("dataset", lambda: read_images(context.find_file("mnist.npz")))


def build_budget(context: Context) -> "DPALBudget":
    """Return DPAL's budget."""
    from deniable.published.dpal.mechanism import DPALBudget

    sizes: Sizes = context.sizes
    return DPALBudget(sizes.epsilon, m=sizes.batch, delta_l2=2 * sizes.neurons)


def make_random(context: Context, *parts: object) -> np.random.Generator:
    """Return the source of randomness of one experiment."""
    return np.random.default_rng(context.derive_seed("dpal-audit", *parts))


def describe_event(curve: str, event: "EventCounts", claim: float) -> list[Row]:
    """Return what an event shows: how often it tells two data sets apart, and the bound that follows."""
    return rows_of(
        curve,
        None,
        epsilon_claimed=claim,
        epsilon_at_least=event.compute_lower_bound(),
        runs_told_apart=event.correct_guesses / event.total_guesses,
    )


def compare_images(context: Context) -> list[Row]:
    """Return what differences of perturbed images show."""
    from deniable.published.dpal.image_audit import audit_differences

    images, budget, rows = load_dataset(context).train.pixels[:3], build_budget(context), []
    for kind, curve in (("shared", IMAGES), ("independent", name_control(IMAGES))):
        event = audit_differences(
            images,
            budget,
            make_random(context, "differences", kind),
            trials=context.sizes.differences,
            independent=kind == "independent",
        )
        rows += describe_event(curve, event, budget.input_claim)
    return rows


def recover_batch(context: Context, kind: Kind) -> "ImageRecovery":
    """Return a batch recovered from its perturbed images alone, once in a run."""
    from deniable.published.dpal.image_audit import audit_image_recovery

    return context.share(
        f"recovery {kind}",
        lambda: audit_image_recovery(
            load_dataset(context).train.pixels,
            build_budget(context),
            make_random(context, "recovery", kind),
            trials=context.sizes.recoveries,
            independent=kind == "independent",
        ),
    )


def recover_images(context: Context) -> list[Row]:
    """Return how many images of a batch are recovered without side knowledge."""
    rows = []
    for record, curve in (
        (recover_batch(context, "shared"), BATCH),
        (recover_batch(context, "independent"), name_control(BATCH)),
    ):
        rows += describe_event(curve, record.event, build_budget(context).input_claim)
        rows += rows_of(
            curve,
            None,
            images_recovered=record.recovered_images / len(record.images),
            largest_error=record.largest_error,
        )
    return rows


def inspect_layer(context: Context) -> list[Row]:
    """Return how often the parameters after one step tell the batch from its neighbour."""
    import torch

    from deniable.published.dpal.training_audit import audit_parameters

    sizes: Sizes = context.sizes
    records = {
        kind: audit_parameters(
            load_dataset(context).train.pixels,
            build_budget(context),
            make_random(context, "parameters", kind),
            trials=sizes.steps,
            neurons=sizes.dense_neurons,
            dtype=dtype,
            independent=kind == "independent",
        )
        for kind, dtype in (("float64", torch.float64), ("float32", torch.float32), ("independent", torch.float64))
    }
    fine, coarse, control = records["float64"], records["float32"], records["independent"]
    claim = build_budget(context).parameter_claim
    # The control is in float64, where an attacker sees more.
    return [
        *describe_event(LAYER, fine.ratio_event, claim),
        *describe_event(name_control(LAYER), control.ratio_event, claim),
        *describe_event(COARSE, coarse.projection_event, claim),
        *describe_event(name_control(COARSE), control.projection_event, claim),
    ]


def recover_labels(context: Context) -> list[Row]:
    """Return how many labels are recovered: the true ones, and labels drawn at random, which bound epsilon."""
    from deniable.published.dpal.training_audit import audit_labels

    dataset, rows = load_dataset(context), []
    runs = [
        *((noise, axis, False, name_labels(noise, axis)) for noise, axis in LABEL_RUNS),
        ("published", "steps", True, LABELS),
        ("each step and class", "steps", True, name_control(LABELS)),
    ]
    for noise, axis, is_drawn, curve in runs:
        record = audit_labels(
            dataset.train.pixels,
            build_budget(context),
            make_random(context, "labels", noise, axis, is_drawn),
            given_labels=None if is_drawn else dataset.train.labels,
            neurons=context.sizes.neurons,
            noise=noise,
            difference_axis=axis,
        )
        rows += rows_of(curve, None, labels_recovered=record.correct_guesses / record.total_guesses)
        if is_drawn:
            rows += rows_of(
                curve, None, epsilon_claimed=build_budget(context).eps2, epsilon_at_least=record.compute_lower_bound()
            )
    return rows


def compute_law(context: Context) -> list[Row]:
    """Return what independent noise gives by its law, and what a black image and a white one show of it."""
    import torch

    from deniable.published.dpal.image_audit import count_likelier_guesses
    from studies.dpal_noise import audit_sensitivity

    shape, budget = load_dataset(context).train.pixels.shape[1:], build_budget(context)
    exact = audit_sensitivity(budget, pixels=int(np.prod(shape)))
    event = count_likelier_guesses(
        torch.zeros(shape),
        torch.ones(shape),
        budget,
        make_random(context, "sensitivity"),
        trials=context.sizes.differences,
    )
    return [
        *describe_event(LAW, event, exact.claim),
        *rows_of(
            LAW,
            None,
            epsilon=exact.epsilon,
            epsilon_at_delta=exact.at_delta,
            sensitivity=exact.l1,
            noise_scale=exact.scale,
        ),
    ]


def compare_adversarial_examples(context: Context) -> list[Row]:
    """Return what differences of adversarial examples show."""
    from studies.dpal_expansions import audit_adversarial_differences

    images, budget, rows = load_dataset(context).train.pixels[:3], build_budget(context), []
    for kind, curve in (("shared", ADVERSARIAL), ("independent", name_control(ADVERSARIAL))):
        event = audit_adversarial_differences(
            images,
            budget,
            make_random(context, "adversarial", kind),
            trials=context.sizes.adversarial,
            independent=kind == "independent",
        )
        rows += describe_event(curve, event, budget.input_claim)
    return rows


def compute_expansions(context: Context) -> list[Row]:
    """Return the sensitivity that Lemma 2 bounds, and the errors that Appendix N bounds."""
    from studies.dpal_expansions import (
        CLASS_BOUND,
        RECONSTRUCTION_BOUND,
        compute_expansion_errors,
        measure_coefficient_sensitivity,
    )

    errors, budget = compute_expansion_errors(), build_budget(context)
    sensitivity = measure_coefficient_sensitivity()
    return [
        *rows_of(COEFFICIENTS, None, sensitivity_claimed=budget.delta_r, sensitivity=sensitivity),
        *rows_of(RECONSTRUCTION, None, error_bound=RECONSTRUCTION_BOUND, largest_error_of_it=errors.reconstruction),
        *rows_of(CLASSES, None, error_bound=CLASS_BOUND, largest_error_of_it=errors.printed),
        *rows_of(CLASSES_MENDED, None, error_bound=CLASS_BOUND, largest_error_of_it=errors.mended),
    ]


def compare_certificates(context: Context) -> list[Row]:  # noqa: ARG001 - nothing is drawn, and no data are read
    """Return what DPAL's certificate says of two classifiers of known robustness."""
    from studies.dpal_counterexample import check_product, compare_one_pass, compare_two_networks

    product, rows = check_product(), []
    for curve, found in ((PRODUCT, compare_two_networks()), (ONE_PASS, compare_one_pass())):
        rows += rows_of(
            curve,
            None,
            size_claimed=found.published,
            size_in_one_unit=found.one_unit,
            size_proved=found.sound,
            true_size=found.true_distance,
        )
    for psi in PSIS:
        found = compare_two_networks(psi=psi)
        rows += rows_of(
            BY_PSI, psi, size_claimed=found.published, size_proved=found.sound, true_size=found.true_distance
        )
    return [
        *rows,
        *rows_of(PRODUCT, None, epsilon_of_both=product.epsilon, largest_loss=product.largest_loss),
        *rows_of(PRODUCT, None, attacks_beyond_it=product.beyond),
        *rows_of(PRODUCT, None, inputs_certified_at_1=product.certified, inputs_changed=product.changed),
    ]


def train_networks(context: Context) -> list[Row]:
    """Return accuracies with noise shared, drawn anew and independent."""
    from studies.dpal_noise import measure_noise_utility

    dataset, sizes = load_dataset(context), context.sizes
    utility = measure_noise_utility(
        (dataset.train.pixels[: sizes.training_images], dataset.train.labels[: sizes.training_images]),
        (dataset.test.pixels, dataset.test.labels),
        build_budget(context),
        make_random(context, "utility"),
        epochs=sizes.epochs,
    )
    return [row_of(curve, None, "accuracy", getattr(utility, name)) for name, curve in NETWORKS.items()]


MEASURES: dict[str, Callable[[Context], list[Row]]] = {
    "differences": compare_images,
    "recovery": recover_images,
    "parameters": inspect_layer,
    "labels": recover_labels,
    "sensitivity": compute_law,
    "utility": train_networks,
    "adversarial": compare_adversarial_examples,
    "expansions": compute_expansions,
    "certificates": compare_certificates,
}


def paint_batch(context: Context) -> npt.NDArray[np.uint8]:
    """Return the first image of each class: itself, perturbed, recovered, and recovered from independent noise."""
    labels = load_dataset(context).train.labels[: context.sizes.batch].tolist()
    shown = [labels.index(label) for label in sorted(set(labels))]
    shared, control = recover_batch(context, "shared"), recover_batch(context, "independent").recovered[shown]
    # On the scale of [0, 1], noise is half of what it is on that of [-1, 1].
    reach, middle = _SPREAD * build_budget(context).input_scale / 2, float(control.median())
    return np.vstack(
        [
            paint_row(shared.images[shown], 0.0, 1.0),
            paint_row(shared.perturbed[shown], 0.5 - reach, 0.5 + reach),
            paint_row(shared.recovered[shown], 0.0, 1.0),
            paint_row(control, middle - reach, middle + reach),
        ]
    )


def paint_row(images: "Tensor", low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return the first channel of images (n, c, h, w) side by side, (h, n w), as grey levels between two values."""
    levels = ((images[:, 0] - low) / (high - low)).clamp(0, 1).mul(255).round().byte().numpy()
    return np.hstack(list(levels))


CONTROLS = tuple(map(name_control, EXPERIMENTS))
LABEL_CURVES = tuple(name_labels(noise, axis) for noise, axis in LABEL_RUNS)
_FLOOR, _CEILING = 0.008, 100.0
_TICKS = (
    "two\nimages",
    "batch of\nimages",
    "attacked\nimages",
    "first\nlayer",
    "first layer\nfloat32",
    "labels",
    "law",
)
CLAIMED = below(at(metric="epsilon claimed"))
BOUNDED = below(at(metric="error bound"))


def draw_bounds() -> Panel:
    """Return the panel of what is claimed, and what is shown."""
    lines = []
    for number, experiment in enumerate((*EXPERIMENTS, LAW)):
        lines += [
            Line(experiment, "epsilon claimed", "o", 1, "", x=number, is_hollow=True),
            Line(experiment, "epsilon at least", "^", 0, "", x=number),
        ]
        if experiment == LAW:
            lines.append(Line(experiment, "epsilon", "_", 0, "", x=number))
        else:
            lines.append(Line(name_control(experiment), "epsilon at least", "x", 2, "", x=number))
    ticks = ((_FLOOR, "0"), 0.1, 1, 10, 100)
    return Panel(
        "Epsilon: claimed, and shown to be spent",
        tuple(lines),
        Axis(limits=(-0.5, len(_TICKS) - 0.5), ticks=tuple(enumerate(_TICKS))),
        Axis("epsilon", log=10, limits=(_FLOOR, _CEILING), ticks=ticks),
    )


STUDY = Study(
    name="dpal-audit",
    title="DPAL, audited",
    citation="NhatHai Phan and others (2020), *Differential Privacy in Adversarial Learning with Provable Robustness*, "
    "under review at ICLR, Algorithm 1, Lemmas 2 to 5, Theorems 1 to 5, Proposition 1, Appendix N.",
    question="DPAL trains models that are said to be private, robust and accurate at once, at a total epsilon of 0.2. "
    "What does its noise hide of the training images and labels?",
    picture="Ten digits; the noise that DPAL calls private, in which nothing can be seen; the same ten digits, "
    "recovered from that noise alone without an error; and the same attack on independent noise, which recovers "
    "nothing. Beside: bounds on epsilon 40 to 270 times the claims, labels recovered in full, and accuracy that "
    "vanishes with independent noise.",
    full=Grid(tuple((name,) for name in MEASURES), Sizes()),
    quick=Grid(
        tuple((name,) for name in MEASURES),
        Sizes(
            batch=500, neurons=64, dense_neurons=32, differences=2_000, adversarial=200, recoveries=25, steps=15,
            training_images=6_000, epochs=4,
        ),
    ),
    measure=measure,
    paint=paint_batch,
    curves={
        name: name
        for name in (
            *EXPERIMENTS, LAW, *CONTROLS, *LABEL_CURVES, *NETWORKS.values(), COEFFICIENTS, RECONSTRUCTION, CLASSES,
            CLASSES_MENDED, PRODUCT, ONE_PASS, BY_PSI,
        )
    },
    metrics={
        "epsilon claimed": Metric("epsilon claimed", ".3g"),
        "epsilon at least": Metric("lower bound on epsilon, 95%", ".3g"),
        "epsilon": Metric("epsilon by law", ".3g"),
        "epsilon at delta": Metric("epsilon at delta 1e-5", ".3g"),
        "sensitivity": Metric("l1 sensitivity", ",.0f"),
        "sensitivity claimed": Metric("l1 sensitivity claimed", ",.0f"),
        "error bound": Metric("bound on the error, as claimed", ".3g"),
        "largest error of it": Metric("largest error for |z| up to 1", ".3g"),
        "size claimed": Metric("size claimed, kappa + phi", ".3g"),
        "size in one unit": Metric("the same, kappa in the unit of phi", ".3g"),
        "size proved": Metric("size proved", ".3g"),
        "true size": Metric("true size", ".3g"),
        "epsilon of both": Metric("sum of the epsilons", ".3g"),
        "largest loss": Metric("largest change of an expectation, ln", ".3g"),
        "attacks beyond it": Metric("attacks by which it changes by more", ".0f"),
        "inputs certified at 1": Metric("inputs certified at size 1", ",.0f"),
        "inputs changed": Metric("of these, inputs whose class changes", ".0f"),
        "noise scale": Metric("scale of the noise", ".3g"),
        "runs told apart": Metric("runs that tell two data sets apart", ".1%"),
        "images recovered": Metric("images recovered without an error", ".1%"),
        "largest error": Metric("largest error of a pixel", ".1g"),
        "labels recovered": Metric("labels recovered", ".1%"),
        "accuracy": Metric("accuracy on test images", ".1%"),
    },
    statements=(
        Statement(
            "The perturbed images are (eps1/gamma_x)-private (Lemma 3).",
            at(IMAGES, metric="epsilon at least"),
            CLAIMED,
            is_universal=True,
        ),
        Statement(
            "A batch of perturbed images is private, and what is computed of it is post-processing (Theorem 4).",
            at(BATCH, metric="epsilon at least"),
            CLAIMED,
            also=((at(BATCH, metric="images recovered"), near(0)),),
            is_universal=True,
        ),
        Statement(
            "Noise of scale Delta_R / (eps1 m) gives the claimed epsilon, by a sensitivity of 1 (proof of Lemma 3).",
            at(LAW, metric="sensitivity"),
            near(1),
            also=((at(LAW, metric="epsilon"), near(at(metric="epsilon claimed"))),),
            is_universal=True,
        ),
        Statement(
            "Optimising Eq. 7 is (eps1/gamma_x + eps1)-private in theta1 (Theorem 1).",
            at((LAYER, COARSE), metric="epsilon at least"),
            CLAIMED,
            is_universal=True,
        ),
        Statement(
            "Labels are eps2-private (Lemma 4, Theorem 3).",
            at(LABELS, metric="epsilon at least"),
            CLAIMED,
            is_universal=True,
        ),
        Statement(
            "Adversarial examples of perturbed images are (eps1/gamma_x)-private, from which Theorem 2 follows "
            "(Appendix H, Result 4).",
            at(ADVERSARIAL, metric="epsilon at least"),
            CLAIMED,
            is_universal=True,
        ),
        Statement(
            "The coefficients of Eq. 6 have the sensitivity d (beta + 2) at most (Lemma 2).",
            at(COEFFICIENTS, metric="sensitivity"),
            below(at(metric="sensitivity claimed")),
            is_universal=True,
        ),
        Statement(
            "The first-order expansion errs by at most 4 e / (1 + e)^2 for each pixel (Eq. 29).",
            at(RECONSTRUCTION, metric="largest error of it"),
            BOUNDED,
            is_universal=True,
        ),
        Statement(
            "The second-order expansion errs by at most (e^2 + 2 e - 1) / (e (1 + e)^2) for each class (Eq. 30): of "
            "Eq. 10 as printed.",
            at(CLASSES, metric="largest error of it"),
            BOUNDED,
            is_universal=True,
        ),
        Statement(
            "The same (Eq. 30): with max(h W, 0) in Eq. 10.",
            at(CLASSES_MENDED, metric="largest error of it"),
            BOUNDED,
            is_universal=True,
        ),
        Statement(
            "Expectations of a product of independent mechanisms change by the sum of their epsilons at most (Lemma "
            "5): attacks of size 1 for which one does not.",
            at(PRODUCT, metric="attacks beyond it"),
            near(0),
            is_universal=True,
        ),
        Statement(
            "A class that is certified for such a product at size 1 does not change (Theorem 5): inputs for which it "
            "does.",
            at(PRODUCT, metric="inputs changed"),
            near(0),
            is_universal=True,
        ),
        Statement(
            "The class does not change up to the size kappa + phi (Proposition 1).",
            at((PRODUCT, ONE_PASS), metric="size claimed", label="two classifiers of known robustness"),
            below(at(metric="true size")),
            is_universal=True,
        ),
        Statement(
            "Noise divided by psi at inference leaves the robustness bounds as they are (Appendix L): the size that is "
            "claimed holds.",
            at(BY_PSI, metric="size claimed", label="every psi"),
            below(at(metric="true size")),
            is_universal=True,
        ),
        Statement(
            "Utility is high under a tight privacy budget (section 4: 82.7% under attack at epsilon 0.2).",
            at(NETWORKS["shared"], metric="accuracy"),
            above(0.827),
            also=((at((NETWORKS["fresh"], NETWORKS["independent"]), metric="accuracy"), above(0.827)),),
        ),
    ),
    panels=(
        Panel(
            "A batch of perturbed images, and what it shows",
            images=("training\nimages", "released\nas private", "recovered\nfrom that", "control,\nrecovered"),
        ),
        draw_bounds(),
        Panel(
            "True labels recovered: noise drawn, differences over",
            tuple(
                Line(curve, "labels recovered", "bar", 2 if "class," in curve else 0, "", x=number)
                for number, curve in enumerate(LABEL_CURVES)
            ),
            Axis(ticks=tuple(enumerate(("once,\nsteps", "once,\nclasses", "each step,\nclasses",
                                        "each step\nand class,\nsteps", "each step\nand class,\nclasses")))),
            Axis("labels recovered, %", limits=(0, 103)),
            (Reference(10, label="guessing"),),
        ),
        Panel(
            "What a network learns from perturbed images",
            tuple(
                Line(curve, "accuracy", "bar", colour, "", x=number)
                for number, (curve, colour) in enumerate(zip(NETWORKS.values(), (1, 0, 0, 2), strict=True))
            ),
            Axis(ticks=tuple(enumerate(("no\nnoise", "shared,\nsame at test", "shared,\nnew at test", "independent")))),
            Axis("accuracy on test images, %", limits=(0, 103)),
            (Reference(10),),
        ),
    ),
    tables=(
        Table(
            "Every experiment",
            ("epsilon claimed", "epsilon at least", "epsilon", "runs told apart", "images recovered",
             "labels recovered"),
            (*EXPERIMENTS, LAW, *CONTROLS, *LABEL_CURVES),
        ),
        Table(
            "Sensitivity and expansions",
            ("sensitivity claimed", "sensitivity", "error bound", "largest error of it"),
            (COEFFICIENTS, RECONSTRUCTION, CLASSES, CLASSES_MENDED),
        ),
        Table(
            "Certificates of classifiers whose robustness is known exactly, in the paper's unit",
            ("size claimed", "size in one unit", "size proved", "true size"),
            (PRODUCT, ONE_PASS),
        ),
        Table("The same by psi", ("size claimed", "size proved", "true size"), (BY_PSI,), x="psi"),
        Table("Accuracy", ("accuracy", "accuracy|low", "accuracy|high"), tuple(NETWORKS.values())),
    ),
    keys=(
        Line("", "", "o", 1, "claimed", is_hollow=True),
        Line("", "", "^", 0, "spent at least, 95% each"),
        Line("", "", "_", 0, "exact"),
        Line("", "", "x", 2, "control, independent noise: at least"),
    ),
    files=("mnist.npz",),
    packages=("torch", "dp_accounting"),
)  # fmt: skip
