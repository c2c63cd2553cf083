"""Private and l_inf-certified images: DP-SGD on interval bounds, where the models of study dpal prove nothing."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from studies.dpal import DELTA, name_curve
from studies.rows import Row, at, row_of, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above

if TYPE_CHECKING:
    from deniable.models.images.model import ImageModel
    from studies.image_systems import Images

PRIVATE, NOT_PRIVATE = "dp-ibp", "ibp"
SIZES = (0.05, 0.1, 0.2, 0.4)
"""l_inf sizes for pixels in [-1, 1], as in the paper."""
EPSILONS = (1.0, 2.0, 4.0, 8.0)
TRAINED = (0.1,)
"""Sizes that models are trained against, in the same unit."""
MNIST = "mnist.npz"
_BATCH = 500


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is trained and tested.

    Attributes:
        trials: trainings of each model, by other noise and batches.
        train: training images, drawn once; None for all.
        steps: of DP-SGD.
        batch: their expected batch.
        learning_rate: of DP-SGD.
        plain_steps: of Adam, without privacy.
        images: of the test set, drawn once for all models.
        attacked: how many of them are attacked.
        pgd_steps: of the attack.
    """

    trials: int = 3
    train: int | None = None
    steps: int = 150
    batch: int = 2_048
    learning_rate: float = 4.0
    plain_steps: int = 1_000
    images: int = 10_000
    attacked: int = 1_000
    pgd_steps: int = 40


def measure(context: Context, system: str, size: float, epsilon: float | None) -> Iterable[Row]:
    """Return what is claimed of one model over its trainings, what is proved, and its accuracies."""
    from studies.private_collections import estimate_accuracy

    trials = [name_trial(system, size, epsilon, trial) for trial in range(context.sizes.trials)]
    found = [context.remember(name, lambda name=name: train_and_test(context, name)) for name in trials]  # type: ignore[misc]
    curve = name_curve(system, f"{size:g}")
    yield from rows_of(curve, epsilon, **found[0]["privacy"])
    for metric, (_, images) in found[0]["shares"].items():
        shares = [one["shares"][metric][0] for one in found]
        yield row_of(curve, epsilon, metric, estimate_accuracy(shares, images))


def name_trial(system: str, size: float, epsilon: float | None, trial: int) -> str:
    """Return the name of one training, from which it is made again."""
    return f"{system}, {size:g}, {epsilon}, {trial}"


def train_and_test(context: Context, name: str) -> dict[str, Any]:
    """Return what is claimed of one training, and shares of images with their numbers."""
    from deniable.models.images.training import fit_image_model
    from deniable.registry import IMAGE_TRAINERS
    from studies.image_systems import PAPER_UNIT, load_images

    sizes: Sizes = context.sizes
    data = context.share("images", lambda: load_images(context, "mnist", MNIST, sizes.train, sizes.images))
    system, size, epsilon, _ = name.split(", ")
    given: dict[str, Any] = {"attack_size": float(size) / PAPER_UNIT, "steps": sizes.plain_steps}
    if system == PRIVATE:
        budget = {"epsilon": float(epsilon), "delta": DELTA, "steps": sizes.steps, "batch_size": sizes.batch}
        given |= {**budget, "learning_rate": sizes.learning_rate}
    options = IMAGE_TRAINERS[system].choose_options(**given)
    model = fit_image_model(IMAGE_TRAINERS[system], data.dataset, options, seed=context.derive_seed(name))
    model.network.to(data.tested.pixels.device)
    return {"privacy": describe_privacy(model), "shares": measure_shares(data, model, sizes, name)}


def describe_privacy(model: "ImageModel") -> dict[str, float]:
    """Return what is proved of a model's privacy."""
    if model.verdict is None:
        return {}
    is_proved = model.verdict.status.startswith("proved")
    return {"privacy_proved": float(is_proved), "epsilon_replace": float(model.facts["epsilon, replace one record"])}


def measure_shares(data: "Images", model: "ImageModel", sizes: Sizes, name: str) -> dict[str, tuple[float, int]]:
    """Return shares of images that are right, proved right at each size, and right under attack; and their numbers."""
    import torch

    from deniable.models.images.attacks import SignAttack
    from deniable.models.images.interval_bounds import IntervalBounds
    from studies.image_systems import PAPER_UNIT

    pixels, labels = data.tested.pixels, data.tested.labels
    generator = data.make_generator("attack", name)
    hits = model.predict(pixels, generator) == labels
    shares = {"accuracy": (float(hits.double().mean()), len(labels))}
    for size in SIZES:
        radius = torch.tensor(size / PAPER_UNIT, dtype=torch.float64)
        proved = [
            IntervalBounds.find_proved(model.network, *part, radius)
            for part in zip(torch.split(pixels, _BATCH), torch.split(labels, _BATCH), strict=True)
        ]
        shares[f"proved at {size:g}"] = float(torch.cat(proved).double().mean()), len(labels)
    attack = SignAttack(steps=sizes.pgd_steps, random_start=True)
    some, classes = pixels[: sizes.attacked], labels[: sizes.attacked]
    for size in SIZES:
        attacked = attack(model.scores(generator), some, classes, size / PAPER_UNIT, generator)
        hits = model.predict(attacked, generator) == classes
        shares[f"attacked at {size:g}"] = float(hits.double().mean()), len(classes)
    return shares


def build_cells(epsilons: Iterable[float], sizes: Iterable[float]) -> tuple[tuple[str, float, float | None], ...]:
    """Return a model without privacy and one for each epsilon, trained against each size."""
    budgets = (*epsilons,)
    private = [(PRIVATE, size, epsilon) for size in sizes for epsilon in budgets]
    return (*private, *((NOT_PRIVATE, size, None) for size in sizes))


CURVES = {
    name_curve(system, f"{size:g}"): f"{title}, trained against {size:g}"
    for system, title in ((PRIVATE, "DP-SGD on interval bounds"), (NOT_PRIVATE, "Interval bounds, not private"))
    for size in TRAINED
}


def draw_panel(title: str, metric: str) -> Panel:
    """Return one metric by epsilon, of private models and, as lines across, of others."""
    lines = tuple(Line(name_curve(PRIVATE, f"{size:g}"), metric, "-o", number) for number, size in enumerate(TRAINED))
    levels = tuple(
        Reference(
            at(curve := name_curve(NOT_PRIVATE, f"{size:g}"), metric=metric),
            label=CURVES[curve],
            style="--",
            colour=number,
        )
        for number, size in enumerate(TRAINED)
    )
    return Panel(title, lines, Axis("epsilon", log=2, ticks=EPSILONS), Axis("images, %", limits=(0.0, 100.0)), levels)


STUDY = Study(
    name="certified-images",
    title="Private and certified images",
    citation="What is asked where NhatHai Phan and others (2020), *Differential Privacy in Adversarial Learning with "
    "Provable Robustness*, Figure 6, compare l2 sizes with l_inf attacks.",
    question="Can one model of images be private and proved right under every l_inf attack, at a size at which the "
    "models of that paper prove nothing?",
    picture="By epsilon: accuracy without attack, and the share proved right under every attack of three sizes, beside "
    "models without privacy.",
    full=Grid(build_cells(EPSILONS, TRAINED), Sizes()),
    quick=Grid(
        build_cells((2.0, 8.0), TRAINED[:1]),
        Sizes(trials=1, train=20_000, steps=30, batch=1_024, plain_steps=100, images=500, attacked=100, pgd_steps=10),
    ),
    measure=measure,
    curves=CURVES,
    metrics={
        "epsilon replace": Metric("epsilon, replace one", ".3g"),
        "privacy proved": Metric("privacy proved (ideal arithmetic)", ".0f"),
        "accuracy": Metric("accuracy without attack", ".1%"),
        **{f"proved at {size:g}": Metric(f"proved right under every attack of {size:g}", ".1%") for size in SIZES},
        **{f"attacked at {size:g}": Metric(f"right under PGD of {size:g}", ".1%") for size in SIZES},
    },
    questions=(
        Statement(
            "Half of the images are proved right under every l_inf attack of the paper's least size, 0.05, by a model "
            "that is proved private.",
            at(tuple(name_curve(PRIVATE, f"{size:g}") for size in TRAINED), metric="proved at 0.05", label="private"),
            above(0.5),
            also=((at(metric="privacy proved"), above(0.5)),),
        ),
    ),
    panels=(
        draw_panel("Without attack", "accuracy"),
        *(draw_panel(f"Proved under every attack of {size:g}", f"proved at {size:g}") for size in SIZES[:3]),
    ),
    tables=(
        Table(
            "Accuracy and proof",
            ("epsilon replace", "privacy proved", "accuracy", *(f"proved at {size:g}" for size in SIZES)),
            x="epsilon",
        ),
        Table("Under attack", tuple(f"attacked at {size:g}" for size in SIZES), x="epsilon"),
    ),
    files=(MNIST,),
    packages=("torch", "dp_accounting"),
)
