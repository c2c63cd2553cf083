"""DP-SGD as public code of SecureSGD and its kin has it: the mean over a batch is clipped. The claim is refuted."""

import math
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from deniable.errors import InputError
from deniable.guarantees import ApproxDP
from deniable.learning.plain import batch_of
from deniable.randomness import generator
from deniable.robust.model import Model
from deniable.robust.systems.dp_sgd import USES
from deniable.robust.systems.system import Options, Prepared, System, Task
from deniable.robust.training.accounting import Schedule, noise_multiplier
from deniable.verdict import Verdict, Witness

_LOOKED_AT = 2_048
"""Training records among which the one with the largest gradient is the witness."""


class _Run:
    """Descent along the clipped mean gradient of a batch, with noise made for clipped gradients of examples."""

    def __init__(self, task: Task, network: nn.Module, multiplier: float) -> None:
        self.steps = task.options.steps
        self._task, self._network, self._multiplier = task, network, multiplier

    def step(self, number: int) -> float:
        options, parameters = self._task.options, list(self._network.parameters())
        chosen = batch_of(len(self._task.images), options.batch_size, number, self._task.key)
        images = self._task.images.pixels[chosen].to(self._task.device)
        loss = functional.cross_entropy(self._network(images), self._task.images.labels[chosen].to(self._task.device))
        gradients = torch.autograd.grad(loss, parameters)
        norm = torch.stack([part.norm() for part in gradients]).norm()
        factor = (options.clip / norm.clamp(min=1e-30)).clamp(max=1)
        noise = generator(self._task.key, "noise", str(number))
        deviation = self._multiplier * options.clip / len(chosen)
        with torch.no_grad():
            for held, part in zip(parameters, gradients, strict=True):
                normal = torch.from_numpy(noise.standard_normal(tuple(held.shape))).to(held)
                held.sub_(options.learning_rate / options.clip * (factor * part + deviation * normal))
        return float(loss.detach())

    @property
    def result(self) -> dict[str, Tensor]:
        return self._network.state_dict()

    def state(self) -> dict[str, Any]:
        return {"network": self._network.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        self._network.load_state_dict(state["network"])


def _prepare(task: Task) -> Prepared:
    options = task.options
    if options.epsilon is None or options.delta is None:
        raise InputError("This system needs a budget: give --epsilon and --delta.")
    epsilon, delta = options.epsilon, options.delta
    network = task.architecture().build(0).to(task.device)
    rate = min(options.batch_size / len(task.images), 1.0)
    multiplier = noise_multiplier(Schedule(rate, options.steps), epsilon, delta)
    verdict = _verdict(options, rate, multiplier, _largest_gradient(task, network))

    def finish() -> Model:
        return Model(
            system=task.system,
            architecture=task.architecture(),
            network=network.eval(),
            noises=(),
            guarantee=ApproxDP(
                epsilon, delta, "claimed as DP-SGD's", "refuted" if verdict.status == "refuted" else "claimed"
            ),
            verdict=verdict,
            certificate=None,
            facts={"steps": options.steps, "noise multiplier": multiplier, "clipping norm": options.clip},
        )

    run = _Run(task, network, multiplier)
    return Prepared(run, finish, lambda images, _: network(images), lambda done: epsilon if done else 0.0)


def _largest_gradient(task: Task, network: nn.Module) -> float:
    """Return the largest l2 norm of one record's gradient at the first parameters, which are public."""
    held = {name: value.detach() for name, value in network.named_parameters()}

    def loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        scores = torch.func.functional_call(network, parameters, (image[None],))
        return functional.cross_entropy(scores, label[None])

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    images, labels = task.images.pixels[:_LOOKED_AT], task.images.labels[:_LOOKED_AT]
    squares = [
        sum(part.flatten(1).square().sum(1) for part in gradients(held, *given).values())
        for given in zip(torch.split(images.to(task.device), 64), torch.split(labels.to(task.device), 64), strict=True)
    ]
    return math.sqrt(max(float(torch.as_tensor(found).max()) for found in squares))


def _verdict(options: Options, rate: float, multiplier: float, gradient: float) -> Verdict:
    """Return what one step gives away of that record, when the mean is too short to be clipped.

    With the record in place of an empty one the noisy mean moves by its gradient over B, and the noise has the
    deviation C sigma / B: a Gaussian against its mixture with a shift of G / (C sigma), G the norm of the gradient.
    """
    epsilon, delta = options.epsilon or 0.0, options.delta or 0.0
    shift = gradient / (multiplier * options.clip)
    least = _one_step(rate, shift, delta)
    witness = Witness(
        input="a data set with the record of the largest gradient",
        other="the same with that record made empty",
        output="first step's noisy mean",
        distance=1.0,
        loss=least,
    )
    return Verdict(
        status="refuted" if least > epsilon else "undecided",
        claim=epsilon,
        epsilon=math.inf,
        lower_bound=least,
        confidence=1.0,
        samples=0,
        witness=witness if least > epsilon else None,
        method=f"law of one step where the mean is not clipped: a gradient of norm {gradient:.3g} under noise for "
        f"{options.clip:g}",
        seconds=0.0,
        delta=delta,
    )


def _one_step(rate: float, shift: float, delta: float) -> float:
    """Return max over t of ln[(P(N > t) - delta) / Q(N > t)], P the mixture and Q the Gaussian: a bound on epsilon."""
    t = np.linspace(0.0, shift + 10.0, 10_001)  # each of them bounds epsilon
    tail = stats.norm.logsf(t)
    above = rate * stats.norm.sf(t - shift) + (1 - rate) * np.exp(tail) - delta
    seen = above > 0
    return float(np.max(np.log(above[seen]) - tail[seen], initial=0.0))


SYSTEM = System(
    name="dp-sgd-batch-clipped",
    summary="claims privacy; the claim is refuted: DP-SGD that clips the mean of a batch, as public code has it",
    source="public code of Phan et al. 2019",
    uses=USES - {"views", "average", "noise_multiplier"},
    defaults=Options(steps=150, batch_size=2_048, learning_rate=0.5),
    prepare=_prepare,
)
