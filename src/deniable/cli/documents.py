"""Labelled texts as classifiers take them: columns of their table, words that may replace theirs, rows that fit."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.options import MECHANISM_NAMES
from deniable.cli.rows import Roles, Rows
from deniable.cli.terminal import say
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents, TokenizedTexts
    from deniable.models.text.substitutions import SubstituteSource, Substitutions
    from deniable.space import Space
    from deniable.words import WordMechanism


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledColumns:
    """Data.

    Attributes:
        column: name of the column with text.
        label: name of the column with the class of each text.
        premise: column of the first text of a pair; never changed.

    Raises:
        InputError: one column for two purposes.
    """

    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    label: str = dataclasses.field(metadata=option(metavar="COLUMN"))
    premise: str | None = dataclasses.field(default=None, metadata=option(metavar="COLUMN"))

    def __post_init__(self) -> None:
        """Refuse one column for two purposes."""
        _ = self.roles

    @property
    def roles(self) -> Roles:
        """What the columns are for."""
        return Roles(text=self.column, label=self.label, premise=self.premise)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LimitedColumns(LabelledColumns):
    """Data.

    Attributes:
        limit: maximum number of rows to use (the first ones).
    """

    limit: int | None = dataclasses.field(default=None, metadata=option(min=1, metavar="ROWS", show_default="all"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplacementOptions:
    """Words that may replace others.

    Attributes:
        substitutions: JSON object {"word": ["substitute", ...]}, the words that may replace each word.
        mechanism: word mechanism that draws every word anew; it needs --mechanism-epsilon.
        mechanism_epsilon: epsilon of --mechanism.

    Raises:
        InputError: a mechanism without epsilon, or the other way around.
    """

    substitutions: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    mechanism: str | None = dataclasses.field(
        default=None, metadata=option(choices=MECHANISM_NAMES, metavar="MECHANISM")
    )
    mechanism_epsilon: float | None = None

    def __post_init__(self) -> None:
        """Refuse half of a mechanism."""
        if (self.mechanism is None) != (self.mechanism_epsilon is None):
            raise InputError("--mechanism and --mechanism-epsilon belong together: give both, for example tem and 3.")

    def read_substitutions(self, space: "Space") -> "Substitutions | None":
        """The substitutions of the file, of which what was left out is noted; None without one.

        Raises:
            InputError: it cannot be read, or the space has none of its words.
        """
        from deniable.models.text.substitutions import read_substitutions

        if self.substitutions is None:
            return None
        sets = read_substitutions(self.substitutions, space)
        for note in sets.notes:
            say(f"{self.substitutions}: {note}", err=True)
        return sets

    def build_mechanism(self, space: "Space") -> "WordMechanism | None":
        """The mechanism on a space; None without one."""
        from deniable.registry import mechanism

        if self.mechanism is None or self.mechanism_epsilon is None:
            return None
        return mechanism(self.mechanism, space, epsilon=self.mechanism_epsilon)

    def build_source(self, space: "Space") -> "SubstituteSource | None":
        """The substitutions or the mechanism; None for neither.

        Raises:
            InputError: both.
        """
        if self.substitutions is not None and self.mechanism is not None:
            raise InputError("--substitutions excludes --mechanism and --mechanism-epsilon: leave one of them out.")
        return self.read_substitutions(space) or self.build_mechanism(space)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledDocuments:
    """The rows of a table that a classifier takes.

    Attributes:
        rows: m rows, with remarks on others.
        documents: m labelled texts.
        tokenized_texts: how the m texts were cut into words.
    """

    rows: Rows
    documents: "Documents"
    tokenized_texts: "TokenizedTexts"


def build_documents(
    rows: Rows, space: "Space", maximum_words: int, classes: Sequence[str] | None = None
) -> LabelledDocuments:
    """Return the documents of a table, without the rows that cannot be used, and note these.

    Args:
        rows: all that were read.
        space: of the classifier.
        maximum_words: maximum number of words of a text.
        classes: of the classifier; None where the labels make them.

    Raises:
        InputError: no row can be used, or the labels are of less than two classes.
    """
    import numpy as np

    from deniable.measure.labels import encode_labels
    from deniable.models.text.documents import Documents, tokenize_texts
    from deniable.text.remarks import describe_unknown_words

    complete, roles, reasons = rows.usable(classes), rows.roles, {}
    tokenized = [tokenize_texts(space, complete.texts)]
    if complete.premises is not None:
        tokenized.append(tokenize_texts(space, complete.premises))
    for name, texts in zip((roles.text, roles.premise), tokenized, strict=False):
        lengths = texts.texts.lengths
        reasons[f"without a word of {space.source} in {name!r}"] = np.flatnonzero(lengths == 0).tolist()
        too_long = np.flatnonzero(lengths > maximum_words).tolist()
        reasons[f"with more than {maximum_words:,} words in {name!r}"] = too_long
    usable = complete.leave_out(reasons)
    tokenized = [texts.take(np.searchsorted(complete.numbers, usable.numbers)) for texts in tokenized]
    if classes is not None:
        names = tuple(classes)
        codes = np.array([names.index(label) for label in usable.labels if label is not None], dtype=np.int64)
    else:
        try:
            encoded = encode_labels(usable.labels, str(roles.label))
        except InputError as error:
            raise InputError(str(error) + "".join(f" ({remark})" for remark in usable.remarks)) from None
        codes, names = encoded.codes, encoded.names
    unknown, known = sum(texts.unknown_count for texts in tokenized), sum(len(texts.texts.words) for texts in tokenized)
    unknown_words = [f"{rows.source}: {remark}" for remark in describe_unknown_words(unknown, unknown + known)]
    for remark in (*usable.remarks, *unknown_words):
        say(remark, err=True)
    premises = tokenized[1].texts if len(tokenized) > 1 else None
    return LabelledDocuments(usable, Documents(tokenized[0].texts, codes, names, premises), tokenized[0])
