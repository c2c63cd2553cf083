"""The texts that a rewriting model learns from and is tested on."""

import dataclasses
import hashlib
import json
from pathlib import Path

from deniable.cli.left_out import describe_rows, leave_out
from deniable.cli.tables import Form, read_table
from deniable.errors import InputError

_HELD_OUT, _FEWEST = 0.1, 10


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Where the texts stand.

    Attributes:
        data: table to learn from.
        test: table to test on; None for the texts held out.
        column: of the texts.
        form: how the tables are written.
        remarks: on rows that were read in part or left out.
    """

    data: Path
    test: Path | None
    column: str
    form: Form
    remarks: list[str] = dataclasses.field(default_factory=list, init=False)

    def texts(self, limit: int) -> list[str]:
        """Return the texts to learn from: rows without a text are left out, and long texts end at the limit.

        Raises:
            InputError: the table cannot be read, or has no row with a text.
        """
        return self._read(self.data, limit)

    def tested(self, limit: int) -> list[str] | None:
        """Return the texts to test on; None where there is no table of them."""
        try:
            return None if self.test is None else self._read(self.test, limit)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None

    def _read(self, path: Path, limit: int) -> list[str]:
        from deniable.rewrite.tokens import split, truncate  # noqa: PLC0415 - keeps --help fast

        column = read_table(str(path), [self.column], self.form)[self.column]
        if not column:
            raise InputError(f"The table {str(path)!r} has no rows: give one with texts.")
        lengths = [len(split(text or "")) for text in column]
        empty = [row for row, length in enumerate(lengths) if not length]
        usable, lines = leave_out(str(path), len(column), {f"without a text in {self.column!r}": empty})
        long = [row for row in usable if lengths[row] > limit]
        self.remarks.extend(lines)
        self.remarks.extend(
            describe_rows(str(path), long, f"with more than {limit:,} tokens, of which the first count")
        )
        return [truncate(column[row] or "", limit) for row in usable]


def halves(texts: list[str], corpus: Corpus) -> tuple[list[str], list[str]]:
    """Return texts to learn from, and others that say when to stop: no text is among both.

    Raises:
        InputError: there are too few.
    """
    from deniable.randomness import generator, key_from_seed  # noqa: PLC0415

    distinct = [*dict.fromkeys(texts)]
    if len(distinct) < _FEWEST:
        raise InputError(
            f"{str(corpus.data)!r} has too few distinct texts to learn from, {len(distinct)}: give at least {_FEWEST}."
            + "".join(f" ({remark})" for remark in corpus.remarks)
        )
    order = generator(key_from_seed(0), "held out").permutation(len(distinct))
    held_out = [distinct[at] for at in sorted(order[: round(_HELD_OUT * len(distinct))])]
    apart = {*held_out}
    return [text for text in texts if text not in apart], held_out


def fingerprint_of(*tables: list[str]) -> str:
    """Return a text that differs between data sets, by the content of their texts."""
    return hashlib.blake2b(json.dumps(tables).encode(), digest_size=16).hexdigest()
