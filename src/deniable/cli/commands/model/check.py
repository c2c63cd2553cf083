"""``deniable model check``: what a language model says of itself, what it knows, and how fast it writes here."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.commandline import option
from deniable.cli.options import JsonOption
from deniable.cli.progress import show_passes
from deniable.cli.rows import Roles, Rows, read_public_table
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadTexts:
    """Public texts.

    Attributes:
        public: public texts that the model reads, a table or lines.
        column: name of the column with text.
        limit: maximum number of texts to use (the first ones).
    """

    public: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="a few lines of English")
    )
    column: str = dataclasses.field(default="text", metadata=option("--column", "-c", metavar="COLUMN"))
    limit: int = dataclasses.field(default=200, metadata=option(min=1, metavar="ROWS"))

    def read(self) -> Rows | None:
        """The rows; None without a file.

        Raises:
            InputError: it cannot be read, or has no text.
        """
        if self.public is None:
            return None
        rows = read_public_table(str(self.public), TableOptions(), Roles(text=self.column))
        rows = rows.take(range(min(self.limit, len(rows))))
        if not any(map(str.strip, rows.texts)):
            raise InputError(
                f"The public file {str(self.public)!r} holds no text: give one with texts, or leave out --public."
            )
        return rows


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrittenTexts:
    """Speed.

    Attributes:
        rows: number of texts whose time is estimated.
    """

    rows: int = dataclasses.field(default=1_000, metadata=option(min=1))


def run_model_check(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="GGUF file, folder as transformers writes it, or smollm2.")
    ],
    texts: ReadTexts,
    written: WrittenTexts,
    *,
    as_json: JsonOption = False,
) -> None:
    """Check a language model: its license and size, how well it knows public texts, and how fast it writes here.

    Nothing is fetched, and no Python code of the files is run. Requires the lm extra of deniable.

    Examples:
        deniable model check smollm2
        deniable model check smollm2 --public public.csv --rows 10000
    """
    from deniable.language.check import SAMPLE_TEXTS, check_model
    from deniable.language.model import LanguageModel

    rows = texts.read()
    with show_passes("loading the model"):
        language_model = LanguageModel.load(model)
    with show_passes("measuring the model"), expect_passes(0):
        check = check_model(
            language_model,
            SAMPLE_TEXTS if rows is None else rows.texts,
            source="" if rows is None else rows.source,
            rows=written.rows,
        )
    if as_json:
        typer.echo(check.make_report().to_json(), nl=False)
    else:
        say(str(check))
