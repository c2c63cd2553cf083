"""What DPAL is measured with when it is trained again: other seeds, xi, a mended Eq. 10, and mended noise."""

import dataclasses
from typing import TYPE_CHECKING

from studies.dpal import DATA_SETS, DELTA, FOUR, Schedule, choose_options
from studies.rows import Row, row_of, rows_of
from studies.runner import Context

if TYPE_CHECKING:
    from deniable.models.images.model import ImageModel
    from deniable.published.dpal.trainer import DPALVariant
    from studies.image_systems import Images

NAME, EPSILON = "mnist", 2.0
PRINTED, LOSS_MENDED, SLOW = "as printed", "Eq. 10 mended", "the paper's rate"
MENDED, MENDED_SILENT = "DPAL mended", "DPAL mended, no noise at inference"
XIS = (0.0, 0.5, 2.0, 5.0)
"""xi of Eq. 10 besides the paper's 1, which is as printed."""
CERTIFIED_AT = 0.05
"""Size of attacks of which it is counted what is proved, the least of Figure 6."""
ATTACKS = ("i-fgsm", "fgsm", "mim", "pgd")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is run.

    Attributes:
        schedule: of all systems, as in the study of DPAL and its baselines.
        slow_steps: steps at the paper's rate of 1e-4, with its ten steps of the attacks.
        label_epsilon: of the mended mechanism's budget, for the label.
        mended_steps: steps of the mended mechanism.
        mended_batch: its batch size.
    """

    schedule: Schedule
    slow_steps: int = 600
    label_epsilon: float = 1.0
    mended_steps: int = 60
    mended_batch: int = 1_000


def name_xi(xi: float) -> str:
    """Return the curve of one xi."""
    return f"xi {xi:g}"


def name_silent(curve: str) -> str:
    """Return the curve of a system with the noise of its own training in place of new noise."""
    return f"{curve}, own noise"


def measure(context: Context, curve: str, x: float) -> list[Row]:
    """Train one system once: DPAL of one seed, or DPAL mended at one epsilon."""
    from studies.image_systems import load_images

    schedule = context.sizes.schedule
    images: Images = context.share(
        "images", lambda: load_images(context, NAME, DATA_SETS[NAME].file, schedule.train, schedule.images)
    )
    return measure_mended(images, x) if curve == MENDED else measure_dpal(images, curve, x)


def measure_dpal(images: "Images", curve: str, seed: float) -> list[Row]:
    """Train DPAL at epsilon 2 and measure it, also with its own noise; as printed by attack size too."""
    from deniable.models.images.training import fit_image_model
    from deniable.published.dpal.trainer import build_dpal_trainer
    from studies.image_systems import silence_noise

    context = images.context
    trainer = build_dpal_trainer(choose_variant(curve))
    options = choose_options(context.sizes.schedule, DATA_SETS[NAME], "dpal", EPSILON, trainer.option_names)
    if curve == SLOW:
        options |= {"learning_rate": 1e-4, "attack_steps": 10, "steps": context.sizes.slow_steps}
    # One seed is the same noise and the same batches for every variant.
    model = fit_image_model(
        trainer, images.dataset, trainer.choose_options(**options), seed=context.derive_seed("train", seed)
    )
    model.network.to(images.tested.pixels.device)
    rows = measure_accuracy(images, model, curve, seed, has_sizes=curve == PRINTED)
    return [*rows, *measure_accuracy(images, silence_noise(model), name_silent(curve), seed)]


def choose_variant(curve: str) -> "DPALVariant":
    """Return what a curve changes in Algorithm 1."""
    from deniable.published.dpal.mechanism import compute_mended_class_objective
    from deniable.published.dpal.trainer import DPALVariant

    if curve == LOSS_MENDED:
        return DPALVariant(class_objective=compute_mended_class_objective)
    return DPALVariant(xi=next((xi for xi in XIS if name_xi(xi) == curve), None))


def measure_accuracy(
    images: "Images", model: "ImageModel", curve: str, x: float, *, has_sizes: bool = False
) -> list[Row]:
    """Return the accuracy without attack and under four, of size 0.2 and, if asked for, of other sizes."""
    from studies.dpal import ATTACKED_AT
    from studies.image_systems import measure_attacks, measure_clean

    schedule = images.context.sizes.schedule
    is_random = any(float(noise.scale) > 0 for noise in model.noises)
    votes, draws = (schedule.dpal_votes, schedule.gradient_draws) if is_random else (1, 1)
    settings = {"draws": draws, "pgd_steps": schedule.pgd_steps}
    rows = [row_of(curve, x, "accuracy", measure_clean(images, model, votes, curve, x))]
    for size in dict.fromkeys((ATTACKED_AT, *(schedule.attack_sizes if has_sizes else ()))):
        shares = measure_attacks(images, model, size, votes, settings, curve, x)
        if size == ATTACKED_AT:
            rows += [row_of(curve, x, f"attacked, {name}", shares[name]) for name in (*ATTACKS, FOUR)]
        if has_sizes:
            rows += [row_of(curve, x, f"by size {size:g}, {name}", shares[name]) for name in ATTACKS]
    return rows


def measure_mended(images: "Images", epsilon: float) -> list[Row]:
    """Train DPAL with its noise mended at one true epsilon, and measure it with and without noise at inference."""
    from deniable.learning.loop import choose_device
    from studies.dpal_mended import MendedBudget, MendedOptions, fit_mended_model
    from studies.image_systems import measure_proved, silence_noise

    context, schedule = images.context, images.context.sizes.schedule
    budget = MendedBudget(epsilon, context.sizes.label_epsilon, images.dataset.train.pixels[0].numel())
    model = fit_mended_model(
        images.dataset,
        budget,
        MendedOptions(
            DATA_SETS[NAME].network,
            schedule.width,
            context.sizes.mended_steps,
            min(context.sizes.mended_batch, len(images.dataset.train)),
            schedule.dpal_rate,
            schedule.dpal_attack_steps,
        ),
        context.derive_seed("mended", epsilon),
        choose_device(),
    )
    model.network.to(images.tested.pixels.device)
    draws = (schedule.choosing, schedule.proved_draws)
    proved = dict(measure_proved(images, model, (CERTIFIED_AT,), draws, f"{MENDED} {epsilon:g}"))
    return [
        *measure_accuracy(images, model, MENDED, epsilon),
        *measure_accuracy(images, silence_noise(model), MENDED_SILENT, epsilon),
        *(row_of(MENDED, epsilon, f"proved at {size:g}", proved[size]) for size in (0.01, CERTIFIED_AT)),
        *rows_of(MENDED, epsilon, noise_scale=budget.scale, epsilon_at_delta=budget.compute_epsilon_at_delta(DELTA)),
    ]
