"""Certification of text models smoothed by a word mechanism, and attacks on what is certified."""

import dataclasses
from typing import TYPE_CHECKING, Any

from deniable.cli.commands.certify.options import CertifyOptions, TextCertification
from deniable.cli.labelled_tables import LabelledDocuments
from deniable.cli.progress import show_passes
from deniable.core.guarantees import is_proved
from deniable.core.numbers import format_exact

if TYPE_CHECKING:
    from deniable.models.text.model import TextModel
    from deniable.models.text.smoothing import CertifiedText, TextCertificates
    from deniable.models.text.substitutions import Substitutions
    from deniable.words import WordMechanism

_DISTANCE_STEPS = 5
_USUAL_CHANGES = (1, 2, 3, 5)
"""Numbers of replaced words at which certified accuracy is always printed."""


def certify_rows_by_smoothing(
    model: "TextModel",
    rows: LabelledDocuments,
    mechanism: "WordMechanism",
    substitutions: "Substitutions | None",
    certify_options: CertifyOptions,
) -> TextCertification:
    """Certify the model smoothed by a word mechanism, and attack what is certified."""
    from deniable.models.text.model import describe_source
    from deniable.models.text.smoothing import certify_texts

    with show_passes("certify"):
        certificates = certify_texts(
            mechanism,
            model.network.make_scorer(rows.documents),
            rows.documents.texts,
            key=None if certify_options.seed is None else certify_options.make_key(),
            replacements=substitutions,
            alpha=certify_options.alpha,
            estimation=certify_options.draws,
        )
    sampling = (
        f"{len(rows.documents):,} texts, {certify_options.draws:,} draws each, alpha {format_exact(certificates.alpha)}"
    )
    smoother = describe_source(mechanism)
    lines = [
        f"smoothed by {smoother}: {certificates.status} ({certificates.guarantee.source}); {sampling}",
        *_format_certified_accuracy(certificates, rows.documents.labels.tolist()),
        certify_options.describe_noise(),
    ]
    record = _build_smoothing_record(certificates, rows, smoother, certify_options)
    outcomes = _attack_certified_texts(model, rows, mechanism, substitutions, certificates, certify_options)
    lines += [f"attack within {within}: {outcome_text}" for within, (outcome_text, _) in outcomes.items()]
    if outcomes:
        record["attack"] = {within: outcome_text for within, (outcome_text, _) in outcomes.items()}
    is_refuted = any(is_refuted_within for _, is_refuted_within in outcomes.values())
    return TextCertification(lines, record, is_refuted and is_proved(certificates.status))


def _format_certified_accuracy(certificates: "TextCertificates", labels: list[int]) -> list[str]:
    """Return the certified accuracy at a few distances, then at a few numbers of replaced words."""
    distances = _choose_distances([certified_text.distance for certified_text in certificates.texts])
    certified_changes = {certified_text.changes for certified_text in certificates.texts if certified_text.changes}
    changes = sorted({*_USUAL_CHANGES, *certified_changes})[:_DISTANCE_STEPS]
    by_distance = zip(distances, certificates.accuracy_at_distances(labels, distances), strict=True)
    by_changes = zip(changes, certificates.accuracy_at_changes(labels, changes), strict=True)
    return [
        *(
            f"words moved by less than {size:g} in all: certified accuracy {accuracy.format_percent()}"
            if size
            else f"no word moved: accuracy where the smoothed model is sure {accuracy.format_percent()}"
            for size, accuracy in by_distance
        ),
        *(
            f"{size} word{'s' * (size > 1)} replaced, by {certificates.replacements}: certified accuracy "
            f"{accuracy.format_percent()}"
            for size, accuracy in by_changes
        ),
    ]


def _build_smoothing_record(
    certificates: "TextCertificates", rows: LabelledDocuments, smoother: str, certify_options: CertifyOptions
) -> dict[str, Any]:
    """Return everything for JSON."""
    classes, codes = rows.documents.classes, rows.documents.labels.tolist()
    return {
        "certificate": "smoothing by a word mechanism",
        "mechanism": smoother,
        "status": certificates.status,
        "source": certificates.guarantee.source,
        "replacements": certificates.replacements,
        "replacements by": certificates.source,
        "draws": certify_options.draws,
        "seed": certify_options.seed,
        "alpha": certificates.alpha,
        "texts": [
            {"row": row + 1, "class": classes[code], **_describe_certified_text(certified_text, classes)}
            for row, code, certified_text in zip(rows.row_numbers.tolist(), codes, certificates.texts, strict=True)
        ],
        "rows left out": rows.left_out_count,
    }


def _attack_certified_texts(
    model: "TextModel",
    rows: LabelledDocuments,
    mechanism: "WordMechanism",
    substitutions: "Substitutions | None",
    certificates: "TextCertificates",
    certify_options: CertifyOptions,
) -> dict[str, tuple[str, bool]]:
    """Attack the first certified texts inside both of their certificates: what came out, and whether it refutes."""
    import numpy as np

    from deniable.models.text.smoothing import refute_text_certificates

    is_certified = [certified_text.label is not None for certified_text in certificates.texts]
    attacked_rows = np.flatnonzero(is_certified)[: certify_options.attack_count]
    outcomes: dict[str, tuple[str, bool]] = {}
    if not len(attacked_rows):
        return outcomes
    attacked_certificates = dataclasses.replace(
        certificates, texts=tuple(certificates.texts[row] for row in attacked_rows)
    )
    attacked_documents, classes = rows.documents.take(attacked_rows), rows.documents.classes
    scorer, key = model.network.make_scorer(attacked_documents), certify_options.make_key(1)
    for within in ("distance", "changes"):
        with show_passes(f"attack within {within}"):
            refutation = refute_text_certificates(
                mechanism,
                scorer,
                attacked_documents.texts,
                attacked_certificates,
                key=key,
                within=within,
                replacements=substitutions,
            )
        witness = refutation.witness
        if witness is None or witness.certified.label is None:
            outcomes[within] = str(refutation), refutation.is_refuted
            continue
        class_names = classes[witness.certified.label], classes[witness.rival]
        outcomes[within] = (
            refutation.describe(
                witness.describe(f"row {rows.row_numbers[attacked_rows[witness.text]] + 1}", *class_names)
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
