"""A release in a few lines: what it protects, what an attacker learns all the same, and what it does not protect."""

import math
from collections.abc import Iterator, Sequence

from deniable.checking.certificate_check import describe_caution
from deniable.checking.document import Statements
from deniable.cli.terminal import say
from deniable.core.errors import join_names
from deniable.core.guarantees import is_proved
from deniable.core.numbers import format_odds, format_upper
from deniable.text.certificate import NOISE_DESCRIPTIONS
from deniable.text.release_certificate import COPIED_COLUMNS, ReleaseCertificate

_LABEL_WIDTH = 15
_MAX_PLAIN_EXPONENT = 9
"""Powers of ten up to which odds are written out."""
_WORST = "what the language model learned before"
"""Beginning of the line on what is not protected that is said before others."""


def say_release(certificate: ReleaseCertificate, odds: Sequence[tuple[str, float]], *, verbose: bool) -> None:
    """Print a few lines on a release, or everything that its certificate says.

    Args:
        certificate: of the release.
        odds: what anyone's odds are about, and by how much they can change at most, in nats.
        verbose: whether to print everything.
    """
    say(certificate.summary() if verbose else _summarize(certificate, odds), err=True)


def say_written(outputs: Sequence[str], certificate: str, *, verbose: bool) -> None:
    """Print which files were written, and after a summary the next step."""
    say(f"wrote {join_names(outputs)}", err=True)
    if not verbose:
        say(f"{'next':<{_LABEL_WIDTH}}deniable certificate check {certificate}", err=True)


def _summarize(certificate: ReleaseCertificate, odds: Sequence[tuple[str, float]]) -> str:
    lines = [certificate.title]
    lines += [f"{label:<{_LABEL_WIDTH}}{text}" for label, text in _list_facts(certificate, odds)]
    return "\n".join(lines)


def _list_facts(certificate: ReleaseCertificate, odds: Sequence[tuple[str, float]]) -> Iterator[tuple[str, str]]:
    copied = [line for line in certificate.not_protected if line.startswith(COPIED_COLUMNS)]
    if certificate.private:
        yield from certificate.list_promises()
        if is_proved(certificate.guarantee["status"]):
            aside = ", delta aside" if "delta" in certificate.guarantee else ""
            yield "odds change", "; ".join(f"{of}: up to {_format_factor(loss)} times{aside}" for of, loss in odds)
        caution = describe_caution(Statements({**vars(certificate)})).partition(". Anybody")[0]
        others = [line for line in certificate.not_protected if line not in copied]
        others.sort(key=lambda line: not line.startswith(_WORST))
        yield from zip(("not protected", ""), [caution] if caution else others, strict=False)
    else:
        is_seeded = certificate.noise == NOISE_DESCRIPTIONS["public seed"]
        yield "protects", f"NOTHING: {certificate.noise if is_seeded else certificate.meaning[0]}"
    for line in copied:
        yield "copied", line.removeprefix(f"{COPIED_COLUMNS}: ") + ", unchanged"


def _format_factor(loss: float) -> str:
    """Return by how much odds change, as certificates round it; what people can still picture is written out."""
    text = format_odds(loss, format_upper)
    exponent = float(text.removeprefix("10^")) if text.startswith("10^") else math.inf
    if exponent > _MAX_PLAIN_EXPONENT:
        return text
    unit = 10 ** (math.floor(exponent) - 1)  # two digits are kept, rounded up
    return f"{math.ceil(10**exponent / unit) * unit:,}"
