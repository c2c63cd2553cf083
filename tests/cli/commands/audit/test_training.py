"""``deniable audit training``: verdicts, facts, records, exit codes and errors."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands.train.helpers import fails

MODULE = """
import numpy as np
import deniable as dn

records = [0.0] * 20
NOISE = 0.5

def canaries():
    print("made")
    return [5.0]

def many():
    return list(range(100))

other = [-5.0]

def steps(records, seed):
    random = np.random.default_rng(seed)
    yield dn.TrainingPlan("all", 21, 21, 1, 2.0, 1.0)
    total = np.clip(np.array(records, dtype=float), -1, 1).sum(keepdims=True)
    noisy = np.round(1024 * (total + NOISE * random.standard_normal(1))) / 1024
    yield dn.TrainingStep(noisy, np.arange(len(records)), total, NOISE)

def scores(records, seed):
    print("epoch 1: a line for the console")
    return lambda canaries: np.isin(canaries, records) + np.random.default_rng(seed).standard_normal(len(canaries))

def rows(records, seed):
    assert records[0] == {"text": "a", "label": "1"}, records[0]
    return lambda canaries: [0.0 for _ in canaries]

def table(records, seed):
    assert records[0] == {"text": "a", "label": 1}, records[0]
    return lambda canaries: [0.0 for _ in canaries]

def hangs(records, seed):
    import time
    time.sleep(60)

def endless():
    import itertools
    return itertools.repeat(0)

def leave_records():
    raise SystemExit(0)

def leaves(records, seed):
    raise SystemExit(0)
"""


@pytest.fixture
def audit(call, place):
    """Return a function that audits a function of a module in the current folder; {} stands for the module."""
    name = f"trainers_{abs(hash(str(place)))}"
    (place / f"{name}.py").write_text(MODULE, "utf-8")

    def auditing(function, *options, claim="1"):
        given = [option.replace("{}", name) for option in options]
        return call("audit", "training", f"{name}:{function}", "--claim", claim, *given)

    return auditing


def test_steps_that_leak_four_times_their_claim(audit):
    """Records and the canary come from the module; runs refute, with exit code 1."""
    options = ["--delta", "1e-5", "--runs", "300", "--noise", "gaussian", "--seed", "1"]
    result = audit("steps", *options, claim="1.99")
    assert result.code == 1
    first, second, witness, method = result.text.splitlines()
    assert first.endswith(":steps, by running it")
    assert second.startswith("refuted: claimed epsilon 1.99 and delta 1e-05, true epsilon >= ")
    assert "'updates' names" in witness
    assert method.startswith("method: 300 training runs on two data sets")


def test_facts_stand_above_the_verdict(audit):
    """Facts refute where 40 runs cannot; text says by what, and JSON holds both."""
    options = ["--delta", "1e-5", "--runs", "40", "--seed", "1", "--explain"]
    result = audit("steps", *options, claim="1.9931")
    assert result.code == 1
    assert "one record moves the sum by  1 times what is allowed" in result.text
    assert ":steps, by its facts\nrefuted: by the accounting\n" in result.text
    assert ":steps, by running it\nnot refuted: claimed epsilon 1.9931" in result.text
    content = json.loads(audit("steps", *options, "--json", claim="1.9931").text)
    assert content["status"] == "not refuted"
    assert content["facts"]["verdicts of facts"] == {"the sum of a step": "not refuted", "the accounting": "refuted"}


def test_canaries_by_coins(audit):
    """Named in a module; what training prints goes to standard error."""
    options = ["--delta", "1e-5", "--canaries", "{}:many", "--seed", "1"]
    result = audit("scores", *options, claim="8")
    assert (result.code, result.err) == (0, "epoch 1: a line for the console\n")
    assert "one training run with 100 canaries by fair coins, 20 of them guessed" in result.text
    result = audit("scores", *options, "--runs", "3", "--guesses", "30", claim="8")
    assert "3 training runs with 300 canaries by fair coins, 30 of them guessed" in result.text


def test_a_record_in_the_place_of_the_canary(audit):
    """The claim is for a record that is replaced."""
    content = json.loads(audit("steps", "--runs", "40", "--other", "{}:other", "--json").text)
    assert content["guarantee"]["adjacency"] == "one record replaced by another"


def test_records_of_files(audit, place):
    """Rows of tables are dicts, with the types that they have there; some of the records may be the canaries."""
    (place / "t.csv").write_text("text,label\n" + "a,1\n" * 30, "utf-8")
    pq.write_table(pa.table({"text": ["a"] * 30, "label": [1] * 30}), place / "t.parquet")
    for name, function in (("t.csv", "rows"), ("t.parquet", "table")):
        result = audit(function, "--records", name, "--canaries", "12")
        assert result.code == 0
        assert "with 12 canaries" in result.text
    fails(audit("rows", "--records", "t.csv", "--canaries", "30"), "30 of 30")


@pytest.mark.parametrize(
    ("function", "options", "value"),
    [
        ("nothing", [], "'nothing'"),
        ("steps", ["--records", "missing.csv"], "'missing.csv'"),
        ("steps", ["--records", "{}:NOISE"], "0.5"),
        ("steps", ["--canaries", "{}:nothing"], ":nothing'"),
        ("leaves", [], "'SystemExit: 0'"),
        ("scores", ["--noise", "gaussian"], "delta"),
        ("steps", ["--method", "one-run"], "at least 10 canaries"),
        ("hangs", ["--time-limit", "0.3"], "0.3 seconds"),
        ("steps", ["--records", "{}:endless", "--time-limit", "0.3"], "0.3 seconds"),
        ("steps", ["--records", "{}:leave_records"], "'SystemExit: 0'"),
        ("steps", ["--runs", "5"], "'runs'"),
        ("steps", ["--seed", "-1"], "'seed'"),
    ],
)
def test_what_cannot_be_audited(audit, function, options, value):
    """A training or records that cannot be used are one line, exit code 2 and no verdict."""
    fails(audit(function, *options), value)
