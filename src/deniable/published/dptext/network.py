"""The networks of DPText (Beigi et al. 2019): an encoder of texts, noise, and readers of the noisy vectors.

The scale of the noise can be learned in training. `deniable.published.dptext.mechanism` draws the noise of a released
vector; `TrainableNoise` has the same law, as a layer that gradients pass through.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from deniable.core.errors import check_positive, make_parameter_error
from deniable.published.dptext.mechanism import InvalidDraws

NoiseVariant = Literal["published", "fixed", "none"]
NOISE_VARIANTS: tuple[NoiseVariant, ...] = ("published", "fixed", "none")

BOX_LOWER, BOX_UPPER = -1.0, 1.0
"""The box that the encoder's tanh bounds every coordinate to: public, and known before any data are seen."""
INITIAL_EPSILON_SHARE = 0.1
"""Share of its bound from which a learned epsilon starts."""
_EPSILON_RATE_FACTOR = 10.0
"""Factor by which epsilon learns faster than weights: a single parameter has to move that far."""
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
        invalid: whether draws without a logarithm are drawn again, or add no noise.

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
            u = (0.5 * u).clamp(max=0.5 - _MIN_DISTANCE)  # uniform on (0, 1/2), as after redrawing the rest of (0, 1)
        return latent - self.scale() * u.sign() * torch.log1p(-2 * u.abs())


_WINDOW_WIDTH = 3
"""Words that the encoder sees at once."""


@dataclasses.dataclass(frozen=True)
class RepresentationArchitecture:
    """The sizes from which the networks are built.

    Attributes:
        words: of the vocabulary, special ones included.
        dimensions: n, of a representation.
        embedded: size of a word's embedding.
        hidden: units of the encoder and of every reader.
        classes: of the task.
        attributes: classes of each private attribute.
    """

    words: int
    dimensions: int
    embedded: int
    hidden: int
    classes: int
    attributes: tuple[int, ...]


class RepresentationEncoder(nn.Module):
    """Texts to vectors in the box: a convolution over three words (Kim 2014), its maxima, a linear layer and tanh.

    Beigi et al. use recurrent networks; a convolution reads short texts as well, several times as fast.

    Args:
        architecture: the sizes.
    """

    def __init__(self, architecture: RepresentationArchitecture) -> None:
        super().__init__()
        self.embedding = nn.Embedding(architecture.words, architecture.embedded)
        self.window = nn.Conv1d(architecture.embedded, architecture.hidden, _WINDOW_WIDTH, padding=_WINDOW_WIDTH // 2)
        self.output = nn.Linear(architecture.hidden, architecture.dimensions)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return (b, n) vectors with all coordinates in [-1, 1].

        Args:
            tokens: (b, L) token ids, any values behind the end of a text.
            lengths: (b,) words of each text, >= 1.
        """
        present = (torch.arange(tokens.shape[1], device=tokens.device) < lengths.unsqueeze(1)).unsqueeze(1)  # (b, 1, L)
        words = self.embedding(tokens).transpose(1, 2) * present  # (b, embedded, L)
        activations = self.window(words).relu() * present  # (b, hidden, L), nothing where no word stands
        latent: Tensor = torch.tanh(self.output(activations.amax(dim=2)))
        return latent


class NoisyVectorReader(nn.Module):
    """Noisy vectors to logits: one hidden layer on the coordinates scaled to the noise and clipped to the box.

    Both inputs are post-processing. Under large noise the first keep gradients alive, the second keep the signal.

    Args:
        dimensions: n.
        hidden: units.
        classes: logits.
    """

    def __init__(self, dimensions: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2 * dimensions, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, released: Tensor, scale: Tensor) -> Tensor:
        """Return logits (b, K) of vectors (b, n) with noise of a scale, a scalar."""
        logits: Tensor = self.layers(torch.cat([released / (1 + scale), released.clamp(BOX_LOWER, BOX_UPPER)], dim=1))
        return logits


class DPTextNetwork(nn.Module):
    """Encoder, noise and readers: of the task, of each private attribute, and of the text's words.

    Args:
        architecture: the sizes.
        noise: which; see `TrainableNoise`.
        bound: see `TrainableNoise`.
        invalid: see `TrainableNoise`.
    """

    def __init__(
        self, architecture: RepresentationArchitecture, noise: NoiseVariant, bound: float, invalid: InvalidDraws
    ) -> None:
        super().__init__()
        self.encoder = RepresentationEncoder(architecture)
        self.noise = TrainableNoise(noise, architecture.dimensions, bound, invalid)
        self.task = NoisyVectorReader(architecture.dimensions, architecture.hidden, architecture.classes)
        self.attributes = nn.ModuleList(
            NoisyVectorReader(architecture.dimensions, architecture.hidden, attribute_classes)
            for attribute_classes in architecture.attributes
        )
        self.decoder = NoisyVectorReader(architecture.dimensions, architecture.hidden, architecture.words)

    def forward(
        self, tokens: Tensor, lengths: Tensor, adversary: float, rng: torch.Generator
    ) -> tuple[Tensor, Sequence[Tensor], Tensor]:
        """Return logits of the task (b, K), of every private attribute, and of the words (b, V).

        Readers of private attributes are trained to predict them, and the encoder to prevent it, by reversed gradients
        of weight ``adversary`` (Ganin and Lempitsky 2015): the minimax game of Beigi et al. 2019 in one step.
        """
        released = self.noise(self.encoder(tokens, lengths), rng)
        scale = self.noise.scale().detach()
        reversed_gradient = (
            1 + adversary
        ) * released.detach() - adversary * released  # the same value, minus the gradient
        attribute_logits = [reader(reversed_gradient, scale) for reader in self.attributes]
        return self.task(released, scale), attribute_logits, self.decoder(released, scale)
