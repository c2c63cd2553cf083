"""``deniable synthesize``: a private table in, a synthetic one out, with its certificate and the private classifier."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from deniable.cli.callables import import_callable
from deniable.cli.charging import LedgerChoice
from deniable.cli.commandline import option
from deniable.cli.language_models import NOT_BOTH, WriterChoice
from deniable.cli.model_runs import check_torch, encode_json, explain_resumption, refuse_pipes
from deniable.cli.options import OutputOptions
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.private_collections import (
    CollectionData,
    choose_classes,
    estimate_accuracy,
    prepare_release,
    warn_of_signal,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.rows import Rows
from deniable.cli.tables import TableOptions, encode_rows, parse_output_format
from deniable.cli.value_lists import parse_domain
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.parallel import count_cores
from deniable.persons.options import CollectionPrivacy, SynthesisOptions

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from deniable.language.model import LanguageModel
    from deniable.learning.loop import Checkpoint
    from deniable.measure.intervals import Estimate
    from deniable.persons.collection import PublicTexts
    from deniable.persons.generators.language_model import Writing
    from deniable.persons.options import GeneratorName
    from deniable.persons.release import SyntheticRelease, SyntheticTable
    from deniable.persons.resumption import SynthesisRun
    from deniable.space import Space

_STUDENT = "tfidf"
"""The classifier that learns from synthetic texts, to say what they are good for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableWriting(WriterChoice):
    """Synthetic table.

    Attributes:
        rows: number of synthetic records.
        generator: how texts are written. tilted, best to learn from; recombined, whole public sentences; counts, only
            from private phrases, whose noisy counts are released too; or PKG.MOD:F, a callable that proposes texts
            from what is released. --model writes texts that people can read.
        threads: maximum number of processors for --model.
        domain: column with all its values, NAME=1..5 or NAME=A,B; that of labels, or a further one to release. May be
            given more than once.

    Raises:
        InputError: a model without a prompt, or threads without a model.
    """

    rows: int = dataclasses.field(metadata=option(min=1))
    generator: str | None = dataclasses.field(
        default=None, metadata=option(metavar="GENERATOR", show_default="tilted; counts without --public")
    )
    threads: int | None = dataclasses.field(
        default=None, metadata=option(min=1, panel="Language model", show_default="all cores")
    )
    domain: list[str] | None = dataclasses.field(default=None, metadata=option(metavar="NAME=..."))

    def __post_init__(self) -> None:
        """Refuse a model that is not told what to write, and threads that nothing would use."""
        super().__post_init__()
        if self.model is not None and self.prompt is None:
            raise InputError(NOT_BOTH)
        if self.threads is not None and self.model is None:
            raise InputError("--threads is for --model: name a language model too, or leave it out.")

    def build_options(
        self, privacy: CollectionPrivacy, data: CollectionData, public: "PublicTexts | Space"
    ) -> SynthesisOptions:
        """What the table is made with.

        Raises:
            InputError: a domain cannot be read or is declared twice, the classes are not declared, or options are at
                odds with each other.
        """
        from deniable.persons.collection import PublicTexts

        domains = dict(map(parse_domain, self.domain or ()))
        if len(domains) < len(self.domain or ()):
            raise InputError(f"Each column has one domain. Got {', '.join(self.domain or ())}: declare each once.")
        classes = choose_classes(domains.pop(data.label, ()), public, f"--domain {data.label}=")
        for name in {*domains} & {data.column, data.person}:
            raise InputError(f"--domain is for labels and further columns. Got {name!r}: leave it out.")
        generator = self.generator
        propose = import_callable(generator) if generator is not None and ":" in generator else None
        # Any other name is refused.
        generator = "candidates" if propose is not None else generator
        options = SynthesisOptions(
            **vars(privacy),
            classes=classes,
            rows=self.rows,
            generator=cast("GeneratorName | None", generator),
            domains=domains,
            propose=propose,
            model=self._load_model(map(str, classes)),
            prompt=self.prompt,
        )
        return options.choose_generator(has_public=isinstance(public, PublicTexts))

    def _load_model(self, classes: Iterable[str]) -> "LanguageModel | None":
        model = self.load_writer(classes)
        if self.threads is not None:
            import torch

            # A hundred thousand would start, and the process never end.
            torch.set_num_threads(min(self.threads, count_cores()))
        return model


@dataclasses.dataclass(frozen=True, kw_only=True)
class SynthesisOutput(OutputOptions):
    """Output.

    Attributes:
        output: synthetic table, csv, tsv, jsonl or parquet by its ending; the other files go next to it.

    Raises:
        InputError: a pipe, or a file of another format.
    """

    output: str = dataclasses.field(metadata=option("--output", "-o", metavar="FILE"))

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        if self.output == PIPE:
            raise InputError("A synthetic table has files next to it: name it with --output FILE.")
        parse_output_format(self.output)

    @property
    def checkpoint(self) -> Path:
        """The path of what is kept of a run until it is done."""
        return Path(f"{self.output}.checkpoint")

    def open_checkpoint(
        self,
        source: Path,
        options: SynthesisOptions,
        data: CollectionData,
        table: TableOptions,
        ledger: LedgerChoice,
    ) -> "Checkpoint":
        """The file that a run with these options is kept in, and no other is resumed from.

        Raises:
            InputError: a table cannot be read.
        """
        from deniable.core.files import hash_file
        from deniable.learning.loop import Checkpoint

        files = {"table": source, "public texts": data.public, "test table": data.test}
        facts: dict[str, object] = {name: None if path is None else hash_file(path) for name, path in files.items()}
        model = None if options.model is None else options.model.card.sha256
        facts |= {**vars(options), "model": model, "columns": data.roles, "format": table, "ledger": ledger.ledger}
        note = functools.partial(typer.echo, f"resuming from {self.checkpoint}", err=True)
        return Checkpoint(self.checkpoint, 1, self.force, note).bind(facts)

    def name(self, kind: str) -> str:
        """The path of a file beside the table."""
        endings = {"baseline": self.output.rpartition("/")[2].partition(".")[2], "counts": "csv", "classifier": "model"}
        return f"{self.output}.{kind}.{endings.get(kind, 'json')}"

    def encode_table(self, table: "SyntheticTable", data: CollectionData) -> bytes:
        """A table as the bytes of a file."""
        columns = {data.column: table.texts, data.label: table.labels, **table.columns}
        return encode_rows(columns, parse_output_format(self.output))


def run_synthesize(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Private table: csv, tsv, jsonl or parquet, also .gz or .zst.")
    ],
    privacy: CollectionPrivacy,
    ledger: LedgerChoice,
    data: CollectionData,
    writing: TableWriting,
    table: TableOptions,
    output: SynthesisOutput,
) -> None:
    """Write a synthetic table that protects every record, or every person, of a private one.

    Also writes a certificate, the private classifier (more accurate than any model trained on the synthetic texts),
    and a baseline table made without your data; FILE.owner.json is for the owner only. Requires the train and measure
    extras of deniable, and lm for a language model. Run the same command again to resume an interrupted run of a
    language model.

    Examples:
        deniable synthesize reviews.csv --label stars --person customer --epsilon 4 --delta 1e-6 --rows 5000 -o new.csv
    """
    check_torch()
    from deniable.cli.release_summary import say_release, say_written
    from deniable.core.files import check_outputs
    from deniable.core.randomness import generate_key
    from deniable.core.signatures import list_signature_paths
    from deniable.measure.classifiers import build_classifier
    from deniable.persons.generators.language_model import try_prompt
    from deniable.persons.resumption import SynthesisRun

    build_classifier(_STUDENT, 0)  # refuses a missing library now, not when a ledger was charged
    ledger.require_persons(data.person)
    signing_key, certificate = output.read_signing_key(), output.name("certificate")
    paths = [output.output, certificate, *map(output.name, ("classifier", "baseline", "counts", "owner"))]
    check_outputs(
        [*paths, *list_signature_paths(signing_key, certificate)],
        [source, data.test, data.public, output.sign_key, *map(Path, ledger.list_files())],
        force=output.force,
        intermediates=[output.checkpoint],
    )
    ledger.open()
    public = data.read_public(str(source), table)
    options = writing.build_options(privacy, data, public)
    checkpoint, key = None, generate_key()
    if options.model is not None:
        refuse_pipes(source, data.public, data.test)
        checkpoint = output.open_checkpoint(source, options, data, table, ledger)
        key = checkpoint.load_key(key)
    is_resumed = checkpoint is not None and checkpoint.path.exists()
    if options.model is not None and not is_resumed:
        with show_passes("trying the prompt"):
            try_prompt(options)
    release, _, test_rows = prepare_release(
        str(source), data, table, options, public, None if is_resumed else ledger, key
    )
    run = SynthesisRun(release)
    with contextlib.nullcontext() if checkpoint is None else explain_resumption(checkpoint):
        if checkpoint is not None:
            checkpoint.restore(run)
        keep = None if checkpoint is None else functools.partial(checkpoint.write, run, key)
        synthetic, baseline = _write_texts(run, keep)
        figures = _measure_use(synthetic, baseline, test_rows)
        written = _write_files(synthetic, baseline, figures, data, output, signing_key)
    if checkpoint is not None:
        checkpoint.remove()
    # A measured number is a release: it is shown beside the files, not by a run that fails.
    warn_of_signal(release.budget, synthetic.classifier)
    guarantee = synthetic.certificate.guarantee
    odds = [(f"whether one {guarantee['unit']} is in the private table", guarantee["epsilon"])]
    say_release(synthetic.certificate, odds, verbose=output.verbose)
    warn_owner(_describe_use(figures))
    say_written(written, certificate, verbose=output.verbose)


def _write_texts(
    run: "SynthesisRun", keep: Callable[[int], None] | None
) -> "tuple[SyntheticRelease, SyntheticTable | None]":
    """Measure what is not measured yet, and write the table, and that without private records where there is one."""
    from deniable.persons.release import write_baseline

    release, options = run.release, run.release.options
    if run.measured is None:
        with show_steps("measuring") as steps:
            run.measured = release.measure(lambda done, total: steps.update(done, total, ""))
    with _show_texts("writing texts", run.table, keep):
        synthetic = release.write(run.measured, run.table)
    if not (isinstance(options, SynthesisOptions) and release.public.has_labels and options.generator != "counts"):
        return synthetic, None
    with _show_texts("writing the baseline", run.baseline, keep):
        return synthetic, write_baseline(release.public, options, run.baseline)


def _write_files(
    synthetic: "SyntheticRelease",
    baseline: "SyntheticTable | None",
    figures: "dict[str, Estimate]",
    data: CollectionData,
    output: SynthesisOutput,
    signing_key: "Ed25519PrivateKey | None",
) -> list[str]:
    """Write all files, or none of them, and return their paths."""
    from deniable.core.signatures import SIGNATURE_ENDING, open_release
    from deniable.learning.artifact import serialize_model

    certificate = output.name("certificate")
    released = {
        "table": (output.output, output.encode_table(synthetic, data)),
        "classifier": (output.name("classifier"), serialize_model(synthetic.classifier)),
    }
    if baseline is not None:
        released["baseline"] = (output.name("baseline"), output.encode_table(baseline, data))
    if synthetic.counts is not None:
        counts = {
            "class": [synthetic.classifier.classes[code] for code in synthetic.counts.codes.tolist()],
            "ngram": [" ".join(ngram) for ngram in synthetic.counts.ngrams],
            "count": [f"{count:.1f}" for count in synthetic.counts.counts.tolist()],
        }
        released["counts"] = (output.name("counts"), encode_rows(counts, "csv"))
    owner = encode_json({name: dataclasses.asdict(figure) for name, figure in figures.items()})
    contents = [
        synthetic.certificate.to_json().encode("utf-8", "backslashreplace"),
        *(content for _, content in released.values()),
        owner,
    ]
    named = {role: path for role, (path, _) in released.items()}
    with open_release(signing_key, certificate, named, [output.name("owner")], force=output.force) as streams:
        for stream, content in zip(streams, contents, strict=True):
            stream.write(content)
    signatures = [] if signing_key is None else [certificate + SIGNATURE_ENDING]
    table_path, *others = named.values()
    return [table_path, certificate, *others, *signatures, output.name("owner")]


@contextlib.contextmanager
def _show_texts(label: str, writing: "Writing", keep: Callable[[int], None] | None) -> Iterator[None]:
    """Show how texts are written, and keep those of a language model, before the first one too."""
    if keep is None:
        with show_passes(label):
            yield
        return
    keep(0)
    with show_steps(label, "text") as steps:

        def report(done: int, total: int) -> None:
            keep(done)
            steps.update(done, total, "")

        writing.report = report
        yield


def _measure_use(
    synthetic: "SyntheticRelease", baseline: "SyntheticTable | None", test_rows: Rows
) -> "dict[str, Estimate]":
    """The accuracy, on private rows that were held out, of the classifier and of students of the texts."""
    import numpy as np

    from deniable.measure.classifiers import build_classifier

    if not len(test_rows):
        return {}
    with show_passes("testing the classifier"):
        probabilities = synthetic.classifier.predict_probabilities(test_rows.texts)
        figures = {"classifier": estimate_accuracy(synthetic.classifier.classes, probabilities, test_rows)}
    for name, table in (("student", synthetic), ("student of the baseline", baseline)):
        if table is not None:
            with show_passes(f"testing the {name}"):
                classes = sorted({*table.labels, *filter(None, test_rows.labels)})
                codes = np.array([classes.index(label) for label in table.labels], dtype=np.int64)
                student = build_classifier(_STUDENT, 0).fit(table.texts, codes, len(classes))
                figures[name] = estimate_accuracy(classes, student.probabilities(test_rows.texts), test_rows)
    return figures


def _describe_use(figures: "dict[str, Estimate]") -> list[str]:
    """What the owner should know of the table, in plain words."""
    if not figures:
        return ["too few rows were held out to measure an accuracy"]
    lines = [
        (
            f"on {figures['classifier'].count:,} private rows that were held out, a classifier that learns from the "
            f"synthetic texts has an accuracy of {figures['student'].format_percent()}"
        )
    ]
    if "student of the baseline" in figures:
        lines.append(
            "the same pipeline without any private record reaches "
            f"{figures['student of the baseline'].format_percent()}: only the rest comes from the private table"
        )
    lines.append(
        "the private classifier, written with the table, has an accuracy of "
        f"{figures['classifier'].format_percent()}: use it if you need labels rather than texts"
    )
    return lines
