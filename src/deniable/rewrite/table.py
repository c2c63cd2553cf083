"""One table in, one table with rewritten texts and its certificate out."""

from collections.abc import Callable

from deniable.errors import InputError
from deniable.parallel import reporter
from deniable.rewrite.certificate import RewriteCertificate, certify
from deniable.rewrite.methods import Method
from deniable.rewrite.tokens import truncate
from deniable.text.table import Files, write_released
from deniable.text.tables.layout import Row

WITH_NULLS = frozenset({"jsonl", "parquet"})
"""Formats that know null."""
_TOGETHER = 1024
"""Texts between two reports of progress."""


def rewrite_table(
    files: Files, method: Method, report: Callable[[int], None] = lambda _: None
) -> tuple[RewriteCertificate, list[int]]:
    """Write the table with every text rewritten, and its certificate; both appear whole or not at all.

    An empty text is a text like any other, and gets a new one: were it left empty, a new text would show that the
    private one was not, whatever epsilon. Only null stays null, and the certificate says that it shows.

    Of a text with more tokens than the model takes only the first enter: a function of that text alone, so that the
    guarantee holds for texts of any length. To refuse it would show that there is one, to leave it as it is would
    release it, and to leave it out would lose a record and show that too.

    Args:
        files: from where to where; its layout must have ``empty`` set, so that an empty cell is written anew.
        method: rewrites the texts.
        report: called with the number of input bytes of every read.

    Returns:
        The certificate; and for the owner only the rows (from 0 on) with a text of which only the first tokens entered.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    if not files.layout.empty:
        raise InputError("A table to rewrite needs a layout with empty=True: an empty cell that stayed would show.")
    releaser = _Releaser(files, method)
    certificate = write_released(
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
    return certificate, releaser.truncated


class _Releaser:
    """Gives the texts of rows to the method, and counts them."""

    def __init__(self, files: Files, method: Method) -> None:
        self.records = self.texts = 0
        self.truncated: list[int] = []
        self._files, self._method = files, method

    def __call__(self, rows: list[Row]) -> list[list[str | None]]:
        texts: list[str] = []
        limit = self._method.model.limit
        for row in rows:
            self.records += 1
            given = [text for _, text in row.cells if text is not None]
            entering = [truncate(text, limit) for text in given]
            if entering != given:
                self.truncated.append(self.records - 1)
            texts.extend(entering)
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
