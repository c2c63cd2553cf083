"""``deniable certificate check``: which fields of a certificate are true, false, or only stated by the owner."""

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.commandline import EXIT_REFUTED
from deniable.cli.options import OUTPUT_PANEL, WORDS_PANEL, ForceOption, JsonOption, PriorOption, make_option
from deniable.cli.progress import show_passes
from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.core.signatures import SignatureCheck

_SIGNATURE_PANEL = "Signature"

CertificateArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Certificate or model card, as JSON.", show_default=False)
]
PublicKeyOption = Annotated[
    Path | None,
    make_option(
        _SIGNATURE_PANEL,
        "--public-key",
        "Key of who is said to have signed: the .pub file of deniable key --sign.",
        metavar="FILE",
    ),
]
ReleasedTableOption = Annotated[
    Path | None,
    make_option(
        _SIGNATURE_PANEL, "--table", "Table, or other file, that was released with the certificate.", metavar="FILE"
    ),
]
SignatureOption = Annotated[
    Path | None,
    make_option(
        _SIGNATURE_PANEL, "--signature", "Signature file.", metavar="FILE", default_text="FILE.sig, if it exists"
    ),
]
OwnSpaceOption = Annotated[
    Path | None,
    make_option(
        WORDS_PANEL,
        "--space",
        "Your copy of the word vectors, where the certificate names others than GloVe. No path in it is opened.",
        metavar="FILE",
        default_text="GloVe, if it is named",
    ),
]
OwnClassesOption = Annotated[
    list[Path] | None,
    make_option(
        WORDS_PANEL, "--hide", "List of a hidden class of the owner's own; may be given more than once.", metavar="FILE"
    ),
]
HtmlOption = Annotated[
    str | None, make_option(OUTPUT_PANEL, "--html", "Write the result as a page, too.", metavar="FILE")
]
NoCacheOption = Annotated[bool, make_option(OUTPUT_PANEL, "--no-cache", "Compute everything again, and store nothing.")]


def run_certificate_check(
    file: CertificateArgument,
    *,
    public_key: PublicKeyOption = None,
    table: ReleasedTableOption = None,
    signature: SignatureOption = None,
    space: OwnSpaceOption = None,
    hide: OwnClassesOption = None,
    prior: PriorOption = None,
    as_json: JsonOption = False,
    html: HtmlOption = None,
    force: ForceOption = False,
    no_cache: NoCacheOption = False,
) -> None:
    """Check a certificate that anybody may have written.

    The law is built anew and proved, and every field is marked as recomputed, contradicted, or only stated by the
    owner. With --public-key, every change of the certificate and of the released table is detected. Exits with 1 if a
    field or the signature is wrong.
    """
    from deniable.checking import check_certificate, parse_certificate
    from deniable.checking.document import CERTIFICATE_LIMITS
    from deniable.core.cache import bypass_cache
    from deniable.core.files import check_outputs

    if table is not None and public_key is None:
        raise InputError("--table is compared with what was signed: give the owner's --public-key too.")
    if html is not None:
        check_outputs([html], [file, public_key, table, signature, space, prior, *(hide or ())], force=force)
    content = _read_bounded(file, "certificate", CERTIFICATE_LIMITS.size + 1)
    document = parse_certificate(content)
    signature_check = _check_signature(file, content, public_key, table, signature)
    with (
        bypass_cache() if no_cache else contextlib.nullcontext(),
        show_passes("verifying"),
        expect_passes(0),
    ):
        check = check_certificate(document, space, hide=hide or (), prior=prior)
    check = dataclasses.replace(check, signature=signature_check)
    if html is not None:
        _write_page(html, check.make_report().to_html(), force=force)
    typer.echo(check.to_json() if as_json else str(check) + "\n", nl=False)
    if check.overall == "contradicted":
        raise typer.Exit(EXIT_REFUTED)


def _check_signature(
    file: Path, content: bytes, public_key: Path | None, table: Path | None, signature: Path | None
) -> "SignatureCheck":
    """Return what is known of the signature of a certificate.

    Raises:
        InputError: a key, a signature that was named, or the table cannot be read.
    """
    from deniable.core.signatures import (
        MAX_SIGNATURE_BYTES,
        NOT_CHECKED,
        SIGNATURE_ENDING,
        UNSIGNED,
        SignatureCheck,
        check_signature,
        read_public_key,
    )

    path = file.with_name(file.name + SIGNATURE_ENDING) if signature is None else signature
    if signature is None and not path.exists():
        if public_key is None:
            return UNSIGNED
        return SignatureCheck("invalid", f"there is no signature {str(path)!r}: {UNSIGNED.note}")
    if public_key is None:
        return NOT_CHECKED
    signature_content = _read_bounded(path, "signature", MAX_SIGNATURE_BYTES + 1)
    return check_signature(signature_content, content, read_public_key(public_key), table)


def _read_bounded(path: Path, kind: str, limit: int) -> bytes:
    """Return the first bytes of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(limit)
    except OSError as error:
        raise InputError(f"The {kind} {str(path)!r} cannot be read: {error.strerror}.") from None


def _write_page(path: str, page: str, *, force: bool) -> None:
    """Write a page, whole or not at all."""
    from deniable.core.files import open_outputs

    with open_outputs(path, force=force) as (stream,):
        stream.write(page.encode("utf-8", "backslashreplace"))
