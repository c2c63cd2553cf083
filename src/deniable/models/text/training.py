"""Training a text classifier: with the usual loss, with certified bounds, or with perturbed copies of the texts."""

import dataclasses
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.randomness import derive_key_from_seed, generate_key
from deniable.learning.loop import (
    AdamRun,
    Checkpoint,
    LengthBucketSampler,
    build_with_seed,
    choose_device,
    run_training,
)
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.model import TextModel, check_documents_fit, get_space_identity
from deniable.models.text.networks import TEXT_NETWORKS, build_text_network
from deniable.models.text.networks.base import TextBatch, TextNetwork, make_text_batch
from deniable.models.text.options import METHOD_OF_OPTION, TextTrainingOptions
from deniable.models.text.substitutions import (
    SubstituteSource,
    Substitutions,
    describe_source,
    draw_copies,
    fingerprint_source,
)
from deniable.space import Space


def prepare_text_run(
    network: TextNetwork,
    documents: Documents,
    options: TextTrainingOptions,
    source: SubstituteSource | None,
    key: bytes,
) -> AdamRun:
    """Return a training run that has not begun.

    Args:
        network: trained in place.
        documents: to learn from.
        options: see `TextTrainingOptions`.
        source: the substitutions that ibp bounds, or the source of the replacement words of augmented.
        key: 32 bytes, which determine batches, copies and dropout.

    Raises:
        InputError: documents that the network does not take, or a method without its source.
    """
    check_documents_fit(network, documents)
    check_substitute_source(options, source)
    epochs = options.resolve_epochs(len(documents)).epochs or 0
    if options.method == "augmented" and source is not None:
        documents = augment_documents(documents, source, options.copies, key)
    device = next(network.parameters()).device
    sampler = LengthBucketSampler(documents.texts.lengths, options.batch_size, key)
    steps = epochs * sampler.batches_per_epoch

    def loss(number: int, rng: torch.Generator) -> Tensor:
        network.rng = rng
        batch = make_text_batch(documents.take(sampler(number)), device)
        if options.method != "ibp" or not isinstance(source, Substitutions):
            return functional.cross_entropy(network(batch), batch.labels)
        progress = min(1.0, number / max(1.0, options.ramp * steps))
        return compute_ibp_loss(network, batch, source, kappa=options.kappa * progress, scale=progress)

    return AdamRun(
        network,
        loss,
        steps,
        options.learning_rate,
        key,
        weight_decay=options.weight_decay,
        clip_norm=options.clip,
    )


def compute_ibp_loss(
    network: TextNetwork, batch: TextBatch, sets: Substitutions, *, kappa: float, scale: float
) -> Tensor:
    """Return (1 - kappa) times the usual loss plus kappa times the worst-case loss (Jia et al. 2019, equation 10).

    The worst-case logits are 0 for the label and minus the lower bound on its margin for every other class.
    """
    logits, margins = network.compute_logits_and_bounds(batch, sets, scale)  # (b, K) each
    usual_loss = functional.cross_entropy(logits, batch.labels)
    return (1 - kappa) * usual_loss + kappa * functional.cross_entropy(-margins, batch.labels)


def augment_documents(documents: Documents, source: SubstituteSource, count: int, key: bytes) -> Documents:
    """Return documents and perturbed copies of each, with its label (Xu et al. 2021, section 4)."""
    rows = np.arange(len(documents))
    copied_texts = [
        words for number in range(count) for words in draw_copies(documents.texts, rows, source, key, number)
    ]
    repeated_rows = np.tile(rows, 1 + count)
    return dataclasses.replace(
        documents.take(repeated_rows), texts=concatenate_texts([*documents.texts, *copied_texts])
    )


def check_substitute_source(options: TextTrainingOptions, source: SubstituteSource | None) -> None:
    """Raise `InputError` where a method lacks its source of words."""
    if options.method == "ibp" and not isinstance(source, Substitutions):
        raise InputError("The method ibp needs substitutions, over which it bounds the loss: give some.")
    if options.method == "augmented" and source is None:
        raise InputError("The method augmented needs substitutions or a mechanism to draw words from: give one.")


def fit_text_model(
    name: str,
    space: Space,
    documents: Documents,
    options: TextTrainingOptions,
    *,
    source: SubstituteSource | None = None,
    seed: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int, float], None] = lambda done, steps, loss: None,  # noqa: ARG005 - ignores progress
) -> TextModel:
    """Train a text classifier.

    Args:
        name: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        space: whose words it reads.
        documents: to learn from.
        options: see `TextTrainingOptions`.
        source: source of substitutes or copies, see `prepare_text_run`.
        seed: public; None for a fresh key.
        checkpoint: file that the run is saved to; an existing one is resumed, and the caller removes it. It is bound to
            everything that the run depends on.
        progress: called after every step with the steps done, the total number of steps and the loss.

    Raises:
        InputError: documents, options or a space that do not fit, or a checkpoint of another run.
        DeniableError: the loss became NaN or infinite, or a checkpoint cannot be written.
    """
    if name not in TEXT_NETWORKS:
        # A private network has its own training: this one would claim nothing of the texts that it learns by heart.
        raise make_parameter_error("a text classifier", "name", f"one of {', '.join(TEXT_NETWORKS)}", name)
    identity = get_space_identity(space)
    key = generate_key() if seed is None else derive_key_from_seed(seed)
    options = options.resolve_epochs(len(documents))
    if checkpoint is not None:
        drawn_from = None if source is None else fingerprint_source(source)
        run_facts = {"model": name, "data": documents.fingerprint, "space": space.fingerprint, "drawn from": drawn_from}
        checkpoint = checkpoint.bind({**run_facts, "seed": seed, **dataclasses.asdict(options)})
        key = checkpoint.load_key(key)
    classes, pairs = len(documents.classes), documents.premises is not None
    network = build_with_seed(0, lambda: build_text_network(name, space, classes, pairs=pairs))
    network.to(choose_device())
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
    return TextModel(name, network.cpu().eval(), documents.classes, *identity, facts)
