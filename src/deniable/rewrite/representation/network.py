"""The networks of DPText: an encoder of texts, and those who read its noisy vectors."""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deniable.rewrite.representation.noise import BOX_LOWER, BOX_UPPER, InvalidDraws, NoiseVariant, TrainableNoise

_WINDOW_WIDTH = 3
"""Words that the encoder sees at once."""


@dataclasses.dataclass(frozen=True)
class RepresentationArchitecture:
    """What is needed to build the networks again.

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
    """Texts to vectors in the box: what stands in three words (Kim 2014), its largest values, a linear layer and tanh.

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
            tokens: (b, L) numbers of words, anything behind the end of a text.
            lengths: (b,) words of each text, >= 1.
        """
        present = (torch.arange(tokens.shape[1], device=tokens.device) < lengths.unsqueeze(1)).unsqueeze(1)  # (b, 1, L)
        words = self.embedding(tokens).transpose(1, 2) * present  # (b, embedded, L)
        activations = self.window(words).relu() * present  # (b, hidden, L), nothing where no word stands
        latent: Tensor = torch.tanh(self.output(activations.amax(dim=2)))
        return latent


class NoisyVectorReader(nn.Module):
    """Noisy vectors to logits: one hidden layer on the numbers, scaled to the noise, and cut off at the box.

    Both are post-processing. Where noise is large, the first keep gradients alive and the second hold what is left.

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

        Readers of private attributes are trained to name them, and what comes before them to prevent it, by gradients
        turned round and weighed with ``adversary`` (Ganin and Lempitsky 2015): the minimax game of Beigi et al. 2019 in
        one step.
        """
        released = self.noise(self.encoder(tokens, lengths), rng)
        scale = self.noise.scale().detach()
        reversed_gradient = (
            1 + adversary
        ) * released.detach() - adversary * released  # the same value, minus the gradient
        attribute_logits = [reader(reversed_gradient, scale) for reader in self.attributes]
        return self.task(released, scale), attribute_logits, self.decoder(released, scale)
