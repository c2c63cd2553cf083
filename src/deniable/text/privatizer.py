"""Texts in, private texts out: the scikit-learn transformer."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from deniable.errors import InputError, bad_parameter
from deniable.randomness import check_key, fresh_key, key_from_seed
from deniable.text.certificate import Certificate, Noise, certify
from deniable.text.release import Tally, privatize_texts, start_of
from deniable.text.tokens import Case, Lexer, Unknown
from deniable.words import WordMechanism

COLUMN = "text"
"""Column name that stands in a text's stream where there is no table."""


class TextPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Privatizes texts word by word with a word mechanism, under the mechanism's guarantee.

    White space, punctuation and the number and places of words pass through and are not protected.

    Args:
        mechanism: a word mechanism, such as ``TEM(space, epsilon=3.0)``.
        unknown: ``draw`` (an unknown word is read as the public word ``space.unknown``), ``mask``
            ("[unknown]" in its place) or ``drop``; the last two show which words were unknown.
        case: ``lower``, or ``copy`` the capitals of the original, which then are not protected.
        keep: public words that pass through unchanged.
        key: 32 secret bytes. The same key, record id and text then give the same output, so every
            text needs a record id of its own. By default each call draws fresh noise.
        seed: a public seed in place of a key, for tests: the output is then **not private**.

    Raises:
        InputError: when first used, if a parameter is outside its domain.
    """

    def __init__(
        self,
        mechanism: WordMechanism,
        *,
        unknown: Unknown = "draw",
        case: Case = "lower",
        keep: Collection[str] = (),
        key: bytes | None = None,
        seed: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.unknown = unknown
        self.case = case
        self.keep = keep
        self.key = key
        self.seed = seed

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ANN401, ARG002, N803 - scikit-learn's contract
        """Check the parameters; there is nothing to learn from the texts."""
        self._lexer()
        self._run_key()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the transformer has no fitted state."""
        return True

    def transform(self, X: Iterable[str | None], record_ids: Sequence[str] | None = None) -> Any:  # noqa: ANN401, N803
        """Return the texts privatized, as a list, or as an array or series if X was one.

        Args:
            X: texts; None stays None.
            record_ids: one public id per text, unique; needed with ``key``. By default the row
                numbers 0, 1, ...

        Raises:
            InputError: an entry is no text, or ids are missing, repeated or of another number.
        """
        if isinstance(X, str):
            raise InputError("transform takes a list of texts. Got one str: use privatize.")
        texts = list(X)
        for row, text in enumerate(texts):
            if text is not None and not isinstance(text, str):
                raise InputError(f"Texts must be str or None. Got {type(text).__name__} in row {row}.")
        private = self._release(texts, self._ids(texts, record_ids))
        if isinstance(X, np.ndarray):
            return np.array(private, dtype=object)
        if hasattr(X, "iloc"):  # a pandas series, without depending on pandas
            series: Any = X
            return type(series)(private, index=series.index, name=series.name)
        return private

    def privatize(self, text: str, record_id: str | None = None) -> str:
        """Return one text privatized.

        Args:
            text: any text.
            record_id: the text's public id; needed with ``key``.

        Raises:
            InputError: not a text, or no record id where one is needed.
        """
        if not isinstance(text, str):
            raise InputError(f"privatize takes one str. Got {type(text).__name__}.")
        ids = self._ids([text], None if record_id is None else [record_id])
        return cast("str", self._release([text], ids)[0])

    def certificate(self) -> Certificate:
        """Return the certificate of what this object has released so far.

        The first one for a mechanism verifies it, which takes seconds in the default space.
        """
        noise: Noise = "public seed" if self.seed is not None else "keyed" if self.key is not None else "random"
        return certify(
            self.mechanism,
            self._tally(),
            unknown=self.unknown,
            case=self.case,
            kept_words=len(self._lexer().keep),
            noise=noise,
        )

    def _release(self, texts: list[str | None], ids: Sequence[str]) -> list[str | None]:
        key, lexer = self._run_key(), self._lexer()
        rows = [row for row, text in enumerate(texts) if text]
        held = [text for text in texts if text]
        starts = [start_of(key, self.mechanism, ids[row], COLUMN, text) for row, text in zip(rows, held, strict=True)]
        tally = self._tally()
        drawn = privatize_texts(self.mechanism, lexer, held, key, starts)
        tally.add(drawn)
        tally.records += len(texts)
        tally.lengths.update([*drawn.lengths, *[0] * (len(texts) - len(held))])
        out = list(texts)
        for row, text in zip(rows, drawn.texts, strict=True):
            out[row] = text
        return out

    def _ids(self, texts: Sequence[str | None], record_ids: Sequence[str] | None) -> Sequence[str]:
        if record_ids is None:
            if self.key is not None:
                raise InputError(
                    "A keyed TextPrivatizer needs a record id for every text, so that no two texts "
                    "share noise: pass record_id, or record_ids to transform."
                )
            return [str(row) for row in range(len(texts))]
        ids = [str(record_id) for record_id in record_ids]
        if len(ids) != len(texts):
            raise InputError(f"There must be one record id per text. Got {len(ids)} for {len(texts)}.")
        first: dict[str, int] = {}
        for row, record_id in enumerate(ids):
            if first.setdefault(record_id, row) != row:
                raise InputError(f"Record ids must be unique. {record_id!r} is in rows {first[record_id]} and {row}.")
        return ids

    def _run_key(self) -> bytes:
        if self.key is not None and self.seed is not None:
            raise InputError("Give TextPrivatizer a key or a seed, not both.")
        if self.key is not None:
            return check_key(self.key)
        return fresh_key() if self.seed is None else key_from_seed(self.seed)

    def _lexer(self) -> Lexer:
        if not isinstance(self.mechanism, WordMechanism):
            raise bad_parameter("TextPrivatizer", "mechanism", "a word mechanism", self.mechanism)
        if self.unknown not in ("draw", "mask", "drop"):
            raise bad_parameter("TextPrivatizer", "unknown", "'draw', 'mask' or 'drop'", self.unknown)
        if self.case not in ("lower", "copy"):
            raise bad_parameter("TextPrivatizer", "case", "'lower' or 'copy'", self.case)
        if isinstance(self.keep, str) or not isinstance(self.keep, Collection):
            raise bad_parameter("TextPrivatizer", "keep", "a collection of words", self.keep)
        made_for = (self.mechanism, self.unknown, self.case, tuple(self.keep))
        if getattr(self, "_made_for", None) != made_for:
            self._cached_lexer = Lexer(self.mechanism.space, self.unknown, self.case, self.keep)
            self._made_for = made_for
        return self._cached_lexer

    def _tally(self) -> Tally:
        if not hasattr(self, "_released"):
            self._released = Tally()
        return self._released
