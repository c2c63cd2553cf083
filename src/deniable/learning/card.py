"""The card of a trained model: what is claimed of it and what is known of it, for whoever is given the model."""

import hashlib
import secrets
from collections.abc import Sequence

from deniable import __version__
from deniable.core.evidence import Verdict, limit_status
from deniable.core.guarantees import Guarantee
from deniable.core.intervals import Estimate
from deniable.core.report import Fact, Report, Section

CARD_SCHEMA = "deniable-model-card/2"
NO_GUARANTEE = (Fact("guarantee", "none"), Fact("status", "no privacy is claimed"))
"""What the card of a model says of its training records where nothing is claimed of them."""


def build_card(
    name: str,
    description: str,
    *,
    model_facts: Sequence[Fact] = (),
    protection: Sequence[Fact] = NO_GUARANTEE,
    training: Sequence[Section] = (),
    data: Sequence[Fact],
    commitment: str,
    results: Sequence[Section],
    not_protected: Sequence[str],
) -> Report:
    """Return the card of a model; every kind of model has the same sections in the same order.

    Args:
        name: of the trainer or network.
        description: what it is, such as ``an image model``.
        model_facts: about the model itself.
        protection: what is claimed of the training records.
        training: sections about the training run.
        data: about the training and test data.
        commitment: to the data, see `commit_to_data`.
        results: sections of what was measured.
        not_protected: what is protected by no guarantee, a line each.
    """
    return Report(
        title=f"Model card: {name}, {description}, trained by deniable {__version__}",
        sections=(
            Section("", (Fact("model", name), Fact("deniable", __version__), *model_facts)),
            Section("training records", tuple(protection)),
            *training,
            Section(
                "data", (*data, Fact("commitment", commitment, "a commitment to the data, which the owner can open"))
            ),
            *results,
            Section("", (Fact("not protected", list(not_protected)),)),
        ),
        schema=CARD_SCHEMA,
    )


def describe_protection(guarantee: Guarantee | None, verdict: Verdict | None) -> tuple[Fact, ...]:
    """Return what is claimed of the training records, and the verdict; `NO_GUARANTEE` where either is None."""
    if guarantee is None or verdict is None:
        return NO_GUARANTEE
    return (
        Fact("guarantee", str(guarantee)),
        Fact("unit", guarantee.unit),
        Fact("adjacency", guarantee.adjacency),
        Fact("status", limit_status(guarantee, verdict).status),
        Fact("source", guarantee.source),
        Fact("verdict", verdict.to_dict(), text=f"{verdict.status}; {verdict.method}"),
    )


def make_share_fact(label: str, share: Estimate, note: str = "") -> Fact:
    """Return a fact about a share, which people read in percent."""
    return Fact(label, share, note, share.format_percent())


def commit_to_data(data_fingerprint: str) -> dict[str, str]:
    """Return a fresh commitment to a data set, and what opens it.

    A plain hash would let somebody who knows all records but one test guesses at the last. The commitment is keyed
    BLAKE2b of the data's fingerprint, and says nothing to whoever lacks the key.

    Returns:
        ``commitment`` for the card; ``fingerprint`` and ``key`` (hexadecimal) for the owner.
    """
    key = secrets.token_bytes(32)
    digest = hashlib.blake2b(data_fingerprint.encode(), key=key, digest_size=16).hexdigest()
    return {"commitment": digest, "fingerprint": data_fingerprint, "key": key.hex()}
