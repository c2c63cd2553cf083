"""The texts that a rewriter learns from and is tested on."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.model_runs import HELD_OUT_SHARE
from deniable.cli.owner_remarks import describe_source_markup, describe_unlisted_words
from deniable.cli.tables import TableOptions, read_table_columns
from deniable.cli.usable_rows import describe_rows, select_usable_rows
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.rewriting.model import Rewriter

_MINIMUM_TEXTS = 10


@dataclasses.dataclass(frozen=True)
class RewritingCorpus:
    """Where the texts stand.

    Attributes:
        training_path: table to learn from.
        test_path: table to test on; None for the texts held out.
        column: of the texts.
        table_format: how the tables are written.
        remarks: on rows that were read in part or left out.
    """

    training_path: Path
    test_path: Path | None
    column: str
    table_format: TableOptions
    remarks: list[str] = dataclasses.field(default_factory=list, init=False)

    def read_training_texts(self, maximum_tokens: int) -> list[str]:
        """Return the texts to learn from: rows without a text are left out, and long texts end at the limit.

        Raises:
            InputError: the table cannot be read, or has no row with a text.
        """
        return self._read_texts(self.training_path, maximum_tokens)

    def read_test_texts(self, maximum_tokens: int) -> list[str] | None:
        """Return the texts to test on; None where there is no table of them."""
        try:
            return None if self.test_path is None else self._read_texts(self.test_path, maximum_tokens)
        except InputError as error:
            raise InputError(f"In --test: {error}") from None

    def _read_texts(self, path: Path, maximum_tokens: int) -> list[str]:
        from deniable.rewriting.tokens import truncate_text
        from deniable.text.tokens import split_tokens

        cells = read_table_columns(str(path), [self.column], self.table_format)[self.column]
        if not cells:
            raise InputError(f"The table {str(path)!r} has no rows: give one with texts.")
        lengths = [len(split_tokens(text or "")) for text in cells]
        empty_rows = [row for row, length in enumerate(lengths) if not length]
        usable_rows, remarks = select_usable_rows(
            str(path), len(cells), {f"without a text in {self.column!r}": empty_rows}
        )
        long_rows = [row for row in usable_rows if lengths[row] > maximum_tokens]
        self.remarks.extend(remarks)
        self.remarks.extend(describe_source_markup(path, [cells[row] or "" for row in usable_rows]))
        self.remarks.extend(
            describe_rows(
                str(path), long_rows, f"with more than {maximum_tokens:,} tokens, of which only the first are used"
            )
        )
        return [truncate_text(cells[row] or "", maximum_tokens) for row in usable_rows]


def split_held_out_texts(texts: list[str], corpus: RewritingCorpus) -> tuple[list[str], list[str]]:
    """Return texts to learn from, and held-out texts that say when to stop; no text is in both.

    Raises:
        InputError: there are too few.
    """
    from deniable.core.randomness import derive_key_from_seed, make_generator

    distinct_texts = [*dict.fromkeys(texts)]
    if len(distinct_texts) < _MINIMUM_TEXTS:
        raise InputError(
            f"{str(corpus.training_path)!r} has too few distinct texts to learn from, "
            f"{len(distinct_texts)}: give at least {_MINIMUM_TEXTS}."
            + "".join(f" ({remark})" for remark in corpus.remarks)
        )
    order = make_generator(derive_key_from_seed(0), "held out").permutation(len(distinct_texts))
    held_out = [distinct_texts[index] for index in sorted(order[: round(HELD_OUT_SHARE * len(distinct_texts))])]
    held_out_set = {*held_out}
    return [text for text in texts if text not in held_out_set], held_out


def describe_held_out_words(
    corpus: RewritingCorpus, training_texts: list[str], held_out_texts: list[str], base_model: "Rewriter | None"
) -> list[str]:
    """Return a remark where the vocabulary of the model to be lacks many words of texts that it does not learn from."""
    from deniable.rewriting.tokens import Vocabulary

    vocabulary = Vocabulary.build(training_texts) if base_model is None else base_model.vocabulary
    advice = (
        "Train on more texts, of one language with spaces between its words"
        if base_model is None
        else "Go on with texts of the kind that the model of --fine-tune knows"
    )
    return describe_unlisted_words(corpus.training_path, held_out_texts, vocabulary.words, advice)


def fingerprint_texts(*text_lists: list[str]) -> str:
    """Return a text that differs between data sets, by the content of their texts."""
    return hashlib.blake2b(json.dumps(text_lists).encode(), digest_size=16).hexdigest()
