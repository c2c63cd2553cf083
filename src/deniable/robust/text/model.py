"""A trained text classifier: its network, the space whose words it reads, and how it was trained."""

import dataclasses
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deniable.errors import InputError
from deniable.learning.loop import Checkpoint, train
from deniable.learning.setup import best_device, seeded
from deniable.learning.stored import check_finite, damage_told, read_model
from deniable.measure.estimate import Estimate, share
from deniable.randomness import fresh_key, key_from_seed
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents, Rows
from deniable.robust.text.models import build
from deniable.robust.text.network import TextNetwork, batch
from deniable.robust.text.substitutions import Substitutions
from deniable.robust.text.training import OF_METHOD, Options, check_fits, prepared
from deniable.space import Space

FORMAT = "deniable-text-model/1"
_TOGETHER = 64
"""Documents whose bounds are computed at once."""


@dataclasses.dataclass(frozen=True)
class TextModel:
    """A classifier of texts.

    Attributes:
        name: one of `deniable.robust.text.models.MODELS`.
        network: with its weights, in evaluation mode.
        classes: their names.
        pairs: whether a document is a premise and a text.
        space: fingerprint of the space.
        source: of the space, in words.
        facts: about the run, as JSON holds them; they go into the model card.
    """

    name: str
    network: TextNetwork
    classes: tuple[str, ...]
    pairs: bool
    space: str
    source: str
    facts: dict[str, Any]

    def predict(self, documents: Documents) -> Rows:
        """Return the classes (n,) of documents."""
        rows = np.arange(len(documents))
        found: Rows = self.network.scorer(documents)(documents.texts, rows).argmax(axis=1)
        return found


def fit_text(
    name: str,
    space: Space,
    documents: Documents,
    options: Options,
    *,
    source: Source | None = None,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - nobody is told
) -> TextModel:
    """Train a text classifier.

    Args:
        name: one of `deniable.robust.text.models.MODELS`.
        space: whose words it reads.
        documents: to learn from.
        options: see `Options`.
        source: of word boxes or stand-ins, see `deniable.robust.text.training.prepared`.
        seed: public; None for a fresh key.
        checkpoint: where the run is kept; it is taken up where it is found, and left for the caller to remove. It is
            bound to what the run is a function of, whatever its parameters.
        device: None for a GPU where there is one.
        progress: told steps done, steps in all and the loss after every step.

    Raises:
        InputError: documents, options or a space that do not fit, or a checkpoint of another run.
        DeniableError: the loss is no number any more, or a checkpoint cannot be written.
    """
    if space.fingerprint is None:
        raise InputError(
            f"A model of texts needs a space whose metric has a name, so that its file can name the space. Got "
            f"{space.metric}: use 'euclidean'."
        )
    key = fresh_key() if seed is None else key_from_seed(seed)
    options = options.resolved(len(documents))
    if checkpoint is not None:
        checkpoint = checkpoint.bind(
            {
                "model": name,
                "data": documents.fingerprint,
                "space": space.fingerprint,
                "drawn from": None if source is None else _fingerprint(source),
                "seed": seed,
                **dataclasses.asdict(options),
            }
        )
        key = checkpoint.key(key)
    pairs = documents.premises is not None
    network = seeded(0, lambda: build(name, space, len(documents.classes), pairs=pairs)).to(device or best_device())
    run = prepared(network, documents, options, source, key)
    train(run, key, checkpoint, lambda done, loss: progress(done, run.steps, loss))
    facts = {
        "options": {
            name: value
            for name, value in dataclasses.asdict(options).items()
            if OF_METHOD.get(name, options.method) == options.method
        },
        "drawn from": None if source is None or options.method == "normal" else described(source),
        "seed": seed,
        "records": len(documents),
        "steps": run.steps,
    }
    return TextModel(name, network.cpu().eval(), documents.classes, pairs, space.fingerprint, space.source, facts)


def described(source: Source) -> str:
    """Return substitutions or a mechanism in words."""
    if isinstance(source, Substitutions):
        return source.name
    return f"{source.name} at {', '.join(f'{name} {value:g}' for name, value in source.parameters.items())}"


def _fingerprint(source: Source) -> str:
    """Return a text that differs between substitutions and between mechanisms: `described` rounds, and trusts names."""
    if isinstance(source, Substitutions):
        shape = repr((source.name, source.choices.shape)).encode()
        return hashlib.blake2b(shape + source.choices.tobytes(), digest_size=16).hexdigest()
    return f"{type(source).__qualname__} {source.fingerprint}"


def accuracy(model: TextModel, documents: Documents) -> Estimate:
    """Return the share of documents that get their label.

    Raises:
        InputError: documents that the model does not take.
    """
    check_fits(model.network, documents)
    return share(int((model.predict(documents) == documents.labels).sum()), len(documents))


def certified(model: TextModel, documents: Documents, sets: Substitutions) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return (n,) whether each document is right, whatever choices stand for its words (Jia et al. 2019).

    Raises:
        InputError: documents that the model does not take.
    """
    check_fits(model.network, documents)
    found = []
    with torch.inference_mode():
        for start in range(0, len(documents), _TOGETHER):
            given = batch(documents.take(np.arange(start, min(start + _TOGETHER, len(documents)))))
            margins = model.network.margins(given, sets)  # (b, K)
            others = torch.arange(margins.shape[1]) != given.labels[:, None]
            found.append(((margins > 0) | ~others).all(1).numpy())
    return np.concatenate(found)


def packed(model: TextModel) -> bytes:
    """Return a model as a file holds it: tensors, numbers and texts only; the space's own vectors are left out."""
    content = {
        "format": FORMAT,
        "name": model.name,
        "weights": model.network.state_dict(),
        "classes": list(model.classes),
        "pairs": model.pairs,
        "space": model.space,
        "source": model.source,
        "facts": model.facts,
    }
    held = io.BytesIO()
    torch.save(content, held)
    return held.getvalue()


def load_text(path: Path, space: Space) -> TextModel:
    """Read a model that `packed` made.

    Args:
        path: of the file.
        space: that the model was trained on.

    Raises:
        InputError: no such file, it is no text model, or it was trained on another space.
    """
    held = read_model(path, FORMAT)
    if held.get("space") != space.fingerprint:
        raise InputError(
            f"The model {str(path)!r} was trained on the words of {held.get('source')} (fingerprint "
            f"{held.get('space')}). Got {space.source} (fingerprint {space.fingerprint}): name that space with --space."
        )
    with damage_told(path):
        network = seeded(0, lambda: build(held["name"], space, len(held["classes"]), pairs=held["pairs"]))
        network.load_state_dict(held["weights"])
        about = held["source"], dict(held["facts"])
        check_finite(network)
    return TextModel(held["name"], network.eval(), tuple(held["classes"]), held["pairs"], held["space"], *about)
