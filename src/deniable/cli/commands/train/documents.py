"""The documents that a text classifier learns from and is tested on."""

from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.labelled_tables import LabelledColumns, LabelledTable, build_documents, read_labelled_table
from deniable.cli.model_runs import HELD_OUT_SHARE
from deniable.cli.owner_remarks import describe_source_markup
from deniable.core.errors import InputError

if TYPE_CHECKING:
    from deniable.models.text.documents import Documents
    from deniable.space import Space


def read_test_table(path: Path, columns: LabelledColumns) -> LabelledTable:
    """Return the test table; an error says which table it is about."""
    try:
        return read_labelled_table(str(path), columns)
    except InputError as error:
        raise InputError(f"In --test: {error}") from None


def build_training_documents(
    table: LabelledTable, test_table: LabelledTable | None, space: "Space", kind: str
) -> "tuple[Documents, Documents, list[str]]":
    """Return documents to learn from and to test on, and remarks about their tables.

    Raises:
        InputError: the tables have too few rows that can be used, or rows that the model does not take.
    """
    from deniable.models.text.networks import select_text_network
    from deniable.models.text.training import check_documents_fit

    network = select_text_network(kind, pairs=table.premises is not None)
    training = build_documents(table, space, network.max_words)
    check_documents_fit(network, training.documents)
    texts = [text for text in (*table.texts, *(table.premises or ())) if text]
    remarks = [*training.remarks, *describe_source_markup(table.source, texts)]
    if test_table is None:
        return *_hold_out_documents(training.documents, table.source), remarks
    try:
        test = build_documents(test_table, space, network.max_words, training.documents.classes)
        check_documents_fit(network, test.documents)
    except InputError as error:
        raise InputError(f"In --test: {error}") from None
    return training.documents, test.documents, [*remarks, *test.remarks]


def _hold_out_documents(documents: "Documents", source: str) -> "tuple[Documents, Documents]":
    """Return documents to learn from, and a tenth of them, drawn at random, to test on."""
    import numpy as np

    from deniable.core.randomness import derive_key_from_seed, make_generator

    order = make_generator(derive_key_from_seed(0), "held out").permutation(len(documents))
    held_out_count = max(1, round(HELD_OUT_SHARE * len(documents)))
    if held_out_count >= len(documents):
        raise InputError(f"{source!r} has {len(documents)} texts, too few to hold some out: give --test.")
    return documents.take(np.sort(order[held_out_count:])), documents.take(np.sort(order[:held_out_count]))
