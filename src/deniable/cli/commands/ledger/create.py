"""``deniable ledger create``: an empty ledger with its budget, and its key."""

import dataclasses
from pathlib import Path

from deniable.cli.charging import LedgerArgument, LedgerKeyOption
from deniable.cli.commandline import option
from deniable.cli.terminal import say


@dataclasses.dataclass(frozen=True, kw_only=True)
class LedgerBudget:
    """Privacy.

    Attributes:
        budget: the most that each account of a person may spend.
        delta: delta of the account for releases that are (epsilon, delta)-private; for example 1e-6.
        unit: whose spending is counted.
    """

    budget: float = dataclasses.field(metadata=option(metavar="EPSILON"))
    delta: float | None = dataclasses.field(default=None, metadata=option(show_default="no such account"))
    unit: str = dataclasses.field(default="person", metadata=option(metavar="WORD"))


def run_ledger_create(where: LedgerArgument, allowed: LedgerBudget, key_file: LedgerKeyOption = None) -> None:
    """Create a ledger of what each person has spent, and its key.

    Each person has accounts that are never added together: metric epsilon of words, one for each metric (privatize),
    pure epsilon of texts (rewrite), and epsilon at a delta (rewrite, synthesize, train). --budget is the cap of each.
    The key both pseudonymizes people in the ledger and seeds the noise: keep it away from the database.

    Examples:
        deniable ledger create ledger.db --budget 60
    """
    from deniable.core.errors import InputError
    from deniable.core.randomness import generate_key
    from deniable.ledger.ledger import Ledger, create_ledger
    from deniable.ledger.store import find_key_path

    key_path = Path(find_key_path(where, key_file))
    if Path(where).absolute() == key_path.absolute():
        raise InputError(f"The ledger and its key have the same path, {where!r}: name another with --key-file.")
    facts = create_ledger(
        where, allowed.budget, delta=allowed.delta, unit=allowed.unit, secret=generate_key(), key_path=key_path
    )
    location = Ledger(where, f"file:{key_path}").shown_location
    say(
        f"Wrote the ledger {location}, which allows {facts.describe_caps()}, and its key {key_path}. "
        "Keep the key secret, and not next to the ledger. Without it the ledger shows only numbers, and cannot be "
        "used any more.",
        err=True,
    )
