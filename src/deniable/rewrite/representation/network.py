"""The networks of DPText: an encoder of texts, and those who read its noisy vectors."""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from deniable.rewrite.representation.noise import LOWER, UPPER, Invalid, Noise, Variant

_WIDTH = 3
"""Words that the encoder sees at once."""


@dataclasses.dataclass(frozen=True)
class Architecture:
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


class Encoder(nn.Module):
    """Texts to vectors in the box: what stands in three words (Kim 2014), its largest values, a linear layer and tanh.

    Beigi et al. use recurrent networks; a convolution reads short texts as well, several times as fast.

    Args:
        about: the sizes.
    """

    def __init__(self, about: Architecture) -> None:
        super().__init__()
        self.embedding = nn.Embedding(about.words, about.embedded)
        self.window = nn.Conv1d(about.embedded, about.hidden, _WIDTH, padding=_WIDTH // 2)
        self.output = nn.Linear(about.hidden, about.dimensions)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return (b, n) vectors with all coordinates in [-1, 1].

        Args:
            tokens: (b, L) numbers of words, anything behind the end of a text.
            lengths: (b,) words of each text, >= 1.
        """
        present = (torch.arange(tokens.shape[1], device=tokens.device) < lengths.unsqueeze(1)).unsqueeze(1)  # (b, 1, L)
        words = self.embedding(tokens).transpose(1, 2) * present  # (b, embedded, L)
        found = self.window(words).relu() * present  # (b, hidden, L), nothing where no word stands
        latent: Tensor = torch.tanh(self.output(found.amax(dim=2)))
        return latent


class Reader(nn.Module):
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
        logits: Tensor = self.layers(torch.cat([released / (1 + scale), released.clamp(LOWER, UPPER)], dim=1))
        return logits


class DPTextNetwork(nn.Module):
    """Encoder, noise and readers: of the task, of each private attribute, and of the text's words.

    Args:
        about: the sizes.
        noise: which; see `Noise`.
        bound: see `Noise`.
        invalid: see `Noise`.
    """

    def __init__(self, about: Architecture, noise: Variant, bound: float, invalid: Invalid) -> None:
        super().__init__()
        self.encoder = Encoder(about)
        self.noise = Noise(noise, about.dimensions, bound, invalid)
        self.task = Reader(about.dimensions, about.hidden, about.classes)
        self.attributes = nn.ModuleList(Reader(about.dimensions, about.hidden, kinds) for kinds in about.attributes)
        self.decoder = Reader(about.dimensions, about.hidden, about.words)

    def forward(
        self, tokens: Tensor, lengths: Tensor, adversary: float, coins: torch.Generator
    ) -> tuple[Tensor, Sequence[Tensor], Tensor]:
        """Return logits of the task (b, K), of every private attribute, and of the words (b, V).

        Readers of private attributes are trained to name them, and what comes before them to prevent it, by gradients
        turned round and weighed with ``adversary`` (Ganin and Lempitsky 2015): the minimax game of Beigi et al. 2019 in
        one step.
        """
        released = self.noise(self.encoder(tokens, lengths), coins)
        scale = self.noise.scale().detach()
        turned = (1 + adversary) * released.detach() - adversary * released  # the same value, minus the gradient
        hidden = [reader(turned, scale) for reader in self.attributes]
        return self.task(released, scale), hidden, self.decoder(released, scale)
