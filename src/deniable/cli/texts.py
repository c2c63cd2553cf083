"""What the commands about text classifiers share: their table, their space, their word sets or mechanism."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deniable.cli.options import build_space, listed, mechanism_on
from deniable.cli.tables import Form, read_table
from deniable.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from deniable.robust.text.copies import Source
    from deniable.robust.text.documents import Documents, Read
    from deniable.robust.text.substitutions import Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism

_SHOWN = 50
"""Characters of a label that a message shows."""


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
        self, space: "Space", source: str, classes: tuple[str, ...] | None = None, limit: int | None = None
    ) -> "tuple[Documents, Read]":
        """Return the documents of a table, and how their texts were read.

        Args:
            space: of the model.
            source: path of the table, or - for standard input.
            classes: of the model; None where the labels make them.
            limit: rows, the first ones; None for all.

        Raises:
            InputError: the table cannot be read, or holds a label that is none of the classes.
        """
        from deniable.robust.text.documents import Documents, read  # noqa: PLC0415 - keeps --help fast

        held = {
            name: column[:limit]
            for name, column in read_table(source, [self.column, self.label, self.premise], self.form).items()
        }
        if not held[self.column]:
            raise InputError(f"The table {source!r} has no rows: give one with texts.")
        codes, classes = _codes(held[self.label], self.label, classes)
        texts = read(space, held[self.column], self.column)
        premises = None if self.premise is None else read(space, held[self.premise], self.premise)
        everything = [texts] if premises is None else [texts, premises]
        unknown = sum(part.unknown for part in everything)
        if unknown:
            share = 100 * unknown / (unknown + sum(len(part.texts.words) for part in everything))
            self.remarks.append(f"{source}: {share:.1f} % of the words are unknown to the space, and left out")
        return Documents(texts.texts, codes, classes, None if premises is None else premises.texts), texts

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


def _codes(
    column: "list[str | None]", name: str, classes: tuple[str, ...] | None
) -> "tuple[np.ndarray[Any, np.dtype[np.int64]], tuple[str, ...]]":
    """Return the numbers of the classes of a column (n,), and their names."""
    import numpy as np  # noqa: PLC0415

    from deniable.measure.labels import labels  # noqa: PLC0415

    if classes is None:
        found = labels(column, name)
        return found.codes, found.names
    number = {known: at for at, known in enumerate(classes)}
    codes = []
    for row, label in enumerate(column):
        if label is None or label not in number:
            shown = "no label" if label is None else f"the label {label[:_SHOWN]!r}"
            raise InputError(
                f"Row {row + 1} of the column {name!r} has {shown}, and the classes of the model are "
                f"{listed(classes)}: leave it out, or name the right column."
            )
        codes.append(number[label])
    return np.array(codes, dtype=np.int64), classes
