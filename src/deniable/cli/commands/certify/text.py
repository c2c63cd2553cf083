"""``deniable certify text``: the predictions of a text model, by interval bounds or smoothed by a word mechanism."""

import dataclasses
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.commands.certify.options import TextCertificationOptions
from deniable.cli.documents import LabelledDocuments, LimitedColumns, ReplacementOptions, build_documents
from deniable.cli.model_runs import check_torch
from deniable.cli.options import LabelledTableArgument, TextModelArgument, VectorSpaceOptions
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.rows import read_table
from deniable.cli.tables import TableOptions
from deniable.core.errors import InputError
from deniable.core.guarantees import PROVED_IDEAL, is_proved
from deniable.core.numbers import format_exact

if TYPE_CHECKING:
    from deniable.models.text.model import TextModel
    from deniable.models.text.smoothing.certificate import TextCertificates
    from deniable.models.text.substitutions import Substitutions
    from deniable.words import WordMechanism

_DISTANCE_STEPS = 5
_USUAL_CHANGES = (1, 2, 3, 5)
"""Numbers of replaced words at which certified accuracy is always printed."""


@dataclasses.dataclass(frozen=True)
class TextCertification:
    """What is printed and written.

    Attributes:
        lines: for the terminal.
        record: for the JSON.
        is_refuted: whether an attack refuted a certificate that is stated as proved.
    """

    lines: list[str]
    record: dict[str, Any]
    is_refuted: bool


def run_certify_text(
    model: TextModelArgument,
    source: LabelledTableArgument,
    words: ReplacementOptions,
    options: TextCertificationOptions,
    columns: LimitedColumns,
    vectors: VectorSpaceOptions,
    table: TableOptions,
) -> None:
    """Certify the predictions of a text model on the rows of a table.

    Give --substitutions to certify by interval bounds, or --mechanism to certify the model smoothed by a word
    mechanism. Prints the share of texts that are classified correctly and certified. Exits with 1 if an attack refutes
    a certificate that is stated as proved. Requires the train extra of deniable.

    Examples:
        deniable certify text trained.model test.csv --label stars --substitutions neighbours.json
    """
    check_torch()
    from deniable.models.text.model import check_documents_fit, load_text_model

    options.check("text", model, source, words.substitutions, *vectors.list_files())
    space = vectors.build()
    text_model = load_text_model(model, space)
    sets, mechanism = words.read_substitutions(space), words.build_mechanism(space)
    read = read_table(source, table, columns.roles, limit=columns.limit)
    rows = build_documents(read, space, text_model.network.max_words, text_model.classes)
    check_documents_fit(text_model.network, rows.documents)
    if mechanism is not None:
        certification = _certify_by_smoothing(text_model, rows, mechanism, sets, options)
    elif sets is not None:
        certification = _certify_by_intervals(text_model, rows, sets, options)
    else:
        raise InputError(
            "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and "
            "--mechanism-epsilon to smooth the model."
        )
    options.report(certification.lines, {**certification.record, "rows left out": len(read) - len(rows.rows)})
    if certification.is_refuted:
        raise typer.Exit(EXIT_REFUTED)


def _certify_by_intervals(
    model: "TextModel", rows: LabelledDocuments, sets: "Substitutions", options: TextCertificationOptions
) -> TextCertification:
    """Certify by interval bound propagation, and attack what is certified."""
    import numpy as np

    from deniable.measure.intervals import estimate_share
    from deniable.models.text.attacks import TEXT_ATTACKS
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy

    documents = rows.documents
    is_certified = certify_by_intervals(model, documents, sets)
    clean_accuracy = measure_text_accuracy(model, documents)
    certified_accuracy = estimate_share(int(is_certified.sum()), len(is_certified))
    lines = [
        f"interval bounds: {PROVED_IDEAL}, for all choices of substitutes in {sets.name} and no other change",
        f"clean accuracy     {clean_accuracy.format_percent()}",
        f"certified accuracy {certified_accuracy.format_percent()}",
    ]
    record = {
        "certificate": "interval bounds",
        "status": PROVED_IDEAL,
        "substitutions": sets.name,
        "clean accuracy": dataclasses.asdict(clean_accuracy),
        "certified accuracy": dataclasses.asdict(certified_accuracy),
        "texts": [
            {"row": row + 1, "class": documents.classes[code], "certified": bool(is_sure)}
            for row, code, is_sure in zip(rows.rows.numbers, documents.labels, is_certified, strict=True)
        ],
    }
    attacked_rows = np.flatnonzero(is_certified)[: options.attack_count]
    if not len(attacked_rows):
        return TextCertification(lines, record, is_refuted=False)
    attacked, key = documents.take(attacked_rows), options.make_key()
    with show_passes("attack"):
        flips = {
            name: int(attack(model.network.make_scorer(attacked), attacked, sets, key).flipped.sum())
            for name, attack in TEXT_ATTACKS.items()
        }
    is_refuted = any(flips.values())
    flips_text = ", ".join(f"{name} {count}" for name, count in flips.items())
    outcome = "refuted" if is_refuted else "not refuted"
    lines.append(f"attack: {outcome}; misclassified of {len(attacked_rows):,} certified texts, by search: {flips_text}")
    return TextCertification(lines, {**record, "attack": {"texts": len(attacked_rows), "flipped": flips}}, is_refuted)


def _certify_by_smoothing(
    model: "TextModel",
    rows: LabelledDocuments,
    mechanism: "WordMechanism",
    sets: "Substitutions | None",
    options: TextCertificationOptions,
) -> TextCertification:
    """Certify the model smoothed by a word mechanism, and attack what is certified."""
    from deniable.models.text.smoothing.certificate import SmoothingOptions, certify_texts
    from deniable.models.text.substitutions import describe_source

    documents = rows.documents
    with show_passes("certify"):
        certificates = certify_texts(
            mechanism,
            model.network.make_scorer(documents),
            documents.texts,
            SmoothingOptions(options.alpha, estimation=options.draws),
            key=None if options.seed is None else options.make_key(),
            replacements=sets,
        )
    sampling = f"{len(documents):,} texts, {options.draws:,} draws each, alpha {format_exact(certificates.alpha)}"
    smoother = describe_source(mechanism)
    lines = [
        f"smoothed by {smoother}: {certificates.status} ({certificates.guarantee.source}); {sampling}",
        *_format_certified_accuracy(certificates, documents.labels.tolist()),
        options.describe_noise(),
    ]
    classes = [documents.classes[code] for code in documents.labels]
    texts = [
        {
            "row": row + 1,
            "class": name,
            **dataclasses.asdict(text),
            "label": None if text.label is None else documents.classes[text.label],
        }
        for row, name, text in zip(rows.rows.numbers, classes, certificates.texts, strict=True)
    ]
    record = {
        "certificate": "smoothing by a word mechanism",
        "mechanism": smoother,
        "status": certificates.status,
        "source": certificates.guarantee.source,
        "replacements": certificates.replacements,
        "replacements by": certificates.source,
        "draws": options.draws,
        "seed": options.seed,
        "alpha": certificates.alpha,
        "texts": texts,
    }
    outcomes = _attack_certified_texts(model, rows, mechanism, sets, certificates, options)
    lines += [f"attack within {within}: {outcome}" for within, (outcome, _) in outcomes.items()]
    if outcomes:
        record["attack"] = {within: outcome for within, (outcome, _) in outcomes.items()}
    is_refuted = any(is_refuted_within for _, is_refuted_within in outcomes.values())
    return TextCertification(lines, record, is_refuted and is_proved(certificates.status))


def _format_certified_accuracy(certificates: "TextCertificates", labels: list[int]) -> list[str]:
    """Return the certified accuracy at a few round distances, then at a few numbers of replaced words."""
    largest = max((text.distance for text in certificates.texts), default=0.0)
    steps = range(1, _DISTANCE_STEPS) if largest > 0 else ()
    distances = [0.0, *(float(f"{largest * step / _DISTANCE_STEPS:.2g}") for step in steps)]
    certified_changes = {text.changes for text in certificates.texts if text.changes}
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


def _attack_certified_texts(
    model: "TextModel",
    rows: LabelledDocuments,
    mechanism: "WordMechanism",
    sets: "Substitutions | None",
    certificates: "TextCertificates",
    options: TextCertificationOptions,
) -> dict[str, tuple[str, bool]]:
    """Attack the first certified texts inside both of their certificates: what came out, and whether it refutes."""
    import numpy as np

    from deniable.models.text.smoothing.refutation import TextCertificateAttack

    attacked_rows = np.flatnonzero([text.label is not None for text in certificates.texts])[: options.attack_count]
    outcomes: dict[str, tuple[str, bool]] = {}
    if not len(attacked_rows):
        return outcomes
    attacked = dataclasses.replace(certificates, texts=tuple(certificates.texts[row] for row in attacked_rows))
    documents, key = rows.documents.take(attacked_rows), options.make_key(1)
    scorer = model.network.make_scorer(documents)
    for within in ("distance", "changes"):
        with show_passes(f"attack within {within}"):
            refutation = TextCertificateAttack(within).refute(
                mechanism, scorer, documents.texts, attacked, replacements=sets, key=key
            )
        witness, outcome = refutation.witness, str(refutation)
        if witness is not None and witness.certified.label is not None:
            names = documents.classes[witness.certified.label], documents.classes[witness.rival]
            row = rows.rows.numbers[attacked_rows[witness.text]] + 1
            outcome = refutation.describe(witness.describe(f"row {row}", *names))
        outcomes[within] = outcome, refutation.is_refuted
    return outcomes
