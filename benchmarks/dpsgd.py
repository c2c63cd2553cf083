"""One step of DP-SGD against opacus' ghost clipping and against a step without privacy, in one process.

    python benchmarks/dpsgd.py

Clipped gradients of 2,048 random images of 28 x 28 pixels and the noisy update, for two networks. Each side works in
chunks of the size, of several, that suits it best. Sides take turns in every round; medians over rounds.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.accounting.training import TrainingPlan
from deniable.core.randomness import derive_key_from_seed
from deniable.learning import dp_sgd
from deniable.models.images.dataset import LabelledImages
from deniable.models.images.networks import ImageArchitecture

BATCH, CLIP, MULTIPLIER, RATE = 2_048, 0.1, 2.0, 1e-3
CHUNKS = (256, 512, 2_048)
Step = Callable[[], object]


def ours(architecture: ImageArchitecture, images: LabelledImages, chunk: int) -> Step:
    """Return a step of deniable, with everybody in the batch."""
    network = architecture.build(0)
    count = len(images.labels)
    recipe = dp_sgd.DPSGDSettings(TrainingPlan("poisson", count, count, 1_000, MULTIPLIER, CLIP), RATE)
    run = dp_sgd.DPSGDRun(
        network,
        images.pixels,
        images.labels,
        recipe,
        derive_key_from_seed(0),
        lambda given, _: network(given),
        lambda given, *_: given[:, None],
    )

    def step() -> float:
        dp_sgd._CHUNK_VIEWS = chunk  # noqa: SLF001 - the size is what is varied
        return run.step(0)

    return step


def opacus(architecture: ImageArchitecture, images: LabelledImages, chunk: int) -> Step:
    """Return a step of opacus with ghost clipping, accumulated over chunks."""
    from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import (
        GradSampleModuleFastGradientClipping,
    )
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    network = GradSampleModuleFastGradientClipping(architecture.build(0), max_grad_norm=CLIP, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(network.parameters(), lr=RATE),
        noise_multiplier=MULTIPLIER,
        max_grad_norm=CLIP,
        expected_batch_size=BATCH,
    )
    criterion = DPLossFastGradientClipping(network, optimizer, nn.CrossEntropyLoss())

    def step() -> None:
        parts = chunks(images, chunk)
        for number, (given, labels) in enumerate(parts):
            optimizer.signal_skip_step(number < len(parts) - 1)
            criterion(network(given), labels).backward()
            optimizer.step()
            optimizer.zero_grad()

    return step


def floor(architecture: ImageArchitecture, images: LabelledImages, chunk: int) -> Step:
    """Return forward and backward passes and a descent without privacy."""
    network = architecture.build(0)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)

    def step() -> None:
        optimizer.zero_grad()
        for given, labels in chunks(images, chunk):
            loss = functional.cross_entropy(network(given), labels, reduction="sum") / BATCH
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


SIDES = {"deniable": ours, "opacus ghost clipping": opacus, "not private": floor}


def chunks(images: LabelledImages, size: int) -> list[tuple[Tensor, Tensor]]:
    """Return the images and labels in parts."""
    pixels, labels = torch.split(images.pixels, size), torch.split(images.labels, size)
    return list(zip(pixels, labels, strict=True))


def seconds(step: Step) -> float:
    """Return how long one step takes."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def compare(name: str, rounds: int) -> None:
    """Print the rows of one network."""
    architecture = ImageArchitecture(name, (1, 28, 28), 10)
    source = torch.Generator().manual_seed(0)
    images = LabelledImages(torch.rand(BATCH, 1, 28, 28, generator=source), torch.arange(BATCH) % 10)
    steps = {(side, chunk): make(architecture, images, chunk) for side, make in SIDES.items() for chunk in CHUNKS}
    taken: dict[tuple[str, int], list[float]] = {key: [] for key in steps}
    for step in steps.values():
        step()  # caches, and opacus' hooks
    for _ in range(rounds):
        for key, step in steps.items():
            taken[key].append(seconds(step))
    best = {side: min((statistics.median(taken[side, chunk]), chunk) for chunk in CHUNKS) for side in SIDES}
    for side, (median, chunk) in best.items():
        ratio = median / best["deniable"][0]
        print(
            f"| {name} | {side} | {chunk:,} | {median:.3f} | {min(taken[side, chunk]):.3f} | {ratio:.2f} |", flush=True
        )


def main() -> None:
    """Print one row of a markdown table for each network and side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", category=UserWarning, message="Full backward hook is firing")
    print(f"batch of {BATCH:,}, {options.rounds} rounds, {options.threads} threads, torch {torch.__version__}\n")
    print("| network | side | best chunk | median s | fastest s | times deniable's |\n|---|---|---:|---:|---:|---:|")
    for name in ("small", "paper-mnist"):
        compare(name, options.rounds)


if __name__ == "__main__":
    main()
