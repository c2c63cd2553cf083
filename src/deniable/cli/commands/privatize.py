"""``deniable privatize``: a table in, a private table and its certificate out."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deniable.cli.charging import LedgerChoice, report_charges
from deniable.cli.commandline import option
from deniable.cli.options import SpaceOptions, TableArgument, WordPrivacy, read_word_list
from deniable.cli.owner_remarks import warn_owner
from deniable.cli.progress import show_bytes_read, show_passes
from deniable.cli.releases import IdentifiedColumns, ReleaseOutput, open_release_files
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.files import PIPE
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.core.keys import Key


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleasePrivacy(WordPrivacy):
    """Privacy.

    Attributes:
        case: letter case; copy reveals the text's capitals.
        keep: file of public words, one per line, that are never changed.
        chosen_from_data: record that epsilon was chosen from this input.
    """

    case: Literal["lower", "copy"] = "lower"
    keep: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    chosen_from_data: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class NoiseSource:
    """Privacy.

    Attributes:
        key: secret key for a repeatable run, which requires --id: its file or env:NAME; seed:N is public, for tests,
            and the output is NOT private. With --ledger, the file of the ledger's key.
        ledger: ledger to charge before the release; requires --person and --id.
        over_budget: what to do with rows the ledger's budget does not cover.
    """

    key: str | None = dataclasses.field(default=None, metadata=option(metavar="KEY", show_default="fresh noise"))
    ledger: str | None = dataclasses.field(default=None, metadata=option(metavar="WHERE"))
    over_budget: Literal["refuse", "drop"] = "refuse"

    @property
    def key_file(self) -> Path | None:
        """Return the file that the key is in; None for fresh noise, a variable or a seed."""
        if self.key is None or self.key.startswith(("env:", "seed:")):
            return None
        return Path(self.key.removeprefix("file:"))

    def choose_ledger(self) -> LedgerChoice:
        """Return the ledger, if any.

        Raises:
            InputError: options that mean nothing without one, or a key that is in no file with one.
        """
        if self.ledger is None:
            return LedgerChoice(over_budget=self.over_budget)
        if self.key is not None and self.key_file is None:
            raise InputError(
                f"With --ledger, --key is the file of the ledger's key. Got {self.key!r}: name that file, or leave out "
                "--key or --ledger."
            )
        return LedgerChoice(self.ledger, self.key_file, self.over_budget)

    def read_key(self) -> "Key | bytes | None":
        """Return the key of a release without a ledger; None for fresh noise. A pipe gives it once.

        Raises:
            InputError: it is none, or cannot be read.
        """
        from deniable.core.keys import parse_key, read_key_file
        from deniable.core.randomness import KEY_BYTES

        if self.key is None or self.ledger is not None:
            return None
        # The digits of a key are no file, and no message shows them.
        if self.key_file is None or (len(self.key) == 2 * KEY_BYTES and not self.key_file.is_file()):
            return parse_key("privatize", self.key)
        return read_key_file(self.key_file)


def run_privatize(
    source: TableArgument,
    privacy: ReleasePrivacy,
    noise: NoiseSource,
    columns: IdentifiedColumns,
    words: SpaceOptions,
    table: TableOptions,
    output: ReleaseOutput,
) -> None:
    """Privatize the text columns of a table, word by word.

    Writes the same table with private text, and a certificate that states what is guaranteed and what is not. All
    other columns are copied unchanged, unless --columns lists which to copy.

    Examples:
        deniable privatize reviews.csv --column text --columns rating --epsilon 2.8 --output private.csv
        deniable privatize reviews.csv --hide names,places,numbers,health --epsilon 2.8 --output private.csv
        deniable privatize reviews.csv --id id --key env:DENIABLE_KEY --epsilon 2.8 --output private.csv
    """
    from deniable.auditing import verify
    from deniable.cli.release_summary import say_release, say_written
    from deniable.core.guarantees import is_proved
    from deniable.text.certificate import list_word_pairs
    from deniable.text.release import Release
    from deniable.text.table_release import privatize_table

    ledger_choice = noise.choose_ledger()
    read_paths = [privacy.keep, *words.list_files(), *ledger_choice.list_files()]
    files = open_release_files(source, table, columns, output, [*read_paths, noise.key_file])
    ledger_choice.require_persons(columns.person)
    ledger, key = ledger_choice.open(), noise.read_key()
    is_secret = noise.key is not None and not noise.key.startswith("seed:")
    if columns.record_id is None and (is_secret or ledger is not None):
        raise InputError(
            f"{'--key' if ledger is None else '--ledger'} needs --id COLUMN: noise follows the record's id, and row "
            "numbers change when rows do."
        )
    kept_words = read_word_list(privacy.keep)
    space = words.build()
    with show_passes("calibrating and verifying"), expect_passes(0):
        with expect_passes(1):
            mechanism = privacy.build(space)
            release = Release(
                mechanism, case=privacy.case, keep=kept_words, unescape=columns.unescape, key=key, ledger=ledger
            )
            verdict = verify(mechanism)
        # What the certificate will say; found before any text is read, and kept in the cache.
        mechanism.expected_kept_share()
    for note in space.notes:
        say(f"note: {note}", err=True)
    if not is_proved(verdict.status):
        detail = f"refuted: {verdict.witness}" if verdict.status == "refuted" else f"not proved: {verdict.status}"
        method = "" if verdict.status == "refuted" else f", {verdict.method}"
        say(f"warning: the guarantee of {mechanism.name} is {detail}{method}", err=True)
    input_bytes = None if source == PIPE else Path(source).stat().st_size
    with show_bytes_read("privatizing", input_bytes) as report:
        certificate, counts = privatize_table(
            dataclasses.replace(files, report=report),
            release,
            chosen_from_data=privacy.chosen_from_data,
            over_budget=noise.over_budget,
        )
    odds = [(words, loss) for words, _, loss in list_word_pairs(mechanism)]
    say_release(certificate, odds, verbose=output.verbose)
    say(counts.tally.summary(), err=True)
    warn_owner(files.layout.remarks)
    if ledger is not None:
        report_charges(counts.charges)
    if counts.persons is not None:
        for line in counts.persons.describe(mechanism, certificate.guarantee["status"]):
            say(line, err=True)
    say_written(files.outputs, files.certificate, verbose=output.verbose)
