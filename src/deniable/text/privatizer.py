"""Texts in, private texts out: a `Release` as a scikit-learn transformer."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.keys import Key, SecretKey, parse_key
from deniable.core.randomness import derive_key_from_seed
from deniable.text.escapes import Escapes
from deniable.text.release import DEFAULT_COLUMN, Release
from deniable.text.tokens import CasePolicy, UnknownPolicy
from deniable.words import WordMechanism

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise InputError("TextPrivatizer needs scikit-learn, which is missing: install deniable[measure].") from None


class TextPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Privatizes texts word by word, under the mechanism's guarantee: `Release` as a transformer.

    It keeps no counts: `Certificate.of` takes a `Release` and what its batches counted.

    Args:
        mechanism: a word mechanism, such as ``TEM(space, epsilon=3.0)``.
        unknown: see `Release`.
        case: see `Release`.
        keep: see `Release`.
        unescape: see `Release`.
        key: see `Release`. By default each call draws fresh noise.
        seed: a public seed in place of a key, for tests: the output is then **not private**.

    Raises:
        InputError: at once if the key cannot be parsed; when first used, if another parameter is outside its domain.
    """

    def __init__(
        self,
        mechanism: WordMechanism,
        *,
        unknown: UnknownPolicy = "draw",
        case: CasePolicy = "lower",
        keep: Collection[str] = (),
        unescape: Escapes | None = None,
        key: Key | str | bytes | None = None,
        seed: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.unknown = unknown
        self.case = case
        self.keep = keep
        self.unescape = unescape
        self.key = key
        self.seed = seed

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter; a key of bytes is wrapped and one of another form refused: no representation shows it."""
        if name == "key":
            parsed = parse_key(type(self).__name__, value)
            value = parsed if isinstance(parsed, SecretKey) else value
        super().__setattr__(name, value)

    @property
    def release(self) -> Release:
        """The release that the parameters describe now.

        Raises:
            InputError: a parameter outside its domain.
        """
        if self.key is not None and self.seed is not None:
            raise InputError("Give TextPrivatizer a key or a seed, not both.")
        key = self.key
        if self.seed is not None:
            derive_key_from_seed(self.seed)  # raises
            key = f"seed:{self.seed}"
        if isinstance(self.keep, str) or not isinstance(self.keep, Collection):
            raise make_parameter_error("TextPrivatizer", "keep", "a collection of words", self.keep)
        parameters = (self.mechanism, self.unknown, self.case, tuple(self.keep), self.unescape, key)
        cached: tuple[object, Release] | None = vars(self).get("_release")
        if cached is None or cached[0] != parameters:
            release = Release(
                self.mechanism,
                unknown=self.unknown,
                case=self.case,
                keep=self.keep,
                unescape=self.unescape,
                key=key,
            )
            cached = self._release = (parameters, release)
        return cached[1]

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ANN401, ARG002, N803 - scikit-learn's contract
        """Check the parameters; there is nothing to learn from the texts."""
        self.release.read_key()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the transformer has no fitted state."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters alone, so that using the object does not change how it pickles and hashes."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_release"}

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the name of the one column that comes out, for ``set_output``."""
        return np.array([DEFAULT_COLUMN], dtype=object)

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
        private_texts = self.release.batch(list(X), None if record_ids is None else list(record_ids)).texts
        if isinstance(X, np.ndarray):
            return np.array(private_texts, dtype=object)
        if hasattr(X, "iloc"):  # a pandas series, without depending on pandas
            series: Any = X
            return type(series)(private_texts, index=series.index, name=series.name)
        return private_texts

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
        return cast("str", self.release.batch([text], None if record_id is None else [record_id]).texts[0])
