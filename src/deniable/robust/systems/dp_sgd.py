"""DP-SGD (Abadi et al. 2016): clipped gradients of examples, a noisy sum, and proven accounting."""

from collections.abc import Callable

from deniable.errors import InputError
from deniable.robust.certificates import RobustnessCertificate
from deniable.robust.model import ImageModel
from deniable.robust.networks import ImageNetwork
from deniable.robust.noise import NetworkNoise, compute_noisy_scores
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining
from deniable.robust.systems.views import shift_images
from deniable.robust.training.accounting import (
    SamplingSchedule,
    build_dp_sgd_guarantee,
    compute_epsilon_spent,
    count_steps_within,
    find_noise_multiplier,
)
from deniable.robust.training.private import DPSGDRun, DPSGDSettings, NoisyForwardFunction, ViewFunction
from deniable.status import PROVED_IDEAL
from deniable.verdict import Verdict

DP_SGD_OPTIONS = frozenset(
    {
        "epsilon",
        "delta",
        "network",
        "width",
        "steps",
        "batch_size",
        "learning_rate",
        "clip",
        "noise_multiplier",
        "average",
        "views",
    }
)
"""Options of every system that trains by DP-SGD."""


def prepare_dp_sgd(
    task: ImageTrainingTask,
    network: ImageNetwork,
    *,
    forward: NoisyForwardFunction,
    views: ViewFunction,
    get_noises: Callable[[], tuple[NetworkNoise, ...]],
    build_certificate: Callable[[], RobustnessCertificate | None],
    project_parameters: Callable[[], None] = lambda: None,
) -> PreparedTraining:
    """Return a DP-SGD run within the task's budget, and the model that it gives.

    Args:
        task: what to train on, and how.
        network: to train.
        forward: of the network during training.
        views: of an example.
        get_noises: of the finished model.
        build_certificate: of the finished model.
        project_parameters: called after every step; it may read the parameters only.
    """
    options, count = task.options, len(task.images.labels)
    if options.epsilon is None or options.delta is None:
        raise InputError("DP-SGD needs a budget: give --epsilon and --delta.")
    rate = min(options.batch_size / count, 1.0)
    if options.noise_multiplier is None:
        schedule = SamplingSchedule(rate, options.steps)
        multiplier = find_noise_multiplier(schedule, options.epsilon, options.delta)
    else:
        multiplier = options.noise_multiplier
        steps = count_steps_within(rate, multiplier, options.epsilon, options.delta, options.steps)
        schedule = SamplingSchedule(rate, steps)
    recipe = DPSGDSettings(
        schedule=schedule,
        noise_multiplier=multiplier,
        clip=options.clip,
        learning_rate=options.learning_rate,
        averaging_decay=options.average,
        views=options.views,
    )
    run = DPSGDRun(network, task.images, recipe, task.key, forward, views, project_parameters)
    delta = options.delta

    def build_model() -> ImageModel:
        network.load_state_dict(run.result)
        project_parameters()
        proved_guarantee = build_dp_sgd_guarantee(schedule, multiplier, delta)
        return ImageModel(
            trainer=task.trainer,
            architecture=task.architecture(),
            network=network.eval(),
            noises=get_noises(),
            guarantee=proved_guarantee,
            verdict=_build_theorem_verdict(proved_guarantee.epsilon, delta),
            certificate=build_certificate(),
            facts={
                "sampling rate": rate,
                "steps": schedule.steps,
                "noise multiplier": multiplier,
                "clipping norm": options.clip,
                "epsilon, one record made empty": proved_guarantee.epsilon,
                "epsilon, replace one record": compute_epsilon_spent(schedule, multiplier, delta, "replace one"),
                "delta": delta,
            },
        )

    return PreparedTraining(
        run,
        build_model,
        scores=lambda images, source: compute_noisy_scores(network, images, get_noises(), source),
        compute_epsilon_spent=lambda done: (
            compute_epsilon_spent(SamplingSchedule(rate, done), multiplier, delta) if done else 0.0
        ),
    )


def _build_theorem_verdict(epsilon: float, delta: float) -> Verdict:
    return Verdict(
        status=PROVED_IDEAL,
        claim=epsilon,
        epsilon=epsilon,
        lower_bound=0.0,
        confidence=1.0,
        samples=0,
        witness=None,
        method="by theorem: Poisson sampling, gradients clipped example by example, Gaussian noise on their sum; "
        "losses composed by dp-accounting, rounded up; true of real numbers, and drawn and added in floating point",
        seconds=0.0,
        delta=delta,
    )


def _prepare_plain_dp_sgd(task: ImageTrainingTask) -> PreparedTraining:
    network = task.architecture().build(0).to(task.device)
    return prepare_dp_sgd(
        task,
        network,
        forward=lambda images, source: compute_noisy_scores(network, images, (), source),
        views=lambda images, labels, source: shift_images(images, task.options.views, source),  # noqa: ARG005 - a `ViewFunction`
        get_noises=tuple,
        build_certificate=lambda: None,
    )


DP_SGD_TRAINER = ImageTrainer(
    name="dp-sgd",
    summary="private: DP-SGD",
    source="Abadi et al. 2016",
    option_names=DP_SGD_OPTIONS,
    defaults=ImageTrainingOptions(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare_plain_dp_sgd,
)
