"""A released table and its counts give the certificate."""

from deniable import Certificate
from deniable.engines.released import ReleasedTable
from tests.engines.test_tasks import KEYED


def test_a_released_table_has_its_certificate():
    """The certificate is that of the release and the counts, and names the columns that were copied."""
    tally = KEYED.batch(["the food was good", "bad"], ["1", "2"]).tally
    released = ReleasedTable(["a table"], tally, KEYED, ("id", "stars"))
    assert released.make_certificate() == Certificate.of(KEYED, tally, copied=["id", "stars"])
    assert released.make_certificate(chosen_from_data=True) == Certificate.of(
        KEYED, tally, copied=["id", "stars"], chosen_from_data=True
    )
