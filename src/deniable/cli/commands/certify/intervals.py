"""Certification of text models by interval bounds, and attacks on what is certified."""

import dataclasses
from typing import TYPE_CHECKING

from deniable.cli.commands.certify.options import CertifyOptions, TextCertification
from deniable.cli.labelled_tables import LabelledDocuments
from deniable.cli.progress import show_passes
from deniable.core.guarantees import PROVED_IDEAL

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.substitutions import Substitutions


def certify_rows_by_intervals(
    model: "TextModel", rows: LabelledDocuments, substitutions: "Substitutions", certify_options: CertifyOptions
) -> TextCertification:
    """Certify by interval bound propagation, and attack what is certified."""
    import numpy as np

    from deniable.measure.intervals import estimate_share
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy

    documents = rows.documents
    is_certified = certify_by_intervals(model, documents, substitutions)
    clean_accuracy = measure_text_accuracy(model, documents)
    certified_accuracy = estimate_share(int(is_certified.sum()), len(is_certified))
    lines = [
        f"interval bounds: {PROVED_IDEAL}, for all choices of substitutes in {substitutions.name} and no other change",
        f"clean accuracy     {clean_accuracy.format_percent()}",
        f"certified accuracy {certified_accuracy.format_percent()}",
    ]
    record = {
        "certificate": "interval bounds",
        "status": PROVED_IDEAL,
        "substitutions": substitutions.name,
        "clean accuracy": dataclasses.asdict(clean_accuracy),
        "certified accuracy": dataclasses.asdict(certified_accuracy),
        "texts": [
            {"row": row + 1, "class": documents.classes[code], "certified": bool(certified_flag)}
            for row, code, certified_flag in zip(rows.row_numbers.tolist(), documents.labels, is_certified, strict=True)
        ],
        "rows left out": rows.left_out_count,
    }
    attacked_rows = np.flatnonzero(is_certified)[: certify_options.attack_count]
    if not len(attacked_rows):
        return TextCertification(lines, record, is_refuted=False)
    flips = _count_flips(model, documents.take(attacked_rows), substitutions, certify_options.make_key())
    is_refuted = any(flips.values())
    flips_text = ", ".join(f"{name} {count}" for name, count in flips.items())
    outcome = "refuted" if is_refuted else "not refuted"
    lines.append(f"attack: {outcome}; misclassified of {len(attacked_rows):,} certified texts, by search: {flips_text}")
    return TextCertification(lines, {**record, "attack": {"texts": len(attacked_rows), "flipped": flips}}, is_refuted)


def _count_flips(
    model: "TextModel", documents: "Documents", substitutions: "Substitutions", key: bytes
) -> dict[str, int]:
    """Return how many documents each search algorithm leads to another class."""
    from deniable.models.text.attacks import TEXT_ATTACKS

    flips = {}
    with show_passes("attack"):
        for name, run_attack in TEXT_ATTACKS.items():
            scorer = model.network.make_scorer(documents)
            flips[name] = int(run_attack(scorer, documents, substitutions, key).flipped.sum())
    return flips
