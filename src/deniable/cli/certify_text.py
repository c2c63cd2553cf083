"""``deniable certify`` of a text model: by interval bounds, or smoothed by a word mechanism."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.progress import passes
from deniable.cli.runs import Proof, memory_told, packed_json
from deniable.cli.texts import Labelled, Table
from deniable.errors import InputError
from deniable.status import IDEAL, is_proved

if TYPE_CHECKING:
    from deniable.robust.text.model import TextModel
    from deniable.robust.text.smoothing import Certificates, Certified
    from deniable.robust.text.substitutions import Substitutions
    from deniable.words import WordMechanism

_STEPS = 5


@dataclasses.dataclass(frozen=True)
class _Finding:
    """What is printed and written.

    Attributes:
        lines: for the terminal.
        record: for the JSON.
        refuted: whether an attack refuted a certificate that is said to be proved.
    """

    lines: list[str]
    record: dict[str, Any]
    refuted: bool


def certify_text(
    model: Path,
    data: str,
    proof: Proof,
    table: Table,
    *,
    limit: int | None,
    substitutions: Path | None,
    mechanism: str | None,
    epsilon: float | None,
    output: Path | None,
    force: bool,
) -> bool:
    """Certify the predictions of a text model; the options are those of the command.

    Returns:
        Whether an attack inside what is certified refuted a certificate that is said to be proved.
    """
    from deniable.robust.text.model import load_text  # noqa: PLC0415 - keeps --help fast
    from deniable.robust.text.training import check_fits  # noqa: PLC0415
    from deniable.text.tables.files import PIPE, writing  # noqa: PLC0415

    space = table.build_space()
    found = load_text(model, space)
    sets = table.sets(space, substitutions)
    smoother = table.mechanism(space, mechanism, epsilon)
    if smoother is not None:
        prove = functools.partial(_by_smoothing, mechanism=smoother, sets=sets, proof=proof)
    elif sets is not None:
        prove = functools.partial(_by_intervals, sets=sets, proof=proof)
    else:
        raise InputError(
            "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and "
            "--epsilon to smooth the model."
        )
    given = table.documents(space, data, found.network.longest, found.classes, limit)
    check_fits(found.network, given.documents)
    table.tell()
    with memory_told():
        result = prove(found, given)
    if output is not None:
        with writing(str(output), force=force, owner_only=[str(output)]) as (stream,):
            stream.write(packed_json(result.record))
    for line in result.lines:
        typer.echo(line, err=str(output) == PIPE)
    return result.refuted


def _by_intervals(model: "TextModel", given: Labelled, sets: "Substitutions", proof: Proof) -> _Finding:
    """Certify by interval bound propagation, and attack what is certified."""
    import numpy as np  # noqa: PLC0415

    from deniable.measure.estimate import share  # noqa: PLC0415
    from deniable.randomness import key_from_seed  # noqa: PLC0415
    from deniable.robust.text.attacks import ATTACKS  # noqa: PLC0415
    from deniable.robust.text.model import accuracy, certified  # noqa: PLC0415

    documents = given.documents
    held = certified(model, documents, sets)
    clean, sure = accuracy(model, documents), share(int(held.sum()), len(held))
    lines = [
        f"interval bounds: {IDEAL}, for all choices of substitutes in {sets.name} and no other change",
        f"clean accuracy     {clean.percent()}",
        f"certified accuracy {sure.percent()}",
    ]
    record = {
        "certificate": "interval bounds",
        "standing": IDEAL,
        "substitutions": sets.name,
        "clean accuracy": dataclasses.asdict(clean),
        "certified accuracy": dataclasses.asdict(sure),
        "texts": [
            {"row": row + 1, "class": documents.classes[code], "certified": bool(one)}
            for row, code, one in zip(given.rows.tolist(), documents.labels, held, strict=True)
        ],
        "rows left out": given.left_out,
    }
    rows = np.flatnonzero(held)[: proof.attack]
    if not len(rows):
        return _Finding(lines, record, refuted=False)
    some = documents.take(rows)
    flips = {}
    with passes("attack"):
        for name, search in ATTACKS.items():
            flips[name] = int(search(model.network.scorer(some), some, sets, key_from_seed(proof.seed)).flipped.sum())
    refuted = any(flips.values())
    told = ", ".join(f"{name} {count}" for name, count in flips.items())
    verdict = "refuted" if refuted else "not refuted"
    lines.append(f"attack: {verdict}; of {len(rows):,} certified texts led astray, by search: {told}")
    return _Finding(lines, {**record, "attack": {"texts": len(rows), "flipped": flips}}, refuted)


def _by_smoothing(
    model: "TextModel", given: Labelled, mechanism: "WordMechanism", sets: "Substitutions | None", proof: Proof
) -> _Finding:
    """Certify the model smoothed by a word mechanism, and attack what is certified."""
    from deniable.randomness import key_from_seed  # noqa: PLC0415
    from deniable.robust.text.model import described  # noqa: PLC0415
    from deniable.robust.text.smoothing import certify  # noqa: PLC0415

    documents = given.documents
    scorer = model.network.scorer(documents)
    with passes("certify"):
        found = certify(
            mechanism,
            scorer,
            documents.texts,
            key=key_from_seed(proof.seed),
            replacements=sets,
            alpha=proof.alpha,
            estimation=proof.draws,
        )
    distances = _steps([one.distance for one in found.texts])
    changes = sorted({1, 2, 3, 5, *(one.changes for one in found.texts if one.changes)})[:_STEPS]
    labels = documents.labels.tolist()
    by_distance = found.accuracy_at_distances(labels, distances)
    by_changes = found.accuracy_at_changes(labels, changes)
    how = f"{len(documents):,} texts, {proof.draws:,} draws each, alpha {found.alpha:g}"
    lines = [
        f"smoothed by {described(mechanism)}: {found.standing} ({found.guarantee.source}); {how}",
        *(
            f"words moved by less than {at:g} in all: certified accuracy {one.percent()}"
            if at
            else f"no word moved: accuracy where the smoothed model is sure {one.percent()}"
            for at, one in zip(distances, by_distance, strict=True)
        ),
        *(
            f"{at} word{'s' * (at > 1)} replaced, by {found.replacements}: certified accuracy {one.percent()}"
            for at, one in zip(changes, by_changes, strict=True)
        ),
    ]
    record: dict[str, Any] = {
        "certificate": "smoothing by a word mechanism",
        "mechanism": described(mechanism),
        "standing": found.standing,
        "source": found.guarantee.source,
        "replacements": found.replacements,
        "replacements by": found.source,
        "draws": proof.draws,
        "alpha": found.alpha,
        "texts": [
            {"row": row + 1, "class": documents.classes[code], **_named(one, documents.classes)}
            for row, code, one in zip(given.rows.tolist(), labels, found.texts, strict=True)
        ],
        "rows left out": given.left_out,
    }
    tried = _attacked(model, given, mechanism, sets, found, proof)
    lines += [f"attack within {within}: {told}" for within, (told, _) in tried.items()]
    if tried:
        record["attack"] = {within: told for within, (told, _) in tried.items()}
    refuted = any(failed for _, failed in tried.values())
    return _Finding(lines, record, refuted and is_proved(found.standing))


def _attacked(
    model: "TextModel",
    given: Labelled,
    mechanism: "WordMechanism",
    sets: "Substitutions | None",
    found: "Certificates",
    proof: Proof,
) -> dict[str, tuple[str, bool]]:
    """Attack the first certified texts inside both of their certificates: what came out, and whether it refutes."""
    import numpy as np  # noqa: PLC0415

    from deniable.randomness import key_from_seed  # noqa: PLC0415
    from deniable.robust.text.smoothing import refute  # noqa: PLC0415

    rows = [row for row, one in enumerate(found.texts) if one.label is not None][: proof.attack]
    out: dict[str, tuple[str, bool]] = {}
    if not rows:
        return out
    some = dataclasses.replace(found, texts=tuple(found.texts[row] for row in rows))
    chosen, classes = given.documents.take(np.array(rows, dtype=np.int64)), given.documents.classes
    scorer, key = model.network.scorer(chosen), key_from_seed(proof.seed + 1)
    for within in ("distance", "changes"):
        with passes(f"attack within {within}"):
            tried = refute(mechanism, scorer, chosen.texts, some, key=key, within=within, replacements=sets)
        witness = tried.witness
        if witness is None or witness.certified.label is None:
            out[within] = str(tried), tried.found
            continue
        names = classes[witness.certified.label], classes[witness.rival]
        out[within] = tried.told(witness.told(f"row {given.rows[rows[witness.text]] + 1}", *names)), tried.found
    return out


def _named(one: "Certified", classes: tuple[str, ...]) -> dict[str, Any]:
    """Return what is certified of one text, with the name of its class."""
    return {**dataclasses.asdict(one), "label": None if one.label is None else classes[one.label]}


def _steps(distances: list[float]) -> list[float]:
    """Return a few round distances from 0 up to the largest that is certified."""
    largest = max(distances, default=0.0)
    return [0.0, *(float(f"{largest * step / _STEPS:.2g}") for step in range(1, _STEPS))] if largest > 0 else [0.0]
