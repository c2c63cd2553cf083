"""``deniable certificate check``: which fields of a certificate are true, false, or only stated by the owner."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.commandline import option
from deniable.cli.process import EXIT_REFUTED
from deniable.cli.progress import show_passes
from deniable.cli.tables import TableOptions, check_input_file
from deniable.cli.terminal import say
from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.checking import CertificateCheck
    from deniable.core.signatures import SignatureCheck


@dataclasses.dataclass(frozen=True)
class SignatureOptions:
    """Signature.

    Attributes:
        public_key: the signer's public key; the .pub file that deniable key --sign wrote.
        table: table, or other file, that was released with the certificate; without --public-key its rows, words and
            columns are compared.
        signature: signature file.
    """

    public_key: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    table: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    signature: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="FILE.sig, if it exists")
    )

    def check(self, file: Path, content: bytes) -> "SignatureCheck":
        """What is known of the signature of a certificate.

        Raises:
            InputError: a key, a signature that was named, or the table cannot be read.
        """
        from deniable.core import signatures

        path = self.signature or file.with_name(file.name + signatures.SIGNATURE_ENDING)
        if self.signature is None and not path.exists():
            if self.public_key is None:
                return signatures.UNSIGNED
            note = f"there is no signature {str(path)!r}: {signatures.UNSIGNED.note}"
            return signatures.SignatureCheck("invalid", note)
        if self.public_key is None:
            return signatures.NOT_CHECKED
        signature = _read_bounded(path, "signature", signatures.MAX_SIGNATURE_BYTES + 1)
        return signatures.check_signature(signature, content, signatures.read_public_key(self.public_key), self.table)


@dataclasses.dataclass(frozen=True)
class OwnWords:
    """Words and their vectors.

    Attributes:
        space: your copy of the word vectors, where the certificate names others than GloVe. No path in it is opened.
        hide: list of a hidden class of the owner's own; may be given more than once.
        prior: file of public word counts, a word and its count per line; never count the private texts.
    """

    space: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="GloVe, if it is named")
    )
    hide: list[Path] | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    prior: Path | None = dataclasses.field(
        default=None, metadata=option(metavar="FILE", show_default="Zipf's law by rank")
    )


@dataclasses.dataclass(frozen=True)
class CheckOutput:
    """Output.

    Attributes:
        json: print the result as JSON.
        html: write the result as a page, too.
        force: overwrite existing output files.
        no_cache: compute everything again, and store nothing.
    """

    json: bool = False
    html: str | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    force: bool = False
    no_cache: bool = False


def run_certificate_check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Certificate or model card, as JSON.")],
    signature: SignatureOptions,
    words: OwnWords,
    table_format: TableOptions,
    output: CheckOutput,
) -> None:
    """Check a certificate you received, without the private data.

    The probabilities are computed and proved again, and every field is marked as recomputed, contradicted, or only
    stated by the owner. With --public-key, every change of the certificate and of the released table is detected.
    Exits with 1 if a field or the signature is wrong.

    Examples:
        deniable certificate check private.csv.certificate.json
        deniable certificate check private.csv.certificate.json --public-key owner.pub --table private.csv
    """
    from deniable.checking import check_certificate, parse_certificate
    from deniable.checking.document import CERTIFICATE_LIMITS
    from deniable.core.cache import bypass_cache
    from deniable.core.files import check_outputs, open_outputs

    hide = words.hide or ()
    if output.html is not None:
        inputs = [file, signature.public_key, signature.table, signature.signature, words.space, words.prior, *hide]
        check_outputs([output.html], inputs, force=output.force)
    content = _read_bounded(file, "certificate", CERTIFICATE_LIMITS.size + 1)
    document = parse_certificate(content)
    signature_check = signature.check(file, content)
    with (
        bypass_cache() if output.no_cache else contextlib.nullcontext(),
        show_passes("verifying"),
        expect_passes(0),
    ):
        check = check_certificate(document, words.space, hide=hide, prior=words.prior)
    check = dataclasses.replace(check, signature=signature_check)
    if signature.table is not None and signature.public_key is None:
        check = _compare_table(check, str(signature.table), table_format)
    if output.html is not None:
        with open_outputs(output.html, force=output.force) as (stream,):
            stream.write(check.make_report().to_html().encode("utf-8", "backslashreplace"))
    if output.json:
        typer.echo(check.to_json(), nl=False)
    else:
        say(str(check))
    if check.overall == "contradicted":
        raise typer.Exit(EXIT_REFUTED)


def _compare_table(check: "CertificateCheck", source: str, table_format: TableOptions) -> "CertificateCheck":
    """A check in which a table without a signature is compared with what the certificate says of it.

    Raises:
        InputError: the table cannot be read, or the certificate is of something else.
    """
    from deniable.checking.released_table import compare_table, find_text_columns
    from deniable.text.tables import detect_table_format, read_table
    from deniable.text.tables.copied_columns import CopiedColumns

    check_input_file(source)
    name = table_format.format or detect_table_format(source)
    layout = table_format.build_layout(source, name, ())
    copied = CopiedColumns(layout)
    # Which columns hold texts is not known yet, and quoted line breaks are suspect in the others alone.
    read_table(source, dataclasses.replace(layout, quoting=layout.quoting or "standard"), name, copied)
    names = list(dict.fromkeys(copied.names))
    columns = find_text_columns(check.document, names) or names[:1]
    return compare_table(check, names, read_table(source, dataclasses.replace(layout, columns=columns), name))


def _read_bounded(path: Path, kind: str, limit: int) -> bytes:
    """The first bytes of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(limit)
    except OSError as error:
        raise InputError(f"The {kind} {str(path)!r} cannot be read: {error.strerror}.") from None
