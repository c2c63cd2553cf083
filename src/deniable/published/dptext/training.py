"""DPText (Beigi et al. 2019): an encoder of texts, noise, readers of the noisy vectors, and their training.

They are trained through the noise for a task, against readers of private attributes; the scale of the noise can be
learned. `deniable.published.dptext.mechanism` draws the noise of a released vector; `TrainableNoise` has the same law,
as a layer that gradients pass through.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.core.errors import InputError, check_count, check_number_within, make_parameter_error
from deniable.learning.loop import AdamRun, select_batch
from deniable.measure.labels import ClassCodes
from deniable.published.dptext.mechanism import InvalidDraws
from deniable.rewriting.tokens import PAD, Vocabulary
from deniable.rewriting.training import add_training_noise, pad_token_rows

NoiseVariant = Literal["published", "fixed", "norm", "none"]

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
    no logarithm for half of the draws. Fixed, epsilon is ``bound`` and u is from (-1/2, 1/2): Laplace noise. As a
    ``norm`` it is that of `deniable.vectors.KNorm` on the box: its mean length in the maximum norm is Delta / epsilon.

    Args:
        variant: a `NoiseVariant`; ``none`` adds nothing.
        dimensions: n.
        bound: on epsilon as published (the constant c of Beigi et al.), epsilon itself where it is fixed.
        invalid: whether draws without a logarithm are drawn again, or add no noise.
    """

    def __init__(self, variant: NoiseVariant, dimensions: int, bound: float, invalid: InvalidDraws = "redraw") -> None:
        super().__init__()
        self.variant, self.invalid, self.bound = variant, invalid, bound
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
        """Return Delta / epsilon, a scalar, about the size of a coordinate's noise; 0 without noise."""
        return torch.zeros_like(self.raw) if self.variant == "none" else self._sensitivity / self.epsilon

    def forward(self, latent: Tensor, rng: torch.Generator) -> Tensor:
        """Return (b, n): the latent vectors (b, n) with fresh noise."""
        if self.variant == "none":
            return latent
        if self.variant == "norm":
            return add_training_noise(latent, ("max-norm", float(self.scale()) / latent.shape[1]), rng)
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


_MAX_COUNT = 100_000
_MAX_VALUE = 1e6
"""Largest epsilon and learning rate; the smallest is its inverse."""
_GRADIENT_CLIP = 1.0
"""l2 norm to which a gradient is clipped: noise of a large scale makes some very large."""


@dataclasses.dataclass(frozen=True)
class RepresentationOptions:
    """What can be chosen of a training run.

    Attributes:
        variant: ``published``: epsilon is learned below a bound, with the sampler of the papers; ``fixed``: Laplace
            noise with an epsilon that is not trained; ``norm``: the same with noise in the maximum norm, which is
            shorter; ``none``: no noise, the adversary only.
        epsilon: the bound on a learned epsilon, or epsilon itself; without effect where there is no noise.
        invalid: of the published sampler, see `deniable.published.dptext.mechanism.DPText`.
        dimensions: n, of a representation.
        embedded: size of a word's embedding.
        hidden: units of the encoder and of every reader.
        adversary: weight of the private attributes' losses against the encoder (alpha); 0 for no adversary.
        reconstruction: weight of the auto-encoder's loss, the text's words from its noisy vector.
        epochs: passes over the records.
        batch_size: records of a step.
        learning_rate: learning rate of the optimizer.

    Raises:
        InputError: a value is outside its domain.
    """

    variant: NoiseVariant = "fixed"
    epsilon: float = 1.0
    invalid: InvalidDraws = "redraw"
    dimensions: int = 16
    embedded: int = 32
    hidden: int = 64
    adversary: float = 1.0
    reconstruction: float = 0.1
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        if self.variant not in get_args(NoiseVariant):
            raise make_parameter_error(
                "training", "variant", f"one of {', '.join(get_args(NoiseVariant))}", self.variant
            )
        if self.invalid not in {"redraw", "zero"}:
            raise make_parameter_error("training", "invalid", "'redraw' or 'zero'", self.invalid)
        for name in ("epsilon", "learning_rate"):
            check_number_within("training", name, getattr(self, name), 1 / _MAX_VALUE, _MAX_VALUE)
        for name in ("adversary", "reconstruction"):
            check_number_within("training", name, getattr(self, name), 0, _MAX_COUNT)
        for name in ("dimensions", "embedded", "hidden", "epochs", "batch_size"):
            check_count("training", name, getattr(self, name), maximum=_MAX_COUNT)


@dataclasses.dataclass(frozen=True, eq=False)
class AttributeRecords:
    """Texts with the class of a task, which is to be predicted from them, and private attributes, which are not.

    Attributes:
        texts: k of them.
        task: (k,) class of the task, from 0.
        private: (k, T) class of each private attribute, from 0.

    Raises:
        InputError: there are no texts, not as many classes as texts, or classes that are no whole numbers from 0.
    """

    texts: Sequence[str]
    task: ClassCodes
    private: ClassCodes

    def __post_init__(self) -> None:
        if not len(self.texts):
            raise InputError("Training needs at least 1 text. Got 0: give more rows.")
        if self.task.shape != (len(self.texts),) or self.private.shape[:1] != self.task.shape or self.private.ndim != 2:  # noqa: PLR2004 - records by attributes
            raise InputError(
                f"{len(self.texts)} texts need as many classes of the task and rows of private attributes. Got arrays "
                f"of shape {self.task.shape} and {self.private.shape}: give one of each per text."
            )
        for name in ("task", "private"):
            codes = getattr(self, name)
            if codes.dtype.kind not in "bui" or (codes.size and codes.min() < 0):
                raise make_parameter_error(
                    "training", name, "an array of whole numbers from 0", codes.ravel()[:3].tolist()
                )
            object.__setattr__(self, name, codes.astype(np.int64))  # of booleans and shorter integers too


def pad_vocabulary_texts(vocabulary: Vocabulary, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Return the token ids (k, L) of texts, and their numbers (k,); an empty text counts as one `PAD`."""
    return pad_token_rows([vocabulary.to_ids(text) or [PAD] for text in texts], width=1)


def prepare_representation_run(
    network: DPTextNetwork,
    vocabulary: Vocabulary,
    records: AttributeRecords,
    options: RepresentationOptions,
    key: bytes,
) -> AdamRun:
    """Return a training run that has not begun.

    Args:
        network: trained in place.
        vocabulary: of its words.
        records: to learn from.
        options: see `RepresentationOptions`.
        key: 32 bytes; batches and noise follow from it.
    """
    tokens, lengths = pad_vocabulary_texts(vocabulary, records.texts)
    task, private = torch.from_numpy(records.task), torch.from_numpy(records.private)
    count = len(records.texts)
    steps = options.epochs * (count // min(options.batch_size, count))
    device = next(network.parameters()).device

    def loss(number: int, rng: torch.Generator) -> Tensor:
        rows = select_batch(count, options.batch_size, number, key)
        longest = int(lengths[rows].max())
        words, batch_lengths = tokens[rows, :longest].to(device), lengths[rows]
        task_logits, attribute_logits, word_logits = network(words, batch_lengths, options.adversary, rng)
        total = functional.cross_entropy(task_logits, task[rows].to(device))
        for attribute, logits in enumerate(attribute_logits):
            total = total + functional.cross_entropy(logits, private[rows, attribute].to(device))
        return total + options.reconstruction * _compute_word_loss(word_logits, words, batch_lengths.to(device))

    return AdamRun(network, loss, steps, options.learning_rate, key, clip_norm=_GRADIENT_CLIP)


def _compute_word_loss(logits: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of the words (b, L) of texts of lengths (b,), given logits (b, V)."""
    negative_log_likelihoods = -functional.log_softmax(logits, dim=1).gather(1, words)  # (b, L)
    present = torch.arange(words.shape[1], device=words.device) < lengths.unsqueeze(1)
    return (negative_log_likelihoods * present).sum() / present.sum()
