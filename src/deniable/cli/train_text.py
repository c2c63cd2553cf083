"""``deniable train --task text``: a classifier of texts, trained as usual, with certified bounds or on copies."""

import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.options import unknown_name, vector_files
from deniable.cli.runs import StepLines, check_model_outputs, memory_told, resumable, take_up, write_model
from deniable.cli.tables import PIPE
from deniable.cli.texts import Table
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.robust.text.documents import Documents
    from deniable.space import Space

_HELD_OUT = 0.1


def train_text(
    model: str,
    data: Path,
    test: Path | None,
    table: Table,
    output: Path,
    given: dict[str, Any],
    *,
    substitutions: Path | None,
    mechanism: str | None,
    epsilon: float | None,
    every: int,
    seed: int | None,
    force: bool,
) -> None:
    """Train a classifier of texts, and write it with its card.

    Args:
        model: one of `deniable.robust.text.models.MODELS`.
        data: table to learn from.
        test: table to test on; None to hold some of ``data`` out.
        table: names of their columns, and the space.
        output: where the model goes.
        given: of `deniable.robust.text.training.Options`.
        substitutions: word sets, or None.
        mechanism: name of a word mechanism, or None.
        epsilon: of the mechanism.
        every: steps between checkpoints.
        seed: public; None for a fresh key.
        force: overwrite what exists.
    """
    from deniable.learning.commitment import commit  # noqa: PLC0415 - keeps --help fast
    from deniable.learning.loop import Checkpoint  # noqa: PLC0415
    from deniable.robust.text.card import card, text  # noqa: PLC0415
    from deniable.robust.text.model import accuracy, certified, described, fit_text, packed  # noqa: PLC0415
    from deniable.robust.text.models import MODELS  # noqa: PLC0415
    from deniable.robust.text.substitutions import Substitutions  # noqa: PLC0415
    from deniable.robust.text.training import METHODS, check_source, options_of  # noqa: PLC0415

    if model not in MODELS:
        raise unknown_name("model", model, list(MODELS))
    if given.get("method", METHODS[0]) not in METHODS:
        raise unknown_name("method", given["method"], METHODS)
    options = options_of(model, **given)
    if options.method == "normal" and (substitutions or mechanism or epsilon) is not None:
        raise InputError(
            "--substitutions, --mechanism and --epsilon are for --method ibp and augmented: name one, or leave them "
            "out."
        )
    if PIPE in {str(data), str(test)}:
        raise InputError("Training reads its tables twice, which a pipe cannot do: give the path of a file.")
    check_model_outputs(output, data, test, substitutions, vector_files(table.space), force=force)
    space = table.build_space()
    source = table.source(space, substitutions, mechanism, epsilon)
    check_source(options, source)
    train, tested = _halves(space, table, data, test, model)
    table.tell()
    fingerprint = _fingerprint([data] if test is None else [data, test], table)
    parameters = {
        "model": model,
        "data": fingerprint,
        "space": space.fingerprint,
        "drawn from": None if source is None else described(source),
        "seed": seed,
        **dataclasses.asdict(options),
    }
    checkpoint = Checkpoint(Path(f"{output}.checkpoint"), parameters, every)
    take_up(checkpoint, force=force)
    with memory_told(), resumable(checkpoint):
        found = fit_text(
            model, space, train, options, source=source, seed=seed, checkpoint=checkpoint, progress=StepLines()
        )
        clean = accuracy(found, tested)
        held = certified(found, tested, source) if isinstance(source, Substitutions) else None
        owner = commit(fingerprint)
        sure = None if held is None else int(held.sum())
        about = card(found, train, tested, owner["commitment"], clean, sure, source)
        write_model(output, packed(found), about, text(about), owner, force=force)
    checkpoint.remove()
    typer.echo(text(about), err=True)
    typer.echo(f"clean accuracy {clean.value:.3f}")


def _halves(space: "Space", table: Table, data: Path, test: Path | None, model: str) -> "tuple[Documents, Documents]":
    """Return documents to learn from and to test on.

    Raises:
        InputError: the tables cannot be read, hold too little, or hold what the model does not take.
    """
    import numpy as np  # noqa: PLC0415

    from deniable.randomness import generator, key_from_seed  # noqa: PLC0415
    from deniable.robust.text.models import kind_of  # noqa: PLC0415
    from deniable.robust.text.training import check_fits  # noqa: PLC0415

    kind = kind_of(model, pairs=table.premise is not None)
    documents = table.documents(space, str(data), kind.longest).documents
    check_fits(kind, documents)
    if test is not None:
        try:
            tested = table.documents(space, str(test), kind.longest, documents.classes).documents
            check_fits(kind, tested)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None
        return documents, tested
    order = generator(key_from_seed(0), "held out").permutation(len(documents))
    count = max(1, round(_HELD_OUT * len(documents)))
    if count >= len(documents):
        raise InputError(f"{str(data)!r} has {len(documents)} texts, too few to hold some out: give --test.")
    return documents.take(np.sort(order[count:])), documents.take(np.sort(order[:count]))


def _fingerprint(paths: list[Path], table: Table) -> str:
    """Return a text that differs between data sets: of the files' bytes and the columns."""
    digests = [hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in paths]
    columns = (table.column, table.label, table.premise, dataclasses.astuple(table.form))
    return hashlib.blake2b(repr((digests, columns)).encode(), digest_size=16).hexdigest()
