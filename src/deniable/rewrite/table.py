"""One table in, one table with rewritten texts and its certificate out."""

from collections.abc import Callable

from deniable.errors import InputError
from deniable.parallel import reporter
from deniable.rewrite.certificate import RewriteCertificate, certify
from deniable.rewrite.methods import Method
from deniable.text.table import Files, write_released
from deniable.text.tables.layout import Row

WITH_NULLS = frozenset({"jsonl", "parquet"})
"""Formats that know null."""
_TOGETHER = 1024
"""Texts between two reports of progress."""


def rewrite_table(files: Files, method: Method, report: Callable[[int], None] = lambda _: None) -> RewriteCertificate:
    """Write the table with every text rewritten, and its certificate; both appear whole or not at all.

    An empty text is a text like any other, and gets a new one: were it left empty, a new text would show that the
    private one was not, whatever epsilon. Only null stays null, and the certificate says that it shows.

    Args:
        files: from where to where; its layout must have ``empty`` set, so that an empty cell is written anew.
        method: rewrites the texts.
        report: called with the number of input bytes of every read.

    Raises:
        InputError: the input or an output cannot be used, or a text is longer than the model takes (the row is
            named); nothing is written then.
    """
    if not files.layout.empty:
        raise InputError("A table to rewrite needs a layout with empty=True: an empty cell that stayed would show.")
    releaser = _Releaser(files, method)
    return write_released(
        files,
        releaser,
        lambda copied: certify(
            method,
            releaser.records,
            releaser.texts,
            columns=files.layout.columns,
            copied=copied,
            nulls=files.format in WITH_NULLS,
        ),
        report,
    )


class _Releaser:
    """Gives the texts of rows to the method, and counts them."""

    def __init__(self, files: Files, method: Method) -> None:
        self.records = self.texts = 0
        self._files, self._method = files, method

    def __call__(self, rows: list[Row]) -> list[list[str | None]]:
        texts = []
        for row in rows:
            self.records += 1
            for column, text in row.cells:
                if text is not None:
                    self._check(column, text)
                    texts.append(text)
        self.texts += len(texts)
        new: list[str] = []
        tell = reporter()
        for first in range(0, len(texts), _TOGETHER):
            tell(first, len(texts))
            some = self._method.rewrite(texts[first : first + _TOGETHER])
            # A word of the model may hold half of a character, which no file can, or a line end, which ends a record.
            new.extend(" ".join(text.encode("utf-8", "replace").decode().split()) for text in some)
        following = iter(new)
        return [[None if text is None else next(following) for _, text in row.cells] for row in rows]

    def _check(self, column: str, text: str) -> None:
        """Raise `InputError`, with the row, for a text that is longer than the model takes."""
        model = self._method.model
        tokens = len(model.vocabulary.numbers(text))
        if tokens > model.limit:
            raise InputError(
                f"Row {self.records} of {self._files.layout.name} has {tokens:,} tokens in {column!r}, and the model "
                f"takes {model.limit:,}: shorten it, split it, or leave it out."
            )
