"""A trained DPText: what it releases of a text, and what that guarantees."""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from deniable.guarantees import ApproxDP, PureDP
from deniable.learning.loop import Checkpoint, train
from deniable.learning.setup import best_device, seeded
from deniable.randomness import fresh_key, key_from_seed
from deniable.rewrite.representation.network import Architecture, DPTextNetwork, Encoder
from deniable.rewrite.representation.noise import LOWER, UPPER
from deniable.rewrite.representation.training import Options, Records, padded, prepared
from deniable.rewrite.tokens import Vocabulary
from deniable.vectors import Copy, DPText, VectorMechanism
from deniable.vectors.domains import Array

LEARNED = "; its epsilon was learned from the training texts, and tells of them by itself"


@dataclasses.dataclass(frozen=True, eq=False)
class Representation:
    """An encoder whose vectors are released with noise, once per record, for classifiers of somebody else.

    Attributes:
        encoder: with its weights, in evaluation mode.
        vocabulary: of its words; part of the model, and as public as it is.
        options: of the training.
        epsilon: as learned, or as fixed.
        facts: about the run, as JSON holds them.
    """

    encoder: Encoder
    vocabulary: Vocabulary
    options: Options
    epsilon: float
    facts: dict[str, Any]

    @property
    def dimensions(self) -> int:
        """The number of coordinates n of a representation."""
        return self.options.dimensions

    def mechanism(self, seed: int | None = None) -> VectorMechanism:
        """Return what draws the noise of a release.

        Args:
            seed: for tests and studies only, see `VectorMechanism`.
        """
        return _mechanism(self.options, self.epsilon, seed)

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What one released vector guarantees its record, any two texts as neighbours, the encoder being given.

        It says nothing of the texts that the encoder was trained on: its weights, vocabulary and learned epsilon are
        released without noise.
        """
        claim = self.mechanism().guarantee
        if self.options.variant != "published":
            return claim
        return dataclasses.replace(claim, source=claim.source + LEARNED)

    def encode(self, texts: Sequence[str]) -> Array:
        """Return (k, n) vectors in the box, float64 and without noise: not to be released.

        Each text is computed by itself: how its vector is rounded tells nothing of how long the others are.
        """
        out = np.empty((len(texts), self.dimensions))
        with torch.inference_mode():
            for row, text in enumerate(texts):
                out[row] = self.encoder(*padded(self.vocabulary, [text]))[0].double().numpy()
        return out

    def release(self, texts: Sequence[str], *, seed: int | None = None) -> Array:
        """Return (k, n) noisy vectors, one per text; every release of a text spends its epsilon again.

        Args:
            texts: k >= 1 records; an empty one is an input like any other.
            seed: for tests and studies only: a public one voids the guarantee.

        Raises:
            InputError: there are no texts.
        """
        return self.mechanism(seed).release(self.encode(texts))


def _mechanism(options: Options, epsilon: float, seed: int | None) -> VectorMechanism:
    if options.variant == "none":
        return Copy(epsilon=epsilon, seed=seed)
    return DPText(
        epsilon=epsilon,
        sampler="published" if options.variant == "published" else "corrected",
        invalid=options.invalid,
        lower=LOWER,
        upper=UPPER,
        seed=seed,
    )


def fit_representation(
    records: Records,
    vocabulary: Vocabulary,
    options: Options,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - nobody is told
) -> Representation:
    """Train encoder, readers and, as published, epsilon.

    Args:
        records: to learn from; they are not protected by what is released of others later.
        vocabulary: of the encoder.
        options: see `Options`.
        seed: public; None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to what the run is a function of, whatever its parameters.
        device: None for a GPU where there is one.
        progress: told steps done, steps in all and the loss after every step.

    Raises:
        InputError: a checkpoint of another run, or an epsilon that no noise serves in so many dimensions.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    _mechanism(options, float(options.epsilon), None).release(np.zeros((1, options.dimensions)))  # raises
    key = fresh_key() if seed is None else key_from_seed(seed)
    if checkpoint is not None:
        digest = hashlib.blake2b(repr((list(records.texts), records.private.shape)).encode(), digest_size=16)
        for codes in (records.task, records.private):
            digest.update(codes.astype("<i8").tobytes())
        described = {"records": digest.hexdigest(), "vocabulary": vocabulary.words, "options": options, "seed": seed}
        checkpoint = checkpoint.bind(described)
        key = checkpoint.key(key)
    about = Architecture(
        len(vocabulary.words),
        options.dimensions,
        options.embedded,
        options.hidden,
        int(records.task.max()) + 1,
        tuple(int(kinds) + 1 for kinds in records.private.max(axis=0)),
    )
    network = seeded(0, lambda: DPTextNetwork(about, options.variant, options.epsilon, options.invalid))
    network = network.to(device or best_device())
    run = prepared(network, vocabulary, records, options, key)
    train(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    network = network.cpu().eval()
    facts = {"options": dataclasses.asdict(options), "seed": seed, "records": len(records.texts), "steps": run.steps}
    learned = min(network.noise.epsilon.item(), options.epsilon)  # as float32 it may lie above its bound
    epsilon = learned if options.variant == "published" else float(options.epsilon)
    return Representation(network.encoder, vocabulary, options, epsilon, facts)
