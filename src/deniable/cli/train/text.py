"""``deniable train text``: a text classifier, private, or trained as usual, with certified bounds or on copies."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deniable.cli.building import build_space, build_substitute_source, describe_substitutions, find_word_files
from deniable.cli.choices import MechanismName, MetricName, TextKind, TextTraining
from deniable.cli.labelled_tables import (
    LabelledColumns,
    print_remarks,
    read_labelled_table,
)
from deniable.cli.model_runs import (
    LossSteps,
    ModelFiles,
    ModelOutput,
    check_torch,
    train_and_write,
)
from deniable.cli.options import (
    HIDE_DEFAULT,
    MODEL_PANEL,
    ChosenFromDataOption,
    DelimiterOption,
    EncodingOption,
    FormatOption,
    HideOption,
    LabelOption,
    MetricOption,
    PremiseOption,
    SpaceOption,
    TextColumnOption,
    TrainingTableArgument,
    get_choice,
    list_choices,
    make_option,
    select_given,
)
from deniable.cli.private_tables import PrivateColumns, PublicFile
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.tables import TableFormat
from deniable.cli.train.documents import build_training_documents, read_test_table
from deniable.cli.train.options import (
    BatchSizeOption,
    BudgetDeltaOption,
    BudgetEpsilonOption,
    CheckpointOption,
    ClassesOption,
    ClipOption,
    EpochsOption,
    LearningRateOption,
    MaxRecordsOption,
    ModelOutputOption,
    PersonOption,
    PublicLabelOption,
    PublicOption,
    RecordsOption,
    TestTableOption,
    TrainingForceOption,
    TrainingSeedOption,
)
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from deniable.learning.loop import Checkpoint
    from deniable.models.text.documents import Documents
    from deniable.models.text.model import TextModel
    from deniable.models.text.substitutions import SubstituteSource
    from deniable.models.text.training import TextTrainingOptions
    from deniable.space import Space

_PERTURBED_PANEL = "Perturbed words, for ibp and augmented"
_PRIVATE_KINDS = (TextKind.DP_LINEAR, TextKind.DP_FASTTEXT)
_LINEAR_OPTIONS = ("person", "max_records", "public", "public_label")
"""Options that only dp-linear takes."""
_DEFAULT_CHECKPOINT = 20
_NO_PIPE = "An interrupted run reads its tables again, which a pipe cannot do: give the path of a file."

KindOption = Annotated[
    TextKind, make_option(MODEL_PANEL, "--kind", f"Kind of model: {list_choices(TextKind)}.", metavar="KIND")
]
TrainingOption = Annotated[
    TextTraining,
    make_option(
        MODEL_PANEL,
        "--training",
        "Training: normal, ibp (certified by interval bounds) or augmented.",
        metavar="METHOD",
    ),
]
IbpWeightOption = Annotated[
    float | None,
    make_option(_PERTURBED_PANEL, "--ibp-weight", "Final weight of the worst case, for ibp.", default_text="0.8"),
]
IbpRampOption = Annotated[
    float | None,
    make_option(
        _PERTURBED_PANEL,
        "--ibp-ramp",
        "Share of the training that phases it in, for ibp.",
        metavar="SHARE",
        default_text="2/3",
    ),
]
CopiesOption = Annotated[
    int | None,
    make_option(_PERTURBED_PANEL, "--copies", "Perturbed copies of each text, for augmented.", default_text="4"),
]
SubstitutionsOption = Annotated[
    Path | None,
    make_option(
        _PERTURBED_PANEL,
        "--substitutions",
        'JSON object {"word": ["substitute", ...]}.',
        metavar="FILE",
    ),
]
MechanismOption = Annotated[
    MechanismName | None,
    make_option(
        _PERTURBED_PANEL,
        "--mechanism",
        "Word mechanism that draws the copies, for augmented.",
        metavar="MECHANISM",
    ),
]
MechanismEpsilonOption = Annotated[
    float | None, make_option(_PERTURBED_PANEL, "--mechanism-epsilon", "Epsilon of --mechanism.")
]


@dataclasses.dataclass(frozen=True)
class _TextRun:
    """What a trained text classifier is a function of, beside the checkpoint.

    Attributes:
        kind: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        options: of the training.
        space: whose words it reads.
        word_source: of substitutes and copies; None for neither.
        training_documents: to learn from.
        test_documents: to test on.
        fingerprint: of the tables.
        seed: public; None for a fresh key.
    """

    kind: str
    options: "TextTrainingOptions"
    space: "Space"
    word_source: "SubstituteSource | None"
    training_documents: "Documents"
    test_documents: "Documents"
    fingerprint: str
    seed: int | None


def run_train_text(
    source: TrainingTableArgument,
    *,
    kind: KindOption,
    training: TrainingOption = TextTraining.NORMAL,
    column: TextColumnOption = "text",
    label: LabelOption,
    premise: PremiseOption = None,
    test: TestTableOption = None,
    epsilon: BudgetEpsilonOption = None,
    delta: BudgetDeltaOption = None,
    person: PersonOption = None,
    max_records: MaxRecordsOption = None,
    records: RecordsOption = None,
    classes: ClassesOption = None,
    public: PublicOption = None,
    public_label: PublicLabelOption = None,
    chosen_from_data: ChosenFromDataOption = False,
    epochs: EpochsOption = None,
    batch_size: BatchSizeOption = None,
    learning_rate: LearningRateOption = None,
    clip: ClipOption = None,
    ibp_weight: IbpWeightOption = None,
    ibp_ramp: IbpRampOption = None,
    copies: CopiesOption = None,
    substitutions: SubstitutionsOption = None,
    mechanism: MechanismOption = None,
    mechanism_epsilon: MechanismEpsilonOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.EUCLIDEAN,
    hide: HideOption = HIDE_DEFAULT,
    format_: FormatOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    output: ModelOutputOption,
    force: TrainingForceOption = False,
    checkpoint_every: CheckpointOption = _DEFAULT_CHECKPOINT,
    seed: TrainingSeedOption = None,
) -> None:
    """Train a text classifier, and write it with its model card.

    dp-linear and dp-fasttext are private and take the options under Privacy: both hide every record, and dp-linear
    also every person. The other kinds claim no privacy. FILE.card.json and FILE.card.txt are for those who receive the
    model; FILE.owner.json is for its owner only. Run the same command again to resume an interrupted run. Requires the
    train extra of deniable.
    """
    check_torch()
    from deniable.models.text.training import check_substitute_source

    columns = LabelledColumns(column, label, premise, TableFormat(format_, delimiter, encoding))
    model_output = ModelOutput(output, force, checkpoint_every)
    private_options = {
        "epsilon": epsilon,
        "delta": delta,
        "person": person,
        "max_records": max_records,
        "records": records,
        "classes": classes,
        "public": public,
        "public_label": public_label,
        "chosen_from_data": chosen_from_data or None,
    }
    step_options: dict[str, Any] = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "clip": clip,
    }
    if kind in _PRIVATE_KINDS:
        other_options = {
            "training": None if training is TextTraining.NORMAL else training,
            "premise": premise,
            "ibp_weight": ibp_weight,
            "ibp_ramp": ibp_ramp,
            "copies": copies,
            "substitutions": substitutions,
            "mechanism": mechanism,
            "mechanism_epsilon": mechanism_epsilon,
            "metric": None if metric is MetricName.EUCLIDEAN else metric,
            "seed": seed,
        }
        refuse_options(kind.value, other_options)
        if kind is TextKind.DP_FASTTEXT:
            _train_dp_fasttext(source, columns, {**private_options, **step_options}, (space, hide), test, model_output)
            return
        linear_options = {
            "hide": None if hide == HIDE_DEFAULT else hide,
            "checkpoint_every": None if checkpoint_every == _DEFAULT_CHECKPOINT else checkpoint_every,
        }
        refuse_options(kind.value, {**step_options, **linear_options})
        _train_private(source, columns, private_options, space, test, model_output)
        return
    refuse_options(kind.value, private_options)
    options = _build_options(
        kind.value,
        training.value,
        (ibp_weight, ibp_ramp, copies),
        step_options,
    )
    if training is TextTraining.NORMAL and (substitutions or mechanism or mechanism_epsilon) is not None:
        raise InputError(
            "--substitutions, --mechanism and --mechanism-epsilon are for --training ibp and augmented: choose one of "
            "these, or leave them out."
        )
    tables = [path for path in (source, test) if path is not None]
    if PIPE in map(str, tables):
        raise InputError(_NO_PIPE)
    model_output.check(*tables, substitutions, *find_word_files(space, hide))
    word_space = build_space(space, metric, hide)
    word_source = build_substitute_source(word_space, substitutions, get_choice(mechanism), mechanism_epsilon)
    check_substitute_source(options, word_source)
    table = read_labelled_table(str(source), columns)
    test_table = None if test is None else read_test_table(test, columns)
    documents, test_documents, remarks = build_training_documents(table, test_table, word_space, kind.value)
    print_remarks([*describe_substitutions(substitutions, word_source), *remarks])
    fingerprint = table.fingerprint if test_table is None else f"{table.fingerprint} {test_table.fingerprint}"
    run = _TextRun(kind.value, options, word_space, word_source, documents, test_documents, fingerprint, seed)
    train_and_write(
        model_output, _describe_run(run), functools.partial(_fit_model, run), functools.partial(_describe_model, run)
    )


def _train_private(
    source: Path,
    columns: LabelledColumns,
    options: dict[str, Any],
    space: str,
    test: Path | None,
    model_output: ModelOutput,
) -> None:
    """Train a private kind."""
    from deniable.cli.train.private_text import PrivateTraining, train_private_text

    public, public_label = options.pop("public"), options.pop("public_label")
    options["chosen_from_data"] = bool(options["chosen_from_data"])
    if public is None and public_label is not None:
        raise InputError("--public-label is for --public: name the public table too, or leave it out.")
    model_output.check(*[path for path in (source, test, public) if path is not None], *find_word_files(space, "none"))
    public_file = None if public is None else PublicFile(public, columns.text, public_label, columns.table_format)
    private_columns = PrivateColumns(columns.text, columns.label, options.pop("person"), columns.table_format)
    training = PrivateTraining(
        source=source, columns=private_columns, public=public_file, space=space, test=test, **options
    )
    train_private_text(training, model_output)


def _train_dp_fasttext(
    source: Path,
    columns: LabelledColumns,
    options: dict[str, Any],
    words: tuple[str, str],
    test: Path | None,
    model_output: ModelOutput,
) -> None:
    """Train a private kind on frozen word vectors; ``words`` are the space and its hidden classes."""
    from deniable.cli.train.dp_fasttext import train_dp_fasttext

    given = select_given(options)
    for name in _LINEAR_OPTIONS:
        if name in given:
            raise InputError(
                f"--{name.replace('_', '-')} means nothing to --kind dp-fasttext, which hides single records and knows "
                "no public texts: take --kind dp-linear, or leave it out."
            )
    tables = [path for path in (source, test) if path is not None]
    if PIPE in map(str, tables):
        raise InputError(_NO_PIPE)
    model_output.check(*tables, *find_word_files(*words))
    private_columns = PrivateColumns(columns.text, columns.label, None, columns.table_format)
    train_dp_fasttext(source, private_columns, given, words, test, model_output)


def refuse_options(kind: str, options: Mapping[str, object]) -> None:
    """Raise `InputError` for an option that means nothing to a kind of model."""
    for name in select_given(options):
        option = f"--{name.replace('_', '-')}"
        raise InputError(f"{option} means nothing to --kind {kind}: leave it out.")


def _build_options(
    kind: str,
    training: str,
    perturbation: tuple[float | None, float | None, int | None],
    given_options: dict[str, Any],
) -> "TextTrainingOptions":
    """Return the options of the training.

    Raises:
        InputError: an option of another training method, or a value outside its domain.
    """
    from deniable.models.text.training import make_text_training_options

    ibp_weight, ibp_ramp, copies = perturbation
    trainings = {
        "--ibp-weight": (ibp_weight, "ibp"),
        "--ibp-ramp": (ibp_ramp, "ibp"),
        "--copies": (copies, "augmented"),
    }
    for name, (value, needed_training) in trainings.items():
        if value is not None and training != needed_training:
            raise InputError(f"{name} is for --training {needed_training}. Got {training}: leave it out.")
    given = select_given({**given_options, "kappa": ibp_weight, "ramp": ibp_ramp, "copies": copies})
    return make_text_training_options(kind, method=training, **given)


def _describe_run(run: _TextRun) -> dict[str, Any]:
    """Return what a checkpoint must agree with."""
    from deniable.models.text.model import describe_source

    return {
        "model": run.kind,
        "data": run.fingerprint,
        "space": run.space.fingerprint,
        "drawn from": None if run.word_source is None else describe_source(run.word_source),
        "seed": run.seed,
        **dataclasses.asdict(run.options),
    }


def _fit_model(run: _TextRun, checkpoint: "Checkpoint") -> "TextModel":
    """Train the model, or resume its training."""
    from deniable.models.text.model import fit_text_model

    with show_steps("training") as steps:
        return fit_text_model(
            run.kind,
            run.space,
            run.training_documents,
            run.options,
            source=run.word_source,
            seed=run.seed,
            checkpoint=checkpoint,
            progress=LossSteps(steps),
        )


def _describe_model(run: _TextRun, model: "TextModel") -> ModelFiles:
    """Return the files of a trained model, with what tests say of it."""
    from deniable.learning.card import commit_to_data
    from deniable.models.text.card import build_text_card
    from deniable.models.text.model import certify_by_intervals, measure_text_accuracy
    from deniable.models.text.substitutions import Substitutions

    certified_count = None
    with show_passes("testing the model"):
        clean_accuracy = measure_text_accuracy(model, run.test_documents)
        if isinstance(run.word_source, Substitutions):
            certified_count = int(certify_by_intervals(model, run.test_documents, run.word_source).sum())
    owner_record = commit_to_data(run.fingerprint)
    card = build_text_card(
        model,
        run.training_documents,
        run.test_documents,
        owner_record["commitment"],
        clean_accuracy,
        certified_count,
        run.word_source,
    )
    figures = f"clean accuracy {clean_accuracy.value:.3f}"
    return ModelFiles(model, card, owner_record, figures)
