"""Training an auto-encoder of texts, without noise or with the noise of the mechanism that will release its vectors.

The texts of each epoch are those of a corpus and new ones made of them, so that a model sees the words of a small
corpus in more contexts.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.randomness import make_generator
from deniable.learning.loop import AdamRun, LengthBucketSampler
from deniable.rewriting.autoencoder import Autoencoder, clip_to_l2_ball, drop_words
from deniable.rewriting.options import RewriterOptions, TrainingNoise
from deniable.rewriting.tokens import END, PAD

TokenRows = Sequence[Sequence[int]]
"""Token ids of each text."""
_TEXTS_PER_BATCH = 256


def pad_token_rows(token_rows: TokenRows, device: torch.device | None = None, width: int = 0) -> tuple[Tensor, Tensor]:
    """Return texts as int64 (b, L), L >= ``width``, with `PAD` behind their ends, and their lengths (b,)."""
    lengths = np.array([len(row_tokens) for row_tokens in token_rows], dtype=np.int64)
    tokens = np.full((len(lengths), int(lengths.max(initial=width))), PAD, dtype=np.int64)
    for row, row_tokens in enumerate(token_rows):
        tokens[row, : len(row_tokens)] = row_tokens
    return torch.from_numpy(tokens).to(device), torch.from_numpy(lengths).to(device)


class AugmentedBatches:
    """The texts of a corpus and new ones made of them, fresh in every epoch, in batches of similar lengths.

    Args:
        token_rows: of the corpus.
        count: new texts per text of the corpus, see `splice_texts`; none is longer than the longest of the corpus.
        share: share of the tokens of a new text that are exchanged, see `exchange_tokens`.
        size: texts of a batch.
        key: 32 bytes, which determine all draws.
    """

    def __init__(self, token_rows: TokenRows, count: int, share: float, size: int, key: bytes) -> None:
        self._token_rows, self._count, self._share, self._size, self._key = token_rows, count, share, size, key
        self._max_tokens = max(map(len, token_rows))
        self._start_epoch(0)
        self.batches = self._sampler.batches_per_epoch
        """Number of batches of an epoch."""

    def __call__(self, number: int) -> TokenRows:
        """Return the token ids of the texts of step ``number``, from 0."""
        epoch, place = divmod(number, self.batches)
        if epoch != self._epoch:
            self._start_epoch(epoch)
        return [self._texts[row] for row in self._sampler(place)]

    def _start_epoch(self, epoch: int) -> None:
        key = make_generator(self._key, "texts", str(epoch)).bytes(32)
        new_texts = splice_texts(self._token_rows, self._count * len(self._token_rows), key, self._max_tokens)
        self._epoch, self._texts = (
            epoch,
            [*self._token_rows, *exchange_tokens(new_texts, self._token_rows, self._share, key)],
        )
        self._sampler = LengthBucketSampler(np.array([len(text) for text in self._texts]), self._size, key)


def splice_texts(token_rows: TokenRows, count: int, key: bytes, max_tokens: int) -> list[list[int]]:
    """Return texts that begin as one text of a corpus and end as another, joined at a token that both contain.

    The first text, the position of the joint, and another occurrence of its token in the corpus are drawn uniformly:
    "flights from boston to denver" and "i go to dallas" make "flights from boston to dallas". Any two neighbouring
    tokens of a new text are neighbours somewhere in the corpus, so this is a draw from a bigram model that keeps long
    runs of words whole.

    Args:
        token_rows: of a corpus.
        count: number of texts.
        key: 32 bytes, which determine the draws.
        max_tokens: maximum number of tokens of a text; longer ones are drawn again.

    Returns:
        ``count`` texts; none where the corpus has no tokens.
    """
    rng = make_generator(key, "splices")
    usable_texts = [text for text in token_rows if 0 < len(text) <= max_tokens]
    occurrences = defaultdict(list)
    for row, text in enumerate(usable_texts):
        for place, token in enumerate(text):
            occurrences[token].append((row, place))
    new_texts: list[list[int]] = []
    while usable_texts and len(new_texts) < count:
        opening_text = usable_texts[rng.integers(len(usable_texts))]
        cut = int(rng.integers(len(opening_text)))
        matches = occurrences[opening_text[cut]]
        row, place = matches[rng.integers(len(matches))]
        joined = [*opening_text[:cut], *usable_texts[row][place:]]
        if len(joined) <= max_tokens:
            new_texts.append(joined)
    return new_texts


def exchange_tokens(token_rows: TokenRows, corpus: TokenRows, share: float, key: bytes) -> list[list[int]]:
    """Return texts in which some tokens are replaced, drawn in proportion to the square roots of corpus counts.

    Such a token cannot be guessed from its context, so a decoder has to read it from the vector.

    Args:
        token_rows: of the texts.
        corpus: whose tokens are drawn.
        share: probability of each token to be replaced, in [0, 1].
        key: 32 bytes, which determine the draws.
    """
    if not any(map(len, token_rows)) or not any(map(len, corpus)):
        return [[*text] for text in token_rows]
    rng, ends = make_generator(key, "exchanged"), np.cumsum([len(text) for text in token_rows])
    corpus_tokens, counts = np.unique(
        np.concatenate([np.asarray(text, np.int64) for text in corpus]), return_counts=True
    )
    flat_tokens = np.concatenate([np.asarray(text, np.int64) for text in token_rows])
    exchanged_places = np.flatnonzero(rng.random(len(flat_tokens)) < share)
    roots = np.sqrt(counts)
    flat_tokens[exchanged_places] = rng.choice(corpus_tokens, size=len(exchanged_places), p=roots / roots.sum())
    return [text.tolist() for text in np.split(flat_tokens, ends[:-1])]


def add_training_noise(vectors: Tensor, noise: TrainingNoise | None, rng: torch.Generator) -> Tensor:
    """Return vectors (b, n) with noise, for training only: it gives no guarantee.

    In a norm: a point uniform in direction whose length is Gamma(n), or one uniform in a cube whose half side is
    Gamma(n + 1), each in units of the scale.
    """
    if noise is None:
        return vectors
    law, scale = noise
    if law == "gaussian":
        return vectors + scale * torch.randn(vectors.shape, generator=rng, device=vectors.device)
    rows, n = vectors.shape
    if law == "l2-norm":
        directions = functional.normalize(torch.randn(vectors.shape, generator=rng, device=vectors.device), dim=1)
        lengths = torch.empty((rows, n), device=vectors.device).exponential_(generator=rng).sum(dim=1, keepdim=True)
        return vectors + scale * lengths * directions
    if law == "max-norm":
        points = 2 * torch.rand(vectors.shape, generator=rng, device=vectors.device) - 1
        sides = torch.empty((rows, n + 1), device=vectors.device).exponential_(generator=rng).sum(dim=1, keepdim=True)
        return vectors + scale * sides * points
    exponentials = torch.empty((2, *vectors.shape), device=vectors.device).exponential_(generator=rng)
    return vectors + scale * (exponentials[0] - exponentials[1])


def compute_reconstruction_loss(
    network: Autoencoder, token_rows: TokenRows, options: RewriterOptions, rng: torch.Generator
) -> tuple[Tensor, int]:
    """Return the negative log-likelihood, summed over the tokens of texts and their ends, and the number of these.

    Args:
        network: in training mode words are dropped.
        token_rows: of the texts.
        options: radius, noise and word dropout.
        rng: for noise and dropout.
    """
    tokens, lengths = pad_token_rows(token_rows, next(network.parameters()).device)
    latents = add_training_noise(clip_to_l2_ball(network.encode(tokens, lengths), options.radius), options.noise, rng)
    inputs = drop_words(tokens, options.word_dropout, rng) if network.training else tokens
    targets = functional.pad(tokens, (0, 1), value=PAD).scatter(1, lengths[:, None], END)
    scores = network.compute_logits(latents, inputs).flatten(0, 1)
    total = functional.cross_entropy(scores, targets.flatten(), ignore_index=PAD, reduction="sum")
    return total, int(lengths.sum()) + len(lengths)


class RewriterTraining(AdamRun):
    """One training run, which ends early and keeps the weights of the epoch with the lowest validation loss.

    Args:
        network: trained in place.
        token_rows: of the texts to learn from.
        held_out: of the texts of the validation loss.
        options: see `RewriterOptions`.
        key: 32 bytes; spliced texts, batches, dropout and noise follow from it.
    """

    def __init__(
        self, network: Autoencoder, token_rows: TokenRows, held_out: TokenRows, options: RewriterOptions, key: bytes
    ) -> None:
        self.sampler = AugmentedBatches(token_rows, options.spliced, options.exchanged, options.batch_size, key)
        self._autoencoder, self._held_out, self._options = network, held_out, options
        self.best_loss, self.best_epoch, self._best_weights = math.inf, 0, copy.deepcopy(network.state_dict())
        """Lowest validation loss per token, and the epoch, from 1, after which it was reached."""
        self.stopped = 0
        """The epoch after which the run ended early; 0 for not yet."""

        def loss(number: int, rng: torch.Generator) -> Tensor:
            total, count = compute_reconstruction_loss(network, self.sampler(number), options, rng)
            return total / count

        steps = options.epochs * self.sampler.batches
        super().__init__(network, loss, steps, options.learning_rate, key, clip_norm=options.clip)

    def step(self, number: int) -> float:
        """Take step ``number`` (from 0), and return its loss; after an early end it does nothing."""
        if self.stopped:
            return self.best_loss
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * (1 + math.cos(math.pi * number / self.steps)) / 2
        loss = super().step(number)
        epoch, place = divmod(number + 1, self.sampler.batches)
        if place == 0:
            self._check_held_out_loss(epoch)
        return loss

    @property
    def result(self) -> dict[str, Tensor]:
        """The parameters of the best epoch."""
        return self._best_weights

    def state(self) -> dict[str, Any]:
        """Return the state that the next step depends on."""
        own_state = {
            "best": self.best_loss,
            "epoch": self.best_epoch,
            "kept": self._best_weights,
            "stopped": self.stopped,
        }
        return {**super().state(), **own_state}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        super().restore(state)
        self.best_loss, self.best_epoch, self._best_weights, self.stopped = (
            state[name] for name in ("best", "epoch", "kept", "stopped")
        )

    def _check_held_out_loss(self, epoch: int) -> None:
        loss = compute_held_out_loss(self._autoencoder, self._held_out, self._options)
        if loss < self.best_loss:
            self.best_loss, self.best_epoch, self._best_weights = (
                loss,
                epoch,
                copy.deepcopy(self._autoencoder.state_dict()),
            )
        elif epoch - self.best_epoch >= self._options.patience:
            self.stopped = epoch


@torch.inference_mode()
def compute_held_out_loss(network: Autoencoder, token_rows: TokenRows, options: RewriterOptions) -> float:
    """Return the mean negative log-likelihood of a token, without word dropout, under the same noise at every call."""
    network.eval()
    rng = torch.Generator(next(network.parameters()).device).manual_seed(0)
    total, count = 0.0, 0
    sorted_rows = sorted(token_rows, key=len)
    for start in range(0, len(sorted_rows), _TEXTS_PER_BATCH):
        batch_loss, batch_count = compute_reconstruction_loss(
            network, sorted_rows[start : start + _TEXTS_PER_BATCH], options, rng
        )
        total, count = total + float(batch_loss), count + batch_count
    return total / count
