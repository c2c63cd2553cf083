"""``deniable certify`` of a text model: by interval bounds, or smoothed by a word mechanism."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.labelled_tables import LabelledRows, LabelledTable
from deniable.cli.model_runs import CertifyOptions, encode_json, translate_memory_errors
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.guarantees import PROVED_IDEAL, is_proved

if TYPE_CHECKING:
    from deniable.models.text.model import TextModel
    from deniable.models.text.smoothing import CertifiedText, TextCertificates
    from deniable.models.text.substitutions import Substitutions
    from deniable.words import WordMechanism

_DISTANCE_STEPS = 5


@dataclasses.dataclass(frozen=True)
class _TextCertification:
    """What is printed and written.

    Attributes:
        lines: for the terminal.
        record: for the JSON.
        refuted: whether an attack refuted a certificate that is said to be proved.
    """

    lines: list[str]
    record: dict[str, Any]
    refuted: bool


def run_certify_text(
    model_path: Path,
    data: str,
    certify_options: CertifyOptions,
    labelled_table: LabelledTable,
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
    from deniable.core.files import PIPE, open_outputs  # noqa: PLC0415
    from deniable.models.text.model import load_text_model  # noqa: PLC0415 - keeps --help fast
    from deniable.models.text.training import check_documents_fit  # noqa: PLC0415

    space = labelled_table.build_space()
    text_model = load_text_model(model_path, space)
    word_sets = labelled_table.read_word_sets(space, substitutions)
    smoother = labelled_table.build_mechanism(space, mechanism, epsilon)
    if smoother is not None:
        certify_rows = functools.partial(
            _certify_by_smoothing, mechanism=smoother, word_sets=word_sets, certify_options=certify_options
        )
    elif word_sets is not None:
        certify_rows = functools.partial(_certify_by_intervals, word_sets=word_sets, certify_options=certify_options)
    else:
        raise InputError(
            "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and "
            "--epsilon to smooth the model."
        )
    labelled_rows = labelled_table.read_documents(space, data, text_model.network.max_words, text_model.classes, limit)
    check_documents_fit(text_model.network, labelled_rows.documents)
    labelled_table.print_remarks()
    with translate_memory_errors():
        certification = certify_rows(text_model, labelled_rows)
    if output is not None:
        with open_outputs(str(output), force=force, owner_only=[str(output)]) as (stream,):
            stream.write(encode_json(certification.record))
    for line in certification.lines:
        typer.echo(line, err=str(output) == PIPE)
    return certification.refuted


def _certify_by_intervals(
    model: "TextModel", labelled_rows: LabelledRows, word_sets: "Substitutions", certify_options: CertifyOptions
) -> _TextCertification:
    """Certify by interval bound propagation, and attack what is certified."""
    import numpy as np  # noqa: PLC0415

    from deniable.core.intervals import estimate_share  # noqa: PLC0415
    from deniable.core.randomness import derive_key_from_seed  # noqa: PLC0415
    from deniable.models.text.attacks import TEXT_ATTACKS  # noqa: PLC0415
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy  # noqa: PLC0415

    documents = labelled_rows.documents
    is_certified = certify_by_intervals(model, documents, word_sets)
    clean_accuracy, certified_accuracy = (
        measure_text_accuracy(model, documents),
        estimate_share(int(is_certified.sum()), len(is_certified)),
    )
    lines = [
        f"interval bounds: {PROVED_IDEAL}, for all choices of substitutes in {word_sets.name} and no other change",
        f"clean accuracy     {clean_accuracy.format_percent()}",
        f"certified accuracy {certified_accuracy.format_percent()}",
    ]
    record = {
        "certificate": "interval bounds",
        "status": PROVED_IDEAL,
        "substitutions": word_sets.name,
        "clean accuracy": dataclasses.asdict(clean_accuracy),
        "certified accuracy": dataclasses.asdict(certified_accuracy),
        "texts": [
            {"row": row + 1, "class": documents.classes[code], "certified": bool(certified_flag)}
            for row, code, certified_flag in zip(
                labelled_rows.row_numbers.tolist(), documents.labels, is_certified, strict=True
            )
        ],
        "rows left out": labelled_rows.left_out_count,
    }
    rows = np.flatnonzero(is_certified)[: certify_options.attack_count]
    if not len(rows):
        return _TextCertification(lines, record, refuted=False)
    certified_documents = documents.take(rows)
    flips = {}
    with show_passes("attack"):
        for name, search in TEXT_ATTACKS.items():
            flips[name] = int(
                search(
                    model.network.make_scorer(certified_documents),
                    certified_documents,
                    word_sets,
                    derive_key_from_seed(certify_options.seed),
                ).flipped.sum()
            )
    is_refuted = any(flips.values())
    flips_text = ", ".join(f"{name} {count}" for name, count in flips.items())
    outcome = "refuted" if is_refuted else "not refuted"
    lines.append(f"attack: {outcome}; of {len(rows):,} certified texts led astray, by search: {flips_text}")
    return _TextCertification(lines, {**record, "attack": {"texts": len(rows), "flipped": flips}}, is_refuted)


def _certify_by_smoothing(
    model: "TextModel",
    labelled_rows: LabelledRows,
    mechanism: "WordMechanism",
    word_sets: "Substitutions | None",
    certify_options: CertifyOptions,
) -> _TextCertification:
    """Certify the model smoothed by a word mechanism, and attack what is certified."""
    from deniable.core.randomness import derive_key_from_seed  # noqa: PLC0415
    from deniable.models.text.model import describe_source  # noqa: PLC0415
    from deniable.models.text.smoothing import certify_texts  # noqa: PLC0415

    documents = labelled_rows.documents
    scorer = model.network.make_scorer(documents)
    with show_passes("certify"):
        certificates = certify_texts(
            mechanism,
            scorer,
            documents.texts,
            key=derive_key_from_seed(certify_options.seed),
            replacements=word_sets,
            alpha=certify_options.alpha,
            estimation=certify_options.draws,
        )
    distances = _choose_distances([one.distance for one in certificates.texts])
    changes = sorted({1, 2, 3, 5, *(one.changes for one in certificates.texts if one.changes)})[:_DISTANCE_STEPS]
    labels = documents.labels.tolist()
    accuracy_by_distance = certificates.accuracy_at_distances(labels, distances)
    accuracy_by_changes = certificates.accuracy_at_changes(labels, changes)
    sampling = f"{len(documents):,} texts, {certify_options.draws:,} draws each, alpha {certificates.alpha:g}"
    lines = [
        f"smoothed by {describe_source(mechanism)}: {certificates.status} ({certificates.guarantee.source}); {sampling}",
        *(
            f"words moved by less than {size:g} in all: certified accuracy {one.format_percent()}"
            if size
            else f"no word moved: accuracy where the smoothed model is sure {one.format_percent()}"
            for size, one in zip(distances, accuracy_by_distance, strict=True)
        ),
        *(
            f"{size} word{'s' * (size > 1)} replaced, by {certificates.replacements}: certified accuracy {one.format_percent()}"
            for size, one in zip(changes, accuracy_by_changes, strict=True)
        ),
    ]
    record: dict[str, Any] = {
        "certificate": "smoothing by a word mechanism",
        "mechanism": describe_source(mechanism),
        "status": certificates.status,
        "source": certificates.guarantee.source,
        "replacements": certificates.replacements,
        "replacements by": certificates.source,
        "draws": certify_options.draws,
        "alpha": certificates.alpha,
        "texts": [
            {"row": row + 1, "class": documents.classes[code], **_describe_certified_text(one, documents.classes)}
            for row, code, one in zip(labelled_rows.row_numbers.tolist(), labels, certificates.texts, strict=True)
        ],
        "rows left out": labelled_rows.left_out_count,
    }
    attack_outcomes = _attack_certified_texts(model, labelled_rows, mechanism, word_sets, certificates, certify_options)
    lines += [f"attack within {within}: {outcome_text}" for within, (outcome_text, _) in attack_outcomes.items()]
    if attack_outcomes:
        record["attack"] = {within: outcome_text for within, (outcome_text, _) in attack_outcomes.items()}
    is_refuted = any(is_refuted_within for _, is_refuted_within in attack_outcomes.values())
    return _TextCertification(lines, record, is_refuted and is_proved(certificates.status))


def _attack_certified_texts(
    model: "TextModel",
    labelled_rows: LabelledRows,
    mechanism: "WordMechanism",
    word_sets: "Substitutions | None",
    certificates: "TextCertificates",
    certify_options: CertifyOptions,
) -> dict[str, tuple[str, bool]]:
    """Attack the first certified texts inside both of their certificates: what came out, and whether it refutes."""
    import numpy as np  # noqa: PLC0415

    from deniable.core.randomness import derive_key_from_seed  # noqa: PLC0415
    from deniable.models.text.smoothing import refute_text_certificates  # noqa: PLC0415

    rows = [row for row, certified_text in enumerate(certificates.texts) if certified_text.label is not None][
        : certify_options.attack_count
    ]
    outcomes: dict[str, tuple[str, bool]] = {}
    if not rows:
        return outcomes
    attacked_certificates = dataclasses.replace(certificates, texts=tuple(certificates.texts[row] for row in rows))
    attacked_documents, classes = (
        labelled_rows.documents.take(np.array(rows, dtype=np.int64)),
        labelled_rows.documents.classes,
    )
    scorer, key = model.network.make_scorer(attacked_documents), derive_key_from_seed(certify_options.seed + 1)
    for within in ("distance", "changes"):
        with show_passes(f"attack within {within}"):
            refutation = refute_text_certificates(
                mechanism,
                scorer,
                attacked_documents.texts,
                attacked_certificates,
                key=key,
                within=within,
                replacements=word_sets,
            )
        witness = refutation.witness
        if witness is None or witness.certified.label is None:
            outcomes[within] = str(refutation), refutation.is_refuted
            continue
        class_names = classes[witness.certified.label], classes[witness.rival]
        outcomes[within] = (
            refutation.describe(
                witness.describe(f"row {labelled_rows.row_numbers[rows[witness.text]] + 1}", *class_names)
            ),
            refutation.is_refuted,
        )
    return outcomes


def _describe_certified_text(certified_text: "CertifiedText", classes: tuple[str, ...]) -> dict[str, Any]:
    """Return what is certified of one text, with the name of its class."""
    return {
        **dataclasses.asdict(certified_text),
        "label": None if certified_text.label is None else classes[certified_text.label],
    }


def _choose_distances(distances: list[float]) -> list[float]:
    """Return a few round distances from 0 up to the largest that is certified."""
    largest = max(distances, default=0.0)
    return (
        [0.0, *(float(f"{largest * step / _DISTANCE_STEPS:.2g}") for step in range(1, _DISTANCE_STEPS))]
        if largest > 0
        else [0.0]
    )
