"""``--ledger`` in the commands that release: charged before anything leaves, refused where the budget is spent."""

import csv
import json

import pytest

from deniable import Ledger, create_ledger
from deniable.learning.artifact import serialize_model
from deniable.ledger.accounts import EPSILON_UNITS
from tests.cli.text_models import write
from tests.contracts.store import spent
from tests.persons.collections import CLASSES, draw_reviews
from tests.rewriting.untrained import untrained
from tests.text.helpers import buffers

PERSONS = ("ann", "bob", "ann", "eve")


@pytest.fixture
def ledger(call, place):
    """Return the ledger l.db: epsilon 20, and at delta 1e-6."""
    assert call("ledger", "create", "l.db", "--budget", "20", "--delta", "1e-6").code == 0
    return Ledger(str(place / "l.db"))


def write_table(place):
    texts = ("the food was good", "the dog", "london paris", "the cat")
    lines = [f"{row},{who},{text}" for row, (who, text) in enumerate(zip(PERSONS, texts, strict=True))]
    (place / "in.csv").write_text("\n".join(["id,who,text", *lines]) + "\n")


class TestPrivatize:
    """``deniable privatize --ledger``."""

    @pytest.fixture
    def privatize(self, call, place):
        write_table(place)
        words = ("--space", "space.npz", "--hide", "none", "--mechanism", "tem")
        columns = ("--column", "text", "--id", "id", "--person", "who")
        return lambda *options, epsilon="2": call(
            "privatize", "in.csv", *words, *columns, "--epsilon", epsilon, "-o", "out.csv", "--force", *options
        )

    def test_a_second_run_is_free_and_equal(self, privatize, place, ledger):
        """The same table under the same ledger comes out equal, and costs nothing again."""
        assert privatize("--ledger", "l.db").code == 0
        first = (place / "out.csv").read_bytes()
        result = privatize("--ledger", "l.db")
        assert "ledger: 0 texts charged, 4 charged before" in result.err
        assert (place / "out.csv").read_bytes() == first
        assert spent(ledger, "ann") == 12

    def test_a_budget_that_is_spent(self, privatize, place, ledger):
        """The run ends with 1, names the persons on one line, and leaves the old output as it is."""
        privatize("--ledger", "l.db")
        before = (place / "out.csv").read_bytes()
        result = privatize("--ledger", "l.db", epsilon="3")
        assert (result.code, result.err.count("\n")) == (1, 1)
        assert "1 row, of 'ann'" in result.err
        assert result.err.endswith("Nothing was written.\n")
        assert (place / "out.csv").read_bytes() == before
        assert (spent(ledger, "ann"), spent(ledger, "bob")) == (12, 4)

    def test_rows_that_are_not_covered_are_dropped(self, privatize, place, ledger):
        """With drop the others are released, and the owner learns which rows are missing."""
        privatize("--ledger", "l.db")
        result = privatize("--ledger", "l.db", "--over-budget", "drop", epsilon="3")
        assert result.code == 0
        assert "1 row left out, which the budget does not cover: row 1" in result.err
        with (place / "out.csv").open() as file:
            assert [row["id"] for row in csv.DictReader(file)] == ["1", "2", "3"]
        assert spent(ledger, "ann") == 18

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--ledger", "none.db"), "There is no ledger"),
            (("--ledger", "in.csv"), "is no ledger"),
            (("--ledger", "l.db", "--key-file", "in.csv"), "must hold 32 bytes"),
            (("--ledger", "l.db", "--test-seed", "1"), "leave out --test-seed"),
            (("--over-budget", "drop"), "--over-budget is for --ledger"),
            (("--ledger", "callers.db"), "counts for the callers of a service"),
            (("--ledger", "l.db", "--format", "csv", "-o", "l.db"), "is a file that is read"),
            (("--ledger", "l.db", "--format", "csv", "-o", "l.db.key"), "is a file that is read"),
            (("--ledger", "postgresql://me:secret@localhost/x", "--key-file", "l.db.key"), "PGPASSWORD"),
        ],
    )
    def test_refusals(self, privatize, ledger, options, words):
        """What is wrong is one line, and nothing is charged or written."""
        create_ledger("callers.db", 5.0, delta=None, unit="caller", secret=bytes(32), key_path="callers.db.key")
        result = privatize(*options)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert words in result.err
        assert "secret" not in result.err
        assert list(ledger.list_units()) == []

    def test_labels_of_rows_that_may_be_left_out(self, privatize, place, ledger):
        """Labels belong to rows of the whole table: where some may be left out they are refused before any charge."""
        (place / "spans.jsonl").write_text('{"row": 3, "start": 4, "end": 7, "kind": "PET"}\n')
        result = privatize("--ledger", "l.db", "--over-budget", "drop", "--entities", "spans.jsonl")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "spans.jsonl labels rows of the whole table" in result.err
        assert list(ledger.list_units()) == []
        (place / "words.txt").write_text("cat\n")
        assert privatize("--ledger", "l.db", "--over-budget", "drop", "--entities", "words.txt").code == 0

    @pytest.mark.parametrize("missing", ["--id", "--person"])
    def test_ids_and_persons_are_needed(self, call, place, ledger, missing):
        """Without ids a text would not be known again, and without persons nobody would pay."""
        write_table(place)
        columns = {"--id": "id", "--person": "who"}
        del columns[missing]
        given = [part for pair in columns.items() for part in pair]
        words = ("--space", "space.npz", "--hide", "none", "--epsilon", "2")
        result = call("privatize", "in.csv", "--column", "text", *given, *words, "--ledger", "l.db", "-o", "out.csv")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert missing in result.err
        assert list(ledger.list_units()) == []


class TestRewrite:
    """``deniable rewrite --ledger``: each text pays, in every run."""

    @pytest.fixture
    def rewrite(self, call, place):
        write_table(place)
        (place / "model.pt").write_bytes(serialize_model(untrained()))
        basic = ("model.pt", "in.csv", "--column", "text", "-o", "out.csv", "--force", "--ledger", "l.db")
        return lambda *options: call("rewrite", *basic, *options)

    def test_pure_epsilon(self, rewrite, place, ledger):
        """Laplace methods are charged as pure epsilon, for each text; a second run pays again."""
        for runs in (1, 2):
            result = rewrite("--method", "adept-true", "--epsilon", "4", "--person", "who")
            assert result.code == 0
            assert (spent(ledger, "ann", "pure"), spent(ledger, "bob", "pure")) == (8 * runs, 4 * runs)
        certificate = json.loads((place / "out.csv.certificate.json").read_text("utf-8"))
        assert "charged to a ledger" in certificate["steps"][-1]
        assert rewrite("--method", "adept-true", "--epsilon", "4", "--person", "who").code == 1
        result = rewrite("--method", "adept-true", "--epsilon", "4", "--person", "who", "--over-budget", "drop")
        assert result.code == 0
        assert "1 row left out" in result.err
        assert (spent(ledger, "ann", "pure"), spent(ledger, "bob", "pure")) == (20, 12)
        assert json.loads((place / "out.csv.certificate.json").read_text("utf-8"))["records"] == 3

    @pytest.mark.usefixtures("ledger")
    def test_truncated_rows_are_rows_of_the_table(self, rewrite, place):
        """What is said of long texts names rows of the input, also where rows before them were left out."""
        long = " ".join(["to"] * 13)
        rows = [("ann", "the dog")] * 3 + [("bob", long), ("ann", long), ("", "a cat"), ("eve", "good"), ("eve", long)]
        lines = [f"{number},{who},{text}\n" for number, (who, text) in enumerate(rows)]
        (place / "in.csv").write_text("id,who,text\n" + "".join(lines))
        with buffers(chunk=16, window=90):
            result = rewrite("--method", "tokens", "--epsilon", "8", "--person", "who", "--over-budget", "drop")
        assert result.code == 0
        assert "2 rows left out, which the budget does not cover: rows 3 and 5\n" in result.err
        assert "1 row left out, which names no person: row 6\n" in result.err
        assert "2 rows with more than 12 tokens, of which only the first were used: rows 4 and 8;" in result.err

    def test_gaussian_noise(self, rewrite, ledger):
        """Gaussian methods are charged to the account of divergences, within the epsilon that they claim."""
        from deniable.ledger.accounts import compute_spent_epsilon

        assert rewrite("--method", "adept-gaussian", "--epsilon", "2", "--delta", "1e-6", "--person", "who").code == 0
        [total] = list(ledger.list_totals("bob"))
        assert total.account == "approximate"
        assert 1.5 < compute_spent_epsilon(total.amounts, 1e-6) < 2.5
        assert total.amounts[0] == 0

    def test_refusals(self, rewrite, ledger):
        """A refuted method, a table without persons, and a public seed are one line each."""
        for options, words in (
            (("--method", "adept", "--epsilon", "2", "--person", "who"), "A ledger counts what is proved"),
            (("--method", "adept-true", "--epsilon", "2"), "--person"),
            (("--method", "adept-true", "--epsilon", "2", "--person", "who", "--test-seed", "1"), "hides nothing"),
        ):
            result = rewrite(*options)
            assert (result.code, result.err.count("\n")) == (2, 1)
            assert words in result.err
        assert list(ledger.list_units()) == []


class TestPersons:
    """``deniable synthesize`` and ``train text``: each person of the collection pays once a run."""

    @pytest.fixture
    def collection(self, place):
        texts, codes = draw_reviews(600, 1)
        rows = [
            (text, CLASSES[code], f"p{row // 3}")
            for row, (text, code) in enumerate(zip(texts, codes.tolist(), strict=True))
        ]
        write(place / "private.csv", rows, ("text", "label", "person"))
        write(place / "test.csv", [row[:2] for row in rows[:9]])
        classes = ("--label", "label", "--classes", ",".join(CLASSES))
        return (*classes, "--records", "200", "--delta", "1e-7", "--test", "test.csv")

    def test_synthesize(self, call, place, collection, ledger):
        """All persons are charged the divergences of the whole budget, deltas of a selection with them."""
        command = ("synthesize", "private.csv", *collection, "--rows", "20", "-o", "o.csv", "--force")
        result = call(*command, "--epsilon", "8", "--person", "person", "--ledger", "l.db")
        assert result.code == 0
        totals = list(ledger.list_totals())
        assert len(totals) == 200
        assert {total.amounts[0] for total in totals} == {int(5e-8 * 10**18)}
        certificate = json.loads((place / "o.csv.certificate.json").read_text("utf-8"))
        assert "charged to a ledger" in certificate["steps"][-1]
        assert call("certificate", "check", "o.csv.certificate.json").code == 0

    @pytest.mark.usefixtures("ledger")
    def test_a_budget_that_is_spent(self, call, collection):
        """Runs are refused when no order has room, with 1 and the names; with drop nobody is left, which is said."""
        command = ("synthesize", "private.csv", *collection, "--rows", "20", "-o", "o.csv", "--force")
        options = ("--epsilon", "15", "--person", "person", "--ledger", "l.db")
        codes = [call(*command, *options).code for _ in range(3)]
        assert codes[0] == 0
        assert codes[-1] == 1
        result = call(*command, *options)
        assert "does not cover 600 rows, of 'p0', 'p1', " in result.err
        assert " and 180 more: the ledger allows" in result.err
        assert result.err.endswith("Nothing was written.\n")
        result = call(*command, *options, "--over-budget", "drop")
        assert (result.code, "covers no row" in result.err) == (2, True)

    def test_train_text(self, call, place, collection, ledger):
        """A private classifier is charged, its card says so, and the check of the card knows it."""
        command = ("train", "text", "private.csv", "--kind", "dp-linear", *collection, "-o", "m.pt")
        result = call(*command, "--epsilon", "8", "--person", "person", "--ledger", "l.db", "--over-budget", "drop")
        assert result.code == 0
        assert len(list(ledger.list_totals())) == 200
        card = json.loads((place / "m.pt.card.json").read_text("utf-8"))
        assert "charged to a ledger" in card["training records"]["ledger"][0]
        assert call("certificate", "check", "m.pt.card.json").code == 0

    @pytest.mark.parametrize("command", ["synthesize", "train text"])
    def test_persons_are_needed(self, call, collection, ledger, command):
        """What hides records cannot be charged to persons."""
        basic = {
            "synthesize": ("synthesize", "private.csv", "--rows", "20", "-o", "o.csv"),
            "train text": ("train", "text", "private.csv", "--kind", "dp-linear", "-o", "m.pt"),
        }[command]
        result = call(*basic, *collection, "--epsilon", "8", "--ledger", "l.db")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "--person" in result.err
        assert list(ledger.list_units()) == []

    def test_other_kinds_take_no_ledger(self, call):
        """Models that claim no privacy, or hide records alone, have nothing to charge."""
        for kind in ("fasttext", "dp-fasttext"):
            result = call(
                "train", "text", "in.csv", "--kind", kind, "--label", "note", "-o", "m.pt", "--ledger", "l.db"
            )
            assert (result.code, result.err.count("\n")) == (2, 1)
            assert "--ledger means nothing" in result.err


def test_units_of_amounts(ledger):
    """The ledger's caps are those of its budget."""
    assert ledger.facts.caps["metric"] == (20 * EPSILON_UNITS,)
