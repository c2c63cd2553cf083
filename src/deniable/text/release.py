"""A release: one frozen object with everything that a private text depends on besides text, record id and key.

Noise is named by it. The stream of a cell is a keyed hash of (the release, record id, column, ordinal of
the cell, the points that noise is drawn for): whatever changes an output changes the name, so
that two different releases of a text never share noise, and equal ones are equal in every chunk, order,
thread and process.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

import numpy as np

from deniable.core.classes import get_picklable_state
from deniable.core.errors import InputError, make_parameter_error
from deniable.core.keys import Key, NoiseSource, get_noise_source, parse_key, read_key
from deniable.core.randomness import SecretBytes, Streams, derive_stream_start, derive_stream_starts
from deniable.ledger import Charges, Cost, Ledger, get_charged_guarantee, make_metric_cost
from deniable.text.batches import (
    CellBatch,
    PrivatizedBatch,
    Released,
    Tally,
    check_record_ids,
    read_batch_texts,
    require_persons,
)
from deniable.text.columns import read_identities
from deniable.text.compiled import lex_texts
from deniable.text.encoded import EncodedTexts
from deniable.text.escapes import Escapes, MarkupCounts, check_escapes, decode_escapes
from deniable.text.tokens import CasePolicy, LexedTexts, Lexer, UnknownPolicy, check_kept_words, refuse_hidden_words
from deniable.words import WordMechanism
from deniable.words.composition import compute_worst_loss

_REPEATABLE: frozenset[NoiseSource] = frozenset({"keyed", "ledger"})
"""Sources whose noise follows from what is released, so that a repeated run gives the same output."""
_STREAM_LAYOUT = "deniable release 1"
"""Raised whenever the way from a stream to an output changes."""
_LEXER_CACHE_SIZE = 4
"""Lexers that a process keeps, with the spellings that they have met."""


@dataclasses.dataclass(frozen=True)
class Release:
    """How texts are released: the mechanism and every option that changes the output.

    A release is small, never changes, and can be sent to other processes: its pickle holds references to a space
    that came with the package or from a file, and to a key. Two releases are equal if their mechanisms are, over one
    space object, and all options and the key; those with one `fingerprint` give the same output to a text, id and key.

    White space, punctuation and the number and places of words pass through and are not protected.

    Args:
        mechanism: a word mechanism, such as ``TEM(space, epsilon=3.0)``.
        unknown: ``draw`` (an unknown word is read as the public word ``space.unknown_word``), ``mask``
            ("[unknown]" in its place) or ``drop``; the last two show which words were unknown.
        case: ``lower``, or ``copy`` the capitals of the original, which then are not protected.
        keep: public words that pass through unchanged.
        unescape: ``html`` decodes the HTML entities of a text (``&#039;``), once, before its words are read; tags stay.
            What is released is then plain text: to show it on a page, escape it again.
        key: where the secret key is kept, ``"env:NAME"`` or ``"file:PATH"``; or 32 bytes, which no pickle takes.
            The same key, record id and text then give the same output, so every text needs a record id of its own.
            None draws fresh noise for each batch. ``"seed:N"`` is public, for tests: the output is **not private**.
        ledger: counts what each person has spent: a `Ledger`, or where one is. Every text is charged before its noise
            is drawn, and noise follows from the ledger's key; the same person, record id and text then cost nothing
            again and give the same output. Takes the place of a key.

    Raises:
        InputError: a parameter outside its domain, a kept word of a hidden class, or a key or a ledger with a mechanism
            or metric that has no fingerprint.
    """

    mechanism: WordMechanism
    _: dataclasses.KW_ONLY
    unknown: UnknownPolicy = "draw"
    case: CasePolicy = "lower"
    keep: Collection[str] = ()
    unescape: Escapes | None = None
    key: Key | str | bytes | None = None
    ledger: Ledger | str | None = None

    def __post_init__(self) -> None:
        """Check the parameters, and bring those with several forms into one."""
        # The key is wrapped first, so that no error about another parameter can show it.
        object.__setattr__(self, "key", parse_key("Release", self.key))
        if not isinstance(self.mechanism, WordMechanism):
            expected = "a word mechanism, such as TEM(space, epsilon=3.0)"
            raise make_parameter_error("Release", "mechanism", expected, self.mechanism)
        if self.unknown not in ("draw", "mask", "drop"):
            raise make_parameter_error("Release", "unknown", "'draw', 'mask' or 'drop'", self.unknown)
        if self.case not in ("lower", "copy"):
            raise make_parameter_error("Release", "case", "'lower' or 'copy'", self.case)
        if isinstance(self.keep, str) or not isinstance(self.keep, Collection):
            raise make_parameter_error("Release", "keep", "a collection of words", self.keep)
        object.__setattr__(self, "keep", check_kept_words(self.keep))
        refuse_hidden_words(self.keep, self.mechanism.space)
        check_escapes("Release", self.unescape)
        if self.ledger is not None:
            object.__setattr__(self, "ledger", _read_ledger(self.ledger, self._parsed_key))
        if self.noise in _REPEATABLE and not self.mechanism.has_fingerprint:
            needing = "A ledger" if self.noise == "ledger" else "A key"
            raise InputError(
                f"{needing} needs a mechanism whose law can be named, so that no other shares its noise. "
                f"{type(self.mechanism).__name__} over {self.mechanism.space.metric} has no fingerprint: leave it out, "
                "or use a metric and a mechanism of this package."
            )

    @property
    def noise(self) -> NoiseSource:
        """Where the noise comes from."""
        return "ledger" if self.ledger is not None else get_noise_source(self._parsed_key)

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """Names everything that an output is a function of, beside text, id and key; None where it has no name."""
        law = self.mechanism.law.fingerprint
        if law is None:
            return None
        return derive_stream_start(bytes(32), _STREAM_LAYOUT, self.mechanism.fingerprint, law, *self._options).hex()

    @functools.cached_property
    def cost(self) -> Cost:
        """What one word costs the person whose text it is, as a ledger counts it: the epsilon of what is proved.

        The first one for a mechanism verifies it, which takes seconds in the default space.

        Raises:
            InputError: the guarantee is not proved, so that nobody knows what a word costs.
        """
        from deniable.auditing import verify

        mechanism = self.mechanism
        space = mechanism.space
        guarantee = get_charged_guarantee(mechanism.name, verify(mechanism), "word")
        return make_metric_cost(
            guarantee.epsilon,
            space.metric.name,
            {
                "mechanism": mechanism.name,
                "epsilon": guarantee.epsilon,
                "unit": "word",
                "metric": space.metric_name,
                "space": space.fingerprint,
                "largest loss": compute_worst_loss(mechanism.law, guarantee),
            },
        )

    def batch(
        self,
        texts: Sequence[str | None],
        ids: Sequence[Any] | None = None,
        *,
        persons: Sequence[Any] | None = None,
        workers: int | None = None,
    ) -> Released:
        """Return texts privatized, and their counts.

        Args:
            texts: any texts, in a list, an array, a series or a data frame of one column; None stays None, and other
                nulls (NaN, pandas' NA) become None.
            ids: one public id for each text, unique; needed with a key or a ledger. By default the row numbers. Ids and
                identities are texts or whole numbers, and 1, 1.0 and "1" are one; see `deniable.core.identity`.
            persons: whose each text is, only for a ledger.
            workers: threads; the result does not depend on them.

        Raises:
            InputError: an entry is not a text; ids or people are missing or of another number; ids are repeated; or the
                key or the ledger cannot be used.
            BudgetExceeded, PersonsMissing: the ledger's budget does not cover some of the texts, or some name no
                person; ``rows`` say which. Nothing was charged.
        """
        private_texts = read_batch_texts(texts)
        record_ids = self._check_ids(private_texts, ids)
        owners = self._check_persons(private_texts, persons)
        rows = [row for row, text in enumerate(private_texts) if text]
        cells = CellBatch.of_texts(
            [private_texts[row] or "" for row in rows], [record_ids[row] for row in rows], [owners[row] for row in rows]
        )
        cells = dataclasses.replace(cells, rows=np.array(rows, dtype=np.int64), row_count=len(private_texts))
        privatized = self.privatize_cells(cells, workers=workers)
        new_texts, lengths = list(private_texts), [0] * len(private_texts)
        for row, text, length in zip(rows, privatized.texts, privatized.lengths, strict=True):
            new_texts[row], lengths[row] = text, length
        return Released(new_texts, Tally.count(lengths, privatized, missing=private_texts.count(None)))

    def describe_ledger(self) -> str | None:
        """Return what the ledger allows, in plain words; None without a ledger."""
        return None if self._parsed_ledger is None else self._parsed_ledger.facts.describe_caps()

    def read_key(self) -> bytes:
        """Return the key that noise is drawn with, a fresh one where there is none.

        Raises:
            InputError: the key, or the ledger, cannot be read.
        """
        if self._parsed_ledger is not None:
            return self._parsed_ledger.keys.noise
        return read_key(self._parsed_key)

    def privatize_cells(
        self, cells: CellBatch, *, key: bytes | None = None, workers: int | None = None
    ) -> PrivatizedBatch:
        """Return each text privatized with noise of its own, and what became of its words, for their owner only.

        Args:
            cells: texts and their places; no two in one place.
            key: what `read_key` returned, for several batches of one table; None reads it.
            workers: threads; the result does not depend on them.

        Raises:
            InputError: the key, or the ledger, cannot be read.
            BudgetExceeded, PersonsMissing: the ledger's budget does not cover some of the cells, or some name no
                person; ``rows`` are those of the batch.
        """
        self._check_law()
        key = self.read_key() if key is None else key
        texts = cells.texts
        if self.unescape is not None and len(texts.find_rows(b"&")):
            texts = EncodedTexts.of([decode_escapes(text, self.unescape) for text in texts.decode_all()])
        lexed = lex_texts(self.lexer, texts, workers)
        outputs, charged = lexed.words, 0
        if len(lexed.words):
            starts, charged = self._name_streams(key, cells, lexed)
            streams = Streams(key, starts, np.diff(lexed.offsets).tolist())
            outputs = self.mechanism.draw_words(lexed.words, streams, workers)
        return PrivatizedBatch(
            lexed.write(outputs),
            lexed.offsets,
            lexed.words,
            outputs,
            lexed.unknown_mask,
            lexed.unknown_count,
            lexed.kept_counts,
            MarkupCounts.count(texts),
            charged,
        )

    @property
    def lexer(self) -> Lexer:
        """What cuts and writes the texts; one for all equal releases of a process."""
        return _get_lexer(self.mechanism.space, self.unknown, self.case, tuple(self.keep))

    def _name_streams(self, key: bytes, cells: CellBatch, lexed: LexedTexts) -> tuple[list[bytes], int]:
        """Return where the stream of each cell starts, and how many cells a ledger was charged for.

        The name of a stream is everything that the output of its cell is a function of.
        """
        points = self.mechanism.space.point_by_word[lexed.words].astype("<i4").tobytes()
        byte_offsets = (4 * lexed.offsets).tolist()
        places = zip(cells.record_ids, cells.columns, cells.ordinals, strict=True)
        names = (
            (record_id, column, ordinal.to_bytes(8, "little"), points[start:end])
            for (record_id, column, ordinal), (start, end) in zip(places, itertools.pairwise(byte_offsets), strict=True)
        )
        if self._parsed_ledger is not None:
            return self._charge_cells(self._parsed_ledger, cells, lexed, names)
        # A fresh key serves this release alone, and needs no law that may take long to compute; what has no
        # fingerprint is drawn with a fresh key, or with a public seed, which hides nothing.
        release_name = None if self.key is None else self.fingerprint
        return derive_stream_starts(key, [release_name or ""], names), 0

    def _charge_cells(
        self, ledger: Ledger, cells: CellBatch, lexed: LexedTexts, names: Iterable[tuple[str | bytes, ...]]
    ) -> tuple[list[bytes], int]:
        """Charge all cells; return where their streams start, and how many were not charged before."""
        keys, units = ledger.keys, np.diff(lexed.offsets).tolist()
        persons = keys.hash_persons(require_persons(cells))
        named = ((person, *name) for person, name in zip(persons, names, strict=True))
        fingerprints = keys.fingerprint_cells(self.fingerprint or "", named)
        drawn = [cell for cell, count in enumerate(units) if count]
        rows = cells.rows.tolist()
        charges = Charges(
            [fingerprints[cell] for cell in drawn],
            [persons[cell] for cell in drawn],
            [units[cell] for cell in drawn],
            [rows[cell] for cell in drawn],
        )
        charged = ledger.charge(self.cost, charges)
        return keys.find_stream_starts(fingerprints), charged

    def _check_ids(self, texts: Sequence[str | None], ids: Sequence[Any] | None) -> Sequence[str]:
        if ids is None:
            if self.noise in _REPEATABLE:
                raise InputError(
                    f"A release {'with a ledger' if self.noise == 'ledger' else 'under a key'} needs a record id for "
                    "every text, so that no two texts share noise: pass the ids."
                )
            return [str(row) for row in range(len(texts))]
        return check_record_ids(ids, len(texts))

    def _check_persons(self, texts: Sequence[str | None], persons: Sequence[Any] | None) -> list[str | None]:
        """Return whose each text is, None for nobody's."""
        if self.ledger is None:
            if persons is not None:
                raise InputError("Persons are for a release with a ledger: leave them out, or give the ledger.")
            return [None] * len(texts)
        if persons is None:
            raise InputError("A ledger counts what people spend: pass `persons`, one for each text.")
        owners = read_identities("Persons", persons)
        if len(owners) != len(texts):
            raise InputError(f"There must be one person per text. Got {len(owners):,} for {len(texts):,}.")
        return owners

    def _check_law(self) -> None:
        """Raise `InputError` where this process computes another law than the one that was pickled."""
        pickled = vars(self).get("_pickled")
        if pickled is not None and self.fingerprint != pickled:
            raise InputError(
                f"This process computes different probabilities for {self.mechanism.name} than the one "
                "that made the release, and would draw different noise under its key: use one version of deniable on "
                "processors of one kind."
            )

    @property
    def _parsed_key(self) -> Key | None:
        return cast("Key | None", self.key)  # __post_init__ has parsed it

    @property
    def _parsed_ledger(self) -> Ledger | None:
        return cast("Ledger | None", self.ledger)  # __post_init__ has read it

    @property
    def _options(self) -> tuple[str, ...]:
        # No kept word has a sign of equality in it, so that no two releases have one name.
        steps = () if self.unescape is None else (f"unescape={self.unescape}",)
        return (self.unknown, self.case, *steps, *self.keep)

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles; the law is named in it, so that another process cannot draw from another one."""
        state = get_picklable_state(self)
        if self.ledger is not None or (self.key is not None and not isinstance(self.key, SecretBytes)):
            state["_pickled"] = vars(self).get("_pickled") or self.fingerprint
        return state


def _read_ledger(value: object, key: Key | None) -> Ledger:
    """Return the ledger that a parameter names.

    Raises:
        InputError: it names none, or a key is given too.
    """
    if key is not None:
        raise InputError("With a ledger the noise follows from the ledger's own key: give a key or a ledger, not both.")
    if isinstance(value, str | os.PathLike):
        return Ledger(os.fspath(value))
    if not isinstance(value, Ledger):
        raise make_parameter_error("Release", "ledger", "a Ledger, or where one is", type(value).__name__)
    return value


_get_lexer = functools.lru_cache(maxsize=_LEXER_CACHE_SIZE)(Lexer)
