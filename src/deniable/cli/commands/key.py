"""``deniable key``: write a new secret key, for noise or for signatures."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.terminal import say

SignOption = Annotated[
    bool,
    typer.Option(
        "--sign",
        help="Write a key that signs certificates, and its public key next to it, FILE.pub.",
        rich_help_panel="Output",
    ),
]


def run_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it must not exist.")],
    *,
    sign: SignOption = False,
) -> None:
    """Write a new secret key, readable only by its owner.

    With privatize --key, the output depends only on the key, the record id and the text, so a run can be repeated.
    With --sign, the key signs certificates instead (--sign-key), and whoever has FILE.pub can check them.

    Examples:
        deniable key secret.key
        deniable key --sign signing.key
    """
    from deniable.core.randomness import generate_key
    from deniable.core.signatures import create_key_file, write_signing_key

    if sign:
        public_path = write_signing_key(file)
        say(
            f"Wrote {file} and {public_path}. Whoever has {file} can sign in your name: keep it secret, and give "
            f"{public_path} to those who check.",
            err=True,
        )
        return
    create_key_file(file, generate_key())
    say(f"Wrote {file}. Whoever has it can undo the noise: keep it secret.", err=True)
