"""A recurrent auto-encoder of texts (the network of Krishna et al. 2021, section 2)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from deniable.rewriting.tokens import END, PAD, START, UNKNOWN

_TINY = 1e-12
_INITIAL_RADIUS = 1e4
"""Initial radius in units of the encoder, larger than any of its vectors, until `Autoencoder.normalize_latents`."""
_ROUNDING_DISTANCE = 1e-5
"""Distance of vectors, relative to their length, up to which it is rounding."""
_SHARE_IN_BALL = 0.75
"""Share of the texts of `Autoencoder.normalize_latents` whose vectors are not clipped afterwards."""


def clip_to_l2_ball(vectors: Tensor, radius: float) -> Tensor:
    """Return vectors (b, n) brought into the l2 ball: r min(1, C / ||r||) (Krishna et al. 2021, equation 1)."""
    norms = vectors.norm(dim=-1, keepdim=True).clamp_min(_TINY)
    clipped_vectors: Tensor = vectors * (radius / norms).clamp_max(1.0)
    return clipped_vectors


class Autoencoder(nn.Module):
    """Encodes a text as a vector in R^n, and decodes vectors.

    The encoder reads START and the tokens with a GRU (Cho et al. 2014) in both directions; its last states give the
    vector r, which is not clipped here. The decoder gets its vector in the first state and at every step. It first
    clips the vector to the ball of radius C, in which every vector lies before noise is added: projecting onto a convex
    set that contains the true vector never moves a noisy vector away from it, and is post-processing, which costs no
    privacy.

    Vectors of texts lie close together, far from 0. Noise is calibrated to any two points of the ball, so vectors are
    shifted and scaled to fill it, see `normalize_latents`; the decoder undoes that. Before, the ball is larger than any
    vector.

    Args:
        words: size V of the vocabulary.
        latent: n.
        hidden: size of the decoder's state; each direction of the encoder has half of it.
        embedding: size of the vectors of tokens.
        radius: C, in the norm l2.
    """

    centre: Tensor
    stretch: Tensor

    def __init__(self, words: int, latent: int, hidden: int, embedding: int, radius: float) -> None:
        super().__init__()
        self.words, self.latent, self.hidden, self.embedding, self.radius = words, latent, hidden, embedding, radius
        self.tokens = nn.Embedding(words, embedding)
        self.forwards = nn.GRU(embedding, hidden // 2, batch_first=True)
        self.backwards = nn.GRU(embedding, hidden // 2, batch_first=True)
        self.to_latent = nn.Linear(2 * (hidden // 2), latent)
        self.register_buffer("centre", torch.zeros(latent))
        self.register_buffer("stretch", torch.tensor(radius / _INITIAL_RADIUS))
        self.to_state = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(embedding + latent, hidden, batch_first=True)
        self.to_embedding = nn.Linear(hidden, embedding)
        self.bias = nn.Parameter(torch.zeros(words))

    @property
    def shape(self) -> dict[str, Any]:
        """The arguments that build a network of the same shape."""
        return {name: getattr(self, name) for name in ("words", "latent", "hidden", "embedding", "radius")}

    def encode(self, tokens: Tensor, lengths: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return vectors (b, n), not clipped.

        Args:
            tokens: int64 (b, L), any values behind the end of a text.
            lengths: int64 (b,), number of tokens of each, from 0 to L.
            weight: embeddings (words, embedding) to use, that of `START` among them; None for those of the network.
        """
        embeddings = self.tokens.weight if weight is None else weight
        inputs = functional.pad(tokens, (1, 0), value=START)
        last = lengths[:, None]  # place of the last token behind START
        reversed_inputs = inputs.gather(1, (last - torch.arange(inputs.shape[1], device=inputs.device)).clamp_min(0))
        states = [
            gru(functional.embedding(sequence, embeddings))[0]
            .gather(1, last[:, :, None].expand(-1, -1, gru.hidden_size))
            .squeeze(1)
            for gru, sequence in ((self.forwards, inputs), (self.backwards, reversed_inputs))
        ]
        vectors: Tensor = self.to_latent(torch.cat(states, dim=1))
        return (vectors - self.centre) * self.stretch

    def normalize_latents(self, vectors: Tensor) -> None:
        """Shift and scale all vectors so that those of some public texts have a mean of 0, and most lie in the ball.

        The decoder's input for a text stays the same, unless its vector is clipped. Vectors that are nearly equal are
        left as they are: they differ by rounding.

        Args:
            vectors: (k, n) of these texts, as `encode` gives them.
        """
        mean = vectors.mean(dim=0)
        radius_in_use = (vectors - mean).norm(dim=1).quantile(_SHARE_IN_BALL)
        if radius_in_use > _ROUNDING_DISTANCE * vectors.norm(dim=1).max():
            self.centre += mean / self.stretch
            self.stretch *= self.radius / radius_in_use

    def compute_logits(self, vectors: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits (b, L + 1, V) of each token and of END, given the tokens before it.

        Args:
            vectors: (b, n), noisy or not.
            tokens: int64 (b, L); logits behind the end of a text are meaningless.
        """
        latents = self._restore_latents(vectors)
        inputs = self.tokens(functional.pad(tokens, (1, 0), value=START))  # (b, L + 1, embedding)
        latents_per_step = latents[:, None, :].expand(-1, inputs.shape[1], -1)
        states, _ = self.decoder(torch.cat([inputs, latents_per_step], dim=2), self._make_state(latents)[None])
        return self._compute_scores(states)

    def make_initial_state(self, vectors: Tensor) -> Tensor:
        """Return the state (b, hidden) before the first step for vectors (b, n)."""
        return self._make_state(self._restore_latents(vectors))

    def step(self, previous: Tensor, vectors: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (b, V) of the next token, and the state (b, hidden) after it.

        Args:
            previous: int64 (b,), the token before it; START at first.
            vectors: (b, n).
            state: (b, hidden).
        """
        inputs = torch.cat([self.tokens(previous), self._restore_latents(vectors)], dim=1)
        states, next_state = self.decoder(inputs[:, None], state[None])
        return self._compute_scores(states[:, 0]), next_state[0]

    def decode_greedily(self, vectors: Tensor, max_tokens: int) -> Tensor:
        """Return tokens (b, max_tokens), each the likeliest after those before it; behind the first END only PAD.

        PAD, START and UNKNOWN are never chosen: they are no words of a text.
        """
        state, previous = self.make_initial_state(vectors), vectors.new_full((len(vectors),), START, dtype=torch.int64)
        ended, tokens = torch.zeros_like(previous, dtype=torch.bool), []
        penalties = vectors.new_zeros(self.words)
        penalties[[PAD, START, UNKNOWN]] = -torch.inf
        for _ in range(max_tokens):
            scores, state = self.step(previous, vectors, state)
            previous = (scores + penalties).argmax(dim=1)
            tokens.append(torch.where(ended, PAD, previous))
            ended = ended | (previous == END)
            if bool(ended.all()):
                break
        rows = torch.stack(tokens, dim=1) if tokens else previous.new_zeros((len(vectors), 0))
        return functional.pad(rows, (0, max_tokens - rows.shape[1]), value=PAD)

    def _restore_latents(self, vectors: Tensor) -> Tensor:
        return clip_to_l2_ball(vectors, self.radius) / self.stretch + self.centre

    def _make_state(self, latents: Tensor) -> Tensor:
        return torch.tanh(self.to_state(latents))

    def _compute_scores(self, states: Tensor) -> Tensor:
        """Return logits (..., V): the words' own vectors are the output layer (Press and Wolf 2017)."""
        return functional.linear(self.to_embedding(states), self.tokens.weight, self.bias)


def drop_words(tokens: Tensor, share: float, rng: torch.Generator) -> Tensor:
    """Return tokens (b, L), each read as `UNKNOWN` with a chance of ``share`` (Bowman et al. 2016, section 3.2)."""
    is_dropped = torch.rand(tokens.shape, generator=rng, device=tokens.device) < share
    return torch.where(is_dropped, UNKNOWN, tokens)
