"""scikit-learn: a `Release` as a transformer, texts in and private texts out."""

from collections.abc import Collection, Generator, Sequence
from typing import Any, Protocol, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError, make_parameter_error
from deniable.core.keys import Key, parse_key
from deniable.core.randomness import SecretBytes
from deniable.engines.frames import rebuild_column
from deniable.text.batches import DEFAULT_COLUMN
from deniable.text.columns import read_cells
from deniable.text.escapes import Escapes
from deniable.text.release import Release
from deniable.text.tokens import CasePolicy, UnknownPolicy
from deniable.words import WordMechanism

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise InputError("TextPrivatizer needs scikit-learn, which is missing: install deniable[measure].") from None

_MECHANISM_PREFIX = "mechanism__"


class HasShape(Protocol):
    """A series or a data frame, of pandas or polars, neither of which is needed for it."""

    @property
    def shape(self) -> Any:
        """Numbers of rows and columns."""


TextT = TypeVar("TextT", bound=str | None)
TableT = TypeVar("TableT", bound=HasShape)


class TextPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Privatizes texts word by word, under the mechanism's guarantee: `Release` as a transformer.

    Texts are returned in the container that they came in: a list, an array, a series or a data frame of one column, of
    pandas or polars. Index, names and nulls stay; a category becomes plain text, since its list of categories would
    show the private texts.

    In a pipeline it privatizes whatever passes through, also at ``predict``, and each fit of a grid search draws again:
    every draw for a private text spends epsilon. It keeps no counts: `Certificate.of` takes a `Release` and what its
    batches counted.

    Args:
        mechanism: a word mechanism, such as ``TEM(space, epsilon=3.0)``. ``set_params`` reaches its parameters
            (``mechanism__epsilon``), and puts another mechanism in its place.
        unknown: see `Release`.
        case: see `Release`.
        keep: see `Release`.
        unescape: see `Release`.
        key: see `Release`. By default each call draws fresh noise; ``"seed:N"`` is for tests.

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
    ) -> None:
        self.mechanism = mechanism
        self.unknown = unknown
        self.case = case
        self.keep = keep
        self.unescape = unescape
        self.key = key

    def __setattr__(self, name: str, value: object) -> None:
        """Set a parameter; a key of bytes is wrapped and one of another form refused: no representation shows it."""
        if name == "key":
            parsed = parse_key(type(self).__name__, value)
            value = parsed if isinstance(parsed, SecretBytes) else value
        super().__setattr__(name, value)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also of the mechanism: ``mechanism__epsilon`` puts one with another epsilon in its place.

        Raises:
            InputError: the mechanism has no such parameter, or refuses its value.
            ValueError: there is no such parameter.
        """
        changes = {
            name.removeprefix(_MECHANISM_PREFIX): params.pop(name)
            for name in list(params)
            if name.startswith(_MECHANISM_PREFIX)
        }
        super().set_params(**params)
        if changes:
            if not isinstance(self.mechanism, WordMechanism):
                expected = "a word mechanism, such as TEM(space, epsilon=3.0)"
                raise make_parameter_error("TextPrivatizer", "mechanism", expected, self.mechanism)
            names = ["mechanism__" + name for name in self.mechanism.get_params()]
            for name in changes:
                if "mechanism__" + name not in names:
                    raise InputError(f"TextPrivatizer has no parameter 'mechanism__{name}': take one of {names}.")
            self.mechanism = self.mechanism.replace(**changes)
        return self

    @property
    def release(self) -> Release:
        """The release that the parameters describe now.

        Raises:
            InputError: a parameter outside its domain.
        """
        return Release(
            self.mechanism,
            unknown=self.unknown,
            case=self.case,
            keep=self.keep,
            unescape=self.unescape,
            key=self.key,
        )

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters, and note the name of the column; nothing is learned from the texts."""
        self.release.read_key()
        if hasattr(X, "shape"):
            read_cells("TextPrivatizer", X)
        name = X.columns[0] if hasattr(X, "columns") else getattr(X, "name", None)
        self.feature_names_in_ = np.array([name if isinstance(name, str) and name else DEFAULT_COLUMN], dtype=object)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: the transformer has no fitted state."""
        return True

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """Return the name of the one column that is returned: that of the column fitted on, else ``text``.

        Args:
            input_features: name of the one column that goes in.

        Raises:
            InputError: several names.
        """
        names = vars(self).get("feature_names_in_", [DEFAULT_COLUMN]) if input_features is None else input_features
        if isinstance(names, str) or len(names) != 1:
            raise make_parameter_error("get_feature_names_out", "input_features", "a list of one name", input_features)
        return np.array(names, dtype=object)

    @overload  # type: ignore[override, unused-ignore]
    def transform(
        self,
        X: npt.NDArray[Any],
        record_ids: Sequence[str] | None = None,
    ) -> npt.NDArray[np.object_]: ...
    @overload
    def transform(self, X: TableT, record_ids: Sequence[str] | None = None) -> TableT: ...
    @overload
    def transform(
        self, X: Sequence[TextT] | Generator[TextT], record_ids: Sequence[str] | None = None
    ) -> list[TextT]: ...
    def transform(self, X: Any, record_ids: Sequence[str] | None = None) -> Any:
        """Return the texts privatized, in a container like the one that they came in.

        Args:
            X: n texts, in a list or another iterable, an array (n,) or (n, 1), a series, or a data frame of one
                column. None, NaN and pandas' NA stay as they are.
            record_ids: one public id per text, unique; needed with ``key``. By default the row
                numbers 0, 1, ...

        Raises:
            InputError: an entry is not a text; there are several columns; or ids are missing, repeated or of another
                number.
        """
        if isinstance(X, str):
            raise InputError("transform takes a list of texts. Got one str: put it into a list.")
        cells = read_cells("TextPrivatizer", X)
        private_texts = self.release.batch(cells, record_ids).texts
        config = vars(self).get("_sklearn_output_config", {})
        # Of a list scikit-learn makes no frame of polars, but of rows.
        if config.get("transform", get_config()["transform_output"]) == "polars":
            return [[text] for text in private_texts]
        return rebuild_column(X, cells, private_texts)

    def fit_transform(self, X: Any, y: Any = None, record_ids: Sequence[str] | None = None) -> Any:
        """Return what `fit` and then `transform` give.

        Args:
            X: see `transform`.
            y: ignored.
            record_ids: see `transform`.
        """
        return self.fit(X, y).transform(X, record_ids)
