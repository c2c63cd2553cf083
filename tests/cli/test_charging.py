"""``--ledger`` in the commands that release: charged before anything leaves, refused where the budget is spent."""

import json

import pytest

import deniable as dn
from tests.cli.conftest import read_rows
from tests.cli.text_models import lines, write

PERSONS = ("ann", "bob", "ann", "eve")
EPSILON_UNITS = 10**9
"""How many units of a ledger an epsilon is."""


@pytest.fixture
def ledger(call, place):
    """Return the ledger l.db: epsilon 20, and at delta 1e-6."""
    assert call("ledger", "create", "l.db", "--budget", "20", "--delta", "1e-6").code == 0
    return dn.Ledger(str(place / "l.db"))


def spent(ledger, person, account="metric steps"):
    """Return the first amount of a person's account, in epsilons."""
    totals = {total.account: total.amounts for total in ledger.list_totals(person)}
    return totals.get(account, (0,))[0] / EPSILON_UNITS


def write_table(place):
    texts = ("the food was good", "the dog", "london paris", "the cat")
    rows = [f"{row},{who},{text}" for row, (who, text) in enumerate(zip(PERSONS, texts, strict=True))]
    (place / "in.csv").write_text("\n".join(["id,who,text", *rows]) + "\n")


class TestPrivatize:
    """``deniable privatize --ledger``."""

    @pytest.fixture
    def privatize(self, call, place):
        write_table(place)
        words = ("--space", "space.npz", "--hide", "none", "--mechanism", "tem")
        columns = ("--column", "text", "--id", "id", "--person", "who", "--ledger", "l.db")
        return lambda *options, epsilon="2": call(
            "privatize", "in.csv", *words, *columns, "--epsilon", epsilon, "-o", "out.csv", "--force", *options
        )

    def test_a_second_run_is_free_and_equal(self, privatize, place, ledger):
        """The same table under the same ledger comes out equal, and costs nothing again."""
        assert privatize().code == 0
        first = (place / "out.csv").read_bytes()
        assert privatize().code == 0
        assert (place / "out.csv").read_bytes() == first
        assert spent(ledger, "ann") == 12

    def test_a_budget_that_is_spent(self, privatize, place, ledger):
        """The run ends with 1 and leaves the old output as it is; with drop the rows that are covered are released."""
        assert privatize().code == 0
        before = (place / "out.csv").read_bytes()
        assert privatize(epsilon="3").code == 1
        assert (place / "out.csv").read_bytes() == before
        assert (spent(ledger, "ann"), spent(ledger, "bob")) == (12, 4)
        assert privatize("--over-budget", "drop", epsilon="3").code == 0
        assert [row[0] for row in read_rows((place / "out.csv").read_bytes())] == ["id", "1", "2", "3"]
        assert spent(ledger, "ann") == 18


class TestRewrite:
    """``deniable rewrite --ledger``: each text pays, in every run."""

    @pytest.fixture
    def rewrite(self, call, place, rewriter):
        write_table(place)
        (place / "model.pt").write_bytes(rewriter)
        basic = (
            "model.pt",
            "in.csv",
            "--column",
            "text",
            "-o",
            "out.csv",
            "--force",
            "--ledger",
            "l.db",
            "--person",
            "who",
        )
        return lambda *options: call("rewrite", *basic, *options)

    def test_pure_epsilon(self, rewrite, place, ledger):
        """Laplace methods are charged as pure epsilon, for each text; a second run pays again, while there is room."""
        pay = ("--method", "adept-true", "--epsilon", "4")
        for runs in (1, 2):
            assert rewrite(*pay).code == 0
            assert (spent(ledger, "ann", "pure"), spent(ledger, "bob", "pure")) == (8 * runs, 4 * runs)
        certificate = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))
        assert "charged to a ledger" in certificate["steps"][-1]
        assert rewrite(*pay).code == 1
        assert rewrite(*pay, "--over-budget", "drop").code == 0
        assert (spent(ledger, "ann", "pure"), spent(ledger, "bob", "pure")) == (20, 12)
        assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["records"] == 3

    @pytest.mark.usefixtures("ledger")
    def test_truncated_rows_are_rows_of_the_table(self, rewrite, place):
        """What is said of long texts names rows of the input, also where rows before them were left out."""
        long = " ".join(["to"] * 13)
        rows = [("ann", "the dog")] * 3 + [("bob", long), ("ann", long), ("", "a cat"), ("eve", "good"), ("eve", long)]
        (place / "in.csv").write_text(
            "id,who,text\n" + "".join(f"{number},{who},{text}\n" for number, (who, text) in enumerate(rows))
        )
        result = rewrite("--method", "tokens", "--epsilon", "8", "--over-budget", "drop")
        assert result.code == 0
        assert "2 rows left out, which the budget does not cover: rows 3 and 5\n" in result.err
        assert "1 row left out, which names no person: row 6\n" in result.err
        assert "2 rows with more than 12 tokens, of which only the first were used: rows 4 and 8;" in result.err

    def test_gaussian_noise(self, rewrite, call, ledger):
        """Gaussian methods are charged to the account of divergences, within the epsilon that they claim."""
        assert rewrite("--method", "adept-gaussian", "--epsilon", "2", "--delta", "1e-6").code == 0
        [total] = list(ledger.list_totals("bob"))
        assert total.account == "approximate"
        assert total.amounts[0] == 0
        assert "at delta 1e-06" in call("ledger", "show", "l.db", "--person", "bob").text


class TestPersons:
    """``deniable synthesize`` and ``train private-text``: each person of the collection pays once a run."""

    @pytest.fixture
    def collection(self, place):
        rows = [(*row, f"p{number // 3}") for number, row in enumerate(lines(600))]
        write(place / "private.csv", rows, ("text", "label", "person"))
        write(place / "test.csv", [row[:2] for row in rows[:9]])
        columns = ("--label", "label", "--person", "person", "--ledger", "l.db")
        return (*columns, "--records", "200", "--delta", "1e-7", "--test", "test.csv")

    def test_synthesize(self, call, place, collection, ledger):
        """All persons are charged the divergences of the whole budget, deltas of a selection with them."""
        classes = ("--domain", "label=bad,good")
        command = (
            "synthesize",
            "private.csv",
            *collection,
            *classes,
            "--rows",
            "20",
            "-o",
            "o.csv",
            "--force",
            "--epsilon",
        )
        assert call(*command, "8").code == 0
        totals = list(ledger.list_totals())
        assert len(totals) == 200
        assert {total.amounts[0] for total in totals} == {int(5e-8 * 10**18)}
        certificate = json.loads((place / "o.csv.certificate.json").read_text("utf-8"))
        assert "charged to a ledger" in certificate["steps"][-1]
        assert call("certificate", "check", "o.csv.certificate.json").code == 0
        assert call(*command, "18").code == 1
        assert call(*command, "18", "--over-budget", "drop").code == 2

    def test_train_private_text(self, call, place, collection, ledger):
        """A private classifier is charged, its card says so, and the check of the card knows it."""
        command = ("train", "private-text", "private.csv", "--classes", "bad,good", *collection, "-o", "m.pt")
        assert call(*command, "--epsilon", "8", "--over-budget", "drop").code == 0
        assert len(list(ledger.list_totals())) == 200
        card = json.loads((place / "m.pt.card.json").read_text("utf-8"))
        assert "charged to a ledger" in card["training records"]["ledger"][0]
        assert call("certificate", "check", "m.pt.card.json").code == 0
