"""A release in a few lines: what it protects, what an attacker learns all the same, and what it does not protect."""

import math
import re
from collections.abc import Iterator

from deniable.checking.certificate_check import describe_caution
from deniable.checking.document import Statements
from deniable.core.guarantees import is_proved
from deniable.core.numbers import format_exact
from deniable.text.certificate import NOISE_DESCRIPTIONS, Certificate
from deniable.text.release_certificate import COPIED_COLUMNS

_LABEL_WIDTH = 15
_FACTOR = re.compile(r"between (.+?),? (?:one step apart, )?such as .* by a factor of up to (?:10\^)?([0-9.,]+)$")
_MAX_PLAIN_EXPONENT = 9
"""Powers of ten up to which odds are written out."""


def summarize_release(certificate: Certificate) -> str:
    """Return what a certificate says in a few lines for people."""
    lines = [f"{certificate.records:,} records, {certificate.describe_amount()}, by {certificate.mechanism['name']}"]
    lines += [f"{label:<{_LABEL_WIDTH}}{text}" for label, text in _list_facts(certificate)]
    return "\n".join(lines)


def _list_facts(certificate: Certificate) -> Iterator[tuple[str, str]]:
    if certificate.private:
        yield from _list_promises(certificate)
    else:
        is_seeded = certificate.noise == NOISE_DESCRIPTIONS["public seed"]
        yield "protects", f"NOTHING: {certificate.noise if is_seeded else certificate.meaning[0]}"
    copied = [line for line in certificate.not_protected if line.startswith(COPIED_COLUMNS)]
    if copied:
        yield "copied", copied[0].removeprefix(f"{COPIED_COLUMNS}: ") + ", unchanged"


def _list_promises(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Yield what holds of every word, and what does not hold of whole records."""
    guarantee, hidden = certificate.guarantee, ", ".join(certificate.space["hidden"])
    within = f"; of {hidden} nothing but the class is revealed" if hidden else ""
    yield "protects", f"each word, epsilon {format_exact(guarantee['epsilon'])} ({guarantee['status']}){within}"
    guessed = certificate.attacker.partition(", if words follow")[0]
    yield "attacker", f"{guessed}, and for more with the words around it"
    yield "most exposed", certificate.most_exposed.partition(", and no other word")[0]
    odds = [f"{words}: up to {factor} times" for words, factor in map(_read_factor, certificate.meaning) if words]
    if odds and is_proved(guarantee["status"]):
        yield "odds change", "; ".join(odds)
    caution = describe_caution(Statements({**vars(certificate)}))
    if caution:  # what follows the reason says it in more words
        yield "not protected", caution.partition(". Anybody")[0]


def _read_factor(line: str) -> tuple[str, str]:
    """Return between which words odds change, and how many times; nothing of a line about something else."""
    match = _FACTOR.search(line)
    if match is None:
        return "", ""
    if "10^" not in line:
        return match[1], match[2]
    exponent = float(match[2])
    if exponent > _MAX_PLAIN_EXPONENT:
        return match[1], f"10^{match[2]}"
    unit = 10 ** (math.floor(exponent) - 1)  # two digits are kept, rounded up
    return match[1], f"{math.ceil(10**exponent / unit) * unit:,}"
