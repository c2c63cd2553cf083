"""The language model that writes synthetic texts: its options, and how it is loaded."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable.cli.commandline import option
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.persons.options import build_request

if TYPE_CHECKING:
    from deniable.language.model import LanguageModel

NOT_BOTH = "--model and --prompt, which says what each text is, go together: give both of them."


@dataclasses.dataclass(frozen=True, kw_only=True)
class WriterChoice:
    """Language model.

    Attributes:
        model: public language model that writes the texts; smollm2, a .gguf file or a folder.
        prompt: what each text is, such as "a film review"; {label} in it is the name of a class.

    Raises:
        InputError: a prompt without a model.
    """

    model: str | None = dataclasses.field(default=None, metadata=option(metavar="MODEL"))
    prompt: str | None = dataclasses.field(default=None, metadata=option(metavar="TEXT"))

    def __post_init__(self) -> None:
        """Refuse a prompt that nobody would answer."""
        if self.prompt is not None and self.model is None:
            raise InputError(NOT_BOTH)

    def load_writer(self, classes: Iterable[str]) -> "LanguageModel | None":
        """The model; None where no prompt is given.

        Raises:
            InputError: a prompt that cannot name a class, or files that hold no model.
        """
        if self.model is None or self.prompt is None:
            return None
        for name in classes:
            build_request(self.prompt, name)  # refused now, not when a model was loaded
        from deniable.language.model import LanguageModel

        with show_passes("loading the language model"):
            return LanguageModel.load(self.model)
