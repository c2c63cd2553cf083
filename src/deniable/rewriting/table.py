"""One table in, one table with rewritten texts and its certificate out."""

from collections.abc import Sequence

import numpy as np

from deniable.core.classes import is_builtin_class
from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.ledger import Cost, Ledger, get_charged_guarantee, make_gaussian_cost, make_pure_cost
from deniable.rewriting.certificate import RewriteCertificate, RewrittenTable, certify_rewriting
from deniable.rewriting.methods import RewritingMethod, VectorMethod
from deniable.rewriting.tokens import truncate_text
from deniable.text.batches import CellBatch, require_persons
from deniable.text.encoded import EncodedTexts
from deniable.text.escapes import Escapes, MarkupCounts, check_escapes, decode_escapes
from deniable.text.release_certificate import list_ledger_steps, list_steps
from deniable.text.row_release import OverBudget, TableReleaser
from deniable.text.table_release import ReleaseFiles, write_released_table
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import TextRows
from deniable.text.tokens import count_unknown_words
from deniable.vectors import Gaussian

_TEXTS_PER_REPORT = 1024
"""Texts between two reports of progress."""


def rewrite_table(
    files: ReleaseFiles,
    method: RewritingMethod,
    *,
    unescape: Escapes | None = None,
    ledger: Ledger | None = None,
    over_budget: OverBudget = "refuse",
    chosen_from_data: bool = False,
) -> "tuple[RewriteCertificate, RowRewriter]":
    """Write the table with every text rewritten, and its certificate; both appear whole or not at all.

    An empty text is a text like any other, and gets a new one: were it left empty, a new text would show that the
    private one was not, whatever epsilon. Only null stays null, and the certificate says that it shows.

    Of a text with more tokens than the model takes only the first enter: a function of that text alone, so that the
    guarantee holds for texts of any length. To refuse it would show that there is one, to leave it as it is would
    release it, and to leave it out would lose a record and show that too.

    Args:
        files: from where to where; its layout must have ``replace_empty`` set, so that an empty cell is written anew.
        method: rewrites the texts.
        unescape: ``html`` decodes the HTML entities of the texts first.
        ledger: charged for each text, to the person whom the layout's column names, before it is rewritten.
        over_budget: what becomes of rows that the ledger's budget does not cover, see
            `deniable.text.table_release.privatize_table`.
        chosen_from_data: whether epsilon was chosen by looking at the private texts, as the certificate then says.

    Returns:
        The certificate, and the rewriter with its counts, which are for the owner only.

    Raises:
        InputError: the input, an output or the ledger cannot be used; nothing is written then.
        BudgetExceeded: the budget of some persons does not cover their rows; nothing is written then.
    """
    if not files.layout.replace_empty:
        raise InputError(
            "A table to rewrite needs a layout with replace_empty=True: an empty cell that stayed would show."
        )
    check_escapes("rewrite_table", unescape)
    rewriter = RowRewriter(files.layout, over_budget, method, unescape, ledger)
    with write_released_table(files, rewriter) as (copied, write_certificate):
        caps = None if ledger is None else ledger.facts.describe_caps()
        table = RewrittenTable(
            rewriter.rows,
            rewriter.texts,
            len(files.layout.columns),
            copied,
            has_nulls=files.table_format in {"jsonl", "parquet"},
            steps=[*list_steps(unescape, copied), *list_ledger_steps(caps, drops_rows=over_budget == "drop")],
        )
        certificate = certify_rewriting(method, table, chosen_from_data=chosen_from_data)
        write_certificate(certificate.to_json())
    return certificate, rewriter


class RowRewriter(TableReleaser):
    """Rewrites the texts of rows, and counts what is seen of them, for their owner only.

    Attributes:
        rows: of the table.
        texts: that were rewritten.
        truncated_rows: rows of the table (from 0 on) that were released and have a text of which only the first tokens
            entered.
        markup: how many texts hold HTML.
        unknown_words: words that the model's vocabulary lacks.
        words: all words that were read.

    Args:
        layout: where the texts stand.
        over_budget: see `TableReleaser`.
        method: rewrites the texts.
        escapes: how texts are decoded before they are rewritten.
        ledger: charged for each text.
    """

    def __init__(
        self,
        layout: TableLayout,
        over_budget: OverBudget,
        method: RewritingMethod,
        escapes: Escapes | None,
        ledger: Ledger | None,
    ) -> None:
        if ledger is not None:
            layout.check_charged_columns()
        super().__init__(layout, over_budget)
        self.rows = self.texts = self.unknown_words = self.words = 0
        self.truncated_rows: list[int] = []
        self.markup = MarkupCounts()
        self._method, self._escapes, self._ledger = method, escapes, ledger
        self._cost = None if ledger is None else make_method_cost(method)

    def release_cells(self, cells: CellBatch, rows: TextRows) -> EncodedTexts:
        """Return the new texts of cells, row after row."""
        if self._ledger is not None and self._cost is not None:
            # Noise is fresh, so every run pays.
            persons = self._ledger.keys.hash_persons(require_persons(cells))
            self._ledger.charge_afresh(self._cost, persons, cells.rows.tolist())
            self.charges.charged += len(cells)
        cell_texts = [decode_escapes(text, self._escapes) for text in cells.texts.decode_all()]
        self.markup += MarkupCounts.count(EncodedTexts.of(cell_texts))
        texts = [truncate_text(text, self._method.model.limit) for text in cell_texts]
        unknown_words, words = count_unknown_words(texts, self._method.model.vocabulary)
        self.unknown_words += unknown_words
        self.words += words
        is_truncated = [entering != text for entering, text in zip(texts, cell_texts, strict=True)]
        numbers = rows.numbers or range(len(rows))
        self.truncated_rows += [numbers[row] for row in np.unique(cells.rows[is_truncated]).tolist()]
        self.rows += len(rows)
        self.texts += len(texts)
        return EncodedTexts.of(rewrite_texts(self._method, texts))


def rewrite_texts(method: RewritingMethod, texts: Sequence[str]) -> list[str]:
    """Return one new text for each text, on one line; of a text longer than the model takes only the beginning enters.

    Args:
        method: rewrites the texts.
        texts: private ones; an empty one is a text like any other.
    """
    beginnings = [truncate_text(text, method.model.limit) for text in texts]
    rewritten: list[str] = []
    report_texts = get_progress_reporter()
    for first in range(0, len(beginnings), _TEXTS_PER_REPORT):
        report_texts(first, len(beginnings))
        batch = method.rewrite(beginnings[first : first + _TEXTS_PER_REPORT])
        # A word of the model may hold half of a character, which no file can, or a line end, which ends a record.
        rewritten.extend(" ".join(text.encode("utf-8", "replace").decode().split()) for text in batch)
    return rewritten


def make_method_cost(method: RewritingMethod) -> Cost:
    """Return what one text costs.

    Raises:
        InputError: the method is of another's class, or its guarantee is not proved, or of a kind whose composition is
            not known here.
    """
    if not is_builtin_class(type(method)):
        raise InputError(
            f"A ledger counts what this package verifies, and {type(method).__name__} is of another package: take a "
            "method of deniable.registry, or VectorMethod with a mechanism of your own."
        )
    guarantee = get_charged_guarantee(method.name, method.verify(), "record")
    facts = {"mechanism": method.name, "epsilon": guarantee.epsilon, "unit": "text"}
    if guarantee.kind == "PureDP":
        return make_pure_cost(guarantee.epsilon, facts)
    mechanism = method.mechanism if isinstance(method, VectorMethod) else None
    if guarantee.kind == "ApproxDP" and isinstance(mechanism, Gaussian):
        squared_mu = mechanism.squared_mu(method.model.latent)
        return make_gaussian_cost(squared_mu, {**facts, "delta": guarantee.delta})
    raise InputError(f"A ledger cannot count {method.name}: its noise is not Gaussian. Choose another method.")
