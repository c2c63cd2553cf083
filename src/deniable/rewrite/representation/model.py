"""A trained DPText: what it releases of a text, and what that guarantees."""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from deniable.guarantees import ApproxDP, PureDP
from deniable.learning.loop import Checkpoint, run_training
from deniable.learning.setup import build_with_seed, choose_device
from deniable.randomness import derive_key_from_seed, generate_key
from deniable.rewrite.representation.network import DPTextNetwork, RepresentationArchitecture, RepresentationEncoder
from deniable.rewrite.representation.noise import BOX_LOWER, BOX_UPPER
from deniable.rewrite.representation.training import (
    AttributeRecords,
    RepresentationOptions,
    pad_vocabulary_texts,
    prepare_representation_run,
)
from deniable.rewrite.tokens import Vocabulary
from deniable.vectors import CopyMechanism, DPText, VectorMechanism
from deniable.vectors.domains import FloatArray

LEARNED_EPSILON_NOTE = "; its epsilon was learned from the training texts, and tells of them by itself"


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

    encoder: RepresentationEncoder
    vocabulary: Vocabulary
    options: RepresentationOptions
    epsilon: float
    facts: dict[str, Any]

    @property
    def dimensions(self) -> int:
        """The number of coordinates n of a representation."""
        return self.options.dimensions

    def make_mechanism(self, seed: int | None = None) -> VectorMechanism:
        """Return what draws the noise of a release.

        Args:
            seed: for tests and studies only, see `VectorMechanism`.
        """
        return _make_mechanism(self.options, self.epsilon, seed)

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What one released vector guarantees its record, any two texts as neighbours, the encoder being given.

        It says nothing of the texts that the encoder was trained on: its weights, vocabulary and learned epsilon are
        released without noise.
        """
        claim = self.make_mechanism().guarantee
        if self.options.variant != "published":
            return claim
        return dataclasses.replace(claim, source=claim.source + LEARNED_EPSILON_NOTE)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return (k, n) vectors in the box, float64 and without noise: not to be released.

        Each text is computed by itself: how its vector is rounded tells nothing of how long the others are.
        """
        vectors = np.empty((len(texts), self.dimensions))
        with torch.inference_mode():
            for row, text in enumerate(texts):
                vectors[row] = self.encoder(*pad_vocabulary_texts(self.vocabulary, [text]))[0].double().numpy()
        return vectors

    def release(self, texts: Sequence[str], *, seed: int | None = None) -> FloatArray:
        """Return (k, n) noisy vectors, one per text; every release of a text spends its epsilon again.

        Args:
            texts: k >= 1 records; an empty one is an input like any other.
            seed: for tests and studies only: a public one voids the guarantee.

        Raises:
            InputError: there are no texts.
        """
        return self.make_mechanism(seed).sample(self.encode(texts))


def _make_mechanism(options: RepresentationOptions, epsilon: float, seed: int | None) -> VectorMechanism:
    if options.variant == "none":
        return CopyMechanism(epsilon=epsilon, seed=seed)
    return DPText(
        epsilon=epsilon,
        sampler="published" if options.variant == "published" else "corrected",
        invalid=options.invalid,
        lower=BOX_LOWER,
        upper=BOX_UPPER,
        seed=seed,
    )


def fit_representation(
    records: AttributeRecords,
    vocabulary: Vocabulary,
    options: RepresentationOptions,
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
        options: see `RepresentationOptions`.
        seed: public; None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to what the run is a function of, whatever its parameters.
        device: None for a GPU where there is one.
        progress: told steps done, steps in all and the loss after every step.

    Raises:
        InputError: a checkpoint of another run, or an epsilon that no noise serves in so many dimensions.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    _make_mechanism(options, float(options.epsilon), None).sample(np.zeros((1, options.dimensions)))  # raises
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        digest = hashlib.blake2b(repr((list(records.texts), records.private.shape)).encode(), digest_size=16)
        for codes in (records.task, records.private):
            digest.update(codes.astype("<i8").tobytes())
        identity = {"records": digest.hexdigest(), "vocabulary": vocabulary.words, "options": options, "seed": seed}
        checkpoint = checkpoint.bind(identity)
        key = checkpoint.load_key(key)
    architecture = RepresentationArchitecture(
        len(vocabulary.words),
        options.dimensions,
        options.embedded,
        options.hidden,
        int(records.task.max()) + 1,
        tuple(int(largest_code) + 1 for largest_code in records.private.max(axis=0)),
    )
    network = build_with_seed(0, lambda: DPTextNetwork(architecture, options.variant, options.epsilon, options.invalid))
    network = network.to(device or choose_device())
    run = prepare_representation_run(network, vocabulary, records, options, key)
    run_training(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    network = network.cpu().eval()
    facts = {"options": dataclasses.asdict(options), "seed": seed, "records": len(records.texts), "steps": run.steps}
    learned = min(network.noise.epsilon.item(), options.epsilon)  # as float32 it may lie above its bound
    epsilon = learned if options.variant == "published" else float(options.epsilon)
    return Representation(network.encoder, vocabulary, options, epsilon, facts)
