"""Whether charges fit: the one decision that every ledger takes, whatever database holds it.

A charge is one cell of a release: the fingerprint of everything that its output is a function of, whose it is, and how
many units it has. A cell that was charged before costs nothing more, since it gets the same output again. The new
cells of a row are charged together or not at all, in the order of the rows; and a batch of rows is charged as a whole
or not at all: what is refused is told, and whoever asks leaves those rows out and asks again.

What a ledger charges for: the guarantee that a verdict supports, and never a parameter.

The keys of a ledger, which live outside its database: without them it shows numbers alone.

One secret of 32 bytes, as `deniable key` writes it. From it come a key for the fingerprints of cells, one for persons,
and one for noise, so that neither can be computed from what another gives.
"""

import dataclasses
import hashlib
import itertools
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deniable.core.errors import InputError, check_fraction, check_number_within
from deniable.core.guarantees import Guarantee, Unit, Verdict, is_proved, limit_status
from deniable.core.identity import make_identity
from deniable.core.randomness import KEY_BYTES, derive_stream_starts
from deniable.ledger.accounts import Amounts, Cost, add_amounts, is_within


@dataclass(frozen=True)
class Charges:
    """The cells of a batch, row after row.

    Attributes:
        fingerprints: (k,) of the cells, 16 bytes each.
        persons: (k,) keyed hashes of whose they are, 16 bytes each.
        units: (k,) how many units each costs, at least 1.
        rows: (k,) numbers of their rows, ascending; of one row all cells are one person's.
    """

    fingerprints: Sequence[bytes]
    persons: Sequence[bytes]
    units: Sequence[int]
    rows: Sequence[int]

    def __len__(self) -> int:
        """Return k."""
        return len(self.fingerprints)


@dataclass(frozen=True)
class Decision:
    """What is charged, or why nothing is.

    Attributes:
        new_cells: numbers of the cells that were not charged before.
        totals: new totals of each person who has such cells.
        refused_rows: rows whose new cells do not fit; where there are any, nothing is charged.
    """

    new_cells: list[int] = field(default_factory=list)
    totals: dict[bytes, Amounts] = field(default_factory=dict)
    refused_rows: list[int] = field(default_factory=list)


def decide_charges(
    cost: Cost, charges: Charges, known: Collection[bytes], totals: Mapping[bytes, Amounts], caps: Amounts
) -> Decision:
    """Return which cells are new and what their persons have spent then, or which rows do not fit.

    Args:
        cost: of one unit.
        charges: the cells.
        known: those of their fingerprints that were charged before.
        totals: what their persons have spent on the account of the cost; nothing for those who are not in it.
        caps: of the account.
    """
    decision, seen = Decision(), set(known)
    zeros = (0,) * len(cost.amounts)
    for row, cells in itertools.groupby(range(len(charges)), charges.rows.__getitem__):
        new_cells = []
        for cell in cells:
            if charges.fingerprints[cell] not in seen:
                seen.add(charges.fingerprints[cell])
                new_cells.append(cell)
        if not new_cells:
            continue
        person = charges.persons[new_cells[0]]
        spent = decision.totals.get(person) or totals.get(person, zeros)
        new_totals = add_amounts(spent, cost.amounts, sum(charges.units[cell] for cell in new_cells))
        if is_within(cost.account, new_totals, caps):
            decision.new_cells.extend(new_cells)
            decision.totals[person] = new_totals
        else:
            decision.refused_rows.append(row)
    return decision


def get_charged_guarantee(name: str, verdict: Verdict, unit: Unit) -> Guarantee:
    """Return the guarantee that a verdict is about, where it is proved for the unit that a ledger counts.

    Its epsilon is at least the one that was verified; a mechanism may promise less than that would allow.

    Args:
        name: of the mechanism, for messages.
        verdict: on the mechanism itself.
        unit: that pays once for each guarantee.

    Raises:
        InputError: it is not proved, about another unit, or has no finite epsilon: nobody knows what a unit costs then.
    """
    guarantee = limit_status(verdict.guarantee, verdict)
    if not is_proved(guarantee.status) or not verdict.epsilon <= guarantee.epsilon:
        raise InputError(
            f"A ledger counts what is proved, and the guarantee of {name}, {guarantee}, is "
            f"{guarantee.status if not is_proved(guarantee.status) else 'below what was verified'}: choose another "
            "mechanism, method or epsilon."
        )
    if guarantee.unit != unit:
        raise InputError(
            f"A ledger charges here for each {unit}, and the guarantee of {name} is about one {guarantee.unit}: state "
            f"it for a {unit}."
        )
    epsilon = check_number_within(name, "guarantee.epsilon", guarantee.epsilon, 0.0, sys.float_info.max)
    check_fraction(name, "guarantee.delta", guarantee.delta)
    return dataclasses.replace(guarantee, epsilon=epsilon)


HASH_BYTES = 16
"""Bytes of a fingerprint and of a person's hash: among 2^40 of them two are equal with a chance of 2^-49."""
_NOISE_LAYOUT = "deniable ledger noise 1"
"""Raised whenever the way from a fingerprint to an output changes."""


class LedgerKeys:
    """What is computed with the keys of one ledger.

    Args:
        secret: 32 bytes.

    Attributes:
        noise: 32 bytes, the key that noise is drawn with.
        check: 16 bytes by which a ledger knows its own key, from which nothing can be computed.
    """

    def __init__(self, secret: bytes) -> None:
        self._fingerprints, self._persons, self.noise, check = (
            hashlib.blake2b(key=secret, person=purpose, digest_size=KEY_BYTES).digest()
            for purpose in (b"fingerprints", b"persons", b"noise", b"check")
        )
        self.check = check[:HASH_BYTES]

    def __repr__(self) -> str:
        """Return no part of a key."""
        return "<keys of a ledger>"

    def fingerprint_cells(self, release: str, names: Iterable[Sequence[str | bytes]]) -> list[bytes]:
        """Return the fingerprint of each cell, 16 bytes.

        Args:
            release: names everything that an output is a function of beside text, person and id.
            names: of cells: person, id, column, ordinal, and the points that noise is drawn for.
        """
        return derive_stream_starts(self._fingerprints, [release], names)

    def hash_person(self, name: str) -> bytes:
        """Return the hash of a person's identity, 16 bytes, however a table writes the name.

        Raises:
            InputError: it names nobody, see `deniable.core.identity`.
        """
        identity = make_identity(name)
        if identity is None:
            raise InputError("A ledger counts what people spend. Got a blank name: give one, or leave it out.")
        data = identity.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._persons, digest_size=HASH_BYTES).digest()

    def hash_persons(self, names: Sequence[str]) -> list[bytes]:
        """Return the hash of each person, many of whom may be the same."""
        hashes = {name: self.hash_person(name) for name in dict.fromkeys(names)}
        return [hashes[name] for name in names]

    def find_stream_starts(self, fingerprints: Iterable[bytes]) -> list[bytes]:
        """Return where the noise of each cell starts under `noise`: it is a function of the fingerprint alone."""
        return derive_stream_starts(self.noise, [_NOISE_LAYOUT], ((fingerprint,) for fingerprint in fingerprints))
