"""A trained text classifier: its network, the space whose words it reads, and how it was trained."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deniable.core.errors import InputError, make_parameter_error, shorten_text
from deniable.core.guarantees import Guarantee, Verdict
from deniable.core.numbers import format_exact
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.artifact import (
    Artifact,
    check_weight_shapes,
    load_weights,
    read_artifact,
    reraise_corrupt_file,
)
from deniable.learning.loop import Checkpoint, build_with_seed, choose_device, run_training
from deniable.measure.intervals import Estimate, estimate_share
from deniable.models.text.documents import Documents, RowIndices
from deniable.models.text.networks import TEXT_NETWORKS, build_text_network, select_text_network
from deniable.models.text.networks.base import TextNetwork, make_text_batch
from deniable.models.text.substitutions import SubstituteSource, Substitutions
from deniable.models.text.training import METHOD_OF_OPTION, TextTrainingOptions, check_documents_fit, prepare_text_run
from deniable.space import Space

TEXT_MODEL_KIND = "text model"
_DOCUMENTS_PER_BATCH = 64
"""Documents whose bounds are computed at once."""
_MAX_SHOWN = 200
"""Characters of what a file says of its space that a message shows."""


@dataclasses.dataclass(frozen=True)
class TextModel:
    """A classifier of texts.

    Attributes:
        name: one of `deniable.models.text.networks.TEXT_NETWORKS` or `PRIVATE_TEXT_NETWORKS`.
        network: with its weights, in evaluation mode.
        classes: their names.
        pairs: whether a document is a premise and a text.
        space_fingerprint: fingerprint of the space.
        space_source: of the space, in words.
        facts: about the run, as JSON holds them; they go into the model card. Of a file they are what it states.
        guarantee: of the training records; None where nothing is claimed, and for a model that was read from a file,
            which cannot show how it was trained.
        verdict: on that claim.
    """

    name: str
    network: TextNetwork
    classes: tuple[str, ...]
    pairs: bool
    space_fingerprint: str
    space_source: str
    facts: dict[str, Any]
    guarantee: Guarantee | None = None
    verdict: Verdict | None = None

    def to_artifact(self) -> Artifact:
        """Return the model as a file holds it, without the space's own vectors and without what is claimed of it."""
        configuration = {
            "network": self.name,
            "classes": list(self.classes),
            "pairs": self.pairs,
            "space": self.space_fingerprint,
            "source": self.space_source,
        }
        return Artifact(TEXT_MODEL_KIND, configuration, self.network.state_dict(), self.facts)

    def predict(self, documents: Documents) -> RowIndices:
        """Return the classes (n,) of documents."""
        rows = np.arange(len(documents))
        predictions: RowIndices = self.network.make_scorer(documents)(documents.texts, rows).argmax(axis=1)
        return predictions


def fit_text_model(
    name: str,
    space: Space,
    documents: Documents,
    options: TextTrainingOptions,
    *,
    source: SubstituteSource | None = None,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - ignores progress
) -> TextModel:
    """Train a text classifier.

    Args:
        name: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        space: whose words it reads.
        documents: to learn from.
        options: see `TextTrainingOptions`.
        source: source of substitutes or copies, see `deniable.models.text.training.prepare_text_run`.
        seed: public; None for a fresh key.
        checkpoint: file that the run is saved to; an existing one is resumed, and the caller removes it. It is bound to
            everything that the run depends on, whatever its own parameters.
        device: None for a GPU where there is one.
        progress: called after every step with the steps done, the total number of steps and the loss.

    Raises:
        InputError: documents, options or a space that do not fit, or a checkpoint of another run.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    if name not in TEXT_NETWORKS:
        # A private network has its own training: this one would claim nothing of the texts that it learns by heart.
        raise make_parameter_error("a text classifier", "name", f"one of {', '.join(TEXT_NETWORKS)}", name)
    if space.fingerprint is None:
        raise make_space_error(space)
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    options = options.resolve_epochs(len(documents))
    if checkpoint is not None:
        checkpoint = checkpoint.bind(
            {
                "model": name,
                "data": documents.fingerprint,
                "space": space.fingerprint,
                "drawn from": None if source is None else _fingerprint_source(source),
                "seed": seed,
                **dataclasses.asdict(options),
            }
        )
        key = checkpoint.load_key(key)
    pairs = documents.premises is not None
    network = build_with_seed(0, lambda: build_text_network(name, space, len(documents.classes), pairs=pairs)).to(
        device or choose_device()
    )
    run = prepare_text_run(network, documents, options, source, key)
    run_training(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    facts = {
        "options": {
            name: value
            for name, value in dataclasses.asdict(options).items()
            if METHOD_OF_OPTION.get(name, options.method) == options.method
        },
        "drawn from": None if source is None or options.method == "normal" else describe_source(source),
        "seed": seed,
        "records": len(documents),
        "steps": run.steps,
    }
    return TextModel(name, network.cpu().eval(), documents.classes, pairs, space.fingerprint, space.source, facts)


def make_space_error(space: Space) -> InputError:
    """Return the error about a space that no file of a model can name."""
    return InputError(
        f"A model of texts needs a space whose metric has a name, so that its file can name the space. Got "
        f"{space.metric}: use 'euclidean'."
    )


def describe_source(source: SubstituteSource) -> str:
    """Return substitutions or a mechanism in words."""
    if isinstance(source, Substitutions):
        return source.name
    return f"{source.name} at {', '.join(f'{name} {format_exact(value)}' for name, value in source.parameters.items())}"


def _fingerprint_source(source: SubstituteSource) -> str:
    """Return a text that differs between any two sources: `describe_source` rounds, and trusts names."""
    if isinstance(source, Substitutions):
        shape = repr((source.name, source.choices.shape)).encode()
        return hashlib.blake2b(shape + source.choices.tobytes(), digest_size=16).hexdigest()
    return f"{type(source).__qualname__} {source.fingerprint}"


def measure_text_accuracy(model: TextModel, documents: Documents) -> Estimate:
    """Return the share of documents that get their label.

    Raises:
        InputError: documents that the model does not take.
    """
    check_documents_fit(model.network, documents)
    return estimate_share(int((model.predict(documents) == documents.labels).sum()), len(documents))


def certify_by_intervals(
    model: TextModel, documents: Documents, sets: Substitutions
) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return (n,) whether each document is right, whatever choices stand for its words (Jia et al. 2019).

    Raises:
        InputError: documents that the model does not take.
    """
    check_documents_fit(model.network, documents)
    is_certified = []
    with torch.inference_mode():
        for start in range(0, len(documents), _DOCUMENTS_PER_BATCH):
            batch = make_text_batch(documents.take(np.arange(start, min(start + _DOCUMENTS_PER_BATCH, len(documents)))))
            margins = model.network.compute_margin_bounds(batch, sets)  # (b, K)
            is_other_class = torch.arange(margins.shape[1]) != batch.labels[:, None]
            is_certified.append(((margins > 0) | ~is_other_class).all(1).numpy())
    return np.concatenate(is_certified)


def load_text_model(path: Path, space: Space) -> TextModel:
    """Read a text model that `deniable.learning.artifact.save_model` wrote.

    Args:
        path: of the file.
        space: that the model was trained on.

    Raises:
        InputError: no such file, it is no text model, or it was trained on another space.
    """
    return restore_text_model(read_artifact(path, TEXT_MODEL_KIND), space)


def restore_text_model(artifact: Artifact, space: Space) -> TextModel:
    """Rebuild a model from what its file holds.

    Args:
        artifact: of the file.
        space: that the model was trained on.

    Raises:
        InputError: the file is damaged, or the model was trained on another space.
    """
    content = artifact.configuration
    if content.get("space") != space.fingerprint:
        source, fingerprint = (shorten_text(str(content.get(name)), _MAX_SHOWN) for name in ("source", "space"))
        raise InputError(
            f"The model {str(artifact.path)!r} was trained on the words of {source} (fingerprint "
            f"{fingerprint}). Got {space.source} (fingerprint {space.fingerprint}): name that space with --space."
        )
    with reraise_corrupt_file(artifact.path):
        classes, pairs = tuple(map(str, content["classes"])), bool(content["pairs"])
        if len({*classes}) < len(classes):
            raise InputError("a class twice")
        vectors = torch.tensor(space.vectors, dtype=torch.float32)
        kind = select_text_network(content["network"], pairs=pairs)
        check_weight_shapes(lambda: kind(vectors, len(classes)), artifact.weights)
        network = build_with_seed(0, lambda: build_text_network(content["network"], space, len(classes), pairs=pairs))
        load_weights(network, artifact.weights)
        return TextModel(
            name=content["network"],
            network=network,
            classes=classes,
            pairs=pairs,
            space_fingerprint=content["space"],
            space_source=content["source"],
            facts=artifact.facts,
        )
