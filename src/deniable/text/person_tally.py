"""What a release spends on each person, who may have many records: for the owner of the table alone.

Words are drawn independently, so that all words of a person's records together are protected as one text of as many
words: the losses add up, and compose (see `deniable.words.composition`). How many records and words somebody has
depends on the private table, and stands neither in what is released nor in its certificate.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from deniable.core.guarantees import Status
from deniable.text.certificate import encode_document_guarantee, format_total_loss
from deniable.words import WordMechanism


class PersonTally:
    """Counts records and words of each person; a record that names no person is one of its own.

    Memory grows with the number of persons that are named, not with that of records.
    """

    def __init__(self) -> None:
        self._amounts: dict[str, list[int]] = {}  # words and records of each person
        self._nameless = Counter[int]()

    def add_records(self, persons: Sequence[str | None], lengths: Sequence[int]) -> None:
        """Count records.

        Args:
            persons: (n,) whose they are; None where that is not known.
            lengths: (n,) numbers of their words.
        """
        for person, words in zip(persons, lengths, strict=True):
            if person is None:
                self._nameless[words] += 1
            else:
                amounts = self._amounts.setdefault(person, [0, 0])
                amounts[0] += words
                amounts[1] += 1

    @property
    def person_count(self) -> int:
        """Number of persons, and of records that name none."""
        return len(self._amounts) + self._nameless.total()

    def list_guarantees(self, mechanism: WordMechanism, status: Status) -> list[dict[str, Any]]:
        """Return the guarantees of the median person (the lower one of two) and of the one with most words.

        Each is about all words of the person's records against any other words in their places, and has the fields of
        `deniable.text.certificate.encode_document_guarantee`, ``person`` and ``records``; none for no words.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word, which no person's exceeds.
        """
        counts = Counter(map(tuple, self._amounts.values()))
        counts.update({(words, 1): count for words, count in self._nameless.items()})
        ranked = sorted(counts)
        if not ranked:
            return []
        ranks = itertools.accumulate(counts[amounts] for amounts in ranked)
        median = next(amounts for amounts, rank in zip(ranked, ranks, strict=True) if 2 * rank >= self.person_count)
        chosen = {"median person": median, "person with most words": ranked[-1]}
        return [
            {"person": label, "records": records, **encode_document_guarantee(mechanism, words, status)}
            for label, (words, records) in chosen.items()
            if words
        ]

    def describe(self, mechanism: WordMechanism, status: Status) -> list[str]:
        """Return lines for the owner only: number of persons, and what the release spends on them.

        Args:
            mechanism: drew the words.
            status: of the guarantee of a word; nothing is said of persons where it is refuted.
        """
        nameless = self._nameless.total()
        note = f", {nameless:,} record{'s' * (nameless != 1)} without one counted as one each" if nameless else ""
        lines = [f"{self.person_count:,} person{'s' * (self.person_count != 1)}{note}"]
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
