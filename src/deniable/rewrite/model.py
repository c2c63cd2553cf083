"""A trained auto-encoder with its vocabulary: the encoder and decoder that rewriting methods stand between."""

import dataclasses
import hashlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from deniable.errors import InputError, bad_parameter
from deniable.learning.loop import Checkpoint, train
from deniable.learning.setup import best_device, seeded
from deniable.learning.stored import check_finite, damage_told, read_model
from deniable.measure.estimate import Estimate, clustered_share, exact, share
from deniable.randomness import fresh_key, key_from_seed
from deniable.rewrite.autoencoder import Autoencoder, parameters_of
from deniable.rewrite.bleu import bleu
from deniable.rewrite.tokens import Vocabulary, numbered, split
from deniable.rewrite.training import Options, Training, side_by_side
from deniable.vectors import L2Ball

FORMAT = "deniable-rewriter/1"
LIMIT = 64
"""Most tokens of a text, unless chosen otherwise."""
LONGEST = 1_000
"""Most tokens of a text that can be chosen."""
_SETTLED = 10_000
"""Most texts by which vectors are brought to fill the ball."""
_TOGETHER = 256


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

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the vectors (k, n) of texts, not clipped: that is for the mechanism to do.

        Texts stand in their order, and all are as wide as the limit. In which shape a text is computed, and so how its
        vector is rounded, then tells nothing of how long the others are: each pays for itself alone.

        Raises:
            InputError: a text has more tokens than the model takes.
        """
        rows = numbered(self.vocabulary, texts, self.limit)
        found = np.empty((len(rows), self.latent))
        for start in range(0, len(rows), _TOGETHER):
            some = side_by_side(rows[start : start + _TOGETHER], width=self.limit)
            found[start : start + _TOGETHER] = self.network.encode(*some).double().numpy()
        return found

    @torch.inference_mode()
    def decode(self, vectors: npt.ArrayLike) -> list[str]:
        """Return the likeliest texts of vectors (k, n), token after token; the same vector always gives the same text.

        Raises:
            InputError: they are of another shape, or not finite.
        """
        given = np.asarray(vectors, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.latent or not np.isfinite(given).all():  # noqa: PLR2004 - a matrix
            raise InputError(
                f"The vectors to decode must be finite, of shape (k, {self.latent}). Got shape {given.shape}: take "
                "them from a mechanism on this model's encodings."
            )
        # The decoder clips by itself, and float32 cannot hold what noise of a tiny epsilon makes.
        held = torch.from_numpy(L2Ball(self.radius).clip(given).astype(np.float32))
        found: list[str] = []
        for start in range(0, len(held), _TOGETHER):
            rows = self.network.greedy(held[start : start + _TOGETHER], self.limit)
            found.extend(self.vocabulary.text(row) for row in rows.tolist())
        return found


def fit_rewriter(
    texts: Sequence[str],
    held_out: Sequence[str],
    options: Options,
    *,
    limit: int = LIMIT,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - nobody is told
    start: Rewriter | None = None,
    device: torch.device | None = None,
) -> Rewriter:
    """Train an auto-encoder of texts.

    Args:
        texts: public ones to learn from; the model can repeat them.
        held_out: texts that say when to stop.
        options: see `Options`.
        limit: most tokens of a text, up to `LONGEST`; that of ``start`` where there is one.
        seed: public; None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to what the run is a function of, whatever its parameters.
        progress: told steps done, steps in all and the loss after every step.
        start: model to go on from, with its vocabulary and sizes; with ``options.noise`` this is the second stage of
            ADePT (Krishna et al. 2021).
        device: None for a GPU where there is one.

    Raises:
        InputError: no texts, a text that is too long, a limit out of range, or a checkpoint of another run.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    for name, given in (("learn from", texts), ("hold out", held_out)):
        if not given:
            raise InputError(f"There are no texts to {name}. Got 0: give at least 1.")
    if options.noise is not None and start is None:
        raise bad_parameter("training", "noise", "None without a model to start from", options.noise)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LONGEST:
        raise bad_parameter("training", "limit", f"an int from 1 to {LONGEST:,}", limit)
    key = fresh_key() if seed is None else key_from_seed(seed)
    if checkpoint is not None:
        described = {"texts": list(texts), "held out": list(held_out), "limit": limit, "seed": seed, "options": options}
        start_digest = None if start is None else hashlib.blake2b(packed(start), digest_size=16).hexdigest()
        checkpoint = checkpoint.bind({**described, "start": start_digest})
        key = checkpoint.key(key)
    vocabulary = Vocabulary.built(texts) if start is None else start.vocabulary
    limit = limit if start is None else start.limit
    if start is not None:
        options = dataclasses.replace(options, **sizes_of(start))
    network = _network({"words": len(vocabulary), **{name: getattr(options, name) for name in _SHAPE}})
    if start is not None:
        network.load_state_dict(start.network.state_dict())
    numbers, others = numbered(vocabulary, texts, limit), numbered(vocabulary, held_out, limit)
    run = Training(network.to(device or best_device()), numbers, others, options, key)
    train(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    network.load_state_dict(run.result)
    model = Rewriter(network.cpu().eval(), vocabulary, limit, {})
    if start is None:
        settle(model, texts)
    facts = {
        "options": dataclasses.asdict(options),
        "seed": seed,
        "records": len(texts),
        "held out": len(held_out),
        "best epoch": run.epoch,
        "held-out loss": run.best,  # before vectors fill the ball
        "first stage": None if start is None else start.facts,
    }
    return dataclasses.replace(model, facts=facts)


def settle(model: Rewriter, texts: Sequence[str]) -> None:
    """Bring the vectors of public texts to fill the ball of a model, see `Autoencoder.settle`.

    Every text counts once, however often it is there, and of very many the first `_SETTLED` do.
    """
    some = list(dict.fromkeys(texts))[:_SETTLED]
    model.network.settle(torch.from_numpy(model.encode(some)).float())


_SHAPE = ("latent", "hidden", "embedding", "radius")


def sizes_of(model: Rewriter) -> dict[str, Any]:
    """Return the options of training that a model has decided."""
    return {name: getattr(model.network, name) for name in _SHAPE}


def _network(shape: dict[str, Any]) -> Autoencoder:
    return seeded(0, lambda: Autoencoder(**shape))


def packed(model: Rewriter) -> bytes:
    """Return a model as a file holds it: tensors, numbers and texts only."""
    content = {
        "format": FORMAT,
        "shape": parameters_of(model.network),
        "weights": model.network.state_dict(),
        "words": list(model.vocabulary.words),
        "limit": model.limit,
        "facts": model.facts,
    }
    held = io.BytesIO()
    torch.save(content, held)
    return held.getvalue()


def load_rewriter(path: Path) -> Rewriter:
    """Read a model that `packed` made.

    Raises:
        InputError: no such file, it is no rewriter, or it is damaged.
    """
    held = read_model(path, FORMAT)
    with damage_told(path):
        vocabulary = Vocabulary(tuple(map(str, held["words"])))
        if min(held["shape"][name] for name in ("words", "latent", "hidden", "embedding")) < 1:
            raise InputError("a size below 1")
        L2Ball(held["shape"]["radius"])  # raises
        network = _network(held["shape"])
        network.load_state_dict(held["weights"])
        limit, facts = int(held["limit"]), dict(held["facts"])
        if not network.stretch > 0:
            raise InputError(f"vectors stretched by {float(network.stretch):g}")
        if network.words != len(vocabulary):
            raise InputError(f"{len(vocabulary)} words for a network of {network.words}")
        if not 1 <= limit <= LONGEST:
            raise InputError(f"a limit of {limit} tokens")
        check_finite(network)
    return Rewriter(network.eval(), vocabulary, limit, facts)


def reconstruction(model: Rewriter, texts: Sequence[str]) -> dict[str, Estimate]:
    """Return how well texts come back when nothing is added to their clipped vectors.

    Returns:
        ``exact match``: share of the texts whose tokens come back as they were. ``token accuracy``: share of the
        original's tokens that stand in their places. ``bleu``: BLEU-4 of the corpus, in [0, 100].

    Raises:
        InputError: no texts, or one that is too long.
    """
    wanted = [split(text) for text in texts]
    found = [split(text) for text in model.decode(model.encode(texts))] if wanted else []
    right = sum(one == other for one, other in zip(found, wanted, strict=True))
    hits = [sum(a == b for a, b in zip(one, other, strict=False)) for one, other in zip(found, wanted, strict=True)]
    return {
        "exact match": share(right, len(wanted)),
        "token accuracy": clustered_share(hits, [len(one) for one in wanted]),
        "bleu": exact(bleu(found, wanted)),
    }
