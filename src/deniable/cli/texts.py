"""What the commands about text classifiers share: their table, their space, their word sets or mechanism."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from deniable.cli.left_out import leave_out
from deniable.cli.options import build_space, listed, mechanism_on
from deniable.cli.tables import Form, read_table
from deniable.errors import InputError

if TYPE_CHECKING:
    from deniable.robust.text.copies import Source
    from deniable.robust.text.documents import Documents, Read, Rows
    from deniable.robust.text.substitutions import Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism


@dataclasses.dataclass(frozen=True)
class Table:
    """Where labelled texts stand.

    Attributes:
        column: of the texts.
        label: of the classes.
        premise: of the premises; None for single texts.
        form: how the table is written.
        space: its source, as options name it.
        metric: of the space.
        remarks: on what was read, for `tell` when nothing is wrong with it.
    """

    column: str
    label: str
    premise: str | None
    form: Form
    space: str
    metric: str
    remarks: list[str] = dataclasses.field(default_factory=list, init=False)

    def tell(self) -> None:
        """Print the remarks."""
        for line in self.remarks:
            typer.echo(line, err=True)

    def build_space(self) -> "Space":
        """Return the space."""
        return build_space(self.space, self.metric)

    def documents(
        self,
        space: "Space",
        source: str,
        longest: int,
        classes: tuple[str, ...] | None = None,
        limit: int | None = None,
    ) -> "Labelled":
        """Return the documents of a table; rows that cannot be used are left out, and the remarks name them.

        Args:
            space: of the model.
            source: path of the table, or - for standard input.
            longest: words of a text, at most.
            classes: of the model; None where the labels make them.
            limit: rows, the first ones; None for all.

        Raises:
            InputError: the table cannot be read, or none of its rows can be used.
        """
        import numpy as np  # noqa: PLC0415 - keeps --help fast

        from deniable.measure.labels import labels  # noqa: PLC0415
        from deniable.robust.text.documents import Documents, read  # noqa: PLC0415

        held = {
            name: column[:limit]
            for name, column in read_table(source, [self.column, self.label, self.premise], self.form).items()
        }
        given = held[self.label]
        if not given:
            raise InputError(f"The table {source!r} has no rows: give one with texts.")
        parts = {name: read(space, held[name]) for name in (self.column, self.premise) if name is not None}
        reasons = _label_reasons(given, self.label, classes)
        for name, part in parts.items():
            reasons |= _text_reasons(held[name], name, part, space, longest)
        usable, lines = leave_out(source, len(given), reasons)
        rows = np.array(usable, dtype=np.int64)
        self.remarks.extend(lines)
        used = {name: part.take(rows) for name, part in parts.items()}
        unknown = sum(part.unknown for part in used.values())
        if unknown:
            share = 100 * unknown / (unknown + sum(len(part.texts.words) for part in used.values()))
            self.remarks.append(f"{source}: {share:.1f} % of the words are unknown to the space, and left out")
        names = [given[row] for row in usable]
        if classes is None:
            try:
                coded = labels(names, self.label)
            except InputError as error:
                raise InputError(str(error) + "".join(f" ({line})" for line in lines)) from None
            codes, classes = coded.codes, coded.names
        else:
            codes = np.array([classes.index(str(name)) for name in names], dtype=np.int64)
        premises = None if self.premise is None else used[self.premise].texts
        documents = Documents(used[self.column].texts, codes, classes, premises)
        return Labelled(documents, used[self.column], rows, len(given) - len(rows))

    def source(
        self, space: "Space", substitutions: Path | None, mechanism: str | None, epsilon: float | None
    ) -> "Source | None":
        """Return the word sets or the mechanism that options name, or None.

        Raises:
            InputError: both, a mechanism without epsilon, or one that cannot be built.
        """
        if substitutions is not None and (mechanism is not None or epsilon is not None):
            raise InputError("--substitutions excludes --mechanism and --epsilon: leave one of them out.")
        if substitutions is not None:
            return self.sets(space, substitutions)
        return self.mechanism(space, mechanism, epsilon)

    def sets(self, space: "Space", path: Path | None) -> "Substitutions | None":
        """Return the word sets of a file; None for None.

        Raises:
            InputError: it cannot be read, or the space knows none of its words.
        """
        from deniable.robust.text.substitutions import read_substitutions  # noqa: PLC0415

        if path is None:
            return None
        sets = read_substitutions(path, space)
        self.remarks.extend(f"{path}: {note}" for note in sets.notes)
        return sets

    def mechanism(self, space: "Space", name: str | None, epsilon: float | None) -> "WordMechanism | None":
        """Return the mechanism that options name, or None.

        Raises:
            InputError: a name without epsilon, epsilon without a name, or one that cannot be built.
        """
        if name is None and epsilon is None:
            return None
        if name is None or epsilon is None:
            raise InputError("--mechanism and --epsilon belong together: give both, for example tem and 3.")
        return mechanism_on(space, name, epsilon)


def table_of(label: str | None, column: str, premise: str | None, form: Form, space: str, metric: str) -> Table:
    """Return what the options of a command say of its table.

    Raises:
        InputError: no column of classes, or one column for two purposes.
    """
    if label is None:
        raise InputError("Texts need a column of classes: name it with --label.")
    if label == premise:
        raise InputError(f"The column {label!r} cannot be classes and premises at once: name another.")
    return Table(column, label, premise, form, space, metric)


@dataclasses.dataclass(frozen=True, eq=False)
class Labelled:
    """The rows of a table that can be used.

    Attributes:
        documents: n labelled texts.
        read: how the n texts were read.
        rows: (n,) where they stand in the table, from 0 on.
        left_out: number of rows that cannot be used.
    """

    documents: "Documents"
    read: "Read"
    rows: "Rows"
    left_out: int


def _label_reasons(column: "list[str | None]", name: str, classes: tuple[str, ...] | None) -> dict[str, list[int]]:
    """Return the rows whose label cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank  # noqa: PLC0415

    numbered = list(enumerate(column))
    reasons = {f"without a label in {name!r}": [row for row, label in numbered if is_blank(label)]}
    if classes is not None:
        strange = [row for row, label in numbered if not is_blank(label) and label not in classes]
        reasons[f"whose label in {name!r} is no class of the model ({listed(classes)})"] = strange
    return reasons


def _text_reasons(
    column: "list[str | None]", name: str, read: "Read", space: "Space", longest: int
) -> dict[str, list[int]]:
    """Return the rows whose text cannot be used, by what is wrong with it."""
    from deniable.measure.labels import is_blank  # noqa: PLC0415

    lengths = list(enumerate(read.texts.lengths.tolist()))
    return {
        f"without a text in {name!r}": [row for row, text in enumerate(column) if is_blank(text)],
        f"without a word of {space.source} in {name!r}": [row for row, words in lengths if not words],
        f"with more than {longest:,} words in {name!r}": [row for row, words in lengths if words > longest],
    }
