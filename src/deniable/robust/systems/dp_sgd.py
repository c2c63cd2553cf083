"""DP-SGD (Abadi et al. 2016): clipped gradients of examples, a noisy sum, and proven accounting."""

from collections.abc import Callable

from deniable.errors import InputError
from deniable.robust.certificates import Certificate
from deniable.robust.model import Model
from deniable.robust.networks import Network
from deniable.robust.noise import Noise, noisy
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.robust.systems.views import shifted
from deniable.robust.training.accounting import (
    Schedule,
    epsilon_spent,
    guarantee,
    noise_multiplier,
    steps_within,
)
from deniable.robust.training.private import NoisyForward, PrivateRun, Recipe, Views
from deniable.status import IDEAL
from deniable.verdict import Verdict

USES = frozenset(
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


def private(
    task: Task,
    network: Network,
    *,
    forward: NoisyForward,
    views: Views,
    noises: Callable[[], tuple[Noise, ...]],
    certificate: Callable[[], Certificate | None],
    settle: Callable[[], None] = lambda: None,
) -> Prepared:
    """Return a DP-SGD run within the task's budget, and the model that it gives.

    Args:
        task: what to train on, and how.
        network: to train.
        forward: of the network during training.
        views: of an example.
        noises: of the finished model.
        certificate: of the finished model.
        settle: called after every step; it may read the parameters only.
    """
    options, count = task.options, len(task.images.labels)
    if options.epsilon is None or options.delta is None:
        raise InputError("DP-SGD needs a budget: give --epsilon and --delta.")
    rate = min(options.batch_size / count, 1.0)
    if options.noise_multiplier is None:
        schedule = Schedule(rate, options.steps)
        multiplier = noise_multiplier(schedule, options.epsilon, options.delta)
    else:
        multiplier = options.noise_multiplier
        steps = steps_within(rate, multiplier, options.epsilon, options.delta, options.steps)
        schedule = Schedule(rate, steps)
    recipe = Recipe(
        schedule=schedule,
        multiplier=multiplier,
        clip=options.clip,
        learning_rate=options.learning_rate,
        average=options.average,
        views=options.views,
    )
    run = PrivateRun(network, task.images, recipe, task.key, forward, views, settle)
    delta = options.delta

    def finish() -> Model:
        network.load_state_dict(run.result)
        settle()
        claim = guarantee(schedule, multiplier, delta)
        return Model(
            system=task.system,
            architecture=task.architecture(),
            network=network.eval(),
            noises=noises(),
            guarantee=claim,
            verdict=_by_theorem(claim.epsilon, delta),
            certificate=certificate(),
            facts={
                "sampling rate": rate,
                "steps": schedule.steps,
                "noise multiplier": multiplier,
                "clipping norm": options.clip,
                "epsilon, one record made empty": claim.epsilon,
                "epsilon, replace one record": epsilon_spent(schedule, multiplier, delta, "replace one"),
                "delta": delta,
            },
        )

    return Prepared(
        run,
        finish,
        scores=lambda images, source: noisy(network, images, noises(), source),
        spent=lambda done: epsilon_spent(Schedule(rate, done), multiplier, delta) if done else 0.0,
    )


def _by_theorem(epsilon: float, delta: float) -> Verdict:
    return Verdict(
        status=IDEAL,
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


def _prepare(task: Task) -> Prepared:
    network = task.architecture().build(0).to(task.device)
    return private(
        task,
        network,
        forward=lambda images, source: noisy(network, images, (), source),
        views=lambda images, labels, source: shifted(images, task.options.views, source),  # noqa: ARG005 - a `Views`
        noises=tuple,
        certificate=lambda: None,
    )


SYSTEM = System(
    name="dp-sgd",
    summary="private: DP-SGD",
    source="Abadi et al. 2016",
    uses=USES,
    defaults=Options(steps=150, batch_size=2_048, learning_rate=4.0, views=3),
    prepare=_prepare,
)
