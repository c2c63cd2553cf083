"""Draws per second that certification counts, against the bare passes of the network that it needs.

    python benchmarks/certification.py

A randomized network on random images of 28 x 28 pixels, 10,000 draws of Gaussian noise for each of a few images. The
floor is the network on as many images, without noise and without counting. Sides take turns; medians over rounds.
"""

import argparse
import statistics
import time

import torch

from deniable.models.images.networks import ImageArchitecture, NetworkNoise, compute_noisy_scores
from deniable.models.tally import DRAWS_PER_CALL, tally_images


def compare(name: str, images: int, draws: int, rounds: int) -> None:
    """Print the row of one network."""
    network = ImageArchitecture(name, (1, 28, 28), 10).build(0).eval()
    source = torch.Generator().manual_seed(0)
    pixels = torch.rand(images, 1, 28, 28, generator=source)
    noises = (NetworkNoise("input", "gaussian", torch.tensor(0.25)),)
    batch = pixels[torch.arange(DRAWS_PER_CALL) % images]
    counted, bare = [], []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        tally_images(lambda given: compute_noisy_scores(network, given, noises, source), pixels, draws)
        counted.append(time.perf_counter() - start)
        start = time.perf_counter()
        with torch.inference_mode():
            for _ in range(images * draws // DRAWS_PER_CALL):
                network(batch)
        bare.append(time.perf_counter() - start)
    taken, least = (statistics.median(times[1:]) for times in (counted, bare))  # the first round fills caches
    rates = " | ".join(f"{images * draws / seconds:,.0f}" for seconds in (taken, least))
    print(f"| {name} | {rates} | {taken / least:.2f} |", flush=True)


def main() -> None:
    """Print one row of a markdown table for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{options.images} images of {options.draws:,} draws, {options.rounds} rounds, {options.threads} threads\n")
    print("| network | draws a second | bare passes a second | times the floor |\n|---|---:|---:|---:|")
    for name in ("small", "paper-mnist"):
        compare(name, options.images, options.draws, options.rounds)


if __name__ == "__main__":
    main()
