"""What ``deniable measure`` and ``deniable compare`` share: options, the lines they print, and the files they write."""

import dataclasses
import json
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.progress import show_passes
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.numbers import format_exact, format_upper, format_upper_percent

if TYPE_CHECKING:
    from deniable.measure.attackers.reader import Reader
    from deniable.measure.intervals import Estimate
    from deniable.space import Space
    from deniable.survey.results import Result, Survey
    from deniable.survey.summary import TableRelease
    from deniable.words.prior import Prior

_TEXT_WIDTH = 110
"""Columns of the advice: about those of the table of figures."""
_SHOWN_KINDS = 4
"""Kinds of entities that have a column."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SurveySize:
    """Measurements.

    Attributes:
        limit: maximum number of rows to use (a random sample).
        shadow_models: number of models trained for each membership attack; an even number.
    """

    limit: int = dataclasses.field(default=5_000, metadata=option(metavar="ROWS"))
    shadow_models: int = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReaderChoice:
    """An attacker with a language model.

    Attributes:
        attacker_model: model that attackers read words in context with; smollm2, a .gguf file or a folder.
        watch: file of words, one per line; how often they are guessed is counted separately.

    Raises:
        InputError: words without a model.
    """

    attacker_model: str | None = dataclasses.field(default=None, metadata=option(metavar="MODEL"))
    watch: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))

    def __post_init__(self) -> None:
        """Refuse words that nobody would look for."""
        if self.watch is not None and self.attacker_model is None:
            raise InputError("--watch is for --attacker-model: name a model, such as smollm2, or leave it out.")

    def read_watch(self) -> frozenset[str]:
        """The words of the file; none where it was not named.

        Raises:
            InputError: it cannot be read, or holds none.
        """
        from deniable.space.word_classes import read_class_words

        if self.watch is None:
            return frozenset()
        words = read_class_words(self.watch)
        if not words:
            raise InputError(f"The list of words {str(self.watch)!r} is empty: give one word per line, or no --watch.")
        return words

    def build(self, space: "Space", prior: "Prior") -> "Reader | None":
        """The attacker; None without a model.

        Raises:
            InputError: the model cannot be used.
        """
        if self.attacker_model is None:
            return None
        from deniable.learning.loop import choose_device
        from deniable.measure.reading import build_reader

        with show_passes("loading the language model"):
            return build_reader(self.attacker_model, space, prior, device=str(choose_device()))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Output.

    Attributes:
        output: HTML page to write; its figures go next to it, as .json, and a page to sign, as .summary.html.
        force: overwrite existing output files.

    Raises:
        InputError: the page would go to a pipe.
    """

    output: str = dataclasses.field(metadata=option("--output", "-o", metavar="HTML"))
    force: bool = False

    def __post_init__(self) -> None:
        """Refuse a pipe before anything is measured."""
        if self.output == PIPE:
            raise InputError("The page must be a file. Got '-': give a path with --output.")

    @property
    def files(self) -> list[str]:
        """The page, its figures, and the summary to sign."""
        path = PurePath(self.output)
        return [self.output, str(path.with_suffix(".json")), str(path.with_suffix(".summary.html"))]

    def check(self, *inputs: object) -> None:
        """Refuse, before anything is measured, outputs that exist or that are inputs, and missing libraries.

        Args:
            inputs: paths of what is read; None for nothing.
        """
        from deniable.core.files import check_outputs
        from deniable.survey.page import make_environment

        make_environment(is_html=True)
        check_outputs(self.files, list(map(str, filter(None, inputs))), force=self.force)

    def write(self, survey: "Survey", release: "TableRelease", command: str, next_command: str = "") -> None:
        """Write page, figures and summary, all or none, which only their owner can open; and print what they say.

        Args:
            survey: the results.
            release: what would leave beside the new texts.
            command: the command line that measured them.
            next_command: the command that makes the recommended release; empty for none.
        """
        from deniable.core.files import open_outputs
        from deniable.survey.page import format_advice, render_page
        from deniable.survey.summary import render_summary

        figures = {**survey.to_dict(), "command": command, "next_command": next_command}
        contents = (
            render_page(survey, command, next_command),
            json.dumps(figures, indent=1, allow_nan=False) + "\n",
            render_summary(survey, release),
        )
        with open_outputs(*self.files, force=self.force, owner_only=self.files) as streams:
            for stream, content in zip(streams, contents, strict=True):
                stream.write(content.encode("utf-8", "backslashreplace"))
        wrapper = textwrap.TextWrapper(
            _TEXT_WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
        for text in (
            *(part for line in format_advice(survey) for part in wrapper.wrap(line)),
            *([f"run: {next_command}"] if next_command else []),
            "",
            *_format_results(survey),
            *_format_frequencies(survey),
            *_format_readings(survey),
            *_format_entities(survey),
            *(f"not possible: {name}: {reason}" for name, reason in survey.failures.items()),
        ):
            say(text)
        page, json_file, summary = self.files
        say(f"page: {page} (holds original private text: for you only); figures: {json_file}; to sign: {summary}")


def parse_epsilons(text: str) -> list[float]:
    """Return the epsilons of a list such as ``1,2,4``, ascending.

    Raises:
        InputError: an entry is no positive finite number, or is there twice.
    """
    epsilons: list[float] = []
    for entry in text.split(","):
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise InputError(
                f"The epsilons must be finite numbers above 0, with commas between. Got {entry.strip()!r} in "
                f"{text!r}: give for example --epsilons 1,2,4."
            )
        if value in epsilons:
            raise InputError(f"The epsilons must differ. Got {format_exact(value)} twice in {text!r}: give each once.")
        epsilons.append(value)
    return sorted(epsilons)


def _format_results(survey: "Survey") -> list[str]:
    """Return a short table, one line a release, then the originals and a blind guess."""
    titles = ["release", "verdict", "all of one", "words guessed", "linked", "words kept"]
    titles += ["membership", "accuracy", "balanced", "gain kept"] if survey.table.classes else []
    has_authors = survey.results[0].authorship is not None
    rows = [[*titles, *["authors"] * has_authors, "seconds"]]
    for one in (*survey.results, survey.originals):
        row = [one.name, *_format_promise(one), _show(one.guessed), _show(one.linked)]
        row.append(_show(one.find("similarity.unchanged")))
        if one.utility is not None and one.score is not None:
            row.append("-" if one.area is None else f"{one.area.value:.3f}")
            row += [_show(one.utility.accuracy.private), _show(one.score.private), _show(one.score.retained)]
        row += [_show(one.find("authorship.adaptive"))] * has_authors
        rows.append([*row, "-" if one.seconds is None else f"{one.seconds:.1f}"])
    if survey.originals.utility is not None:
        scores = survey.originals.utility.accuracy, survey.originals.utility.balanced_accuracy
        blind = ["0.500", *(f"{100 * score.blind:.1f}%" for score in scores)]
        rows.append(["blind guess", *["-"] * 5, *blind, *["-"] * (2 + has_authors)])
    return _align(rows)


def _format_promise(result: "Result") -> tuple[str, str]:
    promise = result.promise
    if promise is None:
        return "-", "-"
    return promise.status, "-" if promise.whole is None else format_upper(promise.whole)


def _show(estimate: "Estimate | None") -> str:
    return "-" if estimate is None else estimate.format_point()


def _format_frequencies(survey: "Survey") -> list[str]:
    """Return how often frequent and rare words are guessed, and which word is exposed most, one line a release."""
    known = [(one.name, one.outcomes) for one in survey.results if one.outcomes is not None]
    if not known:
        return []
    titles = ["release", *(name for name, _ in known[0][1].list_shares()), "most exposed word, unchanged"]
    rows = [
        [
            name,
            *(percent for _, percent in outcomes.list_shares()),
            f"{outcomes.exposed_word} {format_upper_percent(outcomes.exposed_share)}",
        ]
        for name, outcomes in known
    ]
    return ["", f"words guessed by their frequency, if they follow {survey.prior}", *_align([titles, *rows])]


def _format_readings(survey: "Survey") -> list[str]:
    """Return what readers with a language model guess, a short table for each release, and what must be known of it."""
    from deniable.measure.reading import KNOWLEDGE

    lines = []
    for one in survey.results:
        if one.reading is not None:
            lines += ["", f"words guessed by a reader with the language model {one.reading.model}, {one.name}"]
            if one.reading.perplexity is not None:
                lines.append(f"perplexity of a word under the model: {one.reading.perplexity.format_decimals(0)}")
            rows = [["", "words", "without the output", "with it", "the output adds"]]
            for knowledge, groups in one.reading.groups.items():
                rows.append([f"{KNOWLEDGE[knowledge]}:", *[""] * 4])
                rows += [
                    [f"  {group.name}", f"{group.words:,}", *map(_show, (group.blind, group.guessed, group.added))]
                    for group in groups
                ]
            lines += [*_align(rows), *(f"note: {remark}" for remark in one.reading.remarks)]
    return lines


def _format_entities(survey: "Survey") -> list[str]:
    """Return who is still named as a short table, one line a release; nothing without labelled spans."""
    results = [(one.name, one.entities) for one in survey.results if one.entities is not None]
    if not results:
        return []
    total = results[0][1].total
    kinds = [figures.kind for figures in results[0][1].kinds]
    shown_kinds = kinds[:_SHOWN_KINDS] if len(kinds) > 1 else []
    rows = [["release", "at their place", "by chance", "in their text", "by chance", "spans whole", *shown_kinds]]
    for name, result in results:
        figures = result.total
        shares = [figures.at_place, figures.chance_at_place, figures.in_text, figures.chance_in_text, figures.whole]
        shares += [one.at_place for one in result.kinds[: len(shown_kinds)]]
        rows.append([name, *map(_show, shares)])
    more = f"and {len(kinds) - len(shown_kinds)} more kinds, on the page"
    return [
        "",
        (
            f"labelled names: {total.words:,} words ({total.spans:,} spans) in {total.texts:,} texts, "
            f"{total.unknown:,} of the words not in the vocabulary; share that survives"
        ),
        *_align(rows),
        *[more] * (len(kinds) > len(shown_kinds) > 0),
    ]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, its first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
