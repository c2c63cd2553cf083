"""The card of a trained model: what is claimed of it and what is known of it, for whoever is given the model."""

from collections.abc import Sequence

from deniable import __version__
from deniable.core.guarantees import Guarantee, Verdict, limit_status
from deniable.core.report import Fact, Report, Section
from deniable.measure.intervals import Estimate

CARD_SCHEMA = "deniable-model-card/2"
NO_GUARANTEE = (Fact("guarantee", "none"), Fact("status", "no privacy is claimed"))
"""What the card of a model says of its training records where nothing is claimed of them."""


def build_card(
    name: str, description: str, model_facts: Sequence[Fact], sections: Sequence[Section], not_protected: Sequence[str]
) -> Report:
    """Return the card of a model.

    Args:
        name: of the trainer or network.
        description: what it is, such as ``an image model``.
        model_facts: about the model itself.
        sections: on training records, the training run, data and what was measured, in this order.
        not_protected: what is protected by no guarantee, a line each.
    """
    return Report(
        title=f"Model card: {name}, {description}, trained by deniable {__version__}",
        sections=(
            Section("", (Fact("model", name), Fact("deniable", __version__), *model_facts)),
            *sections,
            Section("", (Fact("not protected", list(not_protected)),)),
        ),
        schema=CARD_SCHEMA,
    )


def describe_data(commitment: str, *facts: Fact) -> Section:
    """Return the section on the data, with a commitment to it, see `deniable.cli.model_runs.commit_to_data`."""
    commitment_fact = Fact("commitment", commitment, "a commitment to the data, which the owner can open")
    return Section("data", (*facts, commitment_fact))


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
