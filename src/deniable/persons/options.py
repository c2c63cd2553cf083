"""What private releases are made with: everything here is public or declared, and never read off the records."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from deniable.core.errors import InputError, check_count, make_parameter_error, shorten_text
from deniable.language.options import WritingOptions

if TYPE_CHECKING:
    from deniable.core.arrays import IntArray
    from deniable.language.model import LanguageModel

GeneratorName = Literal["tilted", "recombined", "candidates", "counts", "language-model"]
_LABEL = "{label}"
MAX_VALUES = 10_000
"""Values of a column, at most."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectionPrivacy:
    """Privacy.

    Attributes:
        epsilon: privacy budget for each record, or each person, as a whole.
        delta: delta of the budget, far below 1/n; for example 1e-6.
        records: number of records (or people), if it may be public; otherwise about a hundredth of the budget measures
            it.
        max_records: maximum number of records used per person, the first ones; all by default.
        chosen_from_data: record that epsilon was chosen from the private records.

    Raises:
        InputError: a number of records below 1.
    """

    epsilon: float
    delta: float
    records: int | None = None
    max_records: int | None = None
    chosen_from_data: bool = False

    def __post_init__(self) -> None:
        for name in ("records", "max_records"):
            if getattr(self, name) is not None:
                check_count("the release", name, getattr(self, name))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierOptions(CollectionPrivacy):
    """What a private classifier is trained with; see `CollectionPrivacy` for the budget.

    Attributes:
        classes: all K classes in an order, declared or public; never read off the labels. They are names, see
            `deniable.text.columns.format_name`: 1 and 1.0 are "1", and True is "true".
        seed: for tests only: public, so that the noise hides nothing; None for fresh noise.

    Raises:
        InputError: fewer than two classes, equal ones, or one without a name.
    """

    name: ClassVar[str] = "dp-linear"
    """What certificates and ledgers call the release."""
    classes: tuple[Any, ...]
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "classes", _format_names(_list_values("Classes", self.classes)))
        if len({*self.classes}) < max(2, len(self.classes)):
            raise InputError(
                "A classifier needs at least two different classes. Got "
                f"{shorten_text(', '.join(self.classes)) or 'none'}: declare them all."
            )
        if not all(self.classes):
            raise InputError("A class has a name. Got one that is blank: give it a name, in the records too.")


@dataclasses.dataclass(frozen=True, eq=False)
class CandidateRequest:
    """What a generator of candidates is told: all of it is public or released.

    Attributes:
        classes: K names.
        class_words: for each class the words that it raises most, the first one most.
        codes: (n,) the class that each text should be of.
        lengths: (n,) the number of tokens that each text should have.
        seed: public.
    """

    classes: tuple[str, ...]
    class_words: tuple[tuple[str, ...], ...]
    codes: "IntArray"
    lengths: "IntArray"
    seed: int

    @property
    def count(self) -> int:
        """n, the number of texts to return."""
        return len(self.codes)


CandidateGenerator = Callable[[CandidateRequest], list[str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SynthesisOptions(ClassifierOptions):
    """What a synthetic table is made with; see `ClassifierOptions` for the classifier next to it.

    Attributes:
        rows: number of synthetic records.
        generator: ``tilted``, ``recombined``, ``counts``, ``candidates`` or ``language-model``; None for the last two
            where there is a callable or a model, else for the first where there are public texts, else for ``counts``.
        domains: all values of each further column, by its name; a record with another value counts nowhere.
        counts: whether noisy counts of words and phrases are released too; always for the generator ``counts``.
        propose: the callable of ``candidates``, see `CandidateRequest`.
        model: the model of ``language-model``; public.
        prompt: what each of its texts is, such as "a film review"; ``{label}`` in it is the name of a class.
        writing: how its tokens are drawn.

    Raises:
        InputError: an unknown generator, no row, values that are not a list, candidates without a callable, a language
            model without a prompt, or a prompt that cannot name a class.
    """

    name: ClassVar[str] = "synthesize"
    rows: int
    generator: GeneratorName | None = None
    domains: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    counts: bool = False
    propose: CandidateGenerator | None = None
    model: "LanguageModel | None" = None
    prompt: str | None = None
    writing: WritingOptions = dataclasses.field(default_factory=WritingOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("synthesize", "rows", self.rows)
        names = get_args(GeneratorName)
        if self.generator not in (None, *names):
            raise make_parameter_error("synthesize", "generator", f"one of {', '.join(names)}", self.generator)
        if self.generator is not None and (self.generator == "candidates") != (self.propose is not None):
            raise InputError("The generator 'candidates' needs a callable that proposes texts, and others take none.")
        has_model = self.model is not None
        if has_model != (self.prompt is not None) or (
            self.generator is not None and (self.generator == "language-model") != has_model
        ):
            raise InputError(
                "The generator 'language-model' needs a model and a prompt that says what each text is, and no other "
                "takes them."
            )
        if has_model and self.propose is not None:
            raise InputError("A callable proposes texts, or a language model writes them. Got both: leave out one.")
        if self.prompt is not None:
            for name in self.classes:
                build_request(self.prompt, name)
        domains = {name: _read_domain(name, values) for name, values in self.domains.items()}
        object.__setattr__(self, "domains", domains)

    @property
    def has_counts(self) -> bool:
        """Whether counts of words and phrases are measured."""
        return self.counts or self.generator == "counts"

    def choose_generator(self, *, has_public: bool) -> "SynthesisOptions":
        """Return options with the generator that was named, or where none was, with one that fits what is given.

        Raises:
            InputError: it needs public texts, and there are none; or prompt and text are longer than a model reads.
        """
        if self.model is not None and self.prompt is not None:
            from deniable.language.writing import check_length

            prompts = [self.model.build_prompt(build_request(self.prompt, name), "") for name in self.classes]
            # An opening is one token more. Later a budget would be spent.
            check_length(self.model, 1 + max(map(len, prompts)), self.writing)
        if self.generator is None:
            name: GeneratorName = "tilted" if has_public else "counts"
            if self.propose is not None or self.model is not None:
                name = "candidates" if self.model is None else "language-model"
            return dataclasses.replace(self, generator=name)
        if self.generator in ("tilted", "recombined") and not has_public:
            raise InputError(
                f"The generator {self.generator!r} writes with public texts: give some of the kind of the private "
                "ones, or take the generator 'counts'."
            )
        return self


def build_request(prompt: str, label: str) -> str:
    """Return what a language model is asked for: a text of a class.

    Raises:
        InputError: the prompt is blank, has other braces than ``{label}``, or a label without letters.
    """
    if not prompt.strip():
        raise InputError('The prompt is blank: say what each text is, for example "a film review".')
    if not {*re.findall(r"{.*?}|[{}]", prompt)} <= {_LABEL}:
        raise InputError(
            f"A prompt may hold no braces except {_LABEL}, for the name of a class. Got {shorten_text(repr(prompt))}."
        )
    if _LABEL in prompt and not any(map(str.isalpha, label)):
        raise InputError(
            f"The prompt {shorten_text(repr(prompt))} cannot name the class {shorten_text(repr(label))}: give classes "
            f"names with letters, or leave {_LABEL} out."
        )
    return f"Write {prompt.replace(_LABEL, label)}."


def _list_values(owner: str, values: Any) -> list[Any]:  # noqa: ANN401 - whatever users pass
    """Return values in their order, which must be the same in every run: what is drawn depends on it."""
    if isinstance(values, (str, bytes, AbstractSet)) or not isinstance(values, Iterable):
        raise InputError(
            f"{owner} are a list, in an order. Got {type(values).__name__}, {shorten_text(repr(values))}: pass a list "
            "of them all, for example sorted(...)."
        )
    return list(values)


def _format_names(values: Iterable[Any]) -> tuple[str, ...]:
    from deniable.text.columns import format_cell

    return tuple(format_cell(value).strip() for value in values)


def _read_domain(name: str, values: Iterable[Any]) -> tuple[int, ...] | tuple[str, ...]:
    """Return all values of a column: integers, or their names where one is no integer."""
    listed = _list_values(f"The values of {name!r}", values)
    is_integer = all(isinstance(value, Integral) and not isinstance(value, bool) for value in listed)
    domain = tuple(map(int, listed)) if is_integer else _format_names(listed)
    if not 1 < len({*domain}) == len(domain) <= MAX_VALUES:
        raise InputError(
            f"The domain of {name!r} must be 2 to {MAX_VALUES:,} different values. Got {len(domain):,}, "
            f"{len({*domain}):,} of them different: list each value once."
        )
    return domain
