"""The texts that a rewriting model learns from and is tested on."""

import dataclasses
import hashlib
import json
from pathlib import Path

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
    """

    data: Path
    test: Path | None
    column: str
    form: Form

    def texts(self, limit: int) -> list[str]:
        """Return the texts to learn from.

        Raises:
            InputError: the table cannot be read, has no rows, or one without a text or with more tokens than the limit.
        """
        return self._read(self.data, limit)

    def tested(self, limit: int) -> list[str] | None:
        """Return the texts to test on; None where there is no table of them."""
        try:
            return None if self.test is None else self._read(self.test, limit)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None

    def _read(self, path: Path, limit: int) -> list[str]:
        from deniable.rewrite.tokens import split  # noqa: PLC0415 - keeps --help fast

        found: list[str] = []
        for row, text in enumerate(read_table(str(path), [self.column], self.form)[self.column], 1):
            tokens = len(split(text or ""))
            if text is None or not tokens:
                raise InputError(
                    f"The column {self.column!r} has no text in row {row}: give every row one, or leave it out."
                )
            if tokens > limit:
                raise InputError(
                    f"The text in row {row} has {tokens:,} tokens, and the model takes {limit:,}: train it with a "
                    "larger --limit, or leave the row out."
                )
            found.append(text)
        if not found:
            raise InputError(f"The table {str(path)!r} has no rows: give one with texts.")
        return found


def halves(texts: list[str], path: Path) -> tuple[list[str], list[str]]:
    """Return texts to learn from, and others that say when to stop: no text is among both.

    Raises:
        InputError: there are too few.
    """
    from deniable.randomness import generator, key_from_seed  # noqa: PLC0415

    distinct = [*dict.fromkeys(texts)]
    if len(distinct) < _FEWEST:
        raise InputError(
            f"{str(path)!r} has too few distinct texts to learn from, {len(distinct)}: give at least {_FEWEST}."
        )
    order = generator(key_from_seed(0), "held out").permutation(len(distinct))
    held_out = [distinct[at] for at in sorted(order[: round(_HELD_OUT * len(distinct))])]
    apart = {*held_out}
    return [text for text in texts if text not in apart], held_out


def fingerprint_of(*tables: list[str]) -> str:
    """Return a text that differs between data sets, by the content of their texts."""
    return hashlib.blake2b(json.dumps(tables).encode(), digest_size=16).hexdigest()
