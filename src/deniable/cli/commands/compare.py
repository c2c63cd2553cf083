"""``deniable compare``: the ways to release a table side by side, and what to do with it, as one page."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.cli.commandline import option
from deniable.cli.language_models import WriterChoice
from deniable.cli.options import LabelledTableArgument, SpaceOptions
from deniable.cli.owner_remarks import warn_of_texts
from deniable.cli.printed_commands import TABLE_OPTIONS, format_command, format_command_line, select_given
from deniable.cli.private_collections import holds_vectors, read_public_file
from deniable.cli.progress import show_passes
from deniable.cli.rows import Roles, read_table
from deniable.cli.surveys import PageOptions, ReaderChoice, SurveySize, parse_epsilons
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.cli.value_lists import format_list
from deniable.core.errors import InputError, check_number_within
from deniable.core.numbers import format_exact
from deniable.survey.limits import Limits, Need

if TYPE_CHECKING:
    from deniable.persons.options import GeneratorName
    from deniable.survey.collection import CollectionSetting
    from deniable.survey.records import RewritingMaker
    from deniable.survey.results import Result
    from deniable.survey.survey import Bench
    from deniable.survey.table import Table

_LIMITED_SHARES = (0.5, 1.0, 2.5)
"""Words are released where attackers guess so many times the maximum share, as far as that is below one."""
_MEMBERS = 1_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparedColumns:
    """Data.

    Attributes:
        column: name of the column with text.
        label: name of the column with the class of each text.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    label: str = dataclasses.field(metadata=option(metavar="COLUMN"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparedCollection(ComparedColumns, WriterChoice):
    """Privacy.

    Attributes:
        epsilons: epsilons of the collection to compare, separated by commas.
        delta: delta of these budgets.
        person: column that identifies people; protects whole people, not single records.
        max_records: maximum number of records used per person.
        public: public texts similar to yours, a table or one text per line; or words with vectors, .npz or .vec.
        public_label: column of labels in the public table.
        model: with --prompt a language model, smollm2, a .gguf file or a folder, to compare texts that people can read
            too; without it a model of deniable train rewriter, to compare rewritten records too.
        text_epsilons: epsilons of each text, for a rewriter.

    Raises:
        InputError: options at odds with each other, or a delta outside its range.
    """

    epsilons: str = dataclasses.field(default="1,4,8", metadata=option(metavar="E,E,..."))
    delta: float | None = dataclasses.field(default=None, metadata=option(show_default="1/(10 n), to a power of ten"))
    person: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    max_records: int | None = dataclasses.field(default=None, metadata=option(min=1, metavar="N", show_default="all"))
    public: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    public_label: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))
    model: str | None = dataclasses.field(default=None, metadata=option(metavar="MODEL"))
    text_epsilons: str = dataclasses.field(default="10,100,1000", metadata=option(metavar="E,E,..."))

    def __post_init__(self) -> None:
        """Refuse what cannot be measured before a table is read."""
        super().__post_init__()
        if self.delta is not None:
            check_number_within("a comparison", "delta", self.delta, 1e-18, 0.1)
        if self.max_records is not None and self.person is None:
            raise InputError("--max-records is for --person: leave it out, or name the column of people.")
        if self.public_label is not None and self.public is None:
            raise InputError("--public-label is for --public: name the public table too, or leave it out.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparedNeed(Limits, SurveySize):
    """What counts as protected and as useful.

    Attributes:
        need: what you need from the table.
    """

    need: Need = "texts"


def run_compare(
    context: typer.Context,
    source: LabelledTableArgument,
    collection: ComparedCollection,
    need: ComparedNeed,
    words: SpaceOptions,
    attacker: ReaderChoice,
    table_format: TableOptions,
    page: PageOptions,
) -> None:
    """Compare the ways to release a table: word by word, record by record, and the collection as a whole.

    Writes an HTML page for the owner of the table: what each way guarantees, how well attackers do, how useful the
    result still is, and a recommendation with the command to run. Writes the figures as JSON too. Requires the measure
    extra of deniable.

    Examples:
        deniable compare reviews.csv --label stars --person customer --output compare.html
    """
    from deniable.survey.collection import PrivateClassifier, PublicClassifier, ReadableTexts, SyntheticTexts
    from deniable.survey.records import Records
    from deniable.survey.summary import TableRelease
    from deniable.survey.survey import Bench, Way, survey_table
    from deniable.survey.table import Plan, build_table
    from deniable.survey.words import TunedWords
    from deniable.text.tables.layout import CopiedContent
    from deniable.words.prior import build_prior

    epsilons, text_epsilons = parse_epsilons(collection.epsilons), parse_epsilons(collection.text_epsilons)
    plan = Plan(shadows=need.shadow_models, members=_MEMBERS, rows=need.limit)
    page.check(source, collection.public, collection.model, attacker.watch, *words.list_files())
    watch = attacker.read_watch()
    roles = Roles(text=collection.column, label=collection.label, person=collection.person)
    rows = read_table(source, table_format, roles).usable()
    for remark in rows.remarks:
        say(remark, err=True)
    space = words.build()
    warn_of_texts(rows.texts, space)
    table = build_table(rows.texts, rows.labels, plan, persons=rows.persons)
    bench = Bench(table, plan, space, build_prior(space, None))
    _require_use(bench, collection.label)
    setting = _build_setting(table, collection, source, words, table_format)
    shares = (factor * need.max_recovery for factor in _LIMITED_SHARES)
    ways: list[Way] = [TunedWords(share, space) for share in shares if share < 1]
    if collection.model is not None and collection.prompt is None:
        make_method = _load_method_maker(Path(collection.model))
        ways += [Records(make_method, epsilon) for epsilon in text_epsilons]
    writer = collection.load_writer(table.classes)
    for epsilon in epsilons:
        ways += [PrivateClassifier(setting, epsilon), SyntheticTexts(setting, epsilon)]
        if writer is not None and setting.public.texts:
            ways.append(ReadableTexts(setting, epsilon))
        if writer is not None:
            ways.append(ReadableTexts(setting, epsilon, writer, collection.prompt))
    if collection.public_label is not None:
        ways.append(PublicClassifier(setting))
    bench = dataclasses.replace(bench, reader=attacker.build(space, bench.prior), watch=watch)
    survey = survey_table(
        bench, ways, limits=Limits(need.max_recovery, need.min_retained), need=need.need, progress=show_passes
    )
    next_command = ""
    if survey.advice.answer == "release":
        chosen = next(one for one in survey.results if one.name == survey.advice.choices[0])
        readable = (way.generator for way in ways if isinstance(way, ReadableTexts) and way.name == chosen.name)
        next_command = _format_next_command(context, collection, table.classes, chosen, next(readable, None))
    release = TableRelease(Path(source).name, collection.column, CopiedContent((collection.label,)))
    page.write(survey, release, format_command_line(context, "compare"), next_command)


def _require_use(bench: "Bench", label: str) -> None:
    """Look at the originals before anything is released: what they do not teach no release can be judged by.

    Raises:
        InputError: a classifier trained on the originals is no better than a blind guess.
    """
    with show_passes("originals"):
        utility = bench.test_classifier(bench.make_runner(bench.table.texts))
    if utility is not None and not utility.balanced_accuracy.is_judgeable:
        score = utility.balanced_accuracy
        raise InputError(
            f"Usefulness cannot be judged by {label!r}: a classifier trained on the original texts is no better than a "
            f"blind guess (balanced accuracy {score.original.format_percent()}, blind {100 * score.blind:.1f}%). Name "
            "another --label, or give more rows; deniable measure shows what attackers learn without a label."
        )


def _format_next_command(
    context: typer.Context,
    columns: ComparedColumns,
    classes: Sequence[str],
    chosen: "Result",
    generator: "GeneratorName | None",
) -> str:
    """Return the command that makes the recommended release, to be run as it stands.

    Args:
        context: with the options that were given.
        columns: of the table.
        classes: their names.
        chosen: the release that is recommended.
        generator: of its texts; None for the default one.
    """
    from deniable.survey.collection import SyntheticTexts

    labelled: dict[str, object] = {"--column": columns.column, "--label": columns.label}
    labelled |= select_given(context, "--person", "--max-records", "--public", "--public-label")
    is_declared = "--public-label" in labelled  # whose labels are the classes
    if "--public" not in labelled and holds_vectors(Path(context.params["space"])):
        labelled["--public"] = context.params["space"]
    copied: dict[str, object] = {"--column": columns.column, "--columns": format_list([columns.label])}
    if chosen.kind == "classifier":
        words, output = ["train", "private-text"], "classifier.model"
        options = labelled | ({} if is_declared else {"--classes": format_list(classes)})
    elif chosen.kind == "synthetic texts":
        words, output = ["synthesize"], "synthetic.csv"
        domain = {} if is_declared else {"--domain": f"{columns.label}={format_list(classes)}"}
        options = labelled | domain | {"--rows": SyntheticTexts.rows}
        if generator == "language-model":
            options |= select_given(context, "--model", "--prompt")
        elif generator is not None:
            options |= {"--generator": generator}
    elif chosen.kind == "words":
        words, output = ["privatize"], "private"
        options = copied | select_given(context, "--space", "--metric", "--hide")
    else:
        words, output = ["rewrite", str(context.params["model"])], "rewritten"
        options = copied | {"--method": "tokens"}
    options |= {"--epsilon": format_exact(chosen.epsilon or 0.0)}
    options |= {} if chosen.delta is None else {"--delta": format_exact(chosen.delta)}
    options |= select_given(context, *TABLE_OPTIONS)
    # Which way, and at which epsilon, was chosen by looking at the private records.
    return format_command(words, context.params["source"], options, output, ["--chosen-from-data"])


def _build_setting(
    table: "Table",
    collection: ComparedCollection,
    source: str,
    words: SpaceOptions,
    table_format: TableOptions,
) -> "CollectionSetting":
    """Return what is public of the releases of the collection as a whole.

    Raises:
        InputError: the public file is the private one, or cannot be used.
    """
    from deniable.persons.collection import read_public
    from deniable.survey.collection import CollectionSetting, choose_delta

    with show_passes("public features"):
        roles = Roles(text=collection.column, label=collection.public_label)
        read = (
            dataclasses.replace(words, hide="none").build()
            if collection.public is None
            else read_public_file(collection.public, source, roles, table_format)
        )
        public = read_public(read, table.classes)
    delta = choose_delta(table.units) if collection.delta is None else collection.delta
    return CollectionSetting(table, delta, public, collection.max_records, "tilted" if public.texts else "counts")


def _load_method_maker(model: Path) -> "RewritingMaker":
    """Return a function from an epsilon and a seed to the token method of a model file."""
    from deniable.cli.model_runs import check_torch

    check_torch()
    from deniable.registry import rewriting_method
    from deniable.rewriting.model import load_rewriter

    rewriter = load_rewriter(model)
    return lambda epsilon, seed: rewriting_method("tokens", rewriter, epsilon=epsilon, seed=seed)
