"""A trained auto-encoder with its vocabulary: the encoder and decoder that rewriting methods stand between."""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.artifact import (
    Artifact,
    check_weight_shapes,
    load_weights,
    read_artifact,
    reraise_corrupt_file,
    serialize_model,
)
from deniable.learning.loop import Checkpoint, build_with_seed, choose_device, run_training
from deniable.rewriting.autoencoder import Autoencoder
from deniable.rewriting.options import MAX_TOKENS, RewriterOptions
from deniable.rewriting.tokens import Vocabulary, look_up_tokens
from deniable.rewriting.training import RewriterTraining, pad_token_rows
from deniable.vectors import L2Ball

REWRITER_KIND = "rewriter"
_MAX_NORMALIZING_TEXTS = 10_000
"""Most texts by which vectors are brought to fill the ball."""
_TEXTS_PER_BATCH = 256
_SHAPE_OPTIONS = ("latent", "hidden", "embedding", "radius")
"""Options of training that a model to go on from has decided."""


@dataclasses.dataclass(frozen=True)
class Rewriter:
    """An auto-encoder of texts. It is deterministic, and protects nothing by itself.

    Attributes:
        network: with its weights, in evaluation mode.
        vocabulary: the tokens that it knows.
        limit: most tokens of a text.
        facts: about the run, as JSON holds them; they go into the model card.
    """

    network: Autoencoder
    vocabulary: Vocabulary
    limit: int
    facts: dict[str, Any]

    @property
    def radius(self) -> float:
        """C, of the l2 ball into which vectors were clipped in training."""
        return self.network.radius

    @property
    def latent(self) -> int:
        """Coordinates n of a vector."""
        return self.network.latent

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it."""
        configuration = {"shape": self.network.shape, "words": list(self.vocabulary.words), "limit": self.limit}
        return Artifact(REWRITER_KIND, configuration, self.network.state_dict(), self.facts)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the vectors (k, n) of texts, not clipped: that is for the mechanism to do.

        Texts stand in their order, and all are as wide as the limit. In which shape a text is computed, and so how its
        vector is rounded, then tells nothing of how long the others are: each pays for itself alone.

        Raises:
            InputError: a text has more tokens than the model takes.
        """
        rows = look_up_tokens(self.vocabulary, texts, self.limit)
        vectors = np.empty((len(rows), self.latent))
        for start in range(0, len(rows), _TEXTS_PER_BATCH):
            batch = pad_token_rows(rows[start : start + _TEXTS_PER_BATCH], width=self.limit)
            vectors[start : start + _TEXTS_PER_BATCH] = self.network.encode(*batch).double().numpy()
        return vectors

    @torch.inference_mode()
    def decode(self, vectors: npt.ArrayLike) -> list[str]:
        """Return the likeliest texts of vectors (k, n), token after token; the same vector always gives the same text.

        Raises:
            InputError: they are of another shape, or not finite.
        """
        latents = np.asarray(vectors, dtype=np.float64)
        if latents.ndim != 2 or latents.shape[1] != self.latent or not np.isfinite(latents).all():  # noqa: PLR2004 - a matrix
            raise InputError(
                f"The vectors to decode must be finite, of shape (k, {self.latent}). Got shape {latents.shape}: take "
                "them from a mechanism on this model's encodings."
            )
        # The decoder clips by itself, and float32 cannot hold what noise of a tiny epsilon makes.
        clipped = torch.from_numpy(L2Ball(self.radius).clip(latents).astype(np.float32))
        decoded: list[str] = []
        for start in range(0, len(clipped), _TEXTS_PER_BATCH):
            rows = self.network.decode_greedily(clipped[start : start + _TEXTS_PER_BATCH], self.limit)
            decoded.extend(self.vocabulary.to_text(row) for row in rows.tolist())
        return decoded


def fit_rewriter(
    texts: Sequence[str],
    held_out: Sequence[str],
    options: RewriterOptions,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - ignores progress
    start: Rewriter | None = None,
) -> Rewriter:
    """Train an auto-encoder of texts.

    Args:
        texts: public ones to learn from; the model can repeat them.
        held_out: texts that say when to stop.
        options: see `RewriterOptions`.
        seed: public; None for a fresh key.
        checkpoint: file that the run is saved to; an existing one is resumed, and the caller removes it. It is bound to
            everything that the run depends on.
        progress: called after every step with the steps done, the total number of steps and the loss.
        start: model to go on from, with its vocabulary, limit and sizes; with ``options.noise`` this is the second
            stage of ADePT (Krishna et al. 2021).

    Raises:
        InputError: no texts, a text that is too long, or a checkpoint of another run.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    for name, group in (("learn from", texts), ("hold out", held_out)):
        if not group:
            raise InputError(f"There are no texts to {name}. Got 0: give at least 1.")
    if options.noise is not None and start is None:
        raise make_parameter_error("training", "noise", "None without a model to start from", options.noise)
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        identity = {"texts": list(texts), "held out": list(held_out), "seed": seed, "options": options}
        start_digest = None if start is None else hashlib.blake2b(serialize_model(start), digest_size=16).hexdigest()
        checkpoint = checkpoint.bind({**identity, "start": start_digest})
        key = checkpoint.load_key(key)
    if start is None:
        vocabulary, limit = Vocabulary.build(texts), options.max_tokens
        shape = {"words": len(vocabulary), **{name: getattr(options, name) for name in _SHAPE_OPTIONS}}
    else:
        vocabulary, limit, shape = start.vocabulary, start.limit, start.network.shape
        options = dataclasses.replace(options, max_tokens=limit, **{name: shape[name] for name in _SHAPE_OPTIONS})
    network = build_with_seed(0, lambda: Autoencoder(**shape))
    if start is not None:
        network.load_state_dict(start.network.state_dict())
    token_rows, held_out_rows = look_up_tokens(vocabulary, texts, limit), look_up_tokens(vocabulary, held_out, limit)
    run = RewriterTraining(network.to(choose_device()), token_rows, held_out_rows, options, key)
    run_training(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    network.load_state_dict(run.result)
    model = Rewriter(network.cpu().eval(), vocabulary, limit, {})
    if start is None:
        normalize_rewriter(model, texts)
    facts = {
        "options": dataclasses.asdict(options),
        "seed": seed,
        "records": len(texts),
        "held out": len(held_out),
        "best epoch": run.best_epoch,
        "held-out loss": run.best_loss,  # before vectors fill the ball
        "first stage": None if start is None else start.facts,
    }
    return dataclasses.replace(model, facts=facts)


def normalize_rewriter(model: Rewriter, texts: Sequence[str]) -> None:
    """Bring the vectors of public texts to fill the ball of a model, see `Autoencoder.normalize_latents`.

    Every text counts once, however often it is there, and of very many the first `_MAX_NORMALIZING_TEXTS` do.
    """
    distinct_texts = list(dict.fromkeys(texts))[:_MAX_NORMALIZING_TEXTS]
    model.network.normalize_latents(torch.from_numpy(model.encode(distinct_texts)).float())


def load_rewriter(path: str | Path) -> Rewriter:
    """Read a rewriter that `deniable.learning.artifact.save_model` wrote.

    Raises:
        InputError: no such file, it is no rewriter, or it is damaged.
    """
    artifact = read_artifact(path, REWRITER_KIND)
    with reraise_corrupt_file(artifact.path):
        content = artifact.configuration
        vocabulary = Vocabulary(tuple(map(str, content["words"])))
        shape, limit = content["shape"], int(content["limit"])
        if min(shape[name] for name in ("words", "latent", "hidden", "embedding")) < 1:
            raise InputError("a size below 1")
        L2Ball(shape["radius"])  # raises
        check_weight_shapes(lambda: Autoencoder(**shape), artifact.weights)
        network = build_with_seed(0, lambda: Autoencoder(**shape))
        if not float(artifact.weights["stretch"]) > 0:
            raise InputError(f"vectors stretched by {float(artifact.weights['stretch']):g}")
        if network.words != len(vocabulary):
            raise InputError(f"{len(vocabulary)} words for a network of {network.words}")
        if not 1 <= limit <= MAX_TOKENS:
            raise InputError(f"a limit of {limit} tokens")
        load_weights(network, artifact.weights)
    return Rewriter(network, vocabulary, limit, artifact.facts)
