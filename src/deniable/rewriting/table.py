"""One table in, one table with rewritten texts and its certificate out."""

from collections.abc import Callable

from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.rewriting.certificate import RewriteCertificate, certify_rewriting
from deniable.rewriting.methods.base import RewritingMethod
from deniable.rewriting.tokens import truncate_text
from deniable.text.table_release import ReleaseFiles, write_released_table
from deniable.text.tables.layout import TextRow

FORMATS_WITH_NULLS = frozenset({"jsonl", "parquet"})
"""Formats that know null."""
_TEXTS_PER_REPORT = 1024
"""Texts between two reports of progress."""


def rewrite_table(
    files: ReleaseFiles, method: RewritingMethod, report: Callable[[int], None] = lambda _: None
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
    if not files.layout.replace_empty:
        raise InputError("A table to rewrite needs a layout with empty=True: an empty cell that stayed would show.")
    rewriter = _TableRewriter(files, method)
    certificate = write_released_table(
        files,
        rewriter,
        lambda copied: certify_rewriting(
            method,
            rewriter.records,
            rewriter.texts,
            columns=files.layout.columns,
            copied=copied,
            nulls=files.table_format in FORMATS_WITH_NULLS,
        ),
        report,
    )
    return certificate, rewriter.truncated


class _TableRewriter:
    """Gives the texts of rows to the method, and counts them."""

    def __init__(self, files: ReleaseFiles, method: RewritingMethod) -> None:
        self.records = self.texts = 0
        self.truncated: list[int] = []
        self._files, self._method = files, method

    def __call__(self, rows: list[TextRow]) -> list[list[str | None]]:
        texts: list[str] = []
        limit = self._method.model.limit
        for row in rows:
            self.records += 1
            private_texts = [text for _, text in row.cells if text is not None]
            entering_texts = [truncate_text(text, limit) for text in private_texts]
            if entering_texts != private_texts:
                self.truncated.append(self.records - 1)
            texts.extend(entering_texts)
        self.texts += len(texts)
        rewritten: list[str] = []
        report_texts = get_progress_reporter()
        for first in range(0, len(texts), _TEXTS_PER_REPORT):
            report_texts(first, len(texts))
            batch = self._method.rewrite(texts[first : first + _TEXTS_PER_REPORT])
            # A word of the model may hold half of a character, which no file can, or a line end, which ends a record.
            rewritten.extend(" ".join(text.encode("utf-8", "replace").decode().split()) for text in batch)
        remaining = iter(rewritten)
        return [[None if text is None else next(remaining) for _, text in row.cells] for row in rows]
