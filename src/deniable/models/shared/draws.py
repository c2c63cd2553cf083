"""The generator of a model's noise where its predictions are measured or certified."""

import secrets

import torch

_SEED_BITS = 63


def make_noise_generator(seed: int | None = None) -> torch.Generator:
    """Return torch's generator on the CPU.

    What is estimated from its draws, with a chance of being wrong, holds for models that do not know them: a model that
    was made for the draws of a known seed may be right on those alone.

    Args:
        seed: to repeat a run; None for fresh entropy from the operating system.
    """
    return torch.Generator().manual_seed(secrets.randbits(_SEED_BITS) if seed is None else seed % 2**_SEED_BITS)
