"""What every database that holds a ledger must do: a test class that the tests of each inherit."""

import secrets
import threading
from fractions import Fraction

import pytest

import deniable as dn
from deniable.ledger import Charges, make_gaussian_cost, make_metric_cost, make_pure_cost
from tests.refusals import refuses

EPSILON_UNITS = 10**9
SECRET = bytes(range(32))
WORD = make_metric_cost(2.5, "steps", {"mechanism": "tem", "epsilon": 2.5, "unit": "word", "largest loss": 30.0})
TEXT = make_pure_cost(3.0, {"mechanism": "adept-l1", "epsilon": 3.0, "unit": "text"})
EUCLIDEAN = make_metric_cost(2.5, "euclidean", {"mechanism": "tem", "epsilon": 2.5, "unit": "word"})
PERSON = make_gaussian_cost(Fraction(1, 100), {"mechanism": "synthesize", "epsilon": 0.5, "unit": "person"}, delta=1e-9)


def cells(ledger, *parts):
    """Return charges of (person, fingerprint, units), a row each; a list of them is one row."""
    rows = [part if isinstance(part, list) else [part] for part in parts]
    flat = [(row, *cell) for row, one in enumerate(rows) for cell in one]
    return Charges(
        ledger.keys.fingerprint_cells("release", [(person, name) for _, person, name, _ in flat]),
        [ledger.keys.hash_person(person) for _, person, _, _ in flat],
        [units for *_, units in flat],
        [row for row, *_ in flat],
    )


def spent(ledger, person, account="metric steps"):
    """Return the first amount of a person's account, in epsilons."""
    totals = {total.account: total.amounts for total in ledger.list_totals(person)}
    return totals.get(account, (0,))[0] / EPSILON_UNITS


class StoreContract:
    """Inherit it, name the class ``Test...``, and give the fixture `location`, where no ledger is yet, and `change`.

    ``change(location, statement)`` runs a statement on the database of a ledger, behind its back.
    """

    schema = ""
    """Before the names of tables."""

    @pytest.fixture
    def ledger(self, location):
        dn.create_ledger(location, 20.0, delta=1e-6, unit="person", secret=SECRET)
        return dn.Ledger(location, SECRET)

    def test_charges_add_up(self, ledger):
        """A charge costs its units times the cost of one, and is there for another connection."""
        assert ledger.charge(WORD, cells(ledger, ("ann", "a", 3), ("bob", "b", 1))) == 2
        other = dn.Ledger(ledger.location, SECRET)
        assert (spent(other, "ann"), spent(other, "bob"), spent(other, "eve")) == (7.5, 2.5, 0)
        assert [(units.cells, units.units) for units in other.list_units("ann")] == [(1, 3)]

    def test_what_was_charged_costs_nothing_again(self, ledger):
        """A cell is known by its fingerprint, in the same batch and in later ones."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 3)))
        assert ledger.charge(WORD, cells(ledger, ("ann", "a", 3), ("ann", "b", 1), ("ann", "b", 1))) == 1
        assert spent(ledger, "ann") == 10

    def test_the_cap_is_exact(self, ledger):
        """A person may spend the whole budget, and not a word more."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 8)))
        assert spent(ledger, "ann") == 20
        with pytest.raises(dn.BudgetExceeded):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        assert spent(ledger, "ann") == 20

    def test_all_or_nothing(self, ledger):
        """Where one row does not fit, no row of the batch is charged, and the rows that do not fit are named."""
        batch = cells(ledger, ("bob", "a", 1), ("ann", "b", 9), ("bob", "c", 7), ("bob", "d", 1))
        with pytest.raises(dn.BudgetExceeded) as caught:
            ledger.charge(WORD, batch)
        assert caught.value.rows == [1, 3]
        assert spent(ledger, "bob") == spent(ledger, "ann") == 0
        assert list(ledger.list_units()) == []

    def test_a_row_is_charged_whole(self, ledger):
        """Of a row with several cells none is charged where they do not fit together."""
        with pytest.raises(dn.BudgetExceeded) as caught:
            ledger.charge(WORD, cells(ledger, [("ann", "a", 4), ("ann", "b", 5)], ("ann", "c", 8)))
        assert caught.value.rows == [0]

    def test_accounts_are_separate(self, ledger):
        """What is spent on one account leaves the others as they are."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 8)))
        ledger.charge(TEXT, cells(ledger, ("ann", "b", 6)))
        ledger.charge(PERSON, cells(ledger, ("ann", "c", 1)))
        assert (spent(ledger, "ann"), spent(ledger, "ann", "pure")) == (20, 18)
        totals = {total.account: total.amounts for total in ledger.list_totals("ann")}
        assert totals["approximate"] == PERSON.amounts

    def test_epsilons_of_two_metrics_are_not_added(self, ledger):
        """An epsilon per step and one per unit of Euclidean distance have accounts and caps of their own."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 8)))
        with pytest.raises(dn.BudgetExceeded):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 1)))
        ledger.charge(EUCLIDEAN, cells(ledger, ("ann", "b", 7)))
        assert (spent(ledger, "ann"), spent(ledger, "ann", "metric euclidean")) == (20, 17.5)
        with pytest.raises(dn.BudgetExceeded):
            ledger.charge(EUCLIDEAN, cells(ledger, ("ann", "c", 2)))
        assert ledger.find_problems() == []
        assert "metric epsilon 20 (for each metric, summed over words)" in ledger.facts.describe_caps()

    def test_the_approximate_account_has_its_cap(self, ledger):
        """Divergences are summed until no order has room, and deltas until half of the ledger's is spent."""
        large = make_gaussian_cost(Fraction(4), {"mechanism": "synthesize"})
        ledger.charge(large, cells(ledger, ("ann", "a", 1)))
        with pytest.raises(dn.BudgetExceeded):
            ledger.charge(large, cells(ledger, ("ann", "b", 2)))
        selecting = make_gaussian_cost(Fraction(1, 10**6), {"mechanism": "synthesize"}, delta=3e-7)
        ledger.charge(selecting, cells(ledger, ("bob", "c", 1)))
        with pytest.raises(dn.BudgetExceeded):
            ledger.charge(selecting, cells(ledger, ("bob", "d", 1)))

    def test_charging_afresh_always_pays(self, ledger):
        """What is drawn with fresh noise is never known from before."""
        ann = ledger.keys.hash_person("ann")
        for _ in range(3):
            ledger.charge_afresh(TEXT, [ann, ann], [0, 1])
        assert spent(ledger, "ann", "pure") == 18

    def test_writers_do_not_lose_each_others_charges(self, ledger):
        """Threads with connections of their own spend one budget, and no charge is lost or counted twice."""
        refused, charged, lock = [], [], threading.Lock()

        def spend(number):
            mine = dn.Ledger(ledger.location, SECRET)
            for step in range(10):
                batch = cells(mine, *((person, f"{number} {step}", 1) for person in ("ann", "bob", "eve")))
                try:
                    count = mine.charge(WORD, batch)
                except dn.BudgetExceeded:
                    with lock:
                        refused.append(step)
                else:
                    with lock:
                        charged.append(count)

        threads = [threading.Thread(target=spend, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(charged), len(refused)) == (8, 32)
        assert [spent(ledger, person) for person in ("ann", "bob", "eve")] == [20, 20, 20]
        assert ledger.find_problems() == []

    def test_the_same_cell_at_once_is_charged_once(self, ledger):
        """Two jobs that release the same text at the same time pay for it once."""
        new, barrier = [], threading.Barrier(4)

        def spend():
            mine = dn.Ledger(ledger.location, SECRET)
            batch = cells(mine, ("ann", "a", 1))
            barrier.wait()
            new.append(mine.charge(WORD, batch))

        threads = [threading.Thread(target=spend) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(new) == [0, 0, 0, 1]
        assert spent(ledger, "ann") == 2.5

    def test_another_key_is_refused(self, ledger):
        """A ledger knows its key: under another one every text would be charged, and drawn, anew."""
        other = dn.Ledger(ledger.location, secrets.token_bytes(32))
        with refuses("ledger"):
            other.charge(WORD, cells(ledger, ("ann", "a", 1)))

    def test_no_second_ledger_at_one_place(self, ledger):
        """A ledger is never overwritten."""
        with refuses(ledger.shown_location):
            dn.create_ledger(ledger.location, 5.0, delta=None, unit="person", secret=SECRET)

    def test_no_name_stands_in_it(self, ledger):
        """Persons stand in the database as keyed hashes, and so do cells."""
        ledger.charge(WORD, cells(ledger, ("annabelle", "secret text", 1)))
        dump = repr([*ledger.list_totals(), *ledger.list_units()])
        assert "annabelle" not in dump
        assert "secret" not in dump

    def test_a_ledger_without_delta_has_two_accounts(self, location):
        """What is (epsilon, delta)-private is refused where no delta was given."""
        dn.create_ledger(location, 20.0, delta=None, unit="person", secret=SECRET)
        ledger = dn.Ledger(location, SECRET)
        with refuses("delta"):
            ledger.charge(PERSON, cells(ledger, ("ann", "a", 1)))
        assert ledger.charge(TEXT, cells(ledger, ("ann", "a", 1))) == 1

    @pytest.mark.parametrize("version", [1, 99])
    def test_another_schema_is_refused(self, ledger, version):
        """No version guesses what another one wrote, whose accounts may mean something else."""
        self.change(ledger.location, f"UPDATE {self.schema}facts SET version = {version}")
        with refuses("another version"):
            _ = dn.Ledger(ledger.location, SECRET).facts

    def test_what_cannot_be_read_is_one_line(self, ledger):
        """A total that was not written by a ledger is damage, whoever meets it; others spend on."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 7)))
        self.change(ledger.location, f"UPDATE {self.schema}totals SET amounts = 'x'")
        with refuses("damaged"):
            ledger.charge(WORD, cells(ledger, ("ann", "b", 5)))
        with refuses("damaged"):
            list(dn.Ledger(ledger.location, SECRET).list_totals())
        assert ledger.charge(WORD, cells(ledger, ("bob", "c", 1))) == 1

    def test_changed_totals_are_found(self, ledger):
        """A total that is not the sum of its charges is a problem, and so is one above a cap."""
        ledger.charge(WORD, cells(ledger, ("ann", "a", 3), ("bob", "b", 1)))
        assert ledger.find_problems() == []
        self.change(ledger.location, f"UPDATE {self.schema}totals SET amounts = '[1]' WHERE amounts = '[7500000000]'")
        [problem] = ledger.find_problems()
        assert "does not hold the sum of its charges" in problem
        self.change(ledger.location, f"UPDATE {self.schema}totals SET amounts = '[{10**15}]' WHERE amounts = '[1]'")
        assert sorted("above its cap" in problem for problem in ledger.find_problems()) == [False, True]
