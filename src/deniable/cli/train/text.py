"""``deniable train --task text``: a classifier of texts, trained as usual, with certified bounds or on copies."""

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.labelled_tables import LabelledTable
from deniable.cli.model_runs import (
    StepProgress,
    check_model_outputs,
    explain_resumption,
    resume_run,
    translate_memory_errors,
    write_model_files,
)
from deniable.cli.options import find_vector_files, unknown_name_error
from deniable.cli.tables import PIPE
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents
    from deniable.space import Space

_HELD_OUT_SHARE = 0.1


def run_train_text(
    kind: str,
    data_path: Path,
    test_path: Path | None,
    labelled_table: LabelledTable,
    output: Path,
    given_options: dict[str, Any],
    *,
    substitutions: Path | None,
    mechanism: str | None,
    epsilon: float | None,
    checkpoint_steps: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train a classifier of texts, and write it with its card.

    Args:
        kind: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        data_path: table to learn from.
        test_path: table to test on; None to hold some of ``data_path`` out.
        labelled_table: names of their columns, and the space.
        output: where the model goes.
        given_options: of `deniable.models.text.training.TextTrainingOptions`.
        substitutions: word sets, or None.
        mechanism: name of a word mechanism, or None.
        epsilon: of the mechanism.
        checkpoint_steps: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.card import commit_to_data  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.models.text.card import build_text_card  # noqa: PLC0415
    from deniable.models.text.model import (  # noqa: PLC0415
        certify_by_intervals,
        describe_source,
        fit_text_model,
        measure_text_accuracy,
    )
    from deniable.models.text.networks import TEXT_NETWORKS  # noqa: PLC0415
    from deniable.models.text.substitutions import Substitutions  # noqa: PLC0415
    from deniable.models.text.training import TEXT_TRAINING_METHODS, check_substitute_source, make_text_training_options  # noqa: PLC0415

    if kind not in TEXT_NETWORKS:
        raise unknown_name_error("model", kind, list(TEXT_NETWORKS))
    if given_options.get("method", TEXT_TRAINING_METHODS[0]) not in TEXT_TRAINING_METHODS:
        raise unknown_name_error("method", given_options["method"], TEXT_TRAINING_METHODS)
    options = make_text_training_options(kind, **given_options)
    if options.method == "normal" and (substitutions or mechanism or epsilon) is not None:
        raise InputError(
            "--substitutions, --mechanism and --epsilon are for --method ibp and augmented: name one, or leave them "
            "out."
        )
    if PIPE in {str(data_path), str(test_path)}:
        raise InputError("Training reads its tables twice, which a pipe cannot do: give the path of a file.")
    check_model_outputs(
        output, data_path, test_path, substitutions, find_vector_files(labelled_table.space_source), force=force
    )
    space = labelled_table.build_space()
    word_source = labelled_table.build_word_source(space, substitutions, mechanism, epsilon)
    check_substitute_source(options, word_source)
    training_documents, test_documents = _split_documents(space, labelled_table, data_path, test_path, kind)
    labelled_table.print_remarks()
    fingerprint = _fingerprint_tables([data_path] if test_path is None else [data_path, test_path], labelled_table)
    parameters = {
        "model": kind,
        "data": fingerprint,
        "space": space.fingerprint,
        "drawn from": None if word_source is None else describe_source(word_source),
        "seed": seed,
        **dataclasses.asdict(options),
    }
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), parameters, checkpoint_steps)
    resume_run(checkpoint, force=force)
    with translate_memory_errors(), explain_resumption(checkpoint):
        text_model = fit_text_model(
            kind,
            space,
            training_documents,
            options,
            source=word_source,
            seed=seed,
            checkpoint=checkpoint,
            progress=StepProgress(),
        )
        clean_accuracy = measure_text_accuracy(text_model, test_documents)
        is_certified = (
            certify_by_intervals(text_model, test_documents, word_source)
            if isinstance(word_source, Substitutions)
            else None
        )
        owner_record = commit_to_data(fingerprint)
        certified_count = None if is_certified is None else int(is_certified.sum())
        model_card = build_text_card(
            text_model,
            training_documents,
            test_documents,
            owner_record["commitment"],
            clean_accuracy,
            certified_count,
            word_source,
        )
        write_model_files(output, text_model, model_card, owner_record, force=force)
    checkpoint.remove()
    typer.echo(model_card.to_text(), err=True)
    typer.echo(f"clean accuracy {clean_accuracy.value:.3f}")


def _split_documents(
    space: "Space", labelled_table: LabelledTable, data_path: Path, test_path: Path | None, kind: str
) -> "tuple[Documents, Documents]":
    """Return documents to learn from and to test on.

    Raises:
        InputError: the tables cannot be read, hold too little, or hold what the model does not take.
    """
    import numpy as np  # noqa: PLC0415

    from deniable.core.randomness import derive_key_from_seed, make_generator  # noqa: PLC0415
    from deniable.models.text.networks import select_text_network  # noqa: PLC0415
    from deniable.models.text.training import check_documents_fit  # noqa: PLC0415

    network_class = select_text_network(kind, pairs=labelled_table.premise_column is not None)
    documents = labelled_table.read_documents(space, str(data_path), network_class.max_words).documents
    check_documents_fit(network_class, documents)
    if test_path is not None:
        try:
            test_documents = labelled_table.read_documents(
                space, str(test_path), network_class.max_words, documents.classes
            ).documents
            check_documents_fit(network_class, test_documents)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
        return documents, test_documents
    order = make_generator(derive_key_from_seed(0), "held out").permutation(len(documents))
    held_out_count = max(1, round(_HELD_OUT_SHARE * len(documents)))
    if held_out_count >= len(documents):
        raise InputError(f"{str(data_path)!r} has {len(documents)} texts, too few to hold some out: give --test.")
    return documents.take(np.sort(order[held_out_count:])), documents.take(np.sort(order[:held_out_count]))


def _fingerprint_tables(paths: list[Path], labelled_table: LabelledTable) -> str:
    """Return a text that differs between data sets: of the files' bytes and the columns."""
    digests = [hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in paths]
    columns = (
        labelled_table.text_column,
        labelled_table.label_column,
        labelled_table.premise_column,
        dataclasses.astuple(labelled_table.table_format),
    )
    return hashlib.blake2b(repr((digests, columns)).encode(), digest_size=16).hexdigest()
