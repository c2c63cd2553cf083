"""What a release spends on each person, who may have many records: for the owner of the table alone.

Words are drawn independently, so that all words of a person's records together are protected as one text of as many
words: the losses add up, and compose (see `deniable.words.composition`). How many records and words somebody has
depends on the private table, and stands neither in what is released nor in its certificate.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

from deniable.core.guarantees import Status
from deniable.text.certificate import encode_document_guarantee, format_total_loss
from deniable.words import WordMechanism


class PersonTally:
    """Counts records and words of each person; a record that names no person is one of its own."""

    def __init__(self) -> None:
        self._records: Counter[str | int] = Counter()
        self._words: Counter[str | int] = Counter()
        self._nameless_numbers = count()  # no text is equal to a number

    def add_records(self, persons: Sequence[str | None], lengths: Sequence[int]) -> None:
        """Count records.

        Args:
            persons: (n,) whose they are; None where that is not known.
            lengths: (n,) numbers of their words.
        """
        for person, words in zip(persons, lengths, strict=True):
            name = next(self._nameless_numbers) if person is None else person
            self._records[name] += 1
            self._words[name] += words

    @property
    def nameless_records(self) -> int:
        """Number of records that name no person."""
        return sum(isinstance(name, int) for name in self._records)

    def list_guarantees(self, mechanism: WordMechanism, status: Status) -> list[dict[str, Any]]:
        """Return the guarantees of the median person (the lower one of two) and of the one with most words.

        Each is about all words of the person's records against any other words in their places, and has the fields of
        `deniable.text.certificate.encode_document_guarantee`, ``person`` and ``records``; none for no words.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word, which no person's exceeds.
        """
        ranked = sorted(self._words, key=lambda name: (self._words[name], self._records[name]))
        chosen = (
            {"median person": ranked[(len(ranked) - 1) // 2], "person with most words": ranked[-1]} if ranked else {}
        )
        return [
            {
                "person": label,
                "records": self._records[name],
                **encode_document_guarantee(mechanism, self._words[name], status),
            }
            for label, name in chosen.items()
            if self._words[name]
        ]

    def describe(self, mechanism: WordMechanism, status: Status) -> list[str]:
        """Return lines for the owner only: number of persons, and what the release spends on them.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word; nothing is said of persons where it is refuted.
        """
        nameless = self.nameless_records
        note = f", {nameless:,} record{'s' * (nameless != 1)} without one counted as one each" if nameless else ""
        lines = [f"{len(self._records):,} person{'s' * (len(self._records) != 1)}{note}"]
        if status != "refuted":
            lines += [
                f"the {entry['person']}, {entry['records']:,} record{'s' * (entry['records'] != 1)}, "
                f"{entry['words']:,} words: {format_total_loss(entry)}"
                for entry in self.list_guarantees(mechanism, status)
            ]
        return [
            f"for you only   {line}"
            for line in (*lines, "these figures on persons depend on the private table: do not publish them")
        ]
