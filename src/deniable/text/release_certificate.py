"""What the certificates of all releases share: the guarantee, the verdict, and what is not protected."""

import abc
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deniable.core.guarantees import SHOWN_SHARE, encode_nonfinite_numbers
from deniable.core.numbers import as_percent, format_beside, format_exact, format_lower, format_upper
from deniable.core.report import Fact, Report, Section
from deniable.text.escapes import Escapes
from deniable.text.tables.layout import CopiedContent

_MAX_LISTED_COLUMNS = 20
"""Columns that are named."""
NOTHING_COPIED = CopiedContent()
COLUMNS_LEFT_OUT = "columns were left out: those of the private table that are not in the released one are absent"
COPIED_TEXTS = "columns copied unchanged that look like texts, with everything they say about people"
COPIED_IDENTIFIERS = "columns copied unchanged that look like identifiers, by which rows can be linked to people"
COPIED_COLUMNS, COPIED_METADATA = "the columns copied unchanged", "what the file says about itself, copied unchanged"
LEDGER_STEP = (
    "what is released was charged to a ledger before its noise was drawn; what the ledger refuses depends on earlier "
    "spending, and on whether exactly the same was released before; it allows "
)
"""Followed by what it allows."""
ROWS_NOT_COVERED = "rows over the ledger's budget, or without a person, may have been left out"
CHOSEN_FROM_DATA = "from the private texts themselves: the guarantee does not cover the choice"
CHOSEN_BY_OWNER = "by the owner; not declared as depending on the private texts"
CHOICE_DISCLOSURE = "what the choice of epsilon, which was made from the private texts, reveals about them"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReleaseCertificate(abc.ABC):
    """What accompanies released texts; field for field the JSON file of the command line.

    Each way to release texts adds the fields that only it has.

    Attributes:
        schema: version of this layout.
        deniable: version of the software.
        private: False where the noise came from a public seed, or the guarantee is refuted.
        mechanism: name and parameters of what drew the new texts.
        guarantee: kind, epsilon, unit, adjacency, source, and its status, which is never above the verdict's; see
            `deniable.core.guarantees`.
        verification: the verdict on this very mechanism; infinite numbers are texts.
        noise: where it came from.
        arithmetic: how draws were made.
        steps: what was declared to be done to the table beside the drawing of new texts; none by default.
        meaning: what an output can tell, in plain words.
        records: number of records released.
        not_protected: what the released table shows of the private one, and what the guarantee does not cover.
    """

    schema: str
    deniable: str
    private: bool
    mechanism: dict[str, Any]
    guarantee: dict[str, Any]
    verification: dict[str, Any]
    noise: str
    arithmetic: str
    steps: list[str]
    meaning: list[str]
    records: int
    not_protected: list[str]

    @abc.abstractmethod
    def describe_amount(self) -> str:
        """Return how much was released, beside the number of records."""

    @abc.abstractmethod
    def describe_guarantee(self) -> str:
        """Return what is guaranteed, in one line."""

    @abc.abstractmethod
    def list_promises(self) -> Sequence[tuple[str, str]]:
        """Return what is promised in a few labelled lines, for a summary."""

    @abc.abstractmethod
    def list_own_facts(self) -> Sequence[Fact]:
        """Return the facts that only this way to release texts has."""

    @property
    def title(self) -> str:
        """How much was released, and by what."""
        return f"{self.records:,} records, {self.describe_amount()}, by {self.mechanism['name']}"

    def make_report(self) -> Report:
        """Return the certificate as labelled facts for people."""
        guarantee, verification = self.guarantee, self.verification
        facts = (
            Fact("guarantee", self.describe_guarantee(), f"{guarantee['status']}: {guarantee['source']}"),
            Fact("verification", f"{verification['status']}: {_format_bounds(verification)}", verification["method"]),
            Fact("noise", self.noise),
            *([Fact("declared", self.steps)] if self.steps else []),
            *self.list_own_facts(),
            Fact("meaning", self.meaning),
            Fact("not protected", self.not_protected),
        )
        return Report(self.title, (Section("", facts),))

    def to_json(self) -> str:
        """Return the certificate as JSON text, ended by a line break."""
        fields = {name: encode_nonfinite_numbers(value) for name, value in dataclasses.asdict(self).items()}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the certificate as a page for people."""
        return self.make_report().to_html()

    def summary(self) -> str:
        """Return the certificate as a few lines for a person."""
        return self.make_report().to_text().rstrip("\n")

    def __str__(self) -> str:
        """Return the summary."""
        return self.summary()

    def _repr_html_(self) -> str:
        """Return the summary for a notebook."""
        return self.make_report()._repr_html_()


def _format_bounds(verification: dict[str, Any]) -> str:
    """Return what a verdict says of the true epsilon, in a few words."""
    lower_bound, upper_bound = verification["lower_bound"], verification["epsilon"]  # texts where infinite
    claim = float(verification["guarantee"]["epsilon"])
    if verification["status"] == "refuted":
        return f"true epsilon >= {format_beside(claim, float(lower_bound), format_lower)}"
    if verification["witness"] is None or isinstance(upper_bound, str):
        return f"claimed epsilon {format_exact(claim)}"
    if verification["status"] != "proved":
        lower, upper = format_beside(claim, lower_bound, format_lower), format_beside(claim, upper_bound, format_upper)
        return f"true epsilon from {lower} to {upper}"
    unused_share = 1 - upper_bound / claim
    unused = (
        f", {format_lower(as_percent(unused_share), decimals=0)}% of it unused" if unused_share >= SHOWN_SHARE else ""
    )
    return f"exact epsilon {format_beside(claim, upper_bound, format_upper)}{unused}"


def list_steps(escapes: Escapes | None, copied: CopiedContent) -> list[str]:
    """Return what was declared to be done to a table, in plain words.

    Columns that were left out are not named: their names may be private, and the released table does not show them.
    """
    steps = []
    if escapes is not None:
        steps.append(
            "HTML entities of the texts were decoded before anything else: the new texts are plain text, not HTML"
        )
    if copied.is_selection:
        steps.append(COLUMNS_LEFT_OUT)
    return steps


def list_ledger_steps(caps: str | None, *, drops_rows: bool) -> list[str]:
    """Return what a ledger had to do with a release, in plain words; nothing without one.

    Args:
        caps: what the ledger allows; None for no ledger.
        drops_rows: whether rows that no budget covers are left out.
    """
    if caps is None:
        return []
    return [LEDGER_STEP + caps, *([ROWS_NOT_COVERED] if drops_rows else [])]


def list_revealing(copied: CopiedContent) -> list[str]:
    """Return which of the columns that are copied unchanged look private, in plain words: what is to be read first."""
    return _list_names({COPIED_TEXTS: map(repr, copied.texts), COPIED_IDENTIFIERS: map(repr, copied.identifiers)})


def list_copied(copied: CopiedContent) -> list[str]:
    """Return what a table has unchanged from the private one, in plain words."""
    return _list_names({COPIED_COLUMNS: map(repr, copied.columns), COPIED_METADATA: copied.metadata})


def _list_names(sections: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a line for each title that has names."""
    return [f"{title}: {shorten_names(names)}" for title, section in sections.items() if (names := tuple(section))]


def shorten_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    remainder = f" and {len(names) - _MAX_LISTED_COLUMNS} more" if len(names) > _MAX_LISTED_COLUMNS else ""
    return f"{', '.join(names[:_MAX_LISTED_COLUMNS])}{remainder}"
