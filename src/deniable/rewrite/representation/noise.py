"""The noise between encoder and readers while DPText is trained: its scale can be learned (Beigi et al. 2019).

What is released has its noise from `deniable.vectors.DPText`; this is the same law where gradients pass.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from deniable.errors import check_positive, make_parameter_error

NoiseVariant = Literal["published", "fixed", "none"]
InvalidDraws = Literal["redraw", "zero"]
NOISE_VARIANTS: tuple[NoiseVariant, ...] = ("published", "fixed", "none")

BOX_LOWER, BOX_UPPER = -1.0, 1.0
"""The box that the encoder's tanh bounds every coordinate to: public, and known before any data are seen."""
INITIAL_EPSILON_SHARE = 0.1
"""Share of its bound from which a learned epsilon starts."""
_EPSILON_RATE_FACTOR = 10.0
"""Factor by which epsilon learns faster than weights: it has a single number for the whole way."""
_MIN_DISTANCE = 2.0**-23
"""Distance from the ends of the logarithm's domain that uniform numbers keep, so that no noise is infinite."""


class TrainableNoise(nn.Module):
    """Adds noise of scale Delta / epsilon, Delta = n (upper - lower) being the l1 sensitivity of the box.

    As published, epsilon is a parameter, ``bound`` times a sigmoid, trained with everything else, and the noise is
    ``-(Delta / epsilon) sgn(u) ln(1 - 2 |u|)`` for u from (0, 1) (Habernal 2022, equations 8 and 9): one-sided, with
    no logarithm for half of the draws. Fixed, epsilon is ``bound`` and u is from (-1/2, 1/2): Laplace noise.

    Args:
        variant: one of `NOISE_VARIANTS`; ``none`` adds nothing.
        dimensions: n.
        bound: on epsilon as published (the constant c of Beigi et al.), epsilon itself where it is fixed.
        invalid: what becomes of draws without a logarithm: drawn again, or no noise.

    Raises:
        InputError: a parameter is outside its domain.
    """

    def __init__(self, variant: NoiseVariant, dimensions: int, bound: float, invalid: InvalidDraws = "redraw") -> None:
        super().__init__()
        if variant not in NOISE_VARIANTS:
            raise make_parameter_error("DPText", "variant", f"one of {', '.join(NOISE_VARIANTS)}", variant)
        if invalid not in {"redraw", "zero"}:
            raise make_parameter_error("DPText", "invalid", "'redraw' or 'zero'", invalid)
        self.variant, self.invalid, self.bound = variant, invalid, check_positive("DPText", "bound", bound)
        self._sensitivity = dimensions * (BOX_UPPER - BOX_LOWER)
        initial_raw = math.log(INITIAL_EPSILON_SHARE / (1 - INITIAL_EPSILON_SHARE)) / _EPSILON_RATE_FACTOR
        self.raw = nn.Parameter(torch.tensor(initial_raw), requires_grad=variant == "published")

    @property
    def epsilon(self) -> Tensor:
        """Epsilon, a scalar: where it is learned, it lies below the bound whatever the parameter becomes."""
        if self.variant == "published":
            return self.bound * torch.sigmoid(_EPSILON_RATE_FACTOR * self.raw)
        return torch.full_like(self.raw, self.bound)

    def scale(self) -> Tensor:
        """Return Delta / epsilon, a scalar; 0 without noise."""
        return torch.zeros_like(self.raw) if self.variant == "none" else self._sensitivity / self.epsilon

    def forward(self, latent: Tensor, rng: torch.Generator) -> Tensor:
        """Return (b, n): the latent vectors (b, n) with fresh noise."""
        if self.variant == "none":
            return latent
        u = torch.rand(latent.shape, generator=rng, dtype=latent.dtype, device=latent.device)
        if self.variant == "fixed":
            u = (u - 0.5).clamp(-0.5 + _MIN_DISTANCE, 0.5 - _MIN_DISTANCE)
        elif self.invalid == "zero":
            u = torch.where(u < 0.5 - _MIN_DISTANCE, u, torch.zeros_like(u))  # kept where 1 - 2 |u| has a logarithm
        else:
            u = (0.5 * u).clamp(max=0.5 - _MIN_DISTANCE)  # what is left of (0, 1) when the rest is drawn again
        return latent - self.scale() * u.sign() * torch.log1p(-2 * u.abs())
