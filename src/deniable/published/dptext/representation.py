"""The file of a trained DPText: what is needed to release with it, and nothing of the readers from its training."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deniable.core.arrays import FloatArray
from deniable.core.errors import InputError, check_positive
from deniable.core.guarantees import Guarantee
from deniable.core.numbers import format_exact
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.artifact import Artifact, load_weights, read_artifact, reraise_corrupt_file
from deniable.learning.loop import Checkpoint, build_with_seed, choose_device, run_training
from deniable.published.controls import CopyMechanism
from deniable.published.dptext.mechanism import DPText
from deniable.published.dptext.training import (
    BOX_LOWER,
    BOX_UPPER,
    AttributeRecords,
    DPTextNetwork,
    RepresentationArchitecture,
    RepresentationEncoder,
    RepresentationOptions,
    pad_vocabulary_texts,
    prepare_representation_run,
)
from deniable.rewriting.tokens import Vocabulary
from deniable.vectors import Box, KNorm, Laplace, VectorMechanism

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

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it, which is as public as the texts that it was trained on.

        The file holds the vocabulary and, as published, an epsilon learned from the training texts.
        """
        configuration = {
            "options": dataclasses.asdict(self.options),
            "words": list(self.vocabulary.words),
            "epsilon": self.epsilon,
        }
        return Artifact(REPRESENTATION_KIND, configuration, self.encoder.state_dict(), self.facts)

    def make_mechanism(self, seed: int | None = None) -> VectorMechanism:
        """Return what draws the noise of a release.

        Args:
            seed: for tests and studies only, see `VectorMechanism`.
        """
        return _make_mechanism(self.options, self.epsilon, seed)

    @property
    def guarantee(self) -> Guarantee:
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
    if options.variant == "fixed":
        return Laplace(epsilon=epsilon, domain=Box(BOX_LOWER, BOX_UPPER), seed=seed)
    if options.variant == "norm":
        return KNorm(epsilon=epsilon, domain=Box(BOX_LOWER, BOX_UPPER), seed=seed)
    return DPText(epsilon=epsilon, invalid=options.invalid, lower=BOX_LOWER, upper=BOX_UPPER, seed=seed)


def fit_representation(
    records: AttributeRecords,
    vocabulary: Vocabulary,
    options: RepresentationOptions,
    *,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - ignores progress
) -> Representation:
    """Train encoder, readers and, as published, epsilon.

    Args:
        records: to learn from; they are not protected by what is released of others later.
        vocabulary: of the encoder.
        options: see `RepresentationOptions`.
        seed: public; None for a fresh key.
        checkpoint: file that the run is saved to; an existing one is resumed, and the caller removes it. It is bound to
            everything that the run depends on.
        device: None for a GPU where there is one.
        progress: called after every step with the steps done, the total number of steps and the loss.

    Raises:
        InputError: a checkpoint of another run, or an epsilon that no noise serves in so many dimensions.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    _make_mechanism(options, float(options.epsilon), None).sample(np.zeros((1, options.dimensions)))  # raises
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    if checkpoint is not None:
        data = (list(records.texts), records.task.tolist(), records.private.tolist())
        checkpoint = checkpoint.bind(
            {"records": data, "vocabulary": vocabulary.words, "options": options, "seed": seed}
        )
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


REPRESENTATION_KIND = "representation"


def load_representation(path: Path) -> Representation:
    """Read a representation that `deniable.learning.artifact.save_model` wrote: it encodes and guarantees as it did.

    Raises:
        InputError: no such file, it is no representation, or it is damaged.
    """
    artifact = read_artifact(path, REPRESENTATION_KIND)
    with reraise_corrupt_file(artifact.path):
        content = artifact.configuration
        vocabulary = Vocabulary(tuple(map(str, content["words"])))
        if content["options"].keys() != {field.name for field in dataclasses.fields(RepresentationOptions)}:
            raise InputError("other options than those of this version")  # a default could be another noise
        options = RepresentationOptions(**content["options"])
        encoder = _load_encoder(artifact.weights, len(vocabulary), options)
        # Where it was fixed epsilon is that of the options, and at most that where it was learned.
        epsilon = check_positive("DPText", "epsilon", content["epsilon"])
        if epsilon > options.epsilon or (options.variant != "published" and epsilon < options.epsilon):
            raise InputError(f"epsilon {format_exact(epsilon)}, and {format_exact(options.epsilon)} in its options")
    return Representation(encoder, vocabulary, options, epsilon, artifact.facts)


def _load_encoder(weights: dict[str, Any], words: int, options: RepresentationOptions) -> RepresentationEncoder:
    """Return the encoder with its weights, in evaluation mode."""
    # The readers stay behind, so it does not matter how many classes they told apart.
    architecture = RepresentationArchitecture(
        words, options.dimensions, options.embedded, options.hidden, classes=1, attributes=()
    )
    with torch.device("meta"):  # sizes without memory: those of a hostile file may be too large for any
        encoder = RepresentationEncoder(architecture)
    for weight in weights.values():
        if weight.dtype != torch.float32 or not weight.is_contiguous():
            raise InputError("weights that are stored as no network stores them")
    load_weights(encoder, weights, assign=True)  # raises where a size is another
    return encoder
