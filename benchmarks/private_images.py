"""Accuracy of private, and of private and certified, models of MNIST, over seeds, with the seconds of training.

    python benchmarks/private_images.py --data DIR

DIR holds ``mnist.npz``. Delta is 1e-5, one record made empty. Certified accuracy is that of the first test images,
at l2 radii in pixels of [0, 1], from 1,000 draws each at alpha 0.001.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

from deniable.models.images.certification import certify_image_model
from deniable.models.images.dataset import ImageDataset
from deniable.models.images.model import measure_image_accuracy
from deniable.models.images.reading import read_images
from deniable.models.images.training import fit_image_model
from deniable.registry import IMAGE_TRAINERS

DELTA = 1e-5
RUNS = (("dp-sgd", 0.179), ("dp-sgd", 0.9), ("dp-cert", 0.889))
RADII = (0.0, 0.25, 0.5)


def one(data: ImageDataset, name: str, epsilon: float, seed: int, images: int) -> tuple[list[float], float]:
    """Return clean accuracy, and certified accuracy at each radius where there is one, and the seconds of training."""
    start = time.perf_counter()
    trainer = IMAGE_TRAINERS[name]
    model = fit_image_model(trainer, data, trainer.choose_options(epsilon=epsilon, delta=DELTA), seed=seed)
    seconds = time.perf_counter() - start
    found = [measure_image_accuracy(model, data.test).value]
    if model.certificate is not None:
        source = torch.Generator().manual_seed(seed)
        pixels, labels = data.test.pixels[:images], data.test.labels[:images]
        found += [
            share.value for share in certify_image_model(model, pixels, labels, generator=source, radii=RADII).accuracy
        ]
    return found, seconds


def main() -> None:
    """Print one row of a markdown table for each system and budget: mean and standard deviation over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", type=int, default=500)
    given = parser.parse_args()
    data = read_images(given.data / "mnist.npz")
    print(f"{given.seeds} seeds, {given.images} certified images, {torch.get_num_threads()} threads\n")
    print("| model | epsilon | clean | " + " | ".join(f"certified at {radius:g}" for radius in RADII) + " | seconds |")
    print("|---|---|---|" + "---|" * len(RADII) + "---|")
    for name, epsilon in RUNS:
        runs = [one(data, name, epsilon, seed, given.images) for seed in range(given.seeds)]
        shares = [_over([found[place] for found, _ in runs]) for place in range(len(runs[0][0]))]
        shares += ["-"] * (1 + len(RADII) - len(shares))
        seconds = statistics.mean(taken for _, taken in runs)
        print(f"| {name} | {epsilon:g} | " + " | ".join(shares) + f" | {seconds:.0f} |", flush=True)


def _over(values: list[float]) -> str:
    """Return mean and standard deviation, in percent."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.mean(values):.2f} ± {100 * spread:.2f}"


if __name__ == "__main__":
    main()
