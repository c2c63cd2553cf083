"""One table in, one table with rewritten texts and its certificate out."""

from collections.abc import Callable

from deniable.core.errors import InputError
from deniable.core.progress import get_progress_reporter
from deniable.rewriting.certificate import RewriteCertificate, certify_rewriting
from deniable.rewriting.methods.base import RewritingMethod
from deniable.rewriting.tokens import truncate_text
from deniable.text.batches import TextCell
from deniable.text.table_release import ReleaseFiles, TableReleaser, write_released_table

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
        files: from where to where; its layout must have ``replace_empty`` set, so that an empty cell is written anew.
        method: rewrites the texts.
        report: called with the number of input bytes of every read.

    Returns:
        The certificate; and for the owner only the rows (from 0 on) with a text of which only the first tokens entered.

    Raises:
        InputError: the input or an output cannot be used; nothing is written then.
    """
    if not files.layout.replace_empty:
        raise InputError(
            "A table to rewrite needs a layout with replace_empty=True: an empty cell that stayed would show."
        )
    counter = _CountingRewriter(method)
    releaser = TableReleaser(files.layout, counter.rewrite_cells)
    certificate = write_released_table(
        files,
        releaser,
        lambda copied: certify_rewriting(
            method,
            releaser.records,
            counter.texts,
            columns=files.layout.columns,
            copied=copied,
            nulls=files.table_format in FORMATS_WITH_NULLS,
        ),
        report,
    )
    return certificate, counter.truncated


class _CountingRewriter:
    """Rewrites the texts of rows, and counts them."""

    def __init__(self, method: RewritingMethod) -> None:
        self.rows = self.texts = 0
        self.truncated: list[int] = []
        self._method = method

    def rewrite_cells(self, rows: list[list[TextCell]]) -> list[str]:
        """Return the new texts of the cells of rows, one after the other."""
        texts: list[str] = []
        for cells in rows:
            entering_texts = [truncate_text(cell.text, self._method.model.limit) for cell in cells]
            if entering_texts != [cell.text for cell in cells]:
                self.truncated.append(self.rows)
            self.rows += 1
            texts.extend(entering_texts)
        self.texts += len(texts)
        rewritten: list[str] = []
        report_texts = get_progress_reporter()
        for first in range(0, len(texts), _TEXTS_PER_REPORT):
            report_texts(first, len(texts))
            batch = self._method.rewrite(texts[first : first + _TEXTS_PER_REPORT])
            # A word of the model may hold half of a character, which no file can, or a line end, which ends a record.
            rewritten.extend(" ".join(text.encode("utf-8", "replace").decode().split()) for text in batch)
        return rewritten
