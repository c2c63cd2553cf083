"""``deniable certify text``: the predictions of a text model, by interval bounds or smoothed by a word mechanism."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.building import (
    build_optional_mechanism,
    build_space,
    describe_substitutions,
    find_vector_files,
    read_optional_substitutions,
)
from deniable.cli.certify.options import (
    AlphaOption,
    AttackCountOption,
    CertifyOptions,
    DrawsOption,
    ResultsOption,
    check_task,
    report_certification,
)
from deniable.cli.choices import MechanismName, MetricName
from deniable.cli.labelled_tables import (
    LabelledColumns,
    LabelledDocuments,
    build_documents,
    print_remarks,
    read_labelled_table,
)
from deniable.cli.model_runs import check_torch, translate_memory_errors
from deniable.cli.options import (
    ATTACK_WORDS_PANEL,
    EXIT_REFUTED,
    DelimiterOption,
    EncodingOption,
    ForceOption,
    FormatOption,
    LabelledTableArgument,
    LabelOption,
    MechanismEpsilonOption,
    MetricOption,
    PremiseOption,
    RowLimitOption,
    SeedOption,
    SpaceOption,
    SubstitutionsOption,
    TextColumnOption,
    TextModelArgument,
    get_choice,
    list_choices,
    make_option,
)
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableFormat
from deniable.core.errors import InputError
from deniable.core.guarantees import PROVED_IDEAL, is_proved

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.smoothing import CertifiedText, TextCertificates
    from deniable.models.text.substitutions import Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism

_DISTANCE_STEPS = 5
_USUAL_CHANGES = (1, 2, 3, 5)
"""Numbers of replaced words at which certified accuracy is always printed."""

SmoothingMechanismOption = Annotated[
    MechanismName | None,
    make_option(
        ATTACK_WORDS_PANEL,
        "--mechanism",
        f"Word mechanism that smooths the model, by drawing every word anew: {list_choices(MechanismName)}. It needs --mechanism-epsilon.",
        metavar="MECHANISM",
    ),
]


@dataclasses.dataclass(frozen=True)
class _AttackWords:
    """What an attack may change: at least one of the two is given.

    Attributes:
        substitutions: words that may replace each word; None for all words.
        mechanism: smooths the model; None to certify by interval bounds.
    """

    substitutions: "Substitutions | None"
    mechanism: "WordMechanism | None"


@dataclasses.dataclass(frozen=True)
class _TextCertification:
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
    *,
    substitutions: SubstitutionsOption = None,
    mechanism: SmoothingMechanismOption = None,
    mechanism_epsilon: MechanismEpsilonOption = None,
    draws: DrawsOption = 10_000,
    alpha: AlphaOption = 0.001,
    attack_count: AttackCountOption = 0,
    column: TextColumnOption = "text",
    label: LabelOption,
    premise: PremiseOption = None,
    limit: RowLimitOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    output: ResultsOption = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
) -> None:
    """Certify the predictions of a text model on the rows of a table.

    Give --substitutions to certify by interval bounds, or --mechanism to certify the model smoothed by a word mechanism.
    Prints the share of texts that are classified correctly and certified. Exits with 1 if an attack refutes a certificate
    that is stated as proved. Requires the train extra of deniable.
    """
    check_torch()
    from deniable.core.files import check_outputs
    from deniable.models.text.model import load_text_model
    from deniable.models.text.training import check_documents_fit

    certify_options = CertifyOptions(draws, alpha, attack_count, seed)
    columns = LabelledColumns(column, label, premise, TableFormat(format_, delimiter, encoding))
    if output is not None:
        check_outputs([output], [model, source, substitutions, find_vector_files(space)], force=force)
    check_task(model, "text")
    word_space = build_space(space, metric)
    text_model = load_text_model(model, word_space)
    attack_words = _build_attack_words(word_space, substitutions, get_choice(mechanism), mechanism_epsilon)
    table = read_labelled_table(source, columns, limit)
    rows = build_documents(table, word_space, text_model.network.max_words, text_model.classes)
    check_documents_fit(text_model.network, rows.documents)
    print_remarks([*describe_substitutions(substitutions, attack_words.substitutions), *rows.remarks])
    with translate_memory_errors():
        certification = _certify_rows(text_model, rows, attack_words, certify_options)
    report_certification(certification.lines, certification.record, output, force=force)
    if certification.is_refuted:
        raise typer.Exit(EXIT_REFUTED)


def _build_attack_words(
    space: "Space", substitutions: Path | None, mechanism: str | None, epsilon: float | None
) -> _AttackWords:
    """Return what an attack may change.

    Raises:
        InputError: nothing is given, or it cannot be read or built.
    """
    words = _AttackWords(
        read_optional_substitutions(space, substitutions), build_optional_mechanism(space, mechanism, epsilon)
    )
    if words.substitutions is None and words.mechanism is None:
        raise InputError(
            "What may an attack change? Give --substitutions to certify by interval bounds, or --mechanism and "
            "--mechanism-epsilon to smooth the model."
        )
    return words


def _certify_rows(
    model: "TextModel", rows: LabelledDocuments, attack_words: _AttackWords, certify_options: CertifyOptions
) -> _TextCertification:
    """Certify by smoothing where there is a mechanism, otherwise by interval bounds."""
    if attack_words.mechanism is not None:
        return _certify_by_smoothing(model, rows, attack_words.mechanism, attack_words.substitutions, certify_options)
    if attack_words.substitutions is None:
        raise InputError("Interval bounds need --substitutions: give some.")
    return _certify_by_intervals(model, rows, attack_words.substitutions, certify_options)


def _certify_by_intervals(
    model: "TextModel", rows: LabelledDocuments, substitutions: "Substitutions", certify_options: CertifyOptions
) -> _TextCertification:
    """Certify by interval bound propagation, and attack what is certified."""
    import numpy as np

    from deniable.core.intervals import estimate_share
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
        return _TextCertification(lines, record, is_refuted=False)
    flips = _count_flips(model, documents.take(attacked_rows), substitutions, certify_options.seed)
    is_refuted = any(flips.values())
    flips_text = ", ".join(f"{name} {count}" for name, count in flips.items())
    outcome = "refuted" if is_refuted else "not refuted"
    lines.append(f"attack: {outcome}; misclassified of {len(attacked_rows):,} certified texts, by search: {flips_text}")
    return _TextCertification(lines, {**record, "attack": {"texts": len(attacked_rows), "flipped": flips}}, is_refuted)


def _count_flips(
    model: "TextModel", documents: "Documents", substitutions: "Substitutions", seed: int
) -> dict[str, int]:
    """Return how many documents each search algorithm leads to another class."""
    from deniable.core.randomness import derive_key_from_seed
    from deniable.models.text.attacks import TEXT_ATTACKS

    flips = {}
    with show_passes("attack"):
        for name, run_attack in TEXT_ATTACKS.items():
            scorer = model.network.make_scorer(documents)
            flips[name] = int(run_attack(scorer, documents, substitutions, derive_key_from_seed(seed)).flipped.sum())
    return flips


def _certify_by_smoothing(
    model: "TextModel",
    rows: LabelledDocuments,
    mechanism: "WordMechanism",
    substitutions: "Substitutions | None",
    certify_options: CertifyOptions,
) -> _TextCertification:
    """Certify the model smoothed by a word mechanism, and attack what is certified."""
    from deniable.core.randomness import derive_key_from_seed
    from deniable.models.text.model import describe_source
    from deniable.models.text.smoothing import certify_texts

    with show_passes("certify"):
        certificates = certify_texts(
            mechanism,
            model.network.make_scorer(rows.documents),
            rows.documents.texts,
            key=derive_key_from_seed(certify_options.seed),
            replacements=substitutions,
            alpha=certify_options.alpha,
            estimation=certify_options.draws,
        )
    sampling = f"{len(rows.documents):,} texts, {certify_options.draws:,} draws each, alpha {certificates.alpha:g}"
    smoother = describe_source(mechanism)
    lines = [
        f"smoothed by {smoother}: {certificates.status} ({certificates.guarantee.source}); {sampling}",
        *_format_certified_accuracy(certificates, rows.documents.labels.tolist()),
    ]
    record = _build_smoothing_record(certificates, rows, smoother, certify_options.draws)
    outcomes = _attack_certified_texts(model, rows, mechanism, substitutions, certificates, certify_options)
    lines += [f"attack within {within}: {outcome_text}" for within, (outcome_text, _) in outcomes.items()]
    if outcomes:
        record["attack"] = {within: outcome_text for within, (outcome_text, _) in outcomes.items()}
    is_refuted = any(is_refuted_within for _, is_refuted_within in outcomes.values())
    return _TextCertification(lines, record, is_refuted and is_proved(certificates.status))


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
    certificates: "TextCertificates", rows: LabelledDocuments, smoother: str, draws: int
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
        "draws": draws,
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

    from deniable.core.randomness import derive_key_from_seed
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
