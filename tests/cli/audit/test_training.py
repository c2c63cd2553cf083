"""``deniable audit training``: verdicts, facts, records, exit codes and errors."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
def trainers(tmp_path, monkeypatch):
    """Return the name of a module in the current folder."""
    monkeypatch.chdir(tmp_path)
    name = f"trainers_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE, "utf-8")
    return name


def test_steps_that_leak_four_times_their_claim(call, trainers):
    """Records and the canary come from the module; runs refute, with exit code 1."""
    options = ["--claim", "1.99", "--delta", "1e-5", "--runs", "300", "--noise", "gaussian", "--seed", "1"]
    result = call("audit", "training", f"{trainers}:steps", *options)
    assert result.code == 1
    assert result.err == "made\n"
    first, second, witness, method = result.text.splitlines()
    assert first == f"{trainers}:steps, by running it"
    assert second.startswith("refuted: claimed epsilon 1.99 and delta 1e-05, true epsilon >= ")
    assert "'updates' at" in witness
    assert method.startswith("method: 300 training runs on two data sets")


def test_facts_stand_above_the_verdict(call, trainers):
    """Facts refute where 40 runs cannot; text says by what, and JSON holds both."""
    options = ["--claim", "1.9931", "--delta", "1e-5", "--runs", "40", "--seed", "1", "--explain"]
    result = call("audit", "training", f"{trainers}:steps", *options)
    assert result.code == 1
    assert "one record moves the sum by  1 times what is allowed" in result.text
    assert f"\n{trainers}:steps, by its facts\nrefuted: by the accounting\n" in result.text
    assert f"\n{trainers}:steps, by running it\nnot refuted: claimed epsilon 1.9931" in result.text
    content = json.loads(call("audit", "training", f"{trainers}:steps", *options, "--json").text)
    assert content["status"] == "not refuted"
    assert content["facts"]["verdicts of facts"] == {"the sum of a step": "not refuted", "the accounting": "refuted"}


def test_canaries_by_coins(call, trainers):
    """Named in a module; what training prints goes to standard error."""
    options = ["--claim", "8", "--delta", "1e-5", "--canaries", f"{trainers}:many", "--seed", "1"]
    result = call("audit", "training", f"{trainers}:scores", *options)
    assert result.code == 0
    assert result.err == "epoch 1: a line for the console\n"
    assert "one training run with 100 canaries by fair coins, 20 of them guessed" in result.text
    result = call("audit", "training", f"{trainers}:scores", *options, "--runs", "3", "--guesses", "30")
    assert "3 training runs with 300 canaries by fair coins, 30 of them guessed" in result.text


def test_a_record_in_the_place_of_the_canary(call, trainers):
    """The claim is for a record that is replaced."""
    options = ["--claim", "1", "--runs", "40", "--other", f"{trainers}:other", "--json"]
    content = json.loads(call("audit", "training", f"{trainers}:steps", *options).text)
    assert content["guarantee"]["adjacency"] == "one record replaced by another"


def test_records_of_files(call, trainers, tmp_path):
    """Rows of tables are dicts, lines are texts; some of the records may be the canaries."""
    (tmp_path / "t.csv").write_text("text,label\n" + "a,1\n" * 30, "utf-8")
    pq.write_table(pa.table({"text": ["a"] * 30, "label": [1] * 30}), tmp_path / "t.parquet")
    (tmp_path / "t.txt").write_text("one\ntwo\nthree\n" * 10, "utf-8")
    np.save(tmp_path / "t.npy", np.zeros((30, 2)))
    for name, function in (("t.csv", "rows"), ("t.parquet", "table")):
        options = ["--records", name, "--canaries", "12", "--claim", "1"]
        result = call("audit", "training", f"{trainers}:{function}", *options)
        assert result.code == 0, result.err
        assert "with 12 canaries" in result.text
    result = call("audit", "training", f"{trainers}:rows", "--records", "t.csv", "--canaries", "30", "--claim", "1")
    assert (result.code, result.text) == (2, "")
    assert result.err == (
        "deniable: --canaries takes at least one of the records, and leaves at least one. Got 30 of 30: take fewer, or "
        "give more records.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}:nothing"], "has no callable 'nothing'"),
        (["{}:steps", "--records", "missing.csv"], "'missing.csv' cannot be read"),
        (
            ["{}:steps", "--records", "{}:NOISE"],
            "must be a sequence of records, or a function that returns one. Got 0.5",
        ),
        (["{}:steps", "--canaries", "{}:nothing"], "There is no '{}:nothing': define it there, or give --canaries"),
        (["{}:leaves"], "raised 'SystemExit: 0'"),
        (["{}:scores", "--noise", "gaussian"], "Gaussian noise gives an epsilon and a delta above 0"),
        (["{}:steps", "--method", "one-run"], "at least 10 canaries. Got 1"),
        (["{}:hangs", "--time-limit", "0.3"], "The audit did not end within the 0.3 seconds given"),
        (
            ["{}:steps", "--records", "{}:endless", "--time-limit", "0.3"],
            "The audit did not end within the 0.3 seconds",
        ),
        (["{}:steps", "--records", "{}:leave_records"], "raised 'SystemExit: 0'"),
        (["{}:steps", "--time-limit", "0"], "time_limit"),
        (["{}:steps", "--runs", "5"], "'runs'"),
        (["{}:steps", "--seed", "-1"], "'seed'"),
    ],
)
def test_refusals(call, trainers, arguments, message):
    """One line, exit code 2, nothing on standard output."""
    arguments = [argument.format(trainers) for argument in arguments]
    result = call("audit", "training", *arguments, "--claim", "1")
    assert (result.code, result.text) == (2, "")
    last_line = result.err.splitlines()[-1]
    assert last_line.startswith("deniable: ")
    assert message.format(trainers) in last_line
    assert "Traceback" not in result.err
