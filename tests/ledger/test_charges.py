"""Whether charges fit: one decision, against a plain reading of its rules."""

from hypothesis import given
from hypothesis import strategies as st

from deniable.ledger import Charges, make_metric_cost
from deniable.ledger.accounts import EPSILON_UNITS
from deniable.ledger.charges import decide_charges

COST = make_metric_cost(1.0, {})
CAPS = (10 * EPSILON_UNITS,)
ROWS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=1, max_size=3)
    ),
    max_size=12,
)


def make_charges(rows):
    """Return charges of rows of (person, cells), each cell a name and its units."""
    flat = [(row, person, name, units) for row, (person, cells) in enumerate(rows) for name, units in cells]
    return Charges(
        [f"{person}{name}".encode() for _, person, name, _ in flat],
        [person.encode() for _, person, _, _ in flat],
        [units for *_, units in flat],
        [row for row, *_ in flat],
    )


@given(rows=ROWS, known=st.sets(st.tuples(st.sampled_from("abc"), st.integers(0, 9))), spent=st.integers(0, 10))
def test_a_plain_reading(rows, known, spent):
    """Rows are taken in order; the cells of each that are new are charged together if they fit, else it is refused."""
    totals = {b"a": (spent * EPSILON_UNITS,)}
    charged_before = {f"{person}{name}".encode() for person, name in known}
    decision = decide_charges(COST, make_charges(rows), charged_before, totals, CAPS)
    seen, sums, refused, new = set(charged_before), {"a": spent, "b": 0, "c": 0}, [], 0
    for row, (person, cells) in enumerate(rows):
        units = 0
        fresh = []
        for name, count in cells:
            if f"{person}{name}".encode() not in seen:
                seen.add(f"{person}{name}".encode())
                fresh.append(name)
                units += count
        if fresh and sums[person] + units > 10:
            refused.append(row)
        elif fresh:
            sums[person] += units
            new += len(fresh)
    assert decision.refused_rows == refused
    assert len(decision.new_cells) == new
    assert {person.decode(): total[0] // EPSILON_UNITS for person, total in decision.totals.items()} == {
        person: total for person, total in sums.items() if total != (spent if person == "a" else 0)
    }


def test_what_was_charged_needs_no_budget():
    """A row whose cells are all known is never refused, whatever its person has spent."""
    charges = make_charges([("a", [(1, 6)])])
    decision = decide_charges(COST, charges, {b"a1"}, {b"a": (99 * EPSILON_UNITS,)}, CAPS)
    assert (decision.new_cells, decision.refused_rows, decision.totals) == ([], [], {})


def test_nothing_is_charged_for_nothing():
    """An empty batch is a decision too."""
    assert decide_charges(COST, make_charges([]), set(), {}, CAPS).refused_rows == []
